//! BM25 as tantivy computes it, so that what is committed and what is pending rank in one list.
//!
//! Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! k1 = 1.2, b = 0.75 and idf = ln(1 + (N - df + 0.5) / (df + 0.5)). Lengths of fields are rounded
//! down to what fits a byte, as in the index on disk.

use crate::search::analyze::{Field, QueryTerm, TextQuery};

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Lengths up to this are kept as they are; greater ones by their three leading bits.
const EXACT_LENGTHS: u32 = 24;

/// What BM25 has to know of the whole collection, for the terms of one query.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Statistics {
    /// Passages.
    pub(super) passages: u64,
    /// Terms in each field, over all passages.
    pub(super) tokens: [u64; 3],
    /// Passages that hold each term of the query.
    pub(super) frequencies: Vec<u64>,
}

impl Statistics {
    /// Statistics of nothing, for a query of `terms` terms.
    #[cfg(any(feature = "local", test))]
    pub(super) fn empty(terms: usize) -> Self {
        Self { frequencies: vec![0; terms], ..Self::default() }
    }

    /// Adds those of another collection, for the same query.
    #[cfg(feature = "local")]
    pub(super) fn add(&mut self, other: &Self) {
        self.passages += other.passages;
        self.tokens.iter_mut().zip(other.tokens).for_each(|(sum, more)| *sum += more);
        self.frequencies.iter_mut().zip(&other.frequencies).for_each(|(sum, more)| *sum += more);
    }

    /// How to score the term at position `term` of `query`.
    pub(super) fn scorer(&self, query: &TextQuery, term: usize) -> Scorer {
        let QueryTerm { field, weight, .. } = &query.terms()[term];
        let frequency = self.frequencies[term].min(self.passages);
        Scorer {
            weight: idf(frequency, self.passages) * (1.0 + K1) * weight,
            average: self.average(*field),
        }
    }

    fn average(&self, field: Field) -> f32 {
        self.tokens[field.index()] as f32 / self.passages as f32
    }
}

/// Scores one term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scorer {
    weight: f32,
    average: f32,
}

impl Scorer {
    /// The score of a passage that holds the term `count` times in a field of `length` terms.
    pub(super) fn score(self, count: usize, length: usize) -> f32 {
        let count = count as f32;
        let norm = K1 * (1.0 - B + B * rounded(length) as f32 / self.average);
        self.weight * (count / (count + norm))
    }
}

fn idf(frequency: u64, passages: u64) -> f32 {
    let odds = ((passages - frequency) as f32 + 0.5) / (frequency as f32 + 0.5);
    (1.0 + odds).ln()
}

/// `length` as the index on disk remembers it.
fn rounded(length: usize) -> u32 {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let Some(above) = length.checked_sub(EXACT_LENGTHS).filter(|above| *above >= 16) else {
        return length;
    };
    let dropped = above.ilog2() - 3;
    EXACT_LENGTHS + ((above >> dropped) << dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_dense_scores_higher_than_common_and_sparse() {
        let query = TextQuery::parse("apple pear");
        let mut statistics = Statistics::empty(query.terms().len());
        statistics.passages = 100;
        statistics.tokens = [300, 1000, 10];
        let apple = query.terms().iter().position(|t| t.term == "appl" && t.field == Field::Text);
        let apple = apple.expect("a term");
        let score = |frequency, count, length| {
            let mut statistics = statistics.clone();
            statistics.frequencies[apple] = frequency;
            statistics.scorer(&query, apple).score(count, length)
        };
        assert!(score(1, 1, 10) > score(50, 1, 10));
        assert!(score(1, 2, 10) > score(1, 1, 10));
        assert!(score(1, 1, 10) > score(1, 1, 20));
        assert!(score(100, 1, 400) > 0.0);
    }

    #[cfg(feature = "local")]
    #[test]
    fn lengths_are_rounded_as_the_engine_rounds_them() {
        for length in (0..5000).chain([70_000, 1_000_000]) {
            let code = tantivy::fieldnorm::FieldNormReader::fieldnorm_to_id(length);
            let engine = tantivy::fieldnorm::FieldNormReader::id_to_fieldnorm(code);
            assert_eq!(rounded(length as usize), engine, "{length}");
        }
    }
}
