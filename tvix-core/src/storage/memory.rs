//! [`MemoryStore`]: the contract of [`DocumentStore`] in the plainest code we could write.
//!
//! It is what the other stores are compared with, so it favours the obvious over the fast: lists
//! are computed from all documents on every call.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{
    Batch, Change, Condition, DocKey, Document, DocumentStore, Facet, FacetCount, Filter,
    Fingerprint, Kind, Operation, Page, RECEIPTS_MAX, Request, Seq, Written, parts::is_forgotten,
};
use crate::{Result, types::RequestId};

/// Documents in memory: for tests, and for data that may vanish with the process.
///
/// Nothing reaches the disk, and no call ever fails.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    records: Records,
    /// Oldest first.
    requests: VecDeque<Request>,
}

/// Everything that a refused batch must leave as it was.
#[derive(Debug, Default, Clone)]
struct Records {
    live: BTreeMap<DocKey, Arc<Document>>,
    deleted: BTreeMap<DocKey, Seq>,
    facets: HashMap<(Kind, Facet, String), FacetCount>,
    last: Seq,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DocumentStore for MemoryStore {
    async fn write(&self, batch: Batch) -> Result<Written> {
        Ok(self.state().write(batch))
    }

    async fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>> {
        let state = self.state();
        let get = |key| state.records.live.get(key).map(|document| (**document).clone());
        Ok(keys.iter().map(get).collect())
    }

    async fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>> {
        Ok(self.state().records.carriers(kind, *fingerprint).collect())
    }

    async fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>> {
        let state = self.state();
        let mut found: Vec<_> =
            state.records.of(kind).filter(|document| filter.accepts(document)).collect();
        found.sort_by_key(|document| Reverse((document.time.order(), document.key.id)));
        let page = found.into_iter().skip(page.offset).take(page.limit);
        Ok(page.map(|document| (**document).clone()).collect())
    }

    async fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>> {
        let state = self.state();
        let of_kind =
            state.records.facets.iter().filter(|(key, _)| (key.0, key.1) == (kind, facet));
        let mut counts: Vec<FacetCount> = of_kind.map(|(_, count)| count.clone()).collect();
        counts.sort_by_key(FacetCount::order);
        Ok(counts)
    }

    async fn receipt(&self, request: RequestId) -> Result<Option<String>> {
        let state = self.state();
        let found = state.requests.iter().find(|known| known.id == request);
        Ok(found.map(|known| known.receipt.clone()))
    }

    async fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        let state = self.state();
        let live = state.records.live.iter();
        let live = live.map(|(key, document)| (document.seq, *key, Some(document)));
        let deleted = state.records.deleted.iter().map(|(key, seq)| (*seq, *key, None));
        let mut rows: Vec<_> = live.chain(deleted).filter(|(seq, ..)| *seq > after).collect();
        rows.sort_by_key(|(seq, ..)| *seq);
        let changes = rows.into_iter().take(limit).map(|(seq, key, document)| {
            let document = document.map(|document| (**document).clone());
            Change { seq, key, document }
        });
        Ok(changes.collect())
    }
}

impl State {
    fn write(&mut self, batch: Batch) -> Written {
        if let Some(receipt) = batch.request.as_ref().and_then(|request| self.seen(request)) {
            return Written::Repeated { receipt };
        }
        // A batch of one operation checks all of its conditions before it changes anything.
        let backup = (batch.operations.len() > 1).then(|| self.records.clone());
        for (index, operation) in batch.operations.into_iter().enumerate() {
            if let Some((condition, existing)) = self.records.violated(&operation) {
                if let Some(backup) = backup {
                    self.records = backup;
                }
                return Written::Refused { operation: index, condition, existing };
            }
            self.records.apply(operation);
        }
        if let Some(request) = batch.request {
            self.remember(request);
        }
        Written::Done { seq: self.records.last }
    }

    fn seen(&self, request: &Request) -> Option<String> {
        let known = self.requests.iter().find(|known| known.id == request.id)?;
        (!is_forgotten(known.at, request.at)).then(|| known.receipt.clone())
    }

    fn remember(&mut self, request: Request) {
        let now = request.at;
        self.requests.retain(|known| known.id != request.id);
        self.requests.push_back(request);
        while self.requests.len() > RECEIPTS_MAX
            || self.requests.front().is_some_and(|oldest| is_forgotten(oldest.at, now))
        {
            self.requests.pop_front();
        }
    }
}

impl Records {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Arc<Document>> {
        self.live.values().filter(move |document| document.key.kind == kind)
    }

    fn carriers(&self, kind: Kind, fingerprint: Fingerprint) -> impl Iterator<Item = DocKey> {
        let carries = move |document: &&Arc<Document>| document.fingerprint == fingerprint;
        self.of(kind).filter(carries).map(|document| document.key)
    }

    /// The first condition of `operation` that does not hold, and the twin if that is why.
    fn violated(&self, operation: &Operation) -> Option<(Condition, Option<DocKey>)> {
        let key = operation.key();
        let held = self.live.get(&key);
        let fingerprint = operation.fingerprint().or(held.map(|document| document.fingerprint));
        operation.conditions().iter().find_map(|condition| {
            let twin = fingerprint
                .filter(|_| *condition == Condition::NoTwin)
                .and_then(|it| self.carriers(key.kind, it).find(|other| *other != key));
            let holds = match *condition {
                Condition::NoTwin => twin.is_none(),
                Condition::Unchanged(seq) => held.is_some_and(|document| document.seq == seq),
                Condition::FewerThan(limit) => (self.of(key.kind).count() as u64) < limit,
            };
            (!holds).then_some((*condition, twin))
        })
    }

    fn apply(&mut self, operation: Operation) {
        let key = operation.key();
        if let Operation::Delete { .. } = operation
            && !self.live.contains_key(&key)
        {
            return;
        }
        self.last.0 += 1;
        // The new document is counted before the old one goes, so that a scope whose only document
        // is replaced keeps its name.
        let old = match operation {
            Operation::Put { document, .. } => self.put(*document),
            Operation::Delete { .. } => {
                self.deleted.insert(key, self.last);
                self.live.remove(&key)
            }
        };
        if let Some(old) = old {
            self.count(&old, -1);
        }
    }

    fn put(&mut self, mut document: Document) -> Option<Arc<Document>> {
        document.seq = self.last;
        if let Some(scope) = &mut document.scope
            && let Some(known) =
                self.facets.get(&(document.key.kind, Facet::Scope, scope.key.clone()))
        {
            scope.name.clone_from(&known.name);
        }
        self.count(&document, 1);
        self.deleted.remove(&document.key);
        self.live.insert(document.key, Arc::new(document))
    }

    fn count(&mut self, document: &Document, step: i64) {
        for (facet, key, name) in document.facets() {
            let place = (document.key.kind, facet, key.clone());
            let row = self.facets.entry(place.clone()).or_insert(FacetCount {
                key,
                name,
                count: 0,
                last_change: Seq::ZERO,
            });
            row.count = row.count.saturating_add_signed(step);
            row.last_change = self.last;
            if row.count == 0 {
                self.facets.remove(&place);
            }
        }
    }
}
