//! What a backend implements: two small traits without default methods, over plain types.
//!
//! [`DocumentStore`] keeps the documents: they are the truth. [`SearchIndex`] is derived from the
//! store's change log and can be deleted at any time. A third party's backend proves itself with
//! the suite in `conformance` (feature of that name).

use std::{fmt::Debug, ops::Range};

use async_trait::async_trait;

use crate::{
    Result,
    embed::{Model, Vector},
    search::analyze::{TermSet, TextQuery},
    types::{Id, RequestId},
};

mod document;
#[cfg(any(feature = "local", feature = "sled"))]
mod embedded;
mod filter;
pub mod index;
mod memory;
mod parts;
#[cfg(feature = "local")]
mod redb;
#[cfg(feature = "sled")]
mod sled;

#[cfg(feature = "local")]
pub use self::redb::RedbStore;
#[cfg(feature = "sled")]
pub use self::sled::SledStore;
pub use document::{DocKey, Document, Fingerprint, Kind, Reference, Scope, Seq};
pub use filter::{Filter, Page, ScopeFilter};
pub use memory::MemoryStore;

/// Keeps documents and the log of their changes.
///
/// Every write gets a [`Seq`] greater than all before it. The log holds one change per live document
/// (its last) and one per deleted key, so it never outgrows the data.
#[async_trait]
pub trait DocumentStore: Debug + Send + Sync {
    /// Applies the whole batch, or nothing. On return it survives a power cut.
    ///
    /// When the batch carries a request that was seen before, nothing is applied and the answer is
    /// [`Written::Repeated`] with the receipt of the first time. When a condition does not hold,
    /// nothing is applied and the answer is [`Written::Refused`]. Conditions of one batch see the
    /// effect of the operations before them. A document's `seq` is set by the store; what the caller
    /// put there is ignored. The first document of a scope gives the scope its name: later
    /// documents of the same scope key are stored under that name.
    async fn write(&self, batch: Batch) -> Result<Written>;

    /// The documents under `keys`, in that order; `None` for those that are not there.
    async fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>>;

    /// Keys of the live documents of `kind` that carry `fingerprint`, lowest id first.
    async fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>>;

    /// The documents of `kind` that pass `filter`: latest `time` first
    /// ([`EventTime::order`](crate::types::EventTime::order)), ties by id, greatest first.
    async fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>>;

    /// The scopes or sources that live documents of `kind` have, with their numbers; the one that
    /// changed last first. Documents without a scope are not counted among scopes.
    async fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>>;

    /// What was answered to the call `request`, if it wrote something and is still remembered
    /// (24 hours, the last 10,000).
    async fn receipt(&self, request: RequestId) -> Result<Option<String>>;

    /// Changes after `seq`, oldest first, at most `limit`: what an index has still to see.
    async fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>>;
}

/// How long a [`Request`] is remembered, in milliseconds.
pub const RECEIPT_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;
/// How many requests are remembered at most.
pub const RECEIPTS_MAX: usize = 10_000;

/// Operations that are applied together or not at all.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// What to do, in order.
    pub operations: Vec<Operation>,
    /// The call this batch belongs to, so that it lands once.
    pub request: Option<Request>,
}

/// The call behind a batch.
#[derive(Debug, Clone)]
pub struct Request {
    /// The identifier of the call.
    pub id: RequestId,
    /// The answer to give when the call is sent again.
    pub receipt: String,
    /// When it was made: forgotten after [`RECEIPT_LIFETIME_MS`].
    pub at: crate::types::Timestamp,
}

/// One change of one document.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Stores a document in place of what its key held.
    Put {
        /// The document.
        document: Box<Document>,
        /// All of these must hold.
        conditions: Vec<Condition>,
    },
    /// Removes a document. An absent key is no error and no change: the log does not grow.
    Delete {
        /// The key.
        key: DocKey,
        /// All of these must hold.
        conditions: Vec<Condition>,
    },
}

/// What must hold inside the transaction for an operation to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// No other live document of the kind carries the same fingerprint.
    NoTwin,
    /// The key still holds the document of this change.
    Unchanged(Seq),
    /// The kind holds fewer live documents than this.
    FewerThan(u64),
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// Applied and durable; `seq` is that of its last operation.
    Done {
        /// The last change of the batch; of the store, when the batch changed nothing.
        seq: Seq,
    },
    /// Not applied: this call was applied before.
    Repeated {
        /// What was answered then.
        receipt: String,
    },
    /// Not applied: a condition does not hold.
    Refused {
        /// Position of the operation in the batch.
        operation: usize,
        /// The condition.
        condition: Condition,
        /// The twin, for [`Condition::NoTwin`].
        existing: Option<DocKey>,
    },
}

/// One row of the change log.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its place in the log.
    pub seq: Seq,
    /// What changed.
    pub key: DocKey,
    /// The document as it is now; `None` when it was deleted.
    pub document: Option<Document>,
}

