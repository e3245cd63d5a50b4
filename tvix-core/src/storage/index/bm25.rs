//! BM25, for what is on disk and what is in memory alike.
//!
//! Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! idf = ln(1 + (N - df + 0.5) / (df + 0.5)). Lengths of fields are rounded down to what fits a byte,
//! as in the index on disk.

use crate::storage::Kind;

/// Lengths up to this are kept as they are; greater ones by their three leading bits.
const EXACT_LENGTHS: u32 = 24;

/// How fast repetition stops to count (`k1`), and how much length counts (`b`).
#[derive(Debug, Clone, Copy)]
struct Parameters {
    k1: f32,
    b: f32,
}

impl Parameters {
    /// A memory is a sentence or two: that a word stands in it twice or that it is longer says
    /// little. Passages of documents differ in both.
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Memory => Self { k1: 0.9, b: 0.4 },
            Kind::Wiki => Self { k1: 1.2, b: 0.75 },
        }
    }
}

/// Scores one term of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scorer {
    weight: f32,
    mean_length: f32,
    parameters: Parameters,
}

impl Scorer {
    /// For a term of `weight` that `frequency` of `passages` passages hold, in a field of
    /// `mean_length` terms.
    pub(super) fn new(
        kind: Kind,
        weight: f32,
        frequency: u64,
        passages: u64,
        mean_length: f32,
    ) -> Self {
        let parameters = Parameters::of(kind);
        let weight = idf(frequency.min(passages), passages) * (1.0 + parameters.k1) * weight;
        Self { weight, mean_length: mean_length.max(1.0), parameters }
    }

    /// The score of a passage that holds the term `count` times in a field of `length` terms.
    pub(super) fn score(self, count: u32, length: u32) -> f32 {
        let Parameters { k1, b } = self.parameters;
        let count = count as f32;
        let norm = k1 * (1.0 - b + b * length as f32 / self.mean_length);
        self.weight * (count / (count + norm))
    }
}

fn idf(frequency: u64, passages: u64) -> f32 {
    let odds = ((passages - frequency) as f32 + 0.5) / (frequency as f32 + 0.5);
    (1.0 + odds).ln()
}

/// `length` as the index on disk remembers it.
pub(super) fn rounded(length: usize) -> u32 {
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
        for kind in Kind::ALL {
            let score = |frequency, count, length| {
                Scorer::new(kind, 1.0, frequency, 100, 10.0).score(count, length)
            };
            assert!(score(1, 1, 10) > score(50, 1, 10));
            assert!(score(1, 2, 10) > score(1, 1, 10));
            assert!(score(1, 1, 10) > score(1, 1, 20));
            assert!(score(100, 1, 400) > 0.0);
        }
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
