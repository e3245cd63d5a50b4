//! The reference index: everything in memory, no engine.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;

use super::{Best, entry::Entry, postings::Postings, vectors::Vectors};
use crate::{
    Result,
    embed::Vector,
    storage::{Change, DocKey, IndexQuery, IndexState, Ranked, SearchIndex, Seq},
};

/// A [`SearchIndex`] in memory, forgotten with the process. No call fails.
#[derive(Debug, Default)]
pub struct MemoryIndex(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    cursor: Seq,
    postings: Postings,
    vectors: Vectors,
}

impl MemoryIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `read` on the state. A panic elsewhere cannot leave it half-written in a way that
    /// matters: the index is derived.
    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, write: impl FnOnce(&mut State)) {
        write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn apply(&mut self, change: &Change, entry: Option<&Arc<Entry>>, vectors: Option<&[Vector]>) {
        self.cursor = self.cursor.max(change.seq);
        if self.postings.seq(change.key) > Some(change.seq) {
            // A later change of the same document is here.
            return;
        }
        match entry {
            Some(entry) => self.postings.insert(entry),
            None => self.postings.remove(change.key),
        }
        match (entry, vectors) {
            (Some(entry), Some(vectors)) => {
                self.vectors.insert(Arc::clone(&entry.meta), vectors.to_vec());
            }
            _ => self.vectors.keep_only(change.key, entry.map(|_| change.seq)),
        }
    }
}

#[async_trait]
impl SearchIndex for MemoryIndex {
    async fn cursor(&self) -> Result<Seq> {
        Ok(self.read(|state| state.cursor))
    }

    async fn apply(&self, changes: &[Change], vectors: Option<&[Vec<Vector>]>) -> Result<()> {
        for (number, change) in changes.iter().enumerate() {
            let entry =
                change.document.as_ref().map(|document| Arc::new(Entry::of(document, change.seq)));
            let vectors = vectors.and_then(|vectors| vectors.get(number)).map(Vec::as_slice);
            self.write(|state| state.apply(change, entry.as_ref(), vectors));
        }
        Ok(())
    }

    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        Ok(self.read(|state| {
            let mut best = Best::default();
            let statistics = state.postings.statistics(&query.text);
            state.postings.search(query, &statistics, &mut best);
            best.ranked(query.limit)
        }))
    }

    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>> {
        Ok(self.read(|state| state.vectors.nearest(query, vector)))
    }

    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>> {
        Ok(self.read(|state| keys.iter().map(|key| state.postings.seq(*key)).collect()))
    }

    async fn inspect(&self) -> Result<IndexState> {
        let documents = self.read(|state| state.postings.documents());
        Ok(IndexState { documents, damage: Vec::new() })
    }

    async fn reset(&self) -> Result<()> {
        self.write(|state| *state = State::default());
        Ok(())
    }
}
