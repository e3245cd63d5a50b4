//! Scores from evidence: how much of the query a hit really holds.
//!
//! Ranking scores (BM25, fusion) order hits of one query; they say nothing across queries, so they
//! are never shown. What is shown is the share of the query's words found in the best passage, with
//! the upper tenth of the scale kept for a title that is the query itself.

use super::{Hit, analyze, analyze::TextQuery};

/// The score of a hit whose title, or whole text, is the query.
const EXACT: f32 = 1.0;
/// The score of a hit that holds every word of the query.
const ALL_WORDS: f32 = 0.89;

/// Scores `hits` of the query `text`, puts those whose title is the query first, and lets no score
/// be greater than the one before it.
pub(super) fn set(hits: &mut [Hit], text: &str, query: &TextQuery) {
    let wanted = analyze::fold(text);
    for hit in &mut *hits {
        let exact = is(&hit.document.title, &wanted) || is(&hit.document.text, &wanted);
        let evidence = if exact { EXACT } else { ALL_WORDS * coverage(hit, query) };
        hit.score = Some(evidence);
    }
    hits.sort_by_key(|hit| hit.score.is_none_or(|score| score < EXACT));
    let mut least = EXACT;
    for hit in hits {
        least = hit.score.unwrap_or_default().min(least);
        hit.score = Some(least);
    }
}

fn coverage(hit: &Hit, query: &TextQuery) -> f32 {
    let passage = hit.document.text.get(hit.passage.clone()).unwrap_or(&hit.document.text);
    query.coverage(&[&hit.document.title, passage])
}

/// Whether `text` folds to `wanted`. Folding changes lengths a little, so texts of quite another
/// length are not folded at all.
fn is(text: &str, wanted: &str) -> bool {
    let near = wanted.len() / 4..=wanted.len().saturating_mul(4).saturating_add(16);
    near.contains(&text.len()) && !wanted.is_empty() && analyze::fold(text) == wanted
}
