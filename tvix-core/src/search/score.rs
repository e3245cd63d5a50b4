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
    let wanted = bare(&analyze::fold(text)).to_owned();
    for hit in &mut *hits {
        let document = &hit.document;
        let name = if document.title.is_empty() { &document.text } else { &document.title };
        let exact = is(name, &wanted);
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

/// Narrows the passage of a hit to what begins with its best sentence: a reader may be shown only its
/// first few hundred characters.
pub(super) fn narrow(hit: &mut Hit, query: &TextQuery) {
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

fn coverage(hit: &Hit, query: &TextQuery) -> f32 {
    let passage = hit.document.text.get(hit.passage.clone()).unwrap_or(&hit.document.text);
    query.coverage(&[&hit.document.title, passage])
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
