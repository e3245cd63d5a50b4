//! A document store of one's own: a journal of JSON lines, under Tvix's memory, wiki and search.
//!
//! It passes the suite that Tvix's own stores pass, and then serves a [`Tvix`]. Everything is read into
//! memory at the start and the file only grows, so it fits small stores; what it shows is the contract.
//!
//! `cargo run -p tvix-core --features conformance --example custom_backend`
#![allow(clippy::print_stdout, reason = "an example shows what it did")]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tvix_core::{
    Error, Memory, Result, Search, Tvix,
    memory::NewMemory,
    search::Query,
    storage::{
        Batch, Change, Condition, DocKey, Document, DocumentStore, Facet, FacetCount, Filter,
        Fingerprint, Kind, Operation, Page, RECEIPT_LIFETIME_MS, RECEIPTS_MAX, Seq, Written,
        index::MemoryIndex,
    },
    types::{QueryText, RequestId, Timestamp},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("tvix-custom-backend-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| Error::backend("making a folder", error))?;
    passes_the_suite(&folder).await;
    println!("the journal keeps the contract of a document store");

    let journal = folder.join("notes.jsonl");
    open(&journal)?.add(NewMemory::new("The starter is fed at nine in the evening")?).await?;
    // Opened again: the documents come from the journal, the index is built anew from its changes.
    let query = Query {
        kind: Kind::Memory,
        text: QueryText::new("feeding the starter")?,
        filter: Filter::default(),
        page: Page::first(3),
    };
    for hit in open(&journal)?.search(&query).await?.hits {
        println!("found again: {}", hit.document.text);
    }
    fs::remove_dir_all(&folder).map_err(|error| Error::backend("removing the folder", error))
}

fn open(journal: &Path) -> Result<Tvix> {
    let store = Arc::new(JournalStore::open(journal)?);
    Ok(Tvix::builder(store, Arc::new(MemoryIndex::default())).build())
}

/// Runs every sentence of the contract on a fresh journal; panics with a list of those that are broken.
async fn passes_the_suite(folder: &Path) {
    let opened = AtomicUsize::new(0);
    tvix_core::conformance::documents(async || {
        let number = opened.fetch_add(1, Ordering::Relaxed);
        let journal = folder.join(format!("suite-{number}.jsonl"));
        JournalStore::open(&journal).expect("a new journal in a folder of our own")
    })
    .await;
}

/// A [`DocumentStore`] in one file. A write is one line, so it is there whole or not at all.
#[derive(Debug)]
struct JournalStore(Mutex<Journal>);

#[derive(Debug)]
struct Journal {
    file: File,
    state: State,
}

/// What the lines add up to.
#[derive(Debug, Clone, Default)]
struct State {
    /// The last change of every key, deletions included: documents and change log in one.
    rows: BTreeMap<DocKey, Change>,
    /// The last change of every scope and source.
    touched: HashMap<(Kind, Facet, String), Seq>,
    calls: Vec<Call>,
    last: Seq,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    steps: Vec<Step>,
    call: Option<Call>,
}

/// An operation whose conditions hold.
#[derive(Debug, Serialize, Deserialize)]
enum Step {
    Put(Box<Document>),
    Delete(DocKey),
}

/// The call behind a write, so that it lands once.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Call {
    id: RequestId,
    receipt: String,
    at: Timestamp,
}

impl JournalStore {
    /// Opens or makes the journal. A last line without an end was never acknowledged and is cut off.
    fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| Error::backend("opening the journal", error);
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let mut state = State::default();
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            let line = serde_json::from_slice(line)
                .map_err(|error| Error::corrupt(path.display().to_string(), error))?;
            state.replay(line);
        }
        let file = File::options().create(true).append(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(failed)?;
        // A new file is there after a power cut only if its folder says so.
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok(Self(Mutex::new(Journal { file, state })))
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    fn write(&mut self, batch: Batch) -> Result<Written> {
        if let Some(request) = &batch.request
            && let Some(known) = self.state.call(request.id)
            && !known.is_forgotten(request.at)
        {
            return Ok(Written::Repeated { receipt: known.receipt.clone() });
        }
        // The batch is tried on a copy, which is dropped when a condition does not hold.
        let mut next = self.state.clone();
        let mut steps = Vec::with_capacity(batch.operations.len());
        for (operation, wanted) in batch.operations.into_iter().enumerate() {
            let (step, conditions) = match wanted {
                Operation::Put { document, conditions } => (Step::Put(document), conditions),
                Operation::Delete { key, conditions } => (Step::Delete(key), conditions),
            };
            for condition in conditions {
                if let Err(existing) = next.check(&step, condition) {
                    return Ok(Written::Refused { operation, condition, existing });
                }
            }
            next.apply(&step);
            steps.push(step);
        }
        let call = batch.request.map(|it| Call { id: it.id, receipt: it.receipt, at: it.at });
        self.append(&Line { steps, call: call.clone() })?;
        next.remember(call);
        self.state = next;
        Ok(Written::Done { seq: self.state.last })
    }

    /// Writes a line and waits until it is on disk. What is left of a line that failed is cut off.
    fn append(&mut self, line: &Line) -> Result<()> {
        let failed = |error: io::Error| Error::backend("writing the journal", error);
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let end = self.file.metadata().map_err(failed)?.len();
        self.file.write_all(&text).and_then(|()| self.file.sync_data()).map_err(|error| {
            // If even this fails, the next write fails too, and says so.
            let _ = self.file.set_len(end);
            failed(error)
        })
    }
}

impl State {
    fn replay(&mut self, line: Line) {
        line.steps.iter().for_each(|step| self.apply(step));
        self.remember(line.call);
    }

    fn document(&self, key: DocKey) -> Option<&Document> {
        self.rows.get(&key)?.document.as_ref()
    }

