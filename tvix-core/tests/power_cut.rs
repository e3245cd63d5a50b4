//! A power cut at any moment loses no acknowledged write and tears none.
//!
//! Each disk lives through several cuts, in the middle of writes and of the opening after the cut
//! before. `TVIX_CUTS` says how many cuts there are in all, `TVIX_SEED` where to begin.
#![cfg(feature = "local")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::{collections::BTreeMap, sync::Arc};

use tokio::{runtime, task::JoinSet};
use tvix_core::{
    Result,
    storage::{
        Batch, Condition, DocKey, Document, DocumentStore, Fingerprint, Kind, MemoryStore,
        Operation, RedbStore, Request, Scope, Seq, Written,
    },
    types::{EventTime, Id, RequestId, Source, Timestamp},
};

use self::{
    alike::assert_alike,
    disk::Disk,
    random::{Random, Seed, wanted},
};

#[path = "common/alike.rs"]
mod alike;
#[path = "common/disk.rs"]
mod disk;
#[path = "common/random.rs"]
mod random;

const CUTS_PER_DISK: u64 = 10;
/// Batches are numbered from here, so that their own documents never meet the shared ones.
const FIRST_BATCH: u64 = 1000;
const SHARED_KEYS: u64 = 12;
/// More calls than any life makes.
const NEVER: u64 = u64::MAX;

#[test]
fn a_power_cut_at_any_moment_loses_and_tears_nothing() {
    let (cuts, first) = (wanted("TVIX_CUTS", 100), wanted("TVIX_SEED", 1));
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let mut landed = 0;
    for seed in first..first + cuts.div_ceil(CUTS_PER_DISK) {
        let _seed = Seed(seed);
        let mut story = Story::new(seed);
        for _ in 0..CUTS_PER_DISK {
            runtime.block_on(story.live_and_lose_power());
        }
        landed += story.landed;
    }
    assert!(landed > cuts, "only {landed} batches landed: this proves little");
}

/// One disk, and what must lie on it.
struct Story {
    random: Random,
    bytes: Vec<u8>,
    /// A store that took every batch which landed.
    reference: MemoryStore,
    /// Sent, and never answered.
    unanswered: Vec<Sent>,
    next: u64,
    landed: u64,
}

/// A batch and its number, which is in its request and in its own document.
#[derive(Clone)]
struct Sent {
    number: u64,
    batch: Batch,
}

type Answer = (Sent, Result<Written>);

impl Story {
    fn new(seed: u64) -> Self {
        let (random, reference) = (Random::new(seed), MemoryStore::new());
        // Making a store is outside of this: a file gets its name when it is complete.
        let disk = Disk::new(vec![], NEVER, random.clone());
        drop(RedbStore::with_backend(disk.clone()).unwrap());
        let bytes = disk.cut();
        Self { random, bytes, reference, unanswered: vec![], next: FIRST_BATCH, landed: 0 }
    }

    /// Opens what the last cut left, writes until the power goes, and looks at what is left.
    async fn live_and_lose_power(&mut self) {
        // Every third cut hits the opening, which takes a few dozen calls.
        let most = if self.random.percent(33) { 60 } else { 900 };
        let calls = 1 + self.random.below(most);
        let disk = Disk::new(self.bytes.clone(), calls, self.fork());
        let answers = match RedbStore::with_backend(disk.clone()) {
            Ok(store) => self.write_at_once(store, &disk).await,
            Err(error) => {
                assert!(disk.is_off(), "the store does not open: {error}");
                vec![]
            }
        };
        self.bytes = disk.cut();
        let copy = Disk::new(self.bytes.clone(), NEVER, self.fork());
        let store = RedbStore::with_backend(copy).unwrap_or_else(|e| panic!("after a cut: {e}"));
        self.settle(&store, answers).await;
        assert_alike(&store, &self.reference).await;
        self.assert_it_goes_on(&store).await;
    }

    /// Several writers at once, each until its first error.
    async fn write_at_once(&mut self, store: RedbStore, disk: &Disk) -> Vec<Answer> {
        let store = Arc::new(store);
        let mut writers = JoinSet::new();
        for _ in 0..=self.random.below(6) {
            let count = 1 + self.random.below(12);
            let batches: Vec<Sent> = (0..count).map(|_| self.send()).collect();
            writers.spawn(write_all(Arc::clone(&store), batches));
        }
        let answers = writers.join_all().await.into_iter().flatten().collect();
        if self.random.percent(50) {
            // Without this, a life that outlasts its writers ends with an orderly close.
            disk.cut();
        }
        answers
    }

    /// A new batch, or one whose answer was lost.
    fn send(&mut self) -> Sent {
        if let Some(again) = self.unanswered.pop() {
            return again;
        }
        self.next += 1;
        let number = self.next;
        Sent { number, batch: batch(number, &mut self.random) }
    }

