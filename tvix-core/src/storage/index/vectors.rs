//! Exact search over vectors in memory.

use std::{collections::HashMap, sync::Arc};

use super::{Best, entry::Meta};
use crate::{
    embed::Vector,
    storage::{DocKey, IndexQuery, Ranked, Seq},
};

/// Documents, found by the vectors of their passages. Removal takes effect at once.
#[derive(Debug, Default)]
pub(super) struct Vectors(HashMap<DocKey, (Arc<Meta>, Vec<Vector>)>);

impl Vectors {
    /// Puts the vectors of a document in place of what its key held, one a passage. A vector beyond
    /// the passages stands for the whole text.
    pub(super) fn insert(&mut self, meta: Arc<Meta>, vectors: Vec<Vector>) {
        self.0.insert(meta.key, (meta, vectors));
    }

    /// Forgets the vectors under `key`, unless they are those of the change `seq`.
    pub(super) fn keep_only(&mut self, key: DocKey, seq: Option<Seq>) {
        if self.0.get(&key).is_some_and(|(meta, _)| Some(meta.seq) != seq) {
            self.0.remove(&key);
        }
    }

    /// The documents nearest to `vector`, by the cosine of their best passage. Vectors of another
    /// dimension are of another model and not compared.
    pub(super) fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Vec<Ranked> {
        let mut best = Best::default();
        for (meta, vectors) in self.0.values().filter(|(meta, _)| meta.accepted_by(query)) {
            let text = meta.passages.last().map_or(0, |last| last.end);
            for (number, other) in vectors.iter().enumerate() {
                let passage = meta.passages.get(number).cloned().unwrap_or(0..text);
                if let Some(cosine) = cosine(vector, other) {
                    best.offer(meta.key, cosine, passage);
                }
            }
        }
        best.ranked(query.limit)
    }
}

/// The cosine of two vectors of length 1.
fn cosine(a: &Vector, b: &Vector) -> Option<f32> {
    let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    (a.len() == b.len() && dot.is_finite()).then_some(dot)
}
