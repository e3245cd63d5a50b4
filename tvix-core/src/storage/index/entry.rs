//! A document as an index keeps it.

use std::{ops::Range, sync::Arc};

use super::{bm25::rounded, documents::Lengths};
use crate::{
    search::{
        analyze::{Analysis, Field},
        chunk::chunks,
    },
    storage::{DocKey, Document, Filter, Seq},
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
    /// Whether the document passes `filter`.
    pub(super) fn passes(&self, filter: &Filter) -> bool {
        filter.accepts_parts(self.scope.as_deref(), &self.source, self.time)
    }
}

impl Entry {
    /// Cuts `document`, as of the change `seq`, into passages and analyses each, with title, headings
    /// and date.
    pub(super) fn of(document: &Document, seq: Seq) -> Self {
        let chunks = chunks(&document.text);
        let date = document.event_time().map(EventTime::words).unwrap_or_default();
        let analyses = chunks.iter().map(|chunk| {
            let text = &document.text[chunk.range.clone()];
            Analysis::new(&document.title, &chunk.headings, text).dated(&date)
        });
        let analyses = analyses.collect();
        let meta = Meta {
            key: document.key,
            seq,
            scope: document.scope.as_ref().map(|scope| scope.key.clone()),
            source: document.source.key().as_str().to_owned(),
            time: document.time,
            passages: chunks.into_iter().map(|chunk| chunk.range).collect(),
        };
        Self { analyses, meta: Arc::new(meta) }
    }

    /// How many terms the fields of each passage have.
    pub(super) fn lengths(&self) -> Vec<Lengths> {
        let length = |analysis: &Analysis, field| rounded(analysis.field(field).len());
        let lengths = self.analyses.iter();
        lengths.map(|analysis| Field::ALL.map(|field| length(analysis, field))).collect()
    }
}
