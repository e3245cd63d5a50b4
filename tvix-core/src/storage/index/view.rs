//! What queries of the local index see: one view of what is committed and what is not.

use std::{collections::HashMap, sync::Arc};

use super::{
    documents::Documents, entry::Entry, nearest, postings::Postings, rank, rows::Rows,
    text::Committed, vectors::Vectors, writer::Commit,
};
use crate::{
    Result,
    embed::Vector,
    storage::{Change, DocKey, Embedded, IndexQuery, Ranked, Seq},
};

/// A key, and the document that replaces what it held; `None` when it was deleted.
pub(super) type Pending = (DocKey, Option<Arc<Entry>>);

/// What queries see.
#[derive(Default)]
pub(super) struct View {
    committed: Option<Arc<Committed>>,
    pub(super) cursor: Seq,
    /// All documents that are found, wherever their terms are.
    pub(super) documents: Documents,
    /// Changes come out of order, and the cursor moves only by what [`View::reach`] is told.
    pub(super) is_held: bool,
    /// Changes of the commit that is under way.
    pub(super) frozen: Tier,
    /// Changes since. A key in here is no longer in the postings of `frozen`.
    pending: Tier,
    pub(super) vectors: Vectors,
    /// Vectors that are not on disk.
    pub(super) unsaved: Unsaved,
    /// Those that are.
    pub(super) rows: Option<Arc<Rows>>,
}

/// Changes that are searched in memory.
#[derive(Default)]
pub(super) struct Tier {
    changes: HashMap<DocKey, Option<Arc<Entry>>>,
    postings: Postings,
    /// The last of them.
    last: Seq,
}

/// Vectors that are not on disk.
#[derive(Default)]
pub(super) struct Unsaved {
    rows: HashMap<DocKey, Arc<Embedded>>,
    /// All changes up to this one have their vectors.
    cursor: Seq,
}

impl View {
    /// A view of what was committed when the index was opened.
    pub(super) fn of(documents: Documents, commit: Commit) -> Self {
        let mut view = Self { documents, ..Self::default() };
        view.show(commit);
        view
    }

    pub(super) fn committed(&self) -> Option<&Committed> {
        self.committed.as_deref()
    }

    pub(super) fn show(&mut self, commit: Commit) {
        self.committed = Some(commit.committed);
        self.cursor = commit.cursor;
    }

    /// How many changes are not committed.
    pub(super) fn waiting(&self) -> usize {
        self.frozen.changes.len() + self.pending.changes.len()
    }

    /// The changes to commit now. Those of a commit that failed go first, alone.
    pub(super) fn freeze(&mut self) -> (Vec<Pending>, Seq) {
        if self.frozen.changes.is_empty() {
            self.frozen = std::mem::take(&mut self.pending);
        }
        let changes = self.frozen.changes.iter();
        (
            changes.map(|(key, entry)| (*key, entry.clone())).collect(),
            self.frozen.last.max(self.cursor),
        )
    }

    /// Whether the document of a change is found as it is, or a later one of its key.
    pub(super) fn knows(&self, change: &Change) -> bool {
        self.documents.seq(change.key) >= Some(change.seq)
    }

    /// Takes a change in; `entry` is its document, analysed.
    pub(super) fn apply(&mut self, change: &Change, entry: Option<Arc<Entry>>) {
        if self.knows(change) {
            return;
        }
        let key = change.key;
        let replaced = self.documents.passages_of(key);
        self.frozen.postings.remove(replaced.clone());
        self.pending.postings.remove(replaced);
        match &entry {
            Some(entry) => {
                let passages = self.documents.insert(&entry.meta, &entry.lengths());
                self.pending.postings.insert(entry, passages);
            }
            None => self.documents.remove(key),
        }
        self.pending.changes.insert(key, entry);
        if !self.is_held {
            self.reach(change.seq, false);
        }
    }

    /// Says that all changes up to `seq` are here; with `done`, that none is left out any more.
    pub(super) fn reach(&mut self, seq: Seq, done: bool) {
        self.pending.last = self.pending.last.max(seq);
        self.is_held &= !done;
    }

    /// Takes vectors in.
    pub(super) fn apply_vectors(&mut self, embedded: &[Embedded], cursor: Seq) {
        // Those of a document that has changed since are of no use.
        let current = |embedded: &&Embedded| self.documents.seq(embedded.key) <= Some(embedded.seq);
        for embedded in embedded.iter().filter(current) {
            self.vectors.insert(embedded, &self.documents);
            self.unsaved.rows.insert(embedded.key, Arc::new(embedded.clone()));
        }
        self.unsaved.cursor = self.unsaved.cursor.max(cursor);
        #[cfg(feature = "hnsw")]
        self.vectors.link();
    }

    /// Forgets all vectors, on disk and not.
    pub(super) fn forget_vectors(&mut self) {
        (self.vectors, self.unsaved, self.rows) = (Vectors::default(), Unsaved::default(), None);
    }

    /// The vectors to save now, and how far they reach.
    pub(super) fn unsaved(&self) -> (Vec<Arc<Embedded>>, Seq) {
        (self.unsaved.rows.values().cloned().collect(), self.unsaved.cursor)
    }

    /// Forgets that `rows` are to be saved, but for those that were replaced meanwhile.
    pub(super) fn saved(&mut self, rows: &[Arc<Embedded>]) {
        for row in rows {
            if self.unsaved.rows.get(&row.key).is_some_and(|now| Arc::ptr_eq(now, row)) {
                self.unsaved.rows.remove(&row.key);
            }
        }
    }

    pub(super) fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        let memory: [&dyn rank::Source; 2] = [&self.frozen.postings, &self.pending.postings];
        let disk = self.committed.as_deref().map(|committed| committed as &dyn rank::Source);
        let sources: Vec<&dyn rank::Source> = disk.into_iter().chain(memory).collect();
        rank::keyword(query, &self.documents, &sources)
    }

    pub(super) fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Vec<Ranked> {
        nearest::nearest(query, vector, &self.documents, &self.vectors)
    }
}
