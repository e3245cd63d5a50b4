//! The fields of the index on disk. One tantivy document is one passage; no text is stored.

use std::fmt::Write as _;

use tantivy::{
    TantivyDocument, Term,
    schema::{
        FAST, Field as Handle, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing,
        TextOptions,
    },
    tokenizer::{Token, TokenStream, Tokenizer},
};

use super::entry::{Entry, Meta};
use crate::{
    search::analyze::{Analysis, Field},
    storage::{DocKey, Kind},
    types::EventTime,
};

/// Name under which [`Terms`] is registered.
pub(super) const TOKENIZER: &str = "tvix-terms";

/// Handles of the fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// Kind and identifier, by which documents are deleted.
    key: Handle,
    kind: Handle,
    id_high: Handle,
    id_low: Handle,
    seq: Handle,
    scope: Handle,
    source: Handle,
    /// Milliseconds, for documents of a moment.
    pub(super) moment: Handle,
    /// Days since 1970-01-01, for documents of a bare day.
    pub(super) day: Handle,
    start: Handle,
    end: Handle,
    terms: [Handle; 3],
}

/// The schema, and the handles of its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let terms = |option| {
        let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER);
        TextOptions::default().set_indexing_options(indexing.set_index_option(option))
    };
    let positions = IndexRecordOption::WithFreqsAndPositions;
    let fields = Fields {
        key: schema.add_bytes_field("key", INDEXED),
        kind: schema.add_u64_field("kind", INDEXED | FAST),
        id_high: schema.add_u64_field("id_high", FAST),
        id_low: schema.add_u64_field("id_low", FAST),
        seq: schema.add_u64_field("seq", FAST),
        scope: schema.add_text_field("scope", STRING),
        source: schema.add_text_field("source", STRING),
        moment: schema.add_i64_field("moment", FAST),
        day: schema.add_i64_field("day", FAST),
        start: schema.add_u64_field("start", FAST),
        end: schema.add_u64_field("end", FAST),
        terms: [
            schema.add_text_field("title", terms(positions)),
            schema.add_text_field("text", terms(positions)),
            schema.add_text_field("exact", terms(IndexRecordOption::WithFreqs)),
        ],
    };
    (schema.build(), fields)
}

/// Days from 1970-01-01 to the day of `time`.
pub(super) fn day_number(time: EventTime) -> i64 {
    time.order().as_millis().div_euclid(24 * 60 * 60 * 1000)
}

impl Fields {
    /// The field that holds the terms of `field`.
    pub(super) fn terms(self, field: Field) -> Handle {
        self.terms[field.index()]
    }

    pub(super) fn term(self, field: Field, term: &str) -> Term {
        Term::from_field_text(self.terms(field), term)
    }

    pub(super) fn key_term(self, key: DocKey) -> Term {
        Term::from_field_bytes(self.key, &key_bytes(key))
    }

    pub(super) fn kind_term(self, kind: Kind) -> Term {
        Term::from_field_u64(self.kind, u64::from(kind.code()))
    }

    pub(super) fn source_term(self, source: &str) -> Term {
        Term::from_field_text(self.source, source)
    }

    pub(super) fn scope_term(self, scope: Option<&str>) -> Term {
        Term::from_field_text(self.scope, &scope_text(scope))
    }

    /// The passages of `entry`.
    pub(super) fn passages(self, entry: &Entry) -> impl Iterator<Item = TantivyDocument> {
        let passages = entry.meta.passages.iter().zip(&entry.analyses);
        passages.map(move |(range, analysis)| {
            let mut passage = self.properties(&entry.meta);
            passage.add_u64(self.start, range.start as u64);
            passage.add_u64(self.end, range.end as u64);
            for field in Field::ALL {
                passage.add_text(self.terms(field), encode(analysis, field));
            }
            passage
        })
    }

    fn properties(self, meta: &Meta) -> TantivyDocument {
        let id = u128::from_be_bytes(*meta.key.id.as_bytes());
        let mut passage = TantivyDocument::default();
        passage.add_bytes(self.key, &key_bytes(meta.key));
        passage.add_u64(self.kind, u64::from(meta.key.kind.code()));
        passage.add_u64(self.id_high, (id >> 64) as u64);
        passage.add_u64(self.id_low, id as u64);
        passage.add_u64(self.seq, meta.seq.0);
        passage.add_text(self.scope, scope_text(meta.scope.as_deref()));
        passage.add_text(self.source, &meta.source);
        match meta.time {
            EventTime::At(moment) => passage.add_i64(self.moment, moment.as_millis()),
            time @ EventTime::On(_) => passage.add_i64(self.day, day_number(time)),
        }
        passage
    }
}

fn key_bytes(key: DocKey) -> [u8; 17] {
    let mut bytes = [key.kind.code(); 17];
    bytes[1..].copy_from_slice(key.id.as_bytes());
    bytes
}

/// A scope as a term: any key differs from having none.
fn scope_text(scope: Option<&str>) -> String {
    scope.map_or_else(|| "-".to_owned(), |key| format!("={key}"))
}

/// The terms of a field as lines of position, space, term: what [`Terms`] reads back. The engine
/// analyses text only through a tokenizer, and ours has done its work by then.
fn encode(analysis: &Analysis, field: Field) -> String {
    let mut lines = String::new();
    for occurrence in analysis.field(field) {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{} {}", occurrence.position, occurrence.term);
    }
    lines
}

/// Reads terms back from the lines that [`encode`] wrote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms;

/// Iterator of [`Terms`].
pub(super) struct Lines<'a> {
    lines: std::str::Lines<'a>,
    token: Token,
}

impl Tokenizer for Terms {
    type TokenStream<'a> = Lines<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Lines<'a> {
        Lines { lines: text.lines(), token: Token::default() }
    }
}

impl TokenStream for Lines<'_> {
    fn advance(&mut self) -> bool {
        let Some((position, term)) = self.lines.next().and_then(|line| line.split_once(' ')) else {
            return false;
        };
        self.token.position = position.parse().unwrap_or_default();
        self.token.text.clear();
        self.token.text.push_str(term);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
