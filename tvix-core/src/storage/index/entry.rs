//! A document as an index keeps it.

use std::{ops::Range, sync::Arc};

use crate::{
    search::{
        analyze::Analysis,
        chunk::{Chunk, chunks},
    },
    storage::{DocKey, Document, Filter, IndexQuery, Seq},
    types::EventTime,
};

/// What filters and ranked lists need of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meta {
    pub(super) key: DocKey,
    pub(super) seq: Seq,
    pub(super) scope: Option<String>,
    pub(super) source: String,
    pub(super) time: EventTime,
    /// Bytes of the text, one range a passage.
    pub(super) passages: Vec<Range<usize>>,
}

/// An analysed document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) meta: Arc<Meta>,
    /// One a passage.
    pub(super) analyses: Vec<Analysis>,
}

impl Meta {
    /// Cuts `document`, as of the change `seq`, into passages, whose vectors come from elsewhere.
    #[cfg(feature = "local")]
    pub(super) fn of(document: &Document, seq: Seq) -> Self {
        Self::with_chunks(document, seq, &chunks(&document.text))
    }

    fn with_chunks(document: &Document, seq: Seq, chunks: &[Chunk]) -> Self {
        Self {
            key: document.key,
            seq,
            scope: document.scope.as_ref().map(|scope| scope.key.clone()),
            source: document.source.key().as_str().to_owned(),
            time: document.time,
            passages: chunks.iter().map(|chunk| chunk.range.clone()).collect(),
        }
    }

    /// Whether the document is one that `query` asks for.
    pub(super) fn accepted_by(&self, query: &IndexQuery) -> bool {
        self.key.kind == query.kind && self.passes(&query.filter)
    }

    fn passes(&self, filter: &Filter) -> bool {
        filter.accepts_parts(self.scope.as_deref(), &self.source, self.time)
    }
}

impl Entry {
    /// Cuts `document` into passages and analyses each, with title and headings.
    pub(super) fn of(document: &Document, seq: Seq) -> Self {
        let chunks = chunks(&document.text);
        let analyses = chunks.iter().map(|chunk| {
            Analysis::new(&document.title, &chunk.headings, &document.text[chunk.range.clone()])
        });
        Self {
            analyses: analyses.collect(),
            meta: Arc::new(Meta::with_chunks(document, seq, &chunks)),
        }
    }
}
