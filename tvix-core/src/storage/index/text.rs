//! The committed part of the local index: tantivy's segments, read with our numbers for passages.

use std::{collections::HashSet, sync::Arc};

use tantivy::{
    DocSet, Searcher, SegmentReader, TERMINATED, TantivyError,
    collector::DocSetCollector,
    index::SegmentId,
    postings::Postings as _,
    query::{BooleanQuery, PhraseQuery, Query, TermQuery},
    schema::IndexRecordOption::{Basic, WithFreqs},
};

use super::{
    columns::Columns,
    documents::{Documents, Lengths, NONE, PassageId},
    entry::Meta,
    rank::{Match, Source},
    schema::Fields,
};
use crate::{
    Error, Result,
    search::analyze::{Field, Phrase},
    storage::{DocKey, Kind},
};

/// What is committed, as of one commit.
pub(super) struct Committed {
    searcher: Searcher,
    fields: Fields,
    segments: Vec<Arc<Numbers>>,
}

/// Our numbers of the passages of a segment.
struct Numbers {
    segment: SegmentId,
    deleted: u32,
    /// By the segment's own number; [`NONE`] for those that are gone.
    passages: Vec<PassageId>,
}

/// Turns an error of the engine into ours.
pub(super) fn failed(error: TantivyError) -> Error {
    match error {
        TantivyError::DataCorruption(_) | TantivyError::IncompatibleIndex(_) => {
            Error::corrupt("text index", error)
        }
        error => Error::backend("text index", error),
    }
}

impl Committed {
    /// What `searcher` sees, with the numbers that `documents` gives. Segments that `earlier` has as
    /// they are keep theirs.
    pub(super) fn new(
        searcher: Searcher,
        fields: Fields,
        documents: &Documents,
        earlier: Option<&Self>,
    ) -> Result<Self> {
        let segments = searcher.segment_readers().iter().map(|segment| {
            let known = earlier.and_then(|earlier| earlier.numbers(segment));
            known.map_or_else(|| Numbers::of(segment, fields, documents).map(Arc::new), Ok)
        });
        let segments = segments.collect::<tantivy::Result<_>>().map_err(failed)?;
        Ok(Self { searcher, fields, segments })
    }

    fn numbers(&self, segment: &SegmentReader) -> Option<Arc<Numbers>> {
        let same = |known: &&Arc<Numbers>| {
            known.segment == segment.segment_id() && known.deleted == segment.num_deleted_docs()
        };
        self.segments.iter().find(same).cloned()
    }

    /// Every document of `searcher`.
    pub(super) fn load(searcher: &Searcher, fields: Fields) -> Result<Documents> {
        let segments = searcher.segment_readers().iter();
        let columns = segments.map(|segment| Columns::open(segment, fields));
        let columns: Vec<Columns> = columns.collect::<tantivy::Result<_>>().map_err(failed)?;
        let mut found: Vec<(DocKey, u32, u32, u32)> = Vec::new();
        for (at, (segment, columns)) in (0..).zip(searcher.segment_readers().iter().zip(&columns)) {
            for doc in segment.doc_ids_alive() {
                let key = columns.key(doc).ok_or_else(|| damaged("a passage without a key"))?;
                found.push((key, columns.number(doc), at, doc));
            }
        }
        found.sort_unstable();
        let mut documents = Documents::default();
        for passages in found.chunk_by(|a, b| a.0 == b.0) {
            let places =
                passages.iter().map(|(_, _, segment, doc)| (&columns[*segment as usize], *doc));
            let (meta, lengths) = document(passages[0].0, places)?;
            documents.insert(&Arc::new(meta), &lengths);
        }
        Ok(documents)
    }

    fn number(&self, segment: u32, doc: u32) -> PassageId {
        let segment = self.segments.get(segment as usize);
        segment.and_then(|numbers| numbers.passages.get(doc as usize)).copied().unwrap_or(NONE)
    }
}

/// The document under `key`, whose passages stand at `places`, and their lengths.
fn document<'a>(
    key: DocKey,
    places: impl Iterator<Item = (&'a Columns, u32)> + Clone,
) -> Result<(Meta, Vec<Lengths>)> {
    let meta = places.clone().next().and_then(|(columns, doc)| columns.meta(key, doc));
    let mut meta = meta.ok_or_else(|| damaged("a passage without a time"))?;
    meta.passages = places.clone().map(|(columns, doc)| columns.range(doc)).collect();
    Ok((meta, places.map(|(columns, doc)| columns.lengths(key.kind, doc)).collect()))
}

fn damaged(what: &str) -> Error {
    Error::corrupt("text index", what)
}

impl Numbers {
    fn of(segment: &SegmentReader, fields: Fields, documents: &Documents) -> tantivy::Result<Self> {
        let columns = Columns::open(segment, fields)?;
        let mut passages = vec![NONE; segment.max_doc() as usize];
        for doc in segment.doc_ids_alive() {
            let key = columns.key(doc);
            let Some(key) = key.filter(|key| documents.seq(*key) == columns.seq(doc)) else {
                continue;
            };
            let passage = documents.passages_of(key).nth(columns.number(doc) as usize);
            passages[doc as usize] = passage.unwrap_or(NONE);
        }
        let (segment, deleted) = (segment.segment_id(), segment.num_deleted_docs());
        Ok(Self { segment, deleted, passages })
    }
}

impl Source for Committed {
    fn matches(
        &self,
        kind: Kind,
        field: Field,
        term: &str,
        emit: &mut dyn FnMut(Match),
    ) -> Result<()> {
        let term = self.fields.term(kind, field, term);
        for (segment, numbers) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let index = segment.inverted_index(term.field()).map_err(failed)?;
            let postings = index.read_postings(&term, WithFreqs);
            let Some(mut postings) = postings.map_err(TantivyError::from).map_err(failed)? else {
                continue;
            };
            let norms = segment.get_fieldnorms_reader(term.field()).map_err(failed)?;
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                let passage = numbers.passages.get(doc as usize).copied().unwrap_or(NONE);
                if passage != NONE {
                    let (count, length) = (postings.term_freq(), norms.fieldnorm(doc));
                    emit(Match { passage, count, length });
                }
                postings.advance();
            }
        }
        Ok(())
    }

    fn phrase(&self, kind: Kind, phrase: &Phrase) -> Result<HashSet<PassageId>> {
        let query = self.phrase_query(kind, phrase);
        let found = self.searcher.search(&query, &DocSetCollector).map_err(failed)?;
        let numbers = found.into_iter().map(|at| self.number(at.segment_ord, at.doc_id));
        Ok(numbers.filter(|passage| *passage != NONE).collect())
    }
}

impl Committed {
    fn phrase_query(&self, kind: Kind, phrase: &Phrase) -> BooleanQuery {
        let fields = Field::of_phrase(phrase).iter().map(|field| -> Box<dyn Query> {
            let term = |term: &str| self.fields.term(kind, *field, term);
            match &phrase.terms[..] {
                [(_, only)] => Box::new(TermQuery::new(term(only), Basic)),
                terms => {
                    let terms = terms.iter().map(|(at, word)| (*at as usize, term(word)));
                    Box::new(PhraseQuery::new_with_offset(terms.collect()))
                }
            }
        });
        BooleanQuery::union(fields.collect())
    }
}
