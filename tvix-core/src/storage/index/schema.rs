//! The fields of the index on disk. One tantivy document is one passage; no text is stored.

use std::fmt::Write as _;

use tantivy::{
    TantivyDocument, Term,
    schema::{
        FAST, Field as Handle, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
    },
    tokenizer::{Token, TokenStream, Tokenizer},
};

use super::{
    TABLES,
    columns::day_code,
    entry::{Entry, Meta},
    table,
};
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
    /// One a kind and field of ours, each with statistics of its own.
    terms: [Handle; TABLES],
    columns: Stored,
}

/// What is kept of a passage beside its terms.
#[derive(Debug, Clone, Copy)]
struct Stored {
    kind: Handle,
    id_high: Handle,
    id_low: Handle,
    seq: Handle,
    scope: Handle,
    source: Handle,
    /// Milliseconds, for documents of a moment.
    moment: Handle,
    /// What [`day_code`] gives, for documents of a bare day.
    day: Handle,
    number: Handle,
    start: Handle,
    end: Handle,
}

/// The schema, and the handles of its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let key = schema.add_bytes_field("key", INDEXED);
    let columns = Stored {
        kind: schema.add_u64_field("kind", FAST),
        id_high: schema.add_u64_field("id_high", FAST),
        id_low: schema.add_u64_field("id_low", FAST),
        seq: schema.add_u64_field("seq", FAST),
        scope: schema.add_bytes_field("scope", FAST),
        source: schema.add_bytes_field("source", FAST),
        moment: schema.add_i64_field("moment", FAST),
        day: schema.add_i64_field("day", FAST),
        number: schema.add_u64_field("number", FAST),
        start: schema.add_u64_field("start", FAST),
        end: schema.add_u64_field("end", FAST),
    };
    let mut terms = [key; TABLES];
    for kind in Kind::ALL {
        for field in Field::ALL {
            let name = format!("{kind:?}.{field:?}").to_lowercase();
            terms[table(kind, field)] = schema.add_text_field(&name, options(field));
        }
    }
    (schema.build(), Fields { key, terms, columns })
}

fn options(field: Field) -> TextOptions {
    let record = match field {
        Field::Exact => IndexRecordOption::WithFreqs,
        Field::Title | Field::Text => IndexRecordOption::WithFreqsAndPositions,
    };
    let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER);
    TextOptions::default().set_indexing_options(indexing.set_index_option(record))
}

impl Fields {
    /// The field that holds the terms of `field` of documents of `kind`.
    pub(super) fn terms(self, kind: Kind, field: Field) -> Handle {
        self.terms[table(kind, field)]
    }

    /// All of [`Fields::terms`], by [`table`].
    pub(super) fn all_terms(self) -> [Handle; TABLES] {
        self.terms
    }

    pub(super) fn term(self, kind: Kind, field: Field, term: &str) -> Term {
        Term::from_field_text(self.terms(kind, field), term)
    }

    pub(super) fn key_term(self, key: DocKey) -> Term {
        Term::from_field_bytes(self.key, &key_bytes(key))
    }

    /// The passages of `entry`.
    pub(super) fn passages(self, entry: &Entry) -> impl Iterator<Item = TantivyDocument> {
        let passages = entry.meta.passages.iter().zip(&entry.analyses);
        passages.zip(0..).map(move |((range, analysis), number)| {
            let mut passage = self.properties(&entry.meta);
            passage.add_u64(self.columns.number, number);
            passage.add_u64(self.columns.start, range.start as u64);
            passage.add_u64(self.columns.end, range.end as u64);
            for field in Field::ALL {
                passage.add_text(self.terms(entry.meta.key.kind, field), encode(analysis, field));
            }
            passage
        })
    }

    fn properties(self, meta: &Meta) -> TantivyDocument {
        let id = u128::from_be_bytes(*meta.key.id.as_bytes());
        let columns = self.columns;
        let mut passage = TantivyDocument::default();
        passage.add_bytes(self.key, &key_bytes(meta.key));
        passage.add_u64(columns.kind, u64::from(meta.key.kind.code()));
        passage.add_u64(columns.id_high, (id >> 64) as u64);
        passage.add_u64(columns.id_low, id as u64);
        passage.add_u64(columns.seq, meta.seq.0);
        if let Some(scope) = &meta.scope {
            passage.add_bytes(columns.scope, scope.as_bytes());
        }
        passage.add_bytes(columns.source, meta.source.as_bytes());
        match meta.time {
            EventTime::At(moment) => passage.add_i64(columns.moment, moment.as_millis()),
            EventTime::On(day) => passage.add_i64(columns.day, day_code(day)),
        }
        passage
    }
}

fn key_bytes(key: DocKey) -> [u8; 17] {
    let mut bytes = [key.kind.code(); 17];
    bytes[1..].copy_from_slice(key.id.as_bytes());
    bytes
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
