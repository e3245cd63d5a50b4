//! The leg by meaning: a scan over all vectors, then exact scores for the best.

use std::collections::HashMap;

use super::{
    documents::{Documents, NONE, PassageId},
    rank::best_passages,
    vectors::Vectors,
};
use crate::{
    Result,
    embed::Vector,
    search::analyze::TermSet,
    storage::{DocKey, Embedded, IndexQuery, Ranked},
};

/// For each document wanted so many are scored exactly: rounding to bytes may change their order.
const CANDIDATES: usize = 2;
/// And so many more.
const MORE_CANDIDATES: usize = 32;
/// A memory's context weighs as much as the memory.
const CONTEXT: f32 = 1.0;

/// The vectors of documents as they were embedded; those not there have none.
pub(super) type Exact<'a> = dyn Fn(&[DocKey]) -> Result<Vec<Embedded>> + 'a;

/// The documents of `query` nearest to `vector`, best first.
pub(super) fn nearest(
    query: &IndexQuery,
    vector: &Vector,
    documents: &Documents,
    vectors: &Vectors,
    exact: &Exact<'_>,
) -> Result<Vec<Ranked>> {
    if query.limit == 0 {
        return Ok(Vec::new());
    }
    let about = vectors.cosines(query.kind, vector, documents.passages());
    let about = |passage: PassageId| about.get(passage as usize).copied().filter(|c| c.is_finite());
    let passages = 0..PassageId::try_from(documents.passages()).unwrap_or(NONE);
    let scored = passages.filter_map(|passage| {
        let score = score(query, documents, passage, &about)?;
        documents.accepts(passage, query).then_some((passage, score))
    });
    let limit = query.limit.saturating_mul(CANDIDATES).saturating_add(MORE_CANDIDATES);
    let candidates = best_passages(scored.collect(), documents, query, limit);
    let cosines = exact_cosines(query, vector, documents, &candidates, exact)?;
    let cosine = |passage: PassageId| cosines.get(&passage).copied();
    let scored = candidates.into_iter().filter_map(|(passage, _)| {
        score(query, documents, passage, &cosine).map(|score| (passage, score))
    });
    let best = best_passages(scored.collect(), documents, query, query.limit);
    let ranked = best.into_iter().filter_map(|(passage, score)| {
        let (key, cosine) = (documents.document(passage)?.key, cosine(passage));
        let (terms, around) = (TermSet::default(), TermSet::default());
        Some(Ranked { key, score, passage: documents.range(passage), terms, around, cosine })
    });
    Ok(ranked.collect())
}

/// The score of a passage: its cosine, for memories averaged with that of its context, which is the
/// sum of its own vector and its neighbours', brought back to about length 1.
fn score(
    query: &IndexQuery,
    documents: &Documents,
    passage: PassageId,
    cosine: &dyn Fn(PassageId) -> Option<f32>,
) -> Option<f32> {
    let own = cosine(passage)?;
    if !query.uses_context() {
        return Some(own);
    }
    let neighbours = documents.around(passage).into_iter().filter(|at| *at != NONE);
    let (sum, count) = neighbours
        .filter_map(cosine)
        .fold((own, 1.0_f32), |(sum, count), cosine| (sum + cosine, count + 1.0));
    let context = sum / count.powf(0.75);
    Some((own + CONTEXT * context) / (1.0 + CONTEXT))
}

/// The greatest cosine of each of the candidates' passages and of their neighbours'.
fn exact_cosines(
    query: &IndexQuery,
    vector: &Vector,
    documents: &Documents,
    candidates: &[(PassageId, f32)],
    exact: &Exact<'_>,
) -> Result<HashMap<PassageId, f32>> {
    let mut passages: Vec<PassageId> = candidates.iter().map(|(passage, _)| *passage).collect();
    if query.uses_context() {
        passages.extend(candidates.iter().flat_map(|(passage, _)| documents.around(*passage)));
    }
    let keys = passages.iter().filter_map(|passage| documents.document(*passage));
    let mut keys: Vec<DocKey> = keys.map(|meta| meta.key).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut cosines = HashMap::new();
    for embedded in exact(&keys)? {
        for row in &embedded.vectors {
            let Some(passage) = documents.numbered(embedded.key, &row.passage) else { continue };
            let cosine: f32 = vector.iter().zip(&row.vector).map(|(a, b)| a * b).sum();
            let best = cosines.entry(passage).or_insert(cosine);
            *best = best.max(cosine);
        }
    }
    Ok(cosines)
}