/// A property by which documents are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Facet {
    /// [`Document::scope`].
    Scope,
    /// [`Document::source`].
    Source,
}

/// How many live documents share a scope or source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetCount {
    /// What filters compare.
    pub key: String,
    /// What people see.
    pub name: String,
    /// Live documents.
    pub count: u64,
    /// The last change among them, deletions included.
    pub last_change: Seq,
}

/// Finds documents by word and by meaning.
///
/// An index is a cursor over the change log, or rather two: one for the text and one for the vectors,
/// which may follow later. Normal indexing, recovery after a crash and a full rebuild are the same
/// calls to [`apply`](Self::apply) and [`apply_vectors`](Self::apply_vectors).
#[async_trait]
pub trait SearchIndex: Debug + Send + Sync {
    /// The last change that reached the disk, or the last applied for an index in memory. What comes
    /// after it must be applied again after opening. `Seq::ZERO` means "rebuild me".
    async fn cursor(&self) -> Result<Seq>;

    /// Takes the text of changes in, oldest first; they are seen by the next query. Idempotent.
    async fn apply(&self, changes: &[Change]) -> Result<()>;

    /// The documents that share terms with the query, best first, one entry a document.
    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>>;

    /// The last change whose vectors of `model` reached the disk, or were applied to an index in
    /// memory. Vectors of any other model are forgotten by this call: the answer is then `Seq::ZERO`.
    async fn vector_cursor(&self, model: &Model) -> Result<Seq>;

    /// Takes vectors of the model last named to [`vector_cursor`](Self::vector_cursor) in; they are
    /// seen by the next query. All changes up to `cursor` have theirs then. Vectors of a change that
    /// the text does not stem from are not found.
    async fn apply_vectors(&self, embedded: &[Embedded], cursor: Seq) -> Result<()>;

    /// The documents whose passages lie nearest to `vector`, best first, one entry a document.
    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>>;

    /// The memories next to each of `keys` in time, in that order.
    async fn neighbours(&self, keys: &[DocKey]) -> Result<Vec<Neighbours>>;

    /// The change of which each of `keys` is found at present, in that order; `None` for those that no
    /// query finds.
    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>>;

    /// Looks at everything it holds. May take as long as reading all of it.
    async fn inspect(&self) -> Result<IndexState>;

    /// Forgets everything: both cursors are zero again.
    async fn reset(&self) -> Result<()>;
}

/// The vectors of one document, as of one change.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The document.
    pub key: DocKey,
    /// The change.
    pub seq: Seq,
    /// Its vectors; none when it was deleted or no part of it has one.
    pub vectors: Vec<PassageVector>,
}

/// The vector of a passage or of a part of it. Of several the nearest counts.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageVector {
    /// The passage: bytes of [`Document::text`], one of [`chunks`](crate::search::chunk::chunks).
    pub passage: Range<usize>,
    /// The vector, of length 1.
    pub vector: Vector,
}

/// Who stands next to a memory: the same project and source, at most 30 minutes away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The one before it.
    pub before: Option<DocKey>,
    /// The one after it.
    pub after: Option<DocKey>,
}

/// What an index says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexState {
    /// How many documents its queries can find.
    pub documents: u64,
    /// How many of them can be found by meaning.
    pub embedded: u64,
    /// What is damaged, a line each; empty when nothing is.
    pub damage: Vec<String>,
}

/// What an index is asked.
#[derive(Debug, Clone)]
pub struct IndexQuery {
    /// The kind of document wanted.
    pub kind: Kind,
    /// The analysed text.
    pub text: TextQuery,
    /// Applied before the best are chosen.
    pub filter: Filter,
    /// How many documents to return at most.
    pub limit: usize,
    /// Whether a memory is also judged by what stands next to it in time.
    pub context: bool,
    /// Whether every passage is an entry of its own, in place of the best of each document.
    pub each_passage: bool,
}

impl IndexQuery {
    /// Whether neighbours count: only memories have some.
    pub fn uses_context(&self) -> bool {
        self.context && self.kind == Kind::Memory
    }
}

/// One document of a ranked list.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The document.
    pub key: DocKey,
    /// The leg's own score: BM25, or cosine. Comparable within one list only.
    pub score: f32,
    /// The best passage: bytes of [`Document::text`].
    pub passage: Range<usize>,
    /// The terms of the query that it holds; empty in a list by meaning.
    pub terms: TermSet,
    /// The terms that its neighbours in time hold.
    pub around: TermSet,
    /// Its cosine with the query; `None` in a list by word.
    pub cosine: Option<f32>,
}

impl DocKey {
    /// The key of the record `id` of `kind`.
    pub fn new(kind: Kind, id: Id) -> Self {
        Self { kind, id }
    }
}
