//! What queries of the local index see: one view of what is committed and what is not.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Best,
    entry::{Entry, Meta},
    postings::Postings,
    text::Committed,
    vectors::Vectors,
    writer::Commit,
};
use crate::{
    Result,
    embed::Vector,
    storage::{Change, DocKey, IndexQuery, Ranked, Seq},
};

/// A key, and the document that replaces what it held; `None` when it was deleted.
pub(super) type Pending = (DocKey, Option<Arc<Entry>>);

/// What queries see.
#[derive(Default)]
pub(super) struct View {
    committed: Option<Arc<Committed>>,
    pub(super) cursor: Seq,
    /// Changes come out of order, and the cursor moves only by what [`View::reach`] is told.
    pub(super) is_held: bool,
    /// Changes of the commit that is under way.
    pub(super) frozen: Tier,
    /// Changes since. A key in here is no longer in the postings of `frozen`.
    pending: Tier,
    pub(super) vectors: Vectors,
}

/// Changes that are searched in memory.
#[derive(Default)]
pub(super) struct Tier {
    changes: HashMap<DocKey, Option<Arc<Entry>>>,
    postings: Postings,
    /// The last of them.
    last: Seq,
}

/// What a change means for the index.
pub(super) enum Analysed {
    /// A later change of the same document is indexed.
    Stale,
    Deleted,
    /// The text is there; vectors may follow.
    Known(Arc<Meta>),
    New(Arc<Entry>),
}

impl View {
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

    pub(super) fn apply(
        &mut self,
        change: &Change,
        analysed: Analysed,
        vectors: Option<&Vec<Vector>>,
    ) {
        let key = change.key;
        let meta = match analysed {
            Analysed::Stale => return,
            Analysed::Known(meta) => Some(meta),
            Analysed::Deleted => {
                self.supersede(change, None);
                None
            }
            Analysed::New(entry) => {
                let meta = Arc::clone(&entry.meta);
                self.supersede(change, Some(entry));
                Some(meta)
            }
        };
        match (meta, vectors) {
            (Some(meta), Some(vectors)) => self.vectors.insert(meta, vectors.clone()),
            (meta, _) => self.vectors.keep_only(key, meta.map(|meta| meta.seq)),
        }
    }

    fn supersede(&mut self, change: &Change, entry: Option<Arc<Entry>>) {
        self.frozen.postings.remove(change.key);
        match &entry {
            Some(entry) => self.pending.postings.insert(entry),
            None => self.pending.postings.remove(change.key),
        }
        self.pending.changes.insert(change.key, entry);
        if !self.is_held {
            self.reach(change.seq, false);
        }
    }

    /// Says that all changes up to `seq` are here; with `done`, that none is left out any more.
    pub(super) fn reach(&mut self, seq: Seq, done: bool) {
        self.pending.last = self.pending.last.max(seq);
        self.is_held &= !done;
    }

    /// The change of which the text under `key` is indexed.
    pub(super) fn seq(&self, key: DocKey) -> Result<Option<Seq>> {
        let tiers = [&self.pending, &self.frozen];
        if let Some(entry) = tiers.into_iter().find_map(|tier| tier.changes.get(&key)) {
            return Ok(entry.as_ref().map(|entry| entry.meta.seq));
        }
        self.committed.as_ref().map_or(Ok(None), |committed| committed.seq(key))
    }

    /// How many documents queries can find.
    pub(super) fn documents(&self) -> Result<u64> {
        let mut documents = self.pending.postings.documents() + self.frozen.postings.documents();
        let Some(committed) = &self.committed else { return Ok(documents) };
        documents += committed.documents();
        let changed: HashSet<&DocKey> =
            self.pending.changes.keys().chain(self.frozen.changes.keys()).collect();
        for key in changed {
            documents -= u64::from(committed.seq(*key)?.is_some());
        }
        Ok(documents)
    }

    fn masked(&self, key: DocKey) -> bool {
        self.pending.changes.contains_key(&key) || self.frozen.changes.contains_key(&key)
    }

    pub(super) fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        let mut best = Best::default();
        if query.text.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let mut statistics = self.pending.postings.statistics(&query.text);
        statistics.add(&self.frozen.postings.statistics(&query.text));
        if let Some(committed) = &self.committed {
            statistics.add(&committed.statistics(&query.text)?);
            committed.search(query, &statistics, &|key| self.masked(key), &mut best)?;
        }
        self.frozen.postings.search(query, &statistics, &mut best);
        self.pending.postings.search(query, &statistics, &mut best);
        Ok(best.ranked(query.limit))
    }
}
