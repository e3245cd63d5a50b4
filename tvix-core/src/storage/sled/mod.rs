//! [`SledStore`]: documents in one folder, by the storage engine sled.
//!
//! The same as `redb` in all but the engine: [`tables`] says what lies where, [`rows`] how, [`engine`] makes and
//! opens the folder, commits, and explains errors; the rest is in `embedded`.

use std::path::Path;

use async_trait::async_trait;

use super::{
    Batch, Change, DocKey, Document, DocumentStore, Facet, FacetCount, Filter, Fingerprint, Kind,
    Page, Seq, Written, embedded::Embedded,
};
use crate::{Result, types::RequestId};

mod engine;
mod rows;
mod tables;

/// Documents in one folder of this machine, kept by sled 0.34. Choose [`RedbStore`](super::RedbStore)
/// unless you have a reason not to.
///
/// A write is one transaction over all of sled's trees. When it returns, the log has been flushed and
/// its file synced by this store itself, since sled's own flush leaves that to the system on Linux.
/// Values of any size lie in the log: long ones are split, because sled puts them into files that it
/// never syncs.
///
/// # What a power cut can do
/// The end of a process at any moment, by whatever signal, loses and tears nothing. Of a power cut
/// the same holds for what was acknowledged while nothing else was being written. During a write,
/// however, sled may use a part of its log again before the copy of what lay there is known to have
/// reached the disk; no caller of sled can prevent that, so a cut at that moment may damage older
/// documents. Damage is not always noticed either: sled takes a broken end of its log for a write
/// that was never finished. `RedbStore` has neither limit.
///
/// One process at a time has the folder open. After an I/O error the failed call reports it and the
/// next call opens the folder again; a write that failed may have landed all the same, whole.
/// Dropping the store finishes what is queued. A read waits for the commit under way, and so sees
/// only what is on the disk. sled caches up to 64 MiB.
#[derive(Debug)]
pub struct SledStore(Embedded<engine::Sled>);

impl SledStore {
    /// Opens the store in the folder `path`, or makes it; the folder above must exist.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when another process has it open, or a later
    /// version wrote it; [`Error::Corrupt`](crate::Error::Corrupt) when it is damaged;
    /// [`Error::Backend`](crate::Error::Backend) when it cannot be read or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        engine::in_folder(path.as_ref()).map(Self)
    }
}

#[async_trait]
impl DocumentStore for SledStore {
    async fn write(&self, batch: Batch) -> Result<Written> {
        self.0.write(batch).await
    }

    async fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>> {
        self.0.get(keys)
    }

    async fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>> {
        self.0.find(kind, fingerprint)
    }

    async fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>> {
        self.0.scan(kind, filter, page)
    }

    async fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>> {
        self.0.facets(kind, facet)
    }

    async fn receipt(&self, request: RequestId) -> Result<Option<String>> {
        self.0.receipt(request)
    }

    async fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        self.0.changes(after, limit)
    }
}
