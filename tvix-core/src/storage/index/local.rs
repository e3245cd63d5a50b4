//! The index of a data folder: committed documents in tantivy, the rest in memory, one view of both.

mod vectors;

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use async_lock::OnceCell;
use async_trait::async_trait;
use tokio::sync::Notify;

use super::{
    entry::Entry,
    view::View,
    writer::{Engine, wipe},
};
use crate::{
    Error, Result,
    embed::{Model, Vector},
    storage::{
        Change, DocKey, Embedded, IndexQuery, IndexState, Neighbours, Ranked, SearchIndex, Seq,
    },
};

/// So many changes are committed at once.
const COMMIT_CHANGES: usize = 500;
/// No change waits longer than this for its commit to begin. Also the pause after a failed commit.
const COMMIT_DELAY: Duration = Duration::from_secs(2);
/// More changes than this are not kept in memory: `apply` waits.
const PENDING_MAX: usize = 20_000;

/// The [`SearchIndex`] of a data folder.
///
/// A change is found by the next query, from memory; a thread of its own commits to tantivy, by count
/// and by time, with the cursor in the same commit. Changes must be applied in the order of the log:
/// the cursor says that all before it are there. What was not committed when the process ended is
/// applied again from the log. Vectors are kept in a file of their own, with a cursor of theirs.
///
/// Dropping it does not commit; it waits for a commit that is under way.
pub struct LocalIndex {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    folder: PathBuf,
    /// Set when opening is over; holds the error, if any.
    opened: OnceCell<Option<String>>,
    /// Whoever commits or wipes holds it.
    engine: Mutex<Option<Engine>>,
    view: RwLock<View>,
    signal: Mutex<Signal>,
    wake: Condvar,
    /// Told after each commit, done or failed.
    committed: Notify,
}

/// What the committer waits for.
#[derive(Default)]
struct Signal {
    stop: bool,
    changes: usize,
    /// When the first of `changes` came.
    since: Option<Instant>,
    /// Somebody waits for the commit.
    urgent: bool,
    /// Why the last commit failed.
    failure: Option<String>,
}

impl LocalIndex {
    /// The index in the folder `text` of `directory`. Returns at once: a thread opens it, and every
    /// call waits until that is done. An index that is damaged or of another version starts empty,
    /// with the cursor at zero.
    pub fn open(directory: impl Into<PathBuf>) -> Self {
        let shared = Arc::new(Shared::new(directory.into().join("text")));
        let thread = thread::Builder::new().name("tvix-index".into());
        let committer = thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.run()
        });
        if let Err(error) = &committer {
            // Nobody else sets the cell when the thread does not run.
            let _ = shared.opened.set_blocking(Some(error.to_string()));
        }
        Self { shared, committer: Mutex::new(committer.ok()) }
    }

    /// Commits what is pending without waiting for the committer.
    #[cfg(test)]
    pub(super) fn commit_now(&self) -> Result<()> {
        self.shared.opened.wait_blocking();
        self.shared.commit()
    }

    /// Waits until at most `limit` changes are not committed.
    pub(super) async fn settled(&self, limit: usize) -> Result<()> {
        self.ready().await?.room(limit, true).await
    }

    /// From now on changes that are applied do not move the cursor: they are not the next in the log.
    pub(super) async fn hold(&self) -> Result<()> {
        self.ready().await?.view_mut().is_held = true;
        Ok(())
    }

    /// Says how far changes are there without a gap; with `done`, that from now on none is left out.
    pub(super) async fn reach(&self, seq: Seq, done: bool) -> Result<()> {
        self.ready().await?.view_mut().reach(seq, done);
        Ok(())
    }

    /// Stops committing, after a commit that is under way, and lets go of all files. What is asked
    /// afterwards finds nothing.
    pub(super) fn close(&self) {
        self.shared.signal().stop = true;
        self.shared.wake.notify_all();
        let committer = self.committer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(committer) = committer {
            // A panic there was reported by its own thread.
            let _ = committer.join();
        }
        *self.shared.view_mut() = View::default();
    }

    /// What [`SearchIndex`] calls work on, once it is open.
    async fn ready(&self) -> Result<&Shared> {
        match self.shared.opened.wait().await {
            None => Ok(&self.shared),
            Some(reason) => Err(Error::Backend {
                operation: "opening the text index".into(),
                reason: reason.clone(),
                source: None,
            }),
        }
    }
}

impl Drop for LocalIndex {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for LocalIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalIndex").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

#[async_trait]
impl SearchIndex for LocalIndex {
    async fn cursor(&self) -> Result<Seq> {
        Ok(self.ready().await?.view().cursor)
    }

    async fn apply(&self, changes: &[Change]) -> Result<()> {
        let shared = self.ready().await?;
        // In parts, so that a long list cannot pass the limit.
        for changes in changes.chunks(COMMIT_CHANGES) {
            shared.room(PENDING_MAX, false).await?;
            shared.apply(changes);
        }
        Ok(())
    }

    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        self.ready().await?.view().keyword(query)
    }

    async fn vector_cursor(&self, model: &Model) -> Result<Seq> {
        self.ready().await?.vector_cursor(model)
    }

    async fn apply_vectors(&self, embedded: &[Embedded], cursor: Seq) -> Result<()> {
        let shared = self.ready().await?;
        shared.view_mut().apply_vectors(embedded, cursor);
        shared.changed(embedded.len());
        Ok(())
    }

    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>> {
        Ok(self.ready().await?.view().nearest(query, vector))
    }

