//! The committed part of the local index: tantivy's segments, read with our terms and our statistics.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
};

use tantivy::{
    DocAddress, Score, Searcher, SegmentReader, TantivyError, Term,
    collector::{DocSetCollector, TopDocs},
    columnar::Column,
    query::{
        Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery,
        Query, RangeQuery, TermQuery,
    },
    schema::IndexRecordOption::{Basic, WithFreqs},
};

use super::{Best, bm25::Statistics, schema::Fields};
use crate::{
    Error, Result,
    search::analyze::{Field, Phrase, TextQuery},
    storage::{DocKey, IndexQuery, Kind, ScopeFilter, Seq},
    types::{EventTime, Id, TimeRange},
};

/// What is committed, as of one commit.
pub(super) struct Committed {
    searcher: Searcher,
    fields: Fields,
    columns: Vec<Columns>,
}

/// What the passages of a segment say of themselves.
struct Columns {
    kind: Column<u64>,
    id_high: Column<u64>,
    id_low: Column<u64>,
    seq: Column<u64>,
    start: Column<u64>,
    end: Column<u64>,
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
    /// What `searcher` sees.
    pub(super) fn new(searcher: Searcher, fields: Fields) -> Result<Self> {
        let columns = searcher.segment_readers().iter().map(Columns::open);
        let columns = columns.collect::<tantivy::Result<_>>().map_err(failed)?;
        Ok(Self { searcher, fields, columns })
    }

    /// The change of which the document under `key` is indexed.
    pub(super) fn seq(&self, key: DocKey) -> Result<Option<Seq>> {
        let term = self.fields.key_term(key);
        for (segment, columns) in self.searcher.segment_readers().iter().zip(&self.columns) {
            let found = first_living(segment, &term).map_err(failed)?;
            if let Some(seq) = found.and_then(|doc| columns.seq.first(doc)) {
                return Ok(Some(Seq(seq)));
            }
        }
        Ok(None)
    }

    /// How many documents are here: each has one passage that begins where its text does.
    pub(super) fn documents(&self) -> u64 {
        let segments = self.searcher.segment_readers().iter().zip(&self.columns);
        let first = segments.map(|(segment, columns)| {
            let living = (0..segment.max_doc()).filter(|doc| !segment.is_deleted(*doc));
            living.filter(|doc| columns.start.first(*doc) == Some(0)).count() as u64
        });
        first.sum()
    }

    /// What this part adds to the statistics for `query`. Documents that were replaced or deleted
    /// count until their segment is merged.
    pub(super) fn statistics(&self, query: &TextQuery) -> Result<Statistics> {
        let mut statistics = Statistics::empty(query.terms().len());
        statistics.passages = self.searcher.total_num_docs().map_err(failed)?;
        for field in Field::ALL {
            let tokens = self.searcher.total_num_tokens(self.fields.terms(field));
            statistics.tokens[field.index()] = tokens.map_err(failed)?;
        }
        for (term, frequency) in query.terms().iter().zip(&mut statistics.frequencies) {
            let term = self.fields.term(term.field, &term.term);
            *frequency = self.searcher.doc_freq(&term).map_err(failed)?;
        }
        Ok(statistics)
    }

    /// Offers the best `query.limit` documents to `best`, scored by `statistics`, and maybe more.
    /// Those that are `masked` were changed since the commit.
    pub(super) fn search(
        &self,
        query: &IndexQuery,
        statistics: &Statistics,
        masked: &dyn Fn(DocKey) -> bool,
        best: &mut Best,
    ) -> Result<()> {
        let filters = self.filters(query);
        let phrases = self.in_all_phrases(query.text.phrases(), &filters)?;
        let tree = self.tree(&query.text, filters);
        let provider = Provider::new(self.fields, &query.text, statistics);
        let living =
            |key: DocKey| !masked(key) && phrases.as_ref().is_none_or(|p| p.contains(&key));
        let total = usize::try_from(self.searcher.num_docs()).unwrap_or(usize::MAX);
        let mut wanted = query.limit.saturating_mul(2).saturating_add(48).min(total.max(1));
        // Passages of one document and masked ones take places, so ask for more until there are
        // enough documents, or no more passages.
        loop {
            let top = TopDocs::with_limit(wanted).order_by_score();
            let hits = self.searcher.search_with_statistics_provider(&tree, &top, &provider);
            let hits = hits.map_err(failed)?;
            if hits.len() < wanted || wanted == total || self.enough(&hits, query.limit, &living) {
                self.offer(&hits, &living, best);
                return Ok(());
            }
            wanted = wanted.saturating_mul(8).min(total);
        }
    }

