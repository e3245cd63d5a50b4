//! An inverted index in memory.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::{Best, bm25::Statistics, entry::Entry};
use crate::{
    search::analyze::{Analysis, Field, Phrase, TextQuery},
    storage::{DocKey, IndexQuery, Seq},
};

/// Number of a passage.
type Slot = u32;
/// The passages that hold a term, with its positions in each.
type Posting = BTreeMap<Slot, Vec<u32>>;

/// Documents, found by their terms. Removal takes effect at once, also in the statistics.
#[derive(Debug, Default)]
pub(super) struct Postings {
    documents: HashMap<DocKey, Range<Slot>>,
    passages: HashMap<Slot, (Arc<Entry>, usize)>,
    terms: [HashMap<Box<str>, Posting>; 3],
    tokens: [u64; 3],
    next: Slot,
}

impl Postings {
    /// Puts `entry` in place of what its key held.
    pub(super) fn insert(&mut self, entry: &Arc<Entry>) {
        self.remove(entry.meta.key);
        let first = self.next;
        for (number, analysis) in entry.analyses.iter().enumerate() {
            self.passages.insert(self.next, (Arc::clone(entry), number));
            self.add_terms(self.next, analysis);
            // Wraps after 4 billion passages; those before are long gone from this index by then.
            self.next = self.next.wrapping_add(1);
        }
        self.documents.insert(entry.meta.key, first..self.next);
    }

    fn add_terms(&mut self, slot: Slot, analysis: &Analysis) {
        for field in Field::ALL {
            let terms = &mut self.terms[field.index()];
            for occurrence in analysis.field(field) {
                if !terms.contains_key(&occurrence.term) {
                    terms.insert(occurrence.term.clone(), Posting::new());
                }
                if let Some(posting) = terms.get_mut(&occurrence.term) {
                    posting.entry(slot).or_default().push(occurrence.position);
                }
            }
            self.tokens[field.index()] += analysis.field(field).len() as u64;
        }
    }

    /// Forgets the document under `key`, if it is there.
    pub(super) fn remove(&mut self, key: DocKey) {
        for slot in self.documents.remove(&key).unwrap_or_default() {
            if let Some((entry, number)) = self.passages.remove(&slot) {
                self.remove_terms(slot, &entry.analyses[number]);
            }
        }
    }

    fn remove_terms(&mut self, slot: Slot, analysis: &Analysis) {
        for field in Field::ALL {
            let terms = &mut self.terms[field.index()];
            for occurrence in analysis.field(field) {
                let Some(posting) = terms.get_mut(&occurrence.term) else { continue };
                posting.remove(&slot);
                if posting.is_empty() {
                    terms.remove(&occurrence.term);
                }
            }
            self.tokens[field.index()] -= analysis.field(field).len() as u64;
        }
    }

    /// The change of which the document under `key` is here.
    pub(super) fn seq(&self, key: DocKey) -> Option<Seq> {
        let first = self.documents.get(&key)?.start;
        self.passages.get(&first).map(|(entry, _)| entry.meta.seq)
    }

    /// How many documents are here.
    pub(super) fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// What these documents add to the statistics for `query`.
    pub(super) fn statistics(&self, query: &TextQuery) -> Statistics {
        let frequency = |posting: Option<&Posting>| posting.map_or(0, |p| p.len() as u64);
        let frequencies = query.terms().iter();
        Statistics {
            passages: self.passages.len() as u64,
            tokens: self.tokens,
            frequencies: frequencies
                .map(|term| frequency(self.posting(term.field, &term.term)))
                .collect(),
        }
    }

    /// Offers the passages that `query` finds to `best`, scored by `statistics`.
    pub(super) fn search(&self, query: &IndexQuery, statistics: &Statistics, best: &mut Best) {
        let wanted = (!query.text.phrases().is_empty()).then(|| self.holding(query.text.phrases()));
        let mut scores: BTreeMap<Slot, f32> = BTreeMap::new();
        for (number, term) in query.text.terms().iter().enumerate() {
            let Some(posting) = self.posting(term.field, &term.term) else { continue };
            let bm25 = statistics.scorer(&query.text, number);
            for (slot, positions) in posting {
                let Some(analysis) = self.analysis(*slot) else { continue };
                let length = analysis.field(term.field).len();
                *scores.entry(*slot).or_default() += bm25.score(positions.len(), length);
            }
        }
        for (slot, score) in scores {
            let wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(&slot));
            let Some((entry, number)) = self.passages.get(&slot).filter(|_| wanted) else {
                continue;
            };
            if entry.meta.accepted_by(query) {
                best.offer(entry.meta.key, score, entry.meta.passages[*number].clone());
            }
        }
    }

    fn posting(&self, field: Field, term: &str) -> Option<&Posting> {
        self.terms[field.index()].get(term)
    }

    fn analysis(&self, slot: Slot) -> Option<&Analysis> {
        self.passages.get(&slot).map(|(entry, number)| &entry.analyses[*number])
    }

    /// The passages that hold one of `phrases`, of documents that hold all of them.
    fn holding(&self, phrases: &[Phrase]) -> HashSet<Slot> {
        let found: Vec<_> = phrases.iter().map(|phrase| self.holding_one(phrase)).collect();
        let documents = found.iter().map(|slots| {
            let keys = slots.iter().filter_map(|slot| self.passages.get(slot));
            keys.map(|(entry, _)| entry.meta.key).collect::<HashSet<_>>()
        });
        let all = documents.reduce(|all, some| &all & &some).unwrap_or_default();
        let in_all = |slot: &Slot| {
            self.passages.get(slot).is_some_and(|(entry, _)| all.contains(&entry.meta.key))
        };
        found.iter().flatten().copied().filter(in_all).collect()
    }

    fn holding_one(&self, phrase: &Phrase) -> HashSet<Slot> {
        let fields: &[Field] = match phrase.terms[..] {
            [_] => &Field::ALL,
            _ => &[Field::Title, Field::Text],
        };
        fields.iter().flat_map(|field| self.holding_in(phrase, *field)).collect()
    }

    fn holding_in(&self, phrase: &Phrase, field: Field) -> Vec<Slot> {
        let terms = phrase.terms.iter();
        let postings: Option<Vec<_>> = terms
            .map(|(offset, term)| self.posting(field, term).map(|posting| (*offset, posting)))
            .collect();
        let Some(((_, first), others)) = postings.as_ref().and_then(|all| all.split_first()) else {
            return Vec::new();
        };
        let begins = |slot: &Slot, start: u32| {
            others.iter().all(|(offset, posting)| {
                posting.get(slot).is_some_and(|positions| {
                    positions.binary_search(&start.saturating_add(*offset)).is_ok()
                })
            })
        };
        let holds =
            |(slot, starts): &(&Slot, &Vec<u32>)| starts.iter().any(|start| begins(slot, *start));
        first.iter().filter(holds).map(|(slot, _)| *slot).collect()
    }
}
