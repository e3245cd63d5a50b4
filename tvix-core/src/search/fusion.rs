//! One list out of two: hits by word and hits by meaning.

use std::{cmp::Ordering, collections::hash_map::Entry};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    settings::{FusionKind, SearchSettings},
    storage::{DocKey, Ranked},
};

/// The `k` of reciprocal rank fusion: how slowly places lose their worth.
const RRF_K: f32 = 60.0;

/// How two ranked lists become one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// `(1 - dense) × BM25 / best BM25 + dense × cosine / best cosine`; a hit that a list lacks has 0
    /// there, and so have cosines below 0.
    ///
    /// Bruch, Gai & Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023), with each
    /// list scaled by its maximum.
    Convex {
        /// The share of meaning, 0 to 1.
        dense: f32,
    },
    /// `(1 - dense) / (60 + place) + dense / (60 + place)`, scaled so that the first place in both
    /// lists gives 1.
    ///
    /// Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion" (2009), with weights.
    Rrf {
        /// The share of meaning, 0 to 1.
        dense: f32,
    },
}

impl Fusion {
    /// The way that `settings` ask for; what they leave open suits a model whose share of meaning is
    /// best at `dense`.
    pub(crate) fn new(settings: &SearchSettings, dense: f32) -> Self {
        let dense = settings.dense.map_or(dense, crate::settings::Dense::get);
        match settings.fusion.unwrap_or(FusionKind::Convex) {
            FusionKind::Convex => Self::Convex { dense },
            FusionKind::Rrf => Self::Rrf { dense },
        }
    }

    /// Fuses two lists, each best first, into one, best first. Where both have a document, its passage
    /// is that of the list that gave it more; with `each_passage`, passages are fused instead of
    /// documents.
    pub fn fuse(
        self,
        keyword: Vec<Ranked>,
        nearest: Vec<Ranked>,
        each_passage: bool,
    ) -> Vec<Ranked> {
        let place = |hit: &Ranked| (hit.key, if each_passage { hit.passage.start } else { 0 });
        let (keyword, nearest) = self.scaled(keyword, nearest);
        let mut fused: FxHashMap<(DocKey, usize), Ranked> =
            keyword.into_iter().map(|hit| (place(&hit), hit)).collect();
        for hit in nearest {
            match fused.entry(place(&hit)) {
                Entry::Vacant(free) => _ = free.insert(hit),
                Entry::Occupied(mut known) => merge(known.get_mut(), hit),
            }
        }
        let mut fused: Vec<Ranked> = fused.into_values().collect();
        fused.sort_unstable_by(order);
        fused
    }

    /// Both lists, with what each hit has to give to the sum as its score.
    fn scaled(self, keyword: Vec<Ranked>, nearest: Vec<Ranked>) -> (Vec<Ranked>, Vec<Ranked>) {
        match self {
            Self::Convex { dense } => (by_score(keyword, 1.0 - dense), by_score(nearest, dense)),
            Self::Rrf { dense } => (by_place(keyword, 1.0 - dense), by_place(nearest, dense)),
        }
    }
}

fn by_score(mut list: Vec<Ranked>, weight: f32) -> Vec<Ranked> {
    let best = list.first().map_or(0.0, |hit| hit.score).max(f32::MIN_POSITIVE);
    for hit in &mut list {
        hit.score = weight * hit.score.max(0.0) / best;
    }
    list
}

fn by_place(mut list: Vec<Ranked>, weight: f32) -> Vec<Ranked> {
    for (place, hit) in (0_u16..).zip(&mut list) {
        hit.score = weight * (RRF_K + 1.0) / (RRF_K + 1.0 + f32::from(place));
    }
    list
}

/// Adds what the list by meaning knows of a hit by word.
fn merge(known: &mut Ranked, near: Ranked) {
    if near.score > known.score {
        known.passage = near.passage;
    }
    known.score += near.score;
    known.cosine = near.cosine;
}

/// Best first; of equals the lower key, then the passage that comes first.
pub(super) fn order(a: &Ranked, b: &Ranked) -> Ordering {
    let equal = || (a.key, a.passage.start).cmp(&(b.key, b.passage.start));
    b.score.total_cmp(&a.score).then_with(equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{search::analyze::TermSet, storage::Kind, types::Id};

    fn hit(number: u8, score: f32, passage: usize) -> Ranked {
        let key = DocKey::new(Kind::Memory, Id::from_bytes([number; 16]));
        let (terms, around) = (TermSet::default(), TermSet::default());
        Ranked { key, score, passage: passage..passage + 1, terms, around, cosine: None }
    }

    fn numbers(fused: &[Ranked]) -> Vec<(u8, f32)> {
        let numbers = fused.iter().map(|hit| (hit.key.id.as_bytes()[0], hit.score));
        numbers.map(|(number, score)| (number, (score * 1000.0).round() / 1000.0)).collect()
    }

    #[test]
    fn convex_adds_what_each_list_gives_relative_to_its_best() {
        let (keyword, nearest) = (
            vec![hit(1, 8.0, 0), hit(2, 4.0, 0)],
            vec![hit(2, 0.8, 7), hit(3, 0.4, 0), hit(4, -0.1, 0)],
        );
        let fused = Fusion::Convex { dense: 0.4 }.fuse(keyword, nearest, false);
        assert_eq!(numbers(&fused), [(2, 0.7), (1, 0.6), (3, 0.2), (4, 0.0)]);
        assert_eq!(fused[0].passage, 7..8, "the passage of the list that gave more");
    }

    #[test]
    fn reciprocal_ranks_look_at_places_alone() {
        let (keyword, nearest) = (vec![hit(1, 8.0, 0), hit(2, 0.1, 0)], vec![hit(2, 0.8, 0)]);
        let fused = Fusion::Rrf { dense: 0.5 }.fuse(keyword, nearest, false);
        assert_eq!(numbers(&fused), [(2, 0.992), (1, 0.5)]);
    }

    #[test]
    fn passages_of_one_document_stay_apart_when_asked_for() {
        let lists = || (vec![hit(1, 8.0, 0)], vec![hit(1, 0.8, 7)]);
        let fuse = |each| Fusion::Convex { dense: 0.5 }.fuse(lists().0, lists().1, each).len();
        assert_eq!([fuse(false), fuse(true)], [1, 2]);
    }
}