    /// Whether `limit` documents rank above the last hit: what ties with it may not all be there.
    fn enough(
        &self,
        hits: &[(Score, DocAddress)],
        limit: usize,
        living: &dyn Fn(DocKey) -> bool,
    ) -> bool {
        let least = hits.last().map_or(0.0, |(score, _)| *score);
        let above = hits.iter().take_while(|(score, _)| *score > least);
        let keys = above.filter_map(|(_, address)| self.key(*address)).filter(|key| living(*key));
        keys.collect::<HashSet<_>>().len() >= limit
    }

    fn offer(
        &self,
        hits: &[(Score, DocAddress)],
        living: &dyn Fn(DocKey) -> bool,
        best: &mut Best,
    ) {
        for (score, address) in hits {
            let Some(key) = self.key(*address).filter(|key| living(*key)) else { continue };
            let columns = &self.columns[address.segment_ord as usize];
            let byte = |column: &Column<u64>| column.first(address.doc_id).unwrap_or(0) as usize;
            best.offer(key, *score, byte(&columns.start)..byte(&columns.end));
        }
    }

    fn key(&self, address: DocAddress) -> Option<DocKey> {
        let columns = self.columns.get(address.segment_ord as usize)?;
        let kind = columns.kind.first(address.doc_id)?;
        let kind = Kind::from_code(u8::try_from(kind).ok()?)?;
        let (high, low) =
            (columns.id_high.first(address.doc_id)?, columns.id_low.first(address.doc_id)?);
        let id = (u128::from(high) << 64) | u128::from(low);
        Some(DocKey { kind, id: Id::from_bytes(id.to_be_bytes()) })
    }

    /// The documents that hold every phrase, in whichever passage; `None` when the query of passages
    /// sees to that alone.
    fn in_all_phrases(
        &self,
        phrases: &[Phrase],
        filters: &[Box<dyn Query>],
    ) -> Result<Option<HashSet<DocKey>>> {
        if phrases.len() < 2 {
            return Ok(None);
        }
        let mut all: Option<HashSet<DocKey>> = None;
        for phrase in phrases {
            let mut clauses: Vec<_> = filters.iter().map(|filter| filter.box_clone()).collect();
            clauses.push(self.phrases(std::slice::from_ref(phrase)));
            let found = BooleanQuery::intersection(clauses);
            let found = self.searcher.search(&found, &DocSetCollector).map_err(failed)?;
            let keys: HashSet<_> = found.into_iter().filter_map(|at| self.key(at)).collect();
            all = Some(all.map_or_else(|| keys.clone(), |all| &all & &keys));
        }
        Ok(all)
    }