    fn live(&self, kind: Kind) -> impl Iterator<Item = &Document> {
        let documents = self.rows.values().filter_map(|change| change.document.as_ref());
        documents.filter(move |document| document.key.kind == kind)
    }

    /// Whether `condition` holds before `step`; if not, the twin that is in the way.
    fn check(&self, step: &Step, condition: Condition) -> Result<(), Option<DocKey>> {
        let (key, brought) = match step {
            Step::Put(document) => (document.key, Some(document.fingerprint)),
            Step::Delete(key) => (*key, None),
        };
        let held = self.document(key);
        let fingerprint = brought.or(held.map(|document| document.fingerprint));
        let holds = match condition {
            Condition::Unchanged(seq) => held.is_some_and(|document| document.seq == seq),
            Condition::FewerThan(limit) => (self.live(key.kind).count() as u64) < limit,
            Condition::NoTwin => {
                let same = |other: &&Document| Some(other.fingerprint) == fingerprint;
                let mut twins = self.live(key.kind).filter(same).map(|other| other.key);
                return twins.find(|other| *other != key).map_or(Ok(()), |twin| Err(Some(twin)));
            }
        };
        if holds { Ok(()) } else { Err(None) }
    }

    fn apply(&mut self, step: &Step) {
        let key = match step {
            Step::Put(document) => document.key,
            Step::Delete(key) => *key,
        };
        let old = self.document(key).cloned();
        if old.is_none() && matches!(step, Step::Delete(_)) {
            return;
        }
        self.last.0 += 1;
        let new = match step {
            Step::Put(document) => {
                Some(self.named(Document { seq: self.last, ..(**document).clone() }))
            }
            Step::Delete(_) => None,
        };
        for (facet, facet_key, _) in old.iter().chain(&new).flat_map(facets) {
            self.touched.insert((key.kind, facet, facet_key), self.last);
        }
        self.rows.insert(key, Change { seq: self.last, key, document: new });
    }

    /// `document` under the name that its scope has already.
    fn named(&self, mut document: Document) -> Document {
        if let Some(scope) = &mut document.scope {
            let mut scopes = self.live(document.key.kind).filter_map(|other| other.scope.as_ref());
            if let Some(known) = scopes.find(|known| known.key == scope.key) {
                scope.name.clone_from(&known.name);
            }
        }
        document
    }

    fn call(&self, id: RequestId) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == id)
    }

    fn remember(&mut self, call: Option<Call>) {
        let Some(call) = call else { return };
        self.calls.retain(|known| known.id != call.id && !known.is_forgotten(call.at));
        self.calls.push(call);
        let surplus = self.calls.len().saturating_sub(RECEIPTS_MAX);
        self.calls.drain(..surplus);
    }
}

impl Call {
    fn is_forgotten(&self, now: Timestamp) -> bool {
        now.as_millis().saturating_sub(self.at.as_millis()) > RECEIPT_LIFETIME_MS
    }
}

/// What `document` is counted under: facet, key, name.
fn facets(document: &Document) -> Vec<(Facet, String, String)> {
    let source = &document.source;
    let mut facets =
        vec![(Facet::Source, source.key().as_str().to_owned(), source.as_str().to_owned())];
    facets.extend(document.scope.clone().map(|scope| (Facet::Scope, scope.key, scope.name)));
    facets
}

/// The calls are short and the state is in memory; a store that waits for long would hand its work to
/// a thread of its own.
#[async_trait]
impl DocumentStore for JournalStore {
    async fn write(&self, batch: Batch) -> Result<Written> {
        self.journal().write(batch)
    }

    async fn get(&self, keys: &[DocKey]) -> Result<Vec<Option<Document>>> {
        let state = &self.journal().state;
        Ok(keys.iter().map(|key| state.document(*key).cloned()).collect())
    }

    async fn find(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>> {
        let state = &self.journal().state;
        let carriers = state.live(kind).filter(|document| document.fingerprint == *fingerprint);
        Ok(carriers.map(|document| document.key).collect())
    }

    async fn scan(&self, kind: Kind, filter: &Filter, page: Page) -> Result<Vec<Document>> {
        let state = &self.journal().state;
        let mut found: Vec<&Document> =
            state.live(kind).filter(|document| filter.accepts(document)).collect();
        found.sort_by_key(|document| Reverse((document.time.order(), document.key.id)));
        Ok(found.into_iter().skip(page.offset).take(page.limit).cloned().collect())
    }

    async fn facets(&self, kind: Kind, facet: Facet) -> Result<Vec<FacetCount>> {
        let state = &self.journal().state;
        let mut counts: BTreeMap<String, FacetCount> = BTreeMap::new();
        let all = state.live(kind).flat_map(facets).filter(|(of, ..)| *of == facet);
        for (_, key, name) in all {
            let touched = state.touched.get(&(kind, facet, key.clone()));
            let last_change = touched.copied().unwrap_or_default();
            let none = FacetCount { key: key.clone(), name, count: 0, last_change };
            counts.entry(key).or_insert(none).count += 1;
        }
        let mut counts: Vec<FacetCount> = counts.into_values().collect();
        counts.sort_by_key(|row| Reverse(row.last_change));
        Ok(counts)
    }

    async fn receipt(&self, request: RequestId) -> Result<Option<String>> {
        Ok(self.journal().state.call(request).map(|call| call.receipt.clone()))
    }

    async fn changes(&self, after: Seq, limit: usize) -> Result<Vec<Change>> {
        let state = &self.journal().state;
        let mut changes: Vec<&Change> =
            state.rows.values().filter(|change| change.seq > after).collect();
        changes.sort_by_key(|change| change.seq);
        Ok(changes.into_iter().take(limit).cloned().collect())
    }
}
