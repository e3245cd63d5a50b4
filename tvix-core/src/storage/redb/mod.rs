//! [`RedbStore`]: documents in one file, by the storage engine redb.
//!
//! A write is one transaction over the documents, all lists, the change log and the receipt of its
//! call, synced to the disk once. [`tables`] says what lies where, [`engine`] makes and opens the
//! file and explains errors; the rest is in `embedded`.

use std::{io, path::Path};

use async_trait::async_trait;
use redb::StorageBackend;

use super::{
    Batch, Change, DocKey, Document, DocumentStore, Facet, FacetCount, Filter, Fingerprint, Kind,
    Page, Seq, Written, embedded::Embedded,
};
use crate::{Result, types::RequestId};

mod engine;
mod tables;

/// Documents in one file of this machine. A write that returned survives a power cut.
///
/// One process at a time has the file open. After an I/O error, such as a full disk, the failed call
/// reports it and the next call opens the file again. A write that failed while it was committed may
/// have landed all the same, whole; sending it again with the same [`Request`](super::Request) is
/// safe. Dropping the store finishes what is queued, then closes the file.
///
/// Reads run on the caller's thread, in an async context too: they take microseconds out of a cache
/// of 64 MiB, less than handing them to another thread, and never wait for a writer.
#[derive(Debug)]
pub struct RedbStore(Embedded<engine::Redb>);

impl RedbStore {
    /// Opens the file `path`, or makes it; its folder must exist.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when another process has it open, or a later
    /// version wrote it; [`Error::Corrupt`](crate::Error::Corrupt) when it is no store or damaged;
    /// [`Error::Backend`](crate::Error::Backend) when it cannot be read or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        engine::in_file(path.as_ref()).map(Self)
    }

    /// Opens the store that lies in `backend`, or makes one there. After an I/O error such a store
    /// stays unusable, because the backend cannot be opened a second time:
    /// [`with_backends`](Self::with_backends) is for that.
    ///
    /// A power cut while the store is made leaves a backend that must be emptied before it is used
    /// again.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_backend(backend: impl StorageBackend) -> Result<Self> {
        engine::in_backend(backend).map(Self)
    }

    /// Opens the store that lies in the backend that `make` returns, or makes one there. After an I/O
    /// error the next call lets go of that backend, asks `make` for another one over the same bytes,
    /// and goes on with it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and what `make` returns as [`Error::Backend`](crate::Error::Backend).
    pub fn with_backends<B: StorageBackend>(
        make: impl Fn() -> io::Result<B> + Send + Sync + 'static,
    ) -> Result<Self> {
        engine::in_backends(make).map(Self)
    }
}

#[async_trait]
impl DocumentStore for RedbStore {
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
