//! The leg by meaning: a scan over all vectors, then exact scores for the best.

use super::{
    documents::{Documents, NONE, PassageId},
    rank::best_passages,
    vectors::{Quantised, Vectors},
};
use crate::{
    embed::Vector,
    search::analyze::TermSet,
    storage::{IndexQuery, Ranked},
};

/// So many more than are wanted are scored exactly: rounding to bytes may change their order.
const MORE_CANDIDATES: usize = 32;
/// Rows looked at for each document wanted, where not all are: several may be of one document.
const ROWS_PER_DOCUMENT: usize = 2;
/// A memory's context weighs as much as the memory.
const CONTEXT: f32 = 1.0;
/// What brings the sum of one, two or three vectors back to about length 1: their number to the power
/// of -3/4. Neighbours are alike, so a sum is longer than one of unrelated vectors and shorter than
/// one of equal ones.
const TO_LENGTH_1: [f32; 3] = [1.0, 0.594_603_6, 0.438_691_34];

/// The documents of `query` nearest to `vector`, best first.
pub(super) fn nearest(
    query: &IndexQuery,
    vector: &Vector,
    documents: &Documents,
    vectors: &Vectors,
) -> Vec<Ranked> {
    if query.limit == 0 {
        return Vec::new();
    }
    let uses_context = query.uses_context();
    let vector = Quantised::of(vector);
    let limit = query.limit.saturating_add(MORE_CANDIDATES);
    // The neighbours' cosines and those of what a filter lets through must be known for all.
    let enough = limit.saturating_mul(ROWS_PER_DOCUMENT);
    let enough = Some(enough).filter(|_| !uses_context && query.filter.is_empty());
    let about = vectors.cosines(query.kind, &vector, documents.passages(), enough);
    let cosine =
        |passage: PassageId| about.get(passage as usize).copied().filter(|c| c.is_finite());
    let known = (0..).zip(&about).filter(|(_, cosine)| cosine.is_finite());
    let scored = known
        .filter(|(passage, _)| documents.accepts(*passage, query))
        .map(|(passage, own)| (passage, score(*own, uses_context, documents, passage, cosine)));
    let candidates = best_passages(&scored, documents, query, limit);
    let cosine = |passage: PassageId| vectors.cosine(query.kind, &vector, passage);
    let exact = candidates.iter().filter_map(|(passage, _)| {
        let own = cosine(*passage)?;
        Some((*passage, score(own, uses_context, documents, *passage, cosine)))
    });
    let best = best_passages(&exact, documents, query, query.limit);
    let ranked = best.into_iter().filter_map(|(passage, score)| {
        let (key, cosine) = (documents.document(passage)?.key, cosine(passage));
        let (terms, around) = (TermSet::default(), TermSet::default());
        Some(Ranked { key, score, passage: documents.range(passage), terms, around, cosine })
    });
    ranked.collect()
}

/// The score of a passage: its cosine, for memories averaged with that of its context, which is the
/// sum of its own vector and its neighbours', brought back to about length 1.
fn score(
    own: f32,
    uses_context: bool,
    documents: &Documents,
    passage: PassageId,
    cosine: impl Fn(PassageId) -> Option<f32>,
) -> f32 {
    if !uses_context {
        return own;
    }
    let neighbours = documents.around(passage).into_iter().filter(|at| *at != NONE);
    let (sum, others) = neighbours
        .filter_map(cosine)
        .fold((own, 0), |(sum, others), cosine| (sum + cosine, others + 1));
    (own + CONTEXT * sum * TO_LENGTH_1[others]) / (1.0 + CONTEXT)
}