    async fn neighbours(&self, keys: &[DocKey]) -> Result<Vec<Neighbours>> {
        let view = self.ready().await?.view();
        Ok(keys.iter().map(|key| view.documents.neighbours(*key)).collect())
    }

    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>> {
        let view = self.ready().await?.view();
        Ok(keys.iter().map(|key| view.documents.seq(*key)).collect())
    }

    async fn inspect(&self) -> Result<IndexState> {
        let shared = self.ready().await?;
        let damage = shared.engine().as_ref().map_or(Ok(Vec::new()), Engine::damage)?;
        let view = shared.view();
        Ok(IndexState { documents: view.documents.len(), embedded: view.vectors.len(), damage })
    }

    async fn reset(&self) -> Result<()> {
        self.ready().await?.reset()
    }
}

impl Shared {
    fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            opened: OnceCell::new(),
            engine: Mutex::default(),
            view: RwLock::default(),
            signal: Mutex::default(),
            wake: Condvar::new(),
            committed: Notify::new(),
        }
    }

    // A panic under one of these locks leaves nothing that the next commit does not mend.
    fn view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn view_mut(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self) -> MutexGuard<'_, Signal> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engine(&self) -> MutexGuard<'_, Option<Engine>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The committer: opens the index, then commits until it is told to stop.
    fn run(&self) {
        let failure = match Engine::open(&self.folder) {
            Ok((engine, documents, commit)) => {
                *self.engine() = Some(engine);
                *self.view_mut() = View::of(documents, commit);
                None
            }
            Err(error) => Some(error.to_string()),
        };
        let opened = failure.is_none();
        let _ = self.opened.set_blocking(failure);
        while opened && self.wait_for_changes() {
            let failure = self.commit().err().map(|error| error.to_string());
            if let Some(error) = &failure {
                tracing::warn!(error, "text index: commit failed, trying again");
            }
            self.after_commit(failure);
        }
        // The lock on the folder goes before whoever drops us goes on.
        self.engine().take();
    }

    /// Waits until a commit is due; false when it is time to stop.
    fn wait_for_changes(&self) -> bool {
        let mut signal = self.signal();
        loop {
            if signal.stop {
                return false;
            }
            let waited = signal.since.map(|since| since.elapsed());
            let due = COMMIT_DELAY.saturating_sub(waited.unwrap_or_default());
            if waited.is_some() && (due.is_zero() || signal.is_full()) {
                (signal.changes, signal.since, signal.urgent) = (0, None, false);
                return true;
            }
            signal = match waited {
                Some(_) => match self.wake.wait_timeout(signal, due) {
                    Ok((signal, _)) => signal,
                    Err(_) => return false,
                },
                None => match self.wake.wait(signal) {
                    Ok(signal) => signal,
                    Err(_) => return false,
                },
            };
        }
    }

    /// Commits what is pending.
    fn commit(&self) -> Result<()> {
        let mut engine = self.engine();
        let Some(engine) = engine.as_mut() else { return Ok(()) };
        let (changes, last) = self.view_mut().freeze();
        if changes.is_empty() {
            return self.save_vectors();
        }
        engine.commit(&changes, last)?;
        let commit = engine.committed(&self.view(), last)?;
        let done = {
            let mut view = self.view_mut();
            view.show(commit);
            std::mem::take(&mut view.frozen)
        };
        // Outside of the lock: freeing thousands of terms takes a while.
        drop(done);
        self.save_vectors()
    }

    /// Tells the committer of `count` changes.
    fn changed(&self, count: usize) {
        let mut signal = self.signal();
        signal.changes += count;
        signal.since.get_or_insert_with(Instant::now);
        drop(signal);
        self.wake.notify_all();
    }

    fn after_commit(&self, failure: Option<String>) {
        let left = self.view().waiting() > 0;
        let mut signal = self.signal();
        if left {
            signal.since.get_or_insert_with(Instant::now);
        }
        signal.failure = failure;
        drop(signal);
        self.committed.notify_waiters();
    }

    /// Waits until at most `limit` changes wait for their commit, which is brought forward if `urgent`.
    async fn room(&self, limit: usize, urgent: bool) -> Result<()> {
        loop {
            let committed = self.committed.notified();
            if self.view().waiting() <= limit {
                return Ok(());
            }
            if let Some(reason) = self.signal().failure.clone() {
                let operation = "committing to the text index".into();
                return Err(Error::Backend { operation, reason, source: None });
            }
            if urgent {
                self.signal().urgent = true;
                self.wake.notify_all();
            }
            committed.await;
        }
    }

    fn apply(&self, changes: &[Change]) {
        // Analysed outside of the lock: queries go on meanwhile.
        let unknown = |change: &&Change| !self.view().knows(change);
        let unknown: Vec<&Change> = changes.iter().filter(unknown).collect();
        let analysed: Vec<_> = unknown
            .into_iter()
            .map(|change| {
                let entry = change.document.as_ref();
                (change, entry.map(|document| Arc::new(Entry::of(document, change.seq))))
            })
            .collect();
        let mut view = self.view_mut();
        for (change, entry) in analysed {
            view.apply(change, entry);
        }
        drop(view);
        self.changed(changes.len());
    }

    fn reset(&self) -> Result<()> {
        let mut engine = self.engine();
        let Some(engine) = engine.as_mut() else { return Ok(()) };
        *self.view_mut() = View::default();
        wipe(&self.vector_folder())?;
        *self.view_mut() = engine.reset()?;
        Ok(())
    }
}

impl Signal {
    /// Whether the next commit need not wait for more. After a failure it pauses.
    fn is_full(&self) -> bool {
        (self.urgent || self.changes >= COMMIT_CHANGES) && self.failure.is_none()
    }
}
