//! The stores of this crate keep the contract, one test per store.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use tvix_core::{conformance, storage::MemoryStore};

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    conformance::documents(async || MemoryStore::new()).await;
}

/// Runs the suite on stores that `open` makes, each under a path of its own.
#[cfg(any(feature = "local", feature = "sled"))]
async fn keeps_the_contract<S: tvix_core::storage::DocumentStore>(
    open: impl Fn(std::path::PathBuf) -> tvix_core::Result<S>,
) {
    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    conformance::documents(async || {
        count.set(count.get() + 1);
        open(folder.path().join(format!("{}.store", count.get()))).unwrap()
    })
    .await;
}

#[cfg(feature = "local")]
#[tokio::test]
async fn the_store_by_redb_keeps_the_contract() {
    keeps_the_contract(tvix_core::storage::RedbStore::open).await;
}

#[cfg(feature = "sled")]
#[tokio::test]
async fn the_store_by_sled_keeps_the_contract() {
    keeps_the_contract(tvix_core::storage::SledStore::open).await;
}
