//! Scores from evidence: how much of the query a hit really holds.
//!
//! Ranking scores (BM25, fusion) order hits of one query; they say nothing across queries, so they
//! are never shown. What is shown is the greater of two: the share of the query's words found in the
//! best passage, and how far its cosine lies above that of unrelated texts. The upper tenth of the
//! scale is kept for a title that is the query itself.

use super::{Hit, analyze, analyze::TextQuery};
use crate::storage::Ranked;

/// The score of a hit whose title, or whole text, is the query.
const EXACT: f32 = 1.0;
/// The score of a hit that holds every word of the query.
const ALL_WORDS: f32 = 0.89;
/// What is always shown of a hit, in characters: shorter texts are never cut.
pub(crate) const LEAST_SHOWN: usize = 300;
/// How much a word counts that stands beside a memory, not in it.
const AROUND: f32 = 0.5;

/// The evidence for `ranked`, 0 to 0.89. `unrelated` is the cosine of texts that have nothing in
/// common.
pub(super) fn evidence(ranked: &Ranked, query: &TextQuery, unrelated: f32) -> f32 {
    let words = query.coverage_of(ranked.terms);
    let around = AROUND * query.coverage_of(ranked.terms.union(ranked.around));
    let cosine = ranked.cosine.map_or(0.0, |cosine| (cosine - unrelated) / (1.0 - unrelated));
    ALL_WORDS * words.max(around).max(cosine).clamp(0.0, 1.0)
}

/// Whether there is anything to say for `ranked` itself: a word of the query, or a cosine above that of
/// texts that have nothing in common. What stands next to it only helps to order.
pub(super) fn is_evident(ranked: &Ranked, unrelated: f32) -> bool {
    !ranked.terms.is_empty() || ranked.cosine.is_some_and(|cosine| cosine > unrelated)
}

/// Puts hits whose title is the query `text` first, and lets no score be greater than the one before
/// it.
pub(super) fn settle(hits: &mut [Hit], text: &str) {
    let wanted = bare(&analyze::fold(text)).to_owned();
    for hit in &mut *hits {
        let document = &hit.document;
        let name = if document.title.is_empty() { &document.text } else { &document.title };
        if is(name, &wanted) {
            hit.score = Some(EXACT);
        }
    }
    hits.sort_by_key(|hit| hit.score.is_none_or(|score| score < EXACT));
    let mut least = EXACT;
    for hit in hits {
        least = hit.score.unwrap_or_default().min(least);
        hit.score = Some(least);
    }
}

/// Narrows the passage of a hit to what begins with its best sentence: a reader may be shown only its
/// first few hundred characters.
pub(super) fn narrow(hit: &mut Hit, query: &TextQuery) {
    if hit.document.text.len() <= LEAST_SHOWN {
        return;
    }
    let Some(passage) = hit.document.text.get(hit.passage.clone()) else { return };
    let mut best = (0.0, 0);
    let mut at = 0;
    for sentence in passage.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']) {
        let share = query.coverage(&[sentence]);
        if share > best.0 {
            best = (share, at + sentence.len() - sentence.trim_start().len());
        }
        at += sentence.len();
    }
    hit.passage.start += best.1;
}

/// Whether `text` folds to `wanted`. Folding changes lengths a little, so texts of quite another
/// length are not folded at all.
fn is(text: &str, wanted: &str) -> bool {
    let near = wanted.len() / 4..=wanted.len().saturating_mul(4).saturating_add(16);
    near.contains(&text.len()) && !wanted.is_empty() && bare(&analyze::fold(text)) == wanted
}

/// `text` without the marks that end a sentence or enclose it, which a question adds to a title.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "?!.,;:…\"'“”„‘’()[]".contains(c))
}
