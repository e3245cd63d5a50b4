//! What the stores in files of this machine have in common: all but the files.
//!
//! A storage engine comes in by [`Database`]: it runs a reader on a [`Snapshot`] and a writer on
//! [`Tables`]. [`apply`] and [`read`] say what a store does with them, [`keys`] which bytes it
//! keeps, [`writer`] lets callers share the sync of a commit, and [`engine`] opens a database again
//! after a failure.

use std::fmt;

use self::{
    engine::{Engine, Opener},
    rows::{Snapshot, Tables},
    writer::Writer,
};
use super::{
    Batch, Change, DocKey, Document, Facet, FacetCount, Filter, Fingerprint, Kind, Page, Seq,
    Written,
};
use crate::{Error, Result, types::RequestId};

pub(super) mod apply;
pub(super) mod engine;
pub(super) mod keys;
mod read;
pub(super) mod rows;
mod writer;

const READ: &str = "read documents";

/// An engine's error, in our words.
pub(super) trait Failure {
    /// Whether the engine answers every later call with an error too.
    fn lasts(&self) -> bool;

    /// What to tell the caller about the failed `operation` on the store called `name`.
    fn explain(self, name: &str, operation: &str) -> Error;
}

/// Why work on a database ended early.
pub(super) enum Fault<F> {
    /// The engine failed.
    Engine(F),
    /// One record cannot be read; the engine is well.
    Record(Error),
}

/// An open storage engine.
pub(super) trait Database: Send + Sync + Sized + 'static {
    type Failure: Failure;

    /// Runs `work` on one state of the database.
    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Snapshot<Failure = Self::Failure>) -> Result<T, Fault<Self::Failure>>,
    ) -> Result<T, Fault<Self::Failure>>;

    /// Runs `work` in a transaction. When it returns `true` the transaction is committed, and on
    /// return survives a power cut; else nothing is changed.
    fn write<T>(
        &self,
        work: impl FnOnce(
            &mut dyn Tables<Failure = Self::Failure>,
        ) -> Result<(bool, T), Fault<Self::Failure>>,
    ) -> Result<T, Fault<Self::Failure>>;
}

/// A [`DocumentStore`](super::DocumentStore) over an engine.
pub(super) struct Embedded<D: Database> {
    // Declared first, so dropped first: its thread has ended when the engine closes.
    writer: Writer,
    engine: std::sync::Arc<Engine<D>>,
}

impl<D: Database> Embedded<D> {
    /// Opens the store called `name` by `open`, which is called again after an I/O error.
    pub(super) fn open(name: String, open: Opener<D>) -> Result<Self> {
        let engine = std::sync::Arc::new(Engine::open(name, open)?);
        let writing = std::sync::Arc::clone(&engine);
        let writer = Writer::start(move |batches| {
            writing.run(writer::OPERATION, |database| writer::commit(database, batches))
        })?;
        Ok(Self { writer, engine })
    }

    fn look<T>(
        &self,
        work: impl FnOnce(&dyn Snapshot<Failure = D::Failure>) -> Result<T, Fault<D::Failure>>,
    ) -> Result<T> {
        self.engine.run(READ, |database| database.read(work))
    }

    pub(super) async fn write(&self, batch: Batch) -> Result<Written> {
        self.writer.write(batch).await
    }

    pub(super) fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>> {
        self.look(|snapshot| keys.iter().map(|key| snapshot.document(*key)).collect())
    }

    pub(super) fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>> {
        self.look(|snapshot| snapshot.carriers(kind, fingerprint))
    }

    pub(super) fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>> {
        self.look(|snapshot| read::scan(snapshot, kind, filter, page))
    }

    pub(super) fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>> {
        self.look(|snapshot| read::facets(snapshot, kind, facet))
    }

    pub(super) fn receipt(&self, request: RequestId) -> Result<Option<String>> {
        let answered = self.look(|snapshot| snapshot.answered(request))?;
        Ok(answered.map(|answered| answered.receipt))
    }

    pub(super) fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        self.look(|snapshot| read::changes(snapshot, after, limit))
    }
}

impl<D: Database> fmt::Debug for Embedded<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Embedded").field(&self.engine.name()).finish()
    }
}
