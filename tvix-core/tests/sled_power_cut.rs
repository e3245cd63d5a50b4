//! What a power cut may do to a sled store, as far as it can be shown from outside: sled opens its file
//! itself, so what lies on the disk is put together from copies of it.
//!
//! When a write was acknowledged its file is synced, and a copy made then is what a cut at rest leaves.
//! For a cut during the next write a random part of the 512-byte sectors that it changed is laid over
//! that. What this cannot show: sectors written and written again between two acknowledgements, and
//! several writers at once. Files beside the log are never synced by sled, so each cut takes them away.
//!
//! `TVIX_CUTS` says how many cuts there are in all, `TVIX_SEED` where to begin.
#![cfg(feature = "sled")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "these are tests")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use tvix_core::{
    storage::{
        Batch, Change, DocKey, Document, DocumentStore, Fingerprint, Kind, MemoryStore, Operation,
        Seq, SledStore, Written,
    },
    types::{EventTime, Id, Source, Timestamp},
};

use self::{
    alike::assert_alike,
    random::{Random, Seed, wanted},
};

#[path = "common/alike.rs"]
mod alike;
#[path = "common/random.rs"]
mod random;

const CUTS_PER_DISK: u64 = 20;
const SECTOR: usize = 512;
const KEYS: u64 = 40;

#[tokio::test]
async fn a_power_cut_at_rest_loses_nothing() {
    let (cuts, first) = (wanted("TVIX_CUTS", 100) / 2, wanted("TVIX_SEED", 1));
    for seed in first..first + cuts.div_ceil(CUTS_PER_DISK) {
        let _seed = Seed(seed);
        let mut story = Story::new(seed);
        for _ in 0..CUTS_PER_DISK {
            assert_eq!(story.live_and_lose_power(false).await, Left::AsBefore);
        }
    }
}

/// The limit that the documentation of `SledStore` names: the write that is cut is there or not, but
/// now and then an older document is damaged. That is no panic, and rare.
#[tokio::test]
async fn a_power_cut_during_a_write_seldom_damages_what_was_there() {
    let (cuts, first) = (wanted("TVIX_CUTS", 100) / 2, wanted("TVIX_SEED", 1));
    let (mut landed, mut damaged) = (0, 0);
    let (mut seed, mut story) = (first, Story::new(first));
    for _ in 0..cuts {
        let _seed = Seed(seed);
        match story.live_and_lose_power(true).await {
            Left::AsBefore => {}
            Left::WithTheWrite => landed += 1,
            Left::Damaged => {
                damaged += 1;
                seed += 1;
                story = Story::new(seed);
            }
        }
    }
    println!("{cuts} cuts during a write: {landed} landed, {damaged} damaged older documents");
    assert!(landed > 0 && damaged * 20 <= cuts, "{landed} landed, {damaged} damaged");
}

/// What a cut left.
#[derive(Debug, PartialEq)]
enum Left {
    AsBefore,
    WithTheWrite,
    Damaged,
}

struct Story {
    place: tempfile::TempDir,
    random: Random,
    reference: MemoryStore,
    lives: u64,
}

impl Story {
    fn new(seed: u64) -> Self {
        let (place, random) = (tempfile::tempdir().unwrap(), Random::new(seed));
        drop(SledStore::open(place.path().join("0")).unwrap());
        Self { place, random, reference: MemoryStore::new(), lives: 0 }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join(self.lives.to_string())
    }

    /// Writes for a while, loses power, during a write or after it, and looks at what is left.
    async fn live_and_lose_power(&mut self, is_writing: bool) -> Left {
        let folder = self.folder();
        let store = SledStore::open(&folder).unwrap();
        for _ in 0..self.random.below(15) {
            let batch = self.batch();
            done(&store, batch.clone()).await;
            done(&self.reference, batch).await;
        }
        let mut log = fs::read(folder.join("db")).unwrap();
        let cut_off = is_writing.then(|| self.batch());
        if let Some(batch) = &cut_off {
            done(&store, batch.clone()).await;
            self.lay_over(&mut log, &fs::read(folder.join("db")).unwrap());
        }
        drop(store);
        self.put_on_a_new_disk(&folder, &log);
        self.look(cut_off).await
    }

    /// A part of the sectors, in any order; the file may have grown or not.
    fn lay_over(&mut self, log: &mut Vec<u8>, after: &[u8]) {
        // Now and then all of them, which nobody was told of.
        let percent = self.random.below(140).min(100);
        if percent == 100 || self.random.percent(50) {
            log.resize(log.len().max(after.len()), 0);
        }
        for (old, new) in log.chunks_mut(SECTOR).zip(after.chunks(SECTOR)) {
            if old != new && self.random.percent(percent) {
                let length = old.len().min(new.len());
                old[..length].copy_from_slice(&new[..length]);
            }
        }
    }

    fn put_on_a_new_disk(&mut self, old: &Path, log: &[u8]) {
        self.lives += 1;
        let new = self.folder();
        fs::create_dir(&new).unwrap();
        fs::write(new.join("db"), log).unwrap();
        // sled syncs this one when it makes the folder.
        fs::copy(old.join("conf"), new.join("conf")).unwrap();
        fs::remove_dir_all(old).unwrap();
    }

    async fn look(&mut self, cut_off: Option<Batch>) -> Left {
        let Ok(store) = SledStore::open(self.folder()) else { return Left::Damaged };
        let Ok(found) = store.changes(Seq::ZERO, usize::MAX).await else { return Left::Damaged };
        let mut left = Left::AsBefore;
        if found != log(&self.reference).await {
            let Some(batch) = cut_off else { return Left::Damaged };
            done(&self.reference, batch).await;
            left = Left::WithTheWrite;
        }
        if found != log(&self.reference).await {
            return Left::Damaged;
        }
        assert_alike(&store, &self.reference).await;
        left
    }

    fn batch(&mut self) -> Batch {
        let operations = (0..=self.random.below(4)).map(|_| {
            let key = DocKey::new(Kind::Memory, id(self.random.below(KEYS)));
            if self.random.percent(80) {
                let length = [10, 500, 4000, 60_000, 200_000][self.random.below(5) as usize];
                let document = Box::new(document(key, length, &mut self.random));
                Operation::Put { document, conditions: vec![] }
            } else {
                Operation::Delete { key, conditions: vec![] }
            }
        });
        let mut operations: Vec<_> = operations.collect();
        // So that every batch changes something.
        let key = DocKey::new(Kind::Wiki, id(self.random.below(KEYS)));
        let document = Box::new(document(key, 100, &mut self.random));
        operations.push(Operation::Put { document, conditions: vec![] });
        Batch { operations, request: None }
    }
}

async fn done(store: &dyn DocumentStore, batch: Batch) {
    assert!(matches!(store.write(batch).await.unwrap(), Written::Done { .. }));
}

async fn log(store: &MemoryStore) -> Vec<Change> {
    store.changes(Seq::ZERO, usize::MAX).await.unwrap()
}

fn id(number: u64) -> Id {
    Id::from_bytes(u128::from(number).to_be_bytes())
}

fn document(key: DocKey, length: u64, random: &mut Random) -> Document {
    let text: String = (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
    Document {
        key,
        scope: None,
        source: Source::library(),
        title: String::new(),
        fingerprint: Fingerprint::of(&[&text]),
        text,
        tags: vec![],
        refs: vec![],
        time: EventTime::At(Timestamp::from_millis(random.below(1000).cast_signed())),
        created_at: Timestamp::from_millis(0),
        attrs: serde_json::Map::new(),
        seq: Seq::ZERO,
    }
}
