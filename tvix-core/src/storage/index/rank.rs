//! The keyword leg: BM25 over every source of postings, and what of the query each hit holds.

use std::{cmp::Ordering, collections::HashSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    bm25::Scorer,
    documents::{Documents, NONE, PassageId},
};
use crate::{
    Result,
    search::analyze::{Field, Phrase, TermSet},
    storage::{DocKey, IndexQuery, Kind, Ranked},
};

/// The weight of what a memory's neighbours say, beside what it says itself.
const CONTEXT: f32 = 1.0;
/// The weight of what a whole document says, beside its best passage.
const WHOLE: f32 = 1.0;
/// The weight of a phrase among other words, beside that of the words it is made of.
const PHRASE: f32 = 2.0;
/// Passages looked at for each document wanted: several may be of one document.
const PASSAGES_PER_DOCUMENT: usize = 4;

/// A passage that holds a term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) passage: PassageId,
    /// How often.
    pub(super) count: u32,
    /// How many terms the field has there.
    pub(super) length: u32,
}

/// Where postings come from. Passages that were replaced or deleted may be among them.
pub(super) trait Source {
    /// Hands the passages that hold `term` to `emit`.
    fn matches(
        &self,
        kind: Kind,
        field: Field,
        term: &str,
        emit: &mut dyn FnMut(Match),
    ) -> Result<()>;

    /// The passages that hold `phrase`.
    fn phrase(&self, kind: Kind, phrase: &Phrase) -> Result<HashSet<PassageId>>;
}

/// The documents that share terms with `query`, best first.
pub(super) fn keyword(
    query: &IndexQuery,
    documents: &Documents,
    sources: &[&dyn Source],
) -> Result<Vec<Ranked>> {
    if query.text.is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let mut ranking = Ranking::new(query, documents, sources);
    for number in 0..query.text.terms().len() {
        ranking.add_term(number)?;
    }
    if !query.text.requires_phrases() {
        ranking.add_phrases()?;
    }
    let best = ranking.best()?;
    Ok(ranking.with_terms(best))
}

struct Ranking<'a> {
    query: &'a IndexQuery,
    documents: &'a Documents,
    sources: &'a [&'a dyn Source],
    /// By number of the passage.
    scores: Vec<f32>,
    /// One list a term of the query.
    matches: Vec<Vec<Match>>,
    /// Occurrences around a passage, of one term at a time: with its neighbours for a memory, in the
    /// whole document, by its first passage, for others.
    around: Vec<u32>,
    /// The scores of whole documents, by their first passages.
    whole: Vec<f32>,
}

