//! What `SledStore` promises beyond the contract of every store: its folder, long values, sharing of
//! commits.
#![cfg(feature = "sled")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::{fs, path::PathBuf, sync::Barrier};

use tempfile::TempDir;
use tvix_core::{
    ErrorKind,
    storage::{
        Batch, DocKey, Document, DocumentStore, Filter, Fingerprint, Kind, Operation, Page, Seq,
        SledStore, Written,
    },
    types::{EventTime, Id, Source, Timestamp},
};

fn memory(number: u64, text: String) -> Document {
    Document {
        key: key(number),
        scope: None,
        source: Source::library(),
        title: String::new(),
        text,
        tags: Vec::new(),
        refs: Vec::new(),
        time: EventTime::At(Timestamp::from_millis(0)),
        created_at: Timestamp::from_millis(0),
        attrs: serde_json::Map::new(),
        fingerprint: Fingerprint::of(&[&number.to_string()]),
        seq: Seq::ZERO,
    }
}

fn key(number: u64) -> DocKey {
    DocKey::new(Kind::Memory, Id::from_bytes(u128::from(number).to_be_bytes()))
}

fn put(number: u64, text: String) -> Batch {
    let document = Box::new(memory(number, text));
    Batch { operations: vec![Operation::Put { document, conditions: vec![] }], request: None }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sled");
    (folder, path)
}

async fn text(store: &SledStore, number: u64) -> Option<String> {
    store.get(&[key(number)]).await.unwrap().pop().flatten().map(|document| document.text)
}

#[tokio::test]
async fn texts_of_any_length_come_back_and_none_leaves_the_log() {
    let (_folder, path) = place();
    let lengths = [0, 1, 4000, 4096, 5000, 100_000, 2_000_000];
    let store = SledStore::open(&path).unwrap();
    for (length, number) in lengths.into_iter().zip(1..) {
        let _ = store.write(put(number, "x".repeat(length))).await.unwrap();
    }
    // Long, then short, then long again: no piece of the first may be left over.
    for length in [90_000, 10, 20_000, 6000] {
        let _ = store.write(put(100, "y".repeat(length))).await.unwrap();
    }
    drop(store);
    let store = SledStore::open(&path).unwrap();
    for (length, number) in lengths.into_iter().zip(1..) {
        assert_eq!(text(&store, number).await, Some("x".repeat(length)));
    }
    assert_eq!(text(&store, 100).await, Some("y".repeat(6000)));
    assert_eq!(fs::read_dir(path.join("blobs")).unwrap().count(), 0, "not in the log");
}

#[tokio::test]
async fn many_long_texts_stay_in_the_log() {
    let (_folder, path) = place();
    let store = SledStore::open(&path).unwrap();
    for number in 0..60 {
        let _ = store.write(put(number, number.to_string().repeat(30_000))).await.unwrap();
    }
    assert_eq!(fs::read_dir(path.join("blobs")).unwrap().count(), 0);
    drop(store);
    let store = SledStore::open(&path).unwrap();
    for number in 0..60 {
        assert_eq!(text(&store, number).await, Some(number.to_string().repeat(30_000)));
    }
}

#[test]
fn a_folder_in_use_is_a_conflict_that_names_it() {
    let (_folder, path) = place();
    let _first = SledStore::open(&path).unwrap();
    let error = SledStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("store.sled"), "{error}");
}

#[test]
fn a_missing_folder_is_a_failure_that_names_the_store() {
    let error = SledStore::open("/dev/null/at/all.sled").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().starts_with("open /dev/null/at/all.sled failed: "), "{error}");
}

#[test]
fn concurrent_writers_all_land() {
    let (_folder, path) = place();
    let store = SledStore::open(&path).unwrap();
    let barrier = Barrier::new(16);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                barrier.wait();
                for number in 0..8 {
                    let batch = put(thread * 8 + number, "together".to_owned());
                    let _ = runtime.block_on(store.write(batch)).unwrap();
                }
            });
        }
    });
    drop(store);
    let store = SledStore::open(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let log = runtime.block_on(store.changes(Seq::ZERO, 1000)).unwrap();
    assert_eq!(log.last().map(|change| change.seq), Some(Seq(128)));
    assert_eq!(log.len(), 128);
}

#[tokio::test]
async fn a_store_whose_log_is_gone_or_garbage_is_no_panic_and_is_not_made_anew() {
    let (_folder, path) = place();
    let store = SledStore::open(&path).unwrap();
    for number in 0..40 {
        assert!(matches!(
            store.write(put(number, "text".repeat(500))).await.unwrap(),
            Written::Done { .. }
        ));
    }
    drop(store);
    let log = path.join("db");
    let whole = fs::read(&log).unwrap();
    for garbage in [vec![], vec![0; whole.len()], vec![0xa5; whole.len()]] {
        fs::write(&log, garbage).unwrap();
        let error = SledStore::open(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Backend), "{error}");
    }
    for eighth in 0..8 {
        let mut damaged = whole.clone();
        let at = whole.len() * eighth / 8;
        damaged[at..at + 400].fill(0xa5);
        fs::write(&log, damaged).unwrap();
        if let Ok(store) = SledStore::open(&path) {
            let _ = store.scan(Kind::Memory, &Filter::default(), Page::first(100)).await;
            let _ = store.changes(Seq::ZERO, 100).await;
        }
    }
}

#[tokio::test]
async fn a_store_that_was_closed_can_be_opened_at_once() {
    let stories = (0..4_u64).map(|_| {
        std::thread::spawn(|| {
            let (_folder, path) = place();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for round in 1..60 {
                let store = SledStore::open(&path).unwrap();
                let long = "x".repeat(200_000);
                assert!(matches!(
                    runtime.block_on(store.write(put(round, long))).unwrap(),
                    Written::Done { .. }
                ));
            }
        })
    });
    for story in stories.collect::<Vec<_>>() {
        story.join().unwrap();
    }
}
