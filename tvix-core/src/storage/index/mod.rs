//! Search indexes.
//!
//! [`MemoryIndex`] is the reference: no engine, nothing on disk. `LocalIndex` (feature `local`) keeps
//! what is committed in tantivy and searches what is not yet committed from memory, with the same
//! code as the reference.

mod bm25;
mod entry;
#[cfg(feature = "local")]
mod folder;
#[cfg(feature = "local")]
mod local;
mod memory;
mod postings;
#[cfg(feature = "local")]
mod schema;
#[cfg(feature = "local")]
mod text;
mod vectors;
#[cfg(feature = "local")]
mod view;
#[cfg(feature = "local")]
mod writer;

#[cfg(feature = "local")]
pub(crate) use folder::IndexFolder;
#[cfg(feature = "local")]
pub use local::LocalIndex;
pub use memory::MemoryIndex;

use std::{cmp::Ordering, collections::HashMap, ops::Range};

use super::{DocKey, Ranked};

/// The best passages of documents, on the way to a ranked list.
#[derive(Debug, Default)]
struct Best(HashMap<DocKey, (f32, Range<usize>)>);

impl Best {
    /// Takes a passage in; of equals the first in the text is kept, so that the order of hits has no
    /// say.
    fn offer(&mut self, key: DocKey, score: f32, passage: Range<usize>) {
        let best = self.0.entry(key).or_insert_with(|| (score, passage.clone()));
        let earlier = score.total_cmp(&best.0).then_with(|| best.1.start.cmp(&passage.start));
        if earlier == Ordering::Greater {
            *best = (score, passage);
        }
    }

    /// The best `limit` documents, ties by key.
    fn ranked(self, limit: usize) -> Vec<Ranked> {
        let documents = self.0.into_iter();
        let mut ranked: Vec<_> =
            documents.map(|(key, (score, passage))| Ranked { key, score, passage }).collect();
        ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
        ranked.truncate(limit);
        ranked
    }
}

#[cfg(test)]
mod tests;
