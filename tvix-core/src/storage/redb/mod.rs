//! [`RedbStore`]: documents in one file, by the storage engine redb.
//!
//! A write is one transaction over the documents, all lists, the change log and the receipt of its
//! call, synced to the disk once; [`writer`] shares that sync among callers. [`tables`] says what
//! lies where, [`apply`] writes it, [`read`] reads it, [`engine`] opens the file and explains
//! errors.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use redb::StorageBackend;

use self::{engine::Engine, writer::Writer};
use super::{
    Batch, Change, DocKey, Document, DocumentStore, Facet, FacetCount, Filter, Fingerprint, Kind,
    Page, Seq, Written,
};
use crate::{Result, types::RequestId};

mod apply;
mod engine;
mod read;
mod tables;
mod writer;

const READ: &str = "read documents";

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
pub struct RedbStore {
    // Declared first, so dropped first: its thread has ended when the engine closes the file.
    writer: Writer,
    engine: Arc<Engine>,
}

impl RedbStore {
    /// Opens the file `path`, or makes it; its folder must exist.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when another process has it open, or a later
    /// version wrote it; [`Error::Corrupt`](crate::Error::Corrupt) when it is no store or damaged;
    /// [`Error::Backend`](crate::Error::Backend) when it cannot be read or written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::start(Engine::open(path.as_ref())?)
    }

    /// Opens the store that lies in `backend`, or makes one there. After an I/O error such a store
    /// stays unusable, because the backend cannot be opened a second time.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_backend(backend: impl StorageBackend) -> Result<Self> {
        Self::start(Engine::with_backend(backend)?)
    }

    fn start(engine: Engine) -> Result<Self> {
        let engine = Arc::new(engine);
        Ok(Self { writer: Writer::start(Arc::clone(&engine))?, engine })
    }
}

#[async_trait]
impl DocumentStore for RedbStore {
    async fn write(&self, batch: Batch) -> Result<Written> {
        self.writer.write(batch).await
    }

    async fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>> {
        self.engine.run(READ, |database| read::get(database, keys))
    }

    async fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>> {
        self.engine.run(READ, |database| read::find(database, kind, fingerprint))
    }

    async fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>> {
        self.engine.run(READ, |database| read::scan(database, kind, filter, page))
    }

    async fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>> {
        self.engine.run(READ, |database| read::facets(database, kind, facet))
    }

    async fn receipt(&self, request: RequestId) -> Result<Option<String>> {
        self.engine.run(READ, |database| read::receipt(database, request))
    }

    async fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        self.engine.run(READ, |database| read::changes(database, after, limit))
    }
}
