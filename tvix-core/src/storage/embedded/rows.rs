//! What a storage engine offers to a store: rows that are looked up, walked and changed.

use super::{
    Failure, Fault,
    keys::{Answered, Moment, Tally, TimeBytes},
};
use crate::{
    Result,
    storage::{DocKey, Document, Facet, Fingerprint, Kind, Seq},
    types::{EventTime, RequestId, Timestamp},
};

/// What readers and writers look up.
pub(crate) trait Look {
    type Failure: Failure;

    fn document(&self, key: DocKey) -> Result<Option<Document>, Fault<Self::Failure>>;

    /// The documents that carry `fingerprint`, lowest id first.
    fn carriers(
        &self,
        kind: Kind,
        fingerprint: &Fingerprint,
    ) -> Result<Vec<DocKey>, Fault<Self::Failure>>;

    fn answered(&self, request: RequestId) -> Result<Option<Answered>, Fault<Self::Failure>>;
}

/// Takes a place of the timeline and its [`Moment`], encoded; `false` ends the walk.
pub(crate) type Visit<'v, F> = &'v mut dyn FnMut(&TimeBytes, &[u8]) -> Result<bool, Fault<F>>;

/// One state of the store, to be read.
pub(crate) trait Snapshot: Look {
    /// Walks the timeline of `kind` from the latest to the earliest moment, both inclusive.
    fn walk(
        &self,
        kind: Kind,
        between: (Timestamp, Timestamp),
        visit: Visit<'_, Self::Failure>,
    ) -> Result<(), Fault<Self::Failure>>;

    /// The scopes or sources of `kind`: key and numbers.
    fn tallies(
        &self,
        kind: Kind,
        facet: Facet,
    ) -> Result<Vec<(String, Tally)>, Fault<Self::Failure>>;

    /// Rows of the change log after `after`, oldest first.
    fn log(&self, after: Seq, limit: usize) -> Result<Vec<(Seq, DocKey)>, Fault<Self::Failure>>;
}

/// The rows of the store inside a write transaction, which sees its own changes. To set a row to
/// `None` is to remove it.
pub(crate) trait Tables: Look {
    fn put_document(&mut self, document: &Document) -> Result<(), Fault<Self::Failure>>;
    fn remove_document(&mut self, key: DocKey) -> Result<(), Fault<Self::Failure>>;

    /// The place of a document on the timeline.
    fn set_place(
        &mut self,
        key: DocKey,
        time: EventTime,
        moment: Option<&Moment>,
    ) -> Result<(), Fault<Self::Failure>>;

    /// Whether `key` is listed among the carriers of a fingerprint.
    fn set_carrier(
        &mut self,
        fingerprint: &Fingerprint,
        key: DocKey,
        listed: bool,
    ) -> Result<(), Fault<Self::Failure>>;

    /// A row of the change log.
    fn set_change(&mut self, seq: Seq, key: Option<DocKey>) -> Result<(), Fault<Self::Failure>>;

    /// The change that deleted `key`; returns what was there.
    fn set_deletion(
        &mut self,
        key: DocKey,
        seq: Option<Seq>,
    ) -> Result<Option<Seq>, Fault<Self::Failure>>;

    fn tally(
        &self,
        kind: Kind,
        facet: Facet,
        key: &str,
    ) -> Result<Option<Tally>, Fault<Self::Failure>>;
    fn set_tally(
        &mut self,
        kind: Kind,
        place: (Facet, &str),
        tally: Option<&Tally>,
    ) -> Result<(), Fault<Self::Failure>>;

    fn set_answered(
        &mut self,
        request: RequestId,
        answered: Option<&Answered>,
    ) -> Result<(), Fault<Self::Failure>>;

    /// How many calls are remembered.
    fn calls(&self) -> Result<u64, Fault<Self::Failure>>;
    fn oldest_call(&self) -> Result<Option<(u64, RequestId)>, Fault<Self::Failure>>;
    fn newest_call(&self) -> Result<Option<u64>, Fault<Self::Failure>>;
    fn set_call(
        &mut self,
        call: u64,
        request: Option<RequestId>,
    ) -> Result<(), Fault<Self::Failure>>;

    /// How many documents of `kind` live.
    fn live(&self, kind: Kind) -> Result<u64, Fault<Self::Failure>>;
    fn set_live(&mut self, kind: Kind, count: u64) -> Result<(), Fault<Self::Failure>>;

    /// The last change; zero in an empty store.
    fn last_seq(&self) -> Result<Seq, Fault<Self::Failure>>;
    fn set_last_seq(&mut self, seq: Seq) -> Result<(), Fault<Self::Failure>>;
}