    fn tree(&self, query: &TextQuery, filters: Vec<Box<dyn Query>>) -> BooleanQuery {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> =
            filters.into_iter().map(|filter| (Occur::Must, filter)).collect();
        if !query.phrases().is_empty() {
            clauses.push((Occur::Must, unscored(self.phrases(query.phrases()))));
        }
        for term in query.terms() {
            let wanted = TermQuery::new(self.fields.term(term.field, &term.term), WithFreqs);
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(wanted), term.weight))));
        }
        BooleanQuery::with_minimum_required_clauses(clauses, 1)
    }

    /// Passages that hold one of `phrases`.
    fn phrases(&self, phrases: &[Phrase]) -> Box<dyn Query> {
        let mut fields = Vec::new();
        for phrase in phrases {
            match &phrase.terms[..] {
                [(_, term)] => fields.extend(Field::ALL.map(|field| self.basic(field, term))),
                terms => fields.extend([Field::Title, Field::Text].map(|field| {
                    let terms = terms.iter();
                    let terms =
                        terms.map(|(at, term)| (*at as usize, self.fields.term(field, term)));
                    let phrase = PhraseQuery::new_with_offset(terms.collect());
                    Box::new(phrase) as Box<dyn Query>
                })),
            }
        }
        Box::new(BooleanQuery::union(fields))
    }

    fn basic(&self, field: Field, term: &str) -> Box<dyn Query> {
        Box::new(TermQuery::new(self.fields.term(field, term), Basic))
    }

    /// What every passage of the answer must satisfy.
    fn filters(&self, query: &IndexQuery) -> Vec<Box<dyn Query>> {
        let exact = |term| Box::new(TermQuery::new(term, Basic)) as Box<dyn Query>;
        let mut filters = vec![exact(self.fields.kind_term(query.kind))];
        match &query.filter.scope {
            ScopeFilter::Any => {}
            ScopeFilter::Unscoped => filters.push(exact(self.fields.scope_term(None))),
            ScopeFilter::Only(key) => filters.push(exact(self.fields.scope_term(Some(key)))),
        }
        if !query.filter.sources.is_empty() {
            let sources = query.filter.sources.iter();
            let sources = sources.map(|key| exact(self.fields.source_term(key.as_str())));
            filters.push(Box::new(BooleanQuery::union(sources.collect())));
        }
        filters.extend(query.filter.time.as_ref().map(|range| self.inside(range)));
        filters.into_iter().map(unscored).collect()
    }

    /// Moments inside of the range, and bare days of which a moment is.
    fn inside(&self, range: &TimeRange) -> Box<dyn Query> {
        let between = |field, from, to| {
            let bound = |value| Bound::Included(Term::from_field_i64(field, value));
            Box::new(RangeQuery::new(bound(from), bound(to))) as Box<dyn Query>
        };
        let day = |day| super::schema::day_number(EventTime::On(day));
        Box::new(BooleanQuery::union(vec![
            between(self.fields.moment, range.from.as_millis(), range.to.as_millis()),
            between(self.fields.day, day(range.first_day), day(range.last_day)),
        ]))
    }
}

fn unscored(query: Box<dyn Query>) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn first_living(segment: &SegmentReader, term: &Term) -> tantivy::Result<Option<u32>> {
    use tantivy::{DocSet, TERMINATED};
    let postings = segment.inverted_index(term.field())?.read_postings(term, Basic)?;
    let Some(mut postings) = postings else { return Ok(None) };
    while postings.doc() != TERMINATED {
        if !segment.is_deleted(postings.doc()) {
            return Ok(Some(postings.doc()));
        }
        postings.advance();
    }
    Ok(None)
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let fast = segment.fast_fields();
        Ok(Self {
            kind: fast.u64("kind")?,
            id_high: fast.u64("id_high")?,
            id_low: fast.u64("id_low")?,
            seq: fast.u64("seq")?,
            start: fast.u64("start")?,
            end: fast.u64("end")?,
        })
    }
}

/// Hands the statistics of the whole collection to the engine.
struct Provider<'a> {
    fields: Fields,
    statistics: &'a Statistics,
    terms: HashMap<Term, u64>,
}

impl<'a> Provider<'a> {
    fn new(fields: Fields, query: &TextQuery, statistics: &'a Statistics) -> Self {
        let terms = query.terms().iter().map(|term| fields.term(term.field, &term.term));
        let terms = terms.zip(statistics.frequencies.iter().copied()).collect();
        Self { fields, statistics, terms }
    }
}

impl Bm25StatisticsProvider for Provider<'_> {
    fn total_num_tokens(&self, field: tantivy::schema::Field) -> tantivy::Result<u64> {
        let field = Field::ALL.into_iter().find(|ours| self.fields.terms(*ours) == field);
        Ok(field.map_or(0, |field| self.statistics.tokens[field.index()]))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.passages)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.terms.get(term).copied().unwrap_or(0))
    }
}