impl<'a> Ranking<'a> {
    fn new(query: &'a IndexQuery, documents: &'a Documents, sources: &'a [&'a dyn Source]) -> Self {
        let around = if query.context { documents.passages() } else { 0 };
        Self {
            query,
            documents,
            sources,
            scores: vec![0.0; documents.passages()],
            matches: Vec::new(),
            around: vec![0; around],
            whole: vec![0.0; around],
        }
    }

    fn add_term(&mut self, number: usize) -> Result<()> {
        let term = &self.query.text.terms()[number];
        let (kind, mut found) = (self.query.kind, Vec::new());
        for source in self.sources {
            source.matches(kind, term.field, &term.term, &mut |entry| {
                if self.documents.document(entry.passage).is_some() {
                    found.push(entry);
                }
            })?;
        }
        let (frequency, size) = (found.len() as u64, self.documents.size(kind, term.field));
        let scorer = Scorer::new(kind, term.weight, frequency, size.passages, size.mean());
        for entry in &found {
            self.add(entry.passage, scorer.score(entry.count, entry.length));
        }
        match kind {
            _ if !self.query.context || term.field != Field::Text => {}
            Kind::Memory => self.add_context(term.weight * CONTEXT, size.passages, &found),
            _ => self.add_whole(term.weight * WHOLE, &found),
        }
        self.matches.push(found);
        Ok(())
    }

    fn add(&mut self, passage: PassageId, score: f32) {
        if let Some(sum) = self.scores.get_mut(passage as usize) {
            *sum += score;
        }
    }

    /// What passages gain by holding a phrase: as much as by a rare word.
    fn add_phrases(&mut self) -> Result<()> {
        let kind = self.query.kind;
        for phrase in self.query.text.phrases() {
            let mut found = HashSet::new();
            for source in self.sources {
                found.extend(source.phrase(kind, phrase)?);
            }
            found.retain(|passage| self.documents.document(*passage).is_some());
            let size = self.documents.size(kind, Field::Text);
            let scorer = Scorer::new(kind, PHRASE, found.len() as u64, size.passages, size.mean());
            let mean = size.terms / size.passages.max(1);
            let score = scorer.score(1, u32::try_from(mean).unwrap_or(u32::MAX));
            for passage in found {
                self.add(passage, score);
            }
        }
        Ok(())
    }

    /// The same term once more, in a field that holds each passage with its neighbours. There is no
    /// such field on disk: what stands in it follows from who stands next to whom.
    fn add_context(&mut self, weight: f32, passages: u64, found: &[Match]) {
        let mut touched = Vec::with_capacity(found.len() * 2);
        for entry in found {
            let [before, after] = self.documents.around(entry.passage);
            for passage in [before, entry.passage, after].into_iter().filter(|at| *at != NONE) {
                let Some(count) = self.around.get_mut(passage as usize) else { continue };
                if *count == 0 {
                    touched.push(passage);
                }
                *count += entry.count;
            }
        }
        let (frequency, mean) = (touched.len() as u64, self.documents.mean_context());
        let scorer = Scorer::new(self.query.kind, weight, frequency, passages, mean);
        for passage in touched {
            let count = std::mem::take(&mut self.around[passage as usize]);
            self.add(passage, scorer.score(count, self.documents.context_length(passage)));
        }
    }

    /// The same term once more, for whole documents: two words that stand in different passages of one
    /// document speak for it together.
    fn add_whole(&mut self, weight: f32, found: &[Match]) {
        let mut touched = Vec::with_capacity(found.len());
        for entry in found {
            let first = self.documents.first_of(entry.passage);
            let Some(count) = self.around.get_mut(first as usize) else { continue };
            if *count == 0 {
                touched.push(first);
            }
            *count += entry.count;
        }
        let (kind, documents) = (self.query.kind, self.documents.count_of(self.query.kind));
        let mean = self.documents.size(kind, Field::Text).terms as f32 / documents.max(1) as f32;
        let scorer = Scorer::new(kind, weight, touched.len() as u64, documents, mean);
        for first in touched {
            let count = std::mem::take(&mut self.around[first as usize]);
            let key = self.documents.document(first).map(|meta| meta.key);
            let length = key.map_or(0, |key| self.documents.text_length(key));
            self.whole[first as usize] += scorer.score(count, length);
        }
    }

    /// The score of a passage and of the document it is of.
    fn score(&self, passage: PassageId) -> f32 {
        let whole = self.whole.get(self.documents.first_of(passage) as usize);
        self.scores[passage as usize] + whole.copied().unwrap_or_default()
    }

    /// The best passages of the best documents.
    fn best(&self) -> Result<Vec<(PassageId, f32)>> {
        let required = self.query.text.requires_phrases();
        let phrases = required.then(|| self.in_all_phrases()).transpose()?;
        let wanted = |passage: &PassageId| {
            phrases.as_ref().is_none_or(|phrases| phrases.contains(passage))
                && self.documents.accepts(*passage, self.query)
        };
        let passages = (0..).zip(&self.scores).filter(|(_, score)| **score > 0.0);
        let passages = passages.map(|(passage, _)| passage).filter(wanted);
        let scored = passages.map(|passage| (passage, self.score(passage)));
        Ok(best_passages(&scored, self.documents, self.query, self.query.limit))
    }

    /// The passages that hold one of the query's phrases, of documents that hold all of them.
    fn in_all_phrases(&self) -> Result<HashSet<PassageId>> {
        let (mut passages, mut all) = (HashSet::new(), None::<HashSet<DocKey>>);
        for phrase in self.query.text.phrases() {
            let mut keys = HashSet::new();
            for source in self.sources {
                for passage in source.phrase(self.query.kind, phrase)? {
                    keys.extend(self.documents.document(passage).map(|meta| meta.key));
                    passages.insert(passage);
                }
            }
            all = Some(all.map_or_else(|| keys.clone(), |all| &all & &keys));
        }
        let all = all.unwrap_or_default();
        let held = |passage: &PassageId| {
            self.documents.document(*passage).is_some_and(|meta| all.contains(&meta.key))
        };
        passages.retain(held);
        Ok(passages)
    }

    /// Adds to each of the best which terms of the query it holds.
    fn with_terms(mut self, best: Vec<(PassageId, f32)>) -> Vec<Ranked> {
        let mut places = FxHashMap::default();
        for (at, (passage, _)) in best.iter().enumerate() {
            // From here on a score below zero marks one of the best.
            self.scores[*passage as usize] = -1.0;
            places.insert(*passage, at);
        }
        let place = |passage: PassageId| {
            self.scores.get(passage as usize).filter(|mark| **mark < 0.0)?;
            places.get(&passage).copied()
        };
        let mut terms = vec![(TermSet::default(), TermSet::default()); best.len()];
        for (number, matches) in self.matches.iter().enumerate() {
            for entry in matches {
                if let Some(at) = place(entry.passage) {
                    terms[at].0.insert(number);
                }
                if self.query.uses_context() {
                    let around = self.documents.around(entry.passage);
                    around.into_iter().filter_map(place).for_each(|at| {
                        terms[at].1.insert(number);
                    });
                }
            }
        }
        let ranked = best.into_iter().zip(terms);
        let ranked = ranked.filter_map(|((passage, score), (terms, around))| {
            let key = self.documents.document(passage)?.key;
            let passage = self.documents.range(passage);
            Some(Ranked { key, score, passage, terms, around, cosine: None })
        });
        ranked.collect()
    }
}

