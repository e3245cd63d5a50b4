//! The reference index: everything in memory, no engine.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;

use super::{
    documents::Documents, entry::Entry, nearest, postings::Postings, rank, vectors::Vectors,
};
use crate::{
    Result,
    embed::{Model, Vector},
    storage::{
        Change, DocKey, Embedded, IndexQuery, IndexState, Neighbours, Ranked, SearchIndex, Seq,
    },
};

/// A [`SearchIndex`] in memory, forgotten with the process. No call fails.
#[derive(Debug, Default)]
pub struct MemoryIndex(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    cursor: Seq,
    documents: Documents,
    postings: Postings,
    model: Option<Model>,
    vector_cursor: Seq,
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

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn apply(&mut self, change: &Change, entry: Option<&Arc<Entry>>) {
        self.cursor = self.cursor.max(change.seq);
        if self.documents.seq(change.key) >= Some(change.seq) {
            // The same change or a later one of the document is here.
            return;
        }
        self.postings.remove(self.documents.passages_of(change.key));
        match entry {
            Some(entry) => {
                let passages = self.documents.insert(&entry.meta, &entry.lengths());
                self.postings.insert(entry, passages);
            }
            None => self.documents.remove(change.key),
        }
    }

    fn vector_cursor(&mut self, model: &Model) -> Seq {
        if self.model.as_ref() != Some(model) {
            self.model = Some(model.clone());
            self.vectors = Vectors::of(model.dimension);
            self.vector_cursor = Seq::ZERO;
        }
        self.vector_cursor
    }

    fn apply_vectors(&mut self, embedded: &[Embedded], cursor: Seq) {
        for embedded in embedded {
            self.vectors.insert(embedded, &self.documents);
        }
        self.vector_cursor = self.vector_cursor.max(cursor);
    }
}

#[async_trait]
impl SearchIndex for MemoryIndex {
    async fn cursor(&self) -> Result<Seq> {
        Ok(self.read(|state| state.cursor))
    }

    async fn apply(&self, changes: &[Change]) -> Result<()> {
        for change in changes {
            let entry =
                change.document.as_ref().map(|document| Arc::new(Entry::of(document, change.seq)));
            self.write(|state| state.apply(change, entry.as_ref()));
        }
        Ok(())
    }

    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        self.read(|state| rank::keyword(query, &state.documents, &[&state.postings]))
    }

    async fn vector_cursor(&self, model: &Model) -> Result<Seq> {
        Ok(self.write(|state| state.vector_cursor(model)))
    }

    async fn apply_vectors(&self, embedded: &[Embedded], cursor: Seq) -> Result<()> {
        self.write(|state| state.apply_vectors(embedded, cursor));
        Ok(())
    }

    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>> {
        Ok(self.read(|state| nearest::nearest(query, vector, &state.documents, &state.vectors)))
    }

    async fn neighbours(&self, keys: &[DocKey]) -> Result<Vec<Neighbours>> {
        Ok(self.read(|state| keys.iter().map(|key| state.documents.neighbours(*key)).collect()))
    }

    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>> {
        Ok(self.read(|state| keys.iter().map(|key| state.documents.seq(*key)).collect()))
    }

    async fn inspect(&self) -> Result<IndexState> {
        let (documents, embedded) = self.read(|state| (state.documents.len(), state.vectors.len()));
        Ok(IndexState { documents, embedded, damage: Vec::new() })
    }

    async fn reset(&self) -> Result<()> {
        self.write(|state| *state = State::default());
        Ok(())
    }
}
