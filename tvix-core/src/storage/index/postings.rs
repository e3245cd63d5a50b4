//! An inverted index in memory.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::{
    TABLES,
    bm25::rounded,
    documents::PassageId,
    entry::Entry,
    rank::{Match, Source},
    table,
};
use crate::{
    Result,
    search::analyze::{Analysis, Field, Phrase},
    storage::Kind,
};

/// The passages that hold a term, with its positions in each.
type Posting = BTreeMap<PassageId, Vec<u32>>;

/// Passages, found by their terms.
#[derive(Debug, Default)]
pub(super) struct Postings {
    passages: HashMap<PassageId, (Arc<Entry>, usize)>,
    terms: [HashMap<Box<str>, Posting>; TABLES],
}

impl Postings {
    /// Takes in `entry`, whose passages have the numbers `passages`.
    pub(super) fn insert(&mut self, entry: &Arc<Entry>, passages: Range<PassageId>) {
        for (number, passage) in passages.enumerate() {
            self.passages.insert(passage, (Arc::clone(entry), number));
            for field in Field::ALL {
                self.add_terms(entry.meta.key.kind, field, passage, &entry.analyses[number]);
            }
        }
    }

    fn add_terms(&mut self, kind: Kind, field: Field, passage: PassageId, analysis: &Analysis) {
        let terms = &mut self.terms[table(kind, field)];
        for occurrence in analysis.field(field) {
            if !terms.contains_key(&occurrence.term) {
                terms.insert(occurrence.term.clone(), Posting::new());
            }
            if let Some(posting) = terms.get_mut(&occurrence.term) {
                posting.entry(passage).or_default().push(occurrence.position);
            }
        }
    }

    /// Forgets those of `passages` that are here.
    pub(super) fn remove(&mut self, passages: Range<PassageId>) {
        for passage in passages {
            let Some((entry, number)) = self.passages.remove(&passage) else { continue };
            for field in Field::ALL {
                self.remove_terms(entry.meta.key.kind, field, passage, &entry.analyses[number]);
            }
        }
    }

    fn remove_terms(&mut self, kind: Kind, field: Field, passage: PassageId, analysis: &Analysis) {
        let terms = &mut self.terms[table(kind, field)];
        for occurrence in analysis.field(field) {
            let Some(posting) = terms.get_mut(&occurrence.term) else { continue };
            posting.remove(&passage);
            if posting.is_empty() {
                terms.remove(&occurrence.term);
            }
        }
    }

    fn posting(&self, kind: Kind, field: Field, term: &str) -> Option<&Posting> {
        self.terms[table(kind, field)].get(term)
    }

    fn length_of(&self, field: Field, passage: PassageId) -> u32 {
        let analysis = self.passages.get(&passage).map(|(entry, number)| &entry.analyses[*number]);
        analysis.map_or(0, |analysis| rounded(analysis.field(field).len()))
    }

    fn phrase_in(&self, kind: Kind, field: Field, phrase: &Phrase) -> Vec<PassageId> {
        let terms = phrase.terms.iter();
        let postings: Option<Vec<_>> = terms
            .map(|(offset, term)| self.posting(kind, field, term).map(|posting| (*offset, posting)))
            .collect();
        let Some(((_, first), others)) = postings.as_ref().and_then(|all| all.split_first()) else {
            return Vec::new();
        };
        let begins = |passage: &PassageId, start: u32| {
            others.iter().all(|(offset, posting)| {
                posting.get(passage).is_some_and(|positions| {
                    positions.binary_search(&start.saturating_add(*offset)).is_ok()
                })
            })
        };
        let holds = |(passage, starts): &(&PassageId, &Vec<u32>)| {
            starts.iter().any(|start| begins(passage, *start))
        };
        first.iter().filter(holds).map(|(passage, _)| *passage).collect()
    }
}

impl Source for Postings {
    fn matches(
        &self,
        kind: Kind,
        field: Field,
        term: &str,
        emit: &mut dyn FnMut(Match),
    ) -> Result<()> {
        for (passage, positions) in self.posting(kind, field, term).into_iter().flatten() {
            let (count, length) = (positions.len() as u32, self.length_of(field, *passage));
            emit(Match { passage: *passage, count, length });
        }
        Ok(())
    }

    fn phrase(&self, kind: Kind, phrase: &Phrase) -> Result<HashSet<PassageId>> {
        let fields = Field::of_phrase(phrase).iter();
        Ok(fields.flat_map(|field| self.phrase_in(kind, *field, phrase)).collect())
    }
}