/// The best passage of each of the best `limit` documents, or the best `limit` passages if `query`
/// asks for each; best first, of equals the lower key, and the passage that comes first in the text.
pub(super) fn best_passages(
    passages: &(impl Iterator<Item = (PassageId, f32)> + Clone),
    documents: &Documents,
    query: &IndexQuery,
    limit: usize,
) -> Vec<(PassageId, f32)> {
    let mut looked_at = limit.saturating_mul(PASSAGES_PER_DOCUMENT);
    loop {
        let mut top = Top::new(looked_at, documents);
        passages.clone().for_each(|entry| top.push(entry));
        let (passages, is_all) = top.finish();
        let mut seen: FxHashSet<DocKey> = FxHashSet::default();
        let wanted = |passage: &(PassageId, f32)| {
            let meta = documents.document(passage.0);
            meta.is_some_and(|meta| query.each_passage || seen.insert(meta.key))
        };
        let best: Vec<_> = passages.into_iter().filter(wanted).take(limit).collect();
        if best.len() == limit || is_all {
            return best;
        }
        looked_at = looked_at.saturating_mul(8);
    }
}

/// The best of many scored passages, without keeping them all.
struct Top<'a> {
    limit: usize,
    documents: &'a Documents,
    entries: Vec<(PassageId, f32)>,
    /// What scores less is not among the best.
    least: f32,
    is_all: bool,
}

impl<'a> Top<'a> {
    fn new(limit: usize, documents: &'a Documents) -> Self {
        Self { limit, documents, entries: Vec::new(), least: f32::NEG_INFINITY, is_all: true }
    }

    fn push(&mut self, entry: (PassageId, f32)) {
        if entry.1 < self.least {
            return;
        }
        self.entries.push(entry);
        // Cutting costs as much as looking at every entry once, so it is done seldom.
        if self.entries.len() / 4 > self.limit {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.limit == 0 || self.entries.len() <= self.limit {
            return;
        }
        let documents = self.documents;
        self.entries.select_nth_unstable_by(self.limit - 1, |a, b| order(documents, *a, *b));
        self.entries.truncate(self.limit);
        self.least = self.entries[self.limit - 1].1;
        self.is_all = false;
    }

    /// The best, best first, and whether nothing was left out.
    fn finish(mut self) -> (Vec<(PassageId, f32)>, bool) {
        self.cut();
        self.entries.sort_unstable_by(|a, b| order(self.documents, *a, *b));
        (self.entries, self.is_all)
    }
}

fn order(documents: &Documents, a: (PassageId, f32), b: (PassageId, f32)) -> Ordering {
    let place = |passage: PassageId| documents.document(passage).map(|meta| (meta.key, passage));
    b.1.total_cmp(&a.1).then_with(|| place(a.0).cmp(&place(b.0)))
}
