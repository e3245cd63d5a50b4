//! The stores of this crate keep the contract, one test per store.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use tvix_core::{conformance, storage::MemoryStore};

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    conformance::documents(async || MemoryStore::new()).await;
}

#[cfg(feature = "local")]
#[tokio::test]
async fn the_store_in_a_file_keeps_the_contract() {
    use tvix_core::storage::RedbStore;

    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    conformance::documents(async || {
        count.set(count.get() + 1);
        RedbStore::open(folder.path().join(format!("{}.redb", count.get()))).unwrap()
    })
    .await;
}