    /// Finds out which batches landed and lets the reference take them, in their order.
    async fn settle(&mut self, store: &RedbStore, answers: Vec<Answer>) {
        let mut landed = BTreeMap::new();
        for (sent, answer) in answers {
            let (before, now) =
                (own_seq(&self.reference, sent.number).await, own_seq(store, sent.number).await);
            match answer {
                Ok(Written::Done { .. }) => assert!(before.is_none() && now.is_some(), "lost"),
                Ok(Written::Repeated { receipt }) => {
                    assert!(before.is_some(), "answered as a repetition, but it never landed");
                    assert_eq!(receipt, sent.number.to_string());
                }
                Ok(Written::Refused { .. }) => assert!(now.is_none(), "refused, but it landed"),
                Err(_) => self.unanswered.push(sent.clone()),
            }
            if let (None, Some(seq)) = (before, now) {
                landed.insert(seq, sent.batch);
            }
        }
        for batch in landed.into_values() {
            let written = self.reference.write(batch).await.unwrap();
            assert!(matches!(written, Written::Done { .. }), "{written:?}");
            self.landed += 1;
        }
        self.assert_receipts(store).await;
    }

    async fn assert_receipts(&self, store: &RedbStore) {
        for number in FIRST_BATCH + 1..=self.next {
            let request = RequestId(id(number));
            let known = (store.receipt(request).await, self.reference.receipt(request).await);
            assert_eq!(known.0.unwrap(), known.1.unwrap(), "receipt of batch {number}");
        }
    }

    /// What was opened after the cut takes writes. It is a copy: the next life begins from the cut.
    async fn assert_it_goes_on(&mut self, store: &RedbStore) {
        self.next += 1;
        let written = store.write(batch_of_one(self.next)).await.unwrap();
        assert!(matches!(written, Written::Done { .. }));
        assert!(own_seq(store, self.next).await.is_some());
    }

    fn fork(&mut self) -> Random {
        Random::new(self.random.next())
    }
}

async fn write_all(store: Arc<RedbStore>, batches: Vec<Sent>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for sent in batches {
        let answer = store.write(sent.batch.clone()).await;
        let failed = answer.is_err();
        answers.push((sent, answer));
        if failed {
            break;
        }
    }
    answers
}

/// Where in the log the document stands that only batch `number` writes.
async fn own_seq(store: &dyn DocumentStore, number: u64) -> Option<Seq> {
    let found = store.get(&[DocKey::new(Kind::Memory, id(number))]).await.unwrap();
    found.into_iter().flatten().next().map(|document| document.seq)
}

fn id(number: u64) -> Id {
    Id::from_bytes(u128::from(number).to_be_bytes())
}

/// A document of its own, and up to four changes of those that all batches share.
fn batch(number: u64, random: &mut Random) -> Batch {
    let length = [10, 500, 4000, 60_000][random.below(4) as usize];
    let mut batch = batch_of_one(number);
    let own = document(DocKey::new(Kind::Memory, id(number)), length, random);
    batch.operations = vec![Operation::Put { document: Box::new(own), conditions: vec![] }];
    for _ in 0..random.below(5) {
        let kind = Kind::ALL[random.below(2) as usize];
        let key = DocKey::new(kind, id(random.below(SHARED_KEYS)));
        let conditions = conditions(random);
        batch.operations.push(if random.percent(70) {
            let document = Box::new(document(key, 200, random));
            Operation::Put { document, conditions }
        } else {
            Operation::Delete { key, conditions }
        });
    }
    batch
}

fn batch_of_one(number: u64) -> Batch {
    let (at, receipt) = (Timestamp::from_millis(0), number.to_string());
    let request = Some(Request { id: RequestId(id(number)), receipt, at });
    let own = document(DocKey::new(Kind::Memory, id(number)), 10, &mut Random::new(number));
    let operations = vec![Operation::Put { document: Box::new(own), conditions: vec![] }];
    Batch { operations, request }
}

fn conditions(random: &mut Random) -> Vec<Condition> {
    match random.below(12) {
        0 => vec![Condition::NoTwin],
        1 => vec![Condition::FewerThan(random.below(200))],
        _ => vec![],
    }
}

fn document(key: DocKey, length: u64, random: &mut Random) -> Document {
    let scope = ["a", "b", "c"].get(random.below(4) as usize);
    let print = random.below(20).to_string();
    let text: String = (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
    Document {
        key,
        scope: scope.map(|key| Scope { key: (*key).to_owned(), name: key.to_uppercase() }),
        source: Source::named(["Cursor", "my-agent"][random.below(2) as usize]),
        title: String::new(),
        text,
        tags: vec![],
        refs: vec![],
        time: EventTime::At(Timestamp::from_millis(random.below(1000).cast_signed())),
        created_at: Timestamp::from_millis(0),
        attrs: serde_json::Map::new(),
        fingerprint: Fingerprint::of(&[&print]),
        seq: Seq::ZERO,
    }
}
