//! Building the index anew while it is in use.
//!
//! Two cases. An index that works but is not wanted any more is replaced: a second one grows beside it
//! and takes its place when it holds everything, and until then the first answers. An index that is
//! empty or far behind, since its files were lost or not to be trusted, is filled by a thread while
//! searches answer from what is there and say so; what is written meanwhile is taken in at once.
//!
//! Both run on a thread of their own, so that they neither stop when their caller goes nor keep
//! others waiting. A step is short, and the next begins only when few changes wait for their commit.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    Error, Result, Tvix,
    search::Notice,
    storage::{Change, DocumentStore, Facet, Kind, SearchIndex, Seq},
};

/// How many documents a search may wait for, or take into memory itself.
const FAR_BEHIND: u64 = 20_000;
/// How many changes are taken from the log at a time; searches wait for one step at most.
const STEP: usize = 64;
/// How long a rebuild that failed waits before it tries again, in tenths of a second.
const PAUSE: u32 = 20;

/// What a thread of its own is to do.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a second index can be built beside the one in use.
#[async_trait]
pub(crate) trait Workshop: Send + Sync {
    /// An empty index beside the one in use: the draft. An earlier one is given up.
    async fn begin(&self) -> Result<Arc<dyn SearchIndex>>;

    /// Waits until all that the draft took is on disk.
    async fn save(&self) -> Result<()>;

    /// Puts the draft in place of the index in use. After an error the latter goes on, from its cursor.
    async fn finish(&self) -> Result<()>;

    /// Removes the draft.
    async fn give_up(&self);

    /// From now on changes are not applied to the index in use in the order of the log, so that its
    /// cursor moves only by [`reach`](Self::reach).
    async fn hold(&self) -> Result<()>;

    /// Says that all changes up to `seq` were applied; with `done`, that the order of the log holds
    /// again.
    async fn reach(&self, seq: Seq, done: bool) -> Result<()>;

    /// Waits until few changes wait for their commit.
    async fn room(&self) -> Result<()>;

    /// Does `work` on a thread of its own.
    fn spawn(&self, work: Work) -> Result<JoinHandle<()>>;
}

/// How far a rebuild is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the index in use lacks what is to come; otherwise a second one is built beside it.
    pub(crate) is_partial: bool,
    /// Documents taken in.
    pub(crate) done: u64,
    /// Documents in all, when the rebuild began.
    pub(crate) total: u64,
}

/// The rebuilds of one store.
pub(crate) struct Rebuilds {
    workshop: Option<Arc<dyn Workshop>>,
    far_behind: AtomicU64,
    /// Held while one runs.
    running: Arc<async_lock::Mutex<()>>,
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    stop: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

/// What a rebuild needs of the handle it was begun with, which it must not keep alive.
struct Builder {
    store: Arc<dyn DocumentStore>,
    index: Arc<dyn SearchIndex>,
    workshop: Arc<dyn Workshop>,
    applied: Arc<async_lock::Mutex<Option<Seq>>>,
    state: Arc<State>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rebuilds {
    /// Rebuilds happen in `workshop`; without one the index is emptied and filled again.
    pub(crate) fn new(workshop: Option<Arc<dyn Workshop>>) -> Self {
        Self {
            workshop,
            far_behind: AtomicU64::new(FAR_BEHIND),
            running: Arc::default(),
            state: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// How far the rebuild is that runs now.
    pub(crate) fn progress(&self) -> Option<Progress> {
        *lock(&self.state.progress)
    }

    /// Whether documents are in the store that the index in use lacks.
    pub(crate) fn is_partial(&self) -> bool {
        self.progress().is_some_and(|progress| progress.is_partial)
    }

    /// What a search must say about its answer.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let progress = self.progress().filter(|progress| progress.is_partial)?;
        Some(Notice::IndexRebuilding { done: progress.done, total: progress.total })
    }

    /// Waits until no rebuild runs.
    pub(crate) async fn ended(&self) {
        drop(self.running.lock().await);
    }

    fn start(&self, workshop: &dyn Workshop, work: Work) -> Result<()> {
        let thread = workshop.spawn(work)?;
        // The one before has nothing left to do: only one runs at a time.
        *lock(&self.thread) = Some(thread);
        Ok(())
    }
}

impl Drop for Rebuilds {
    /// Waits for the step that is under way: the folder's lock must not go before.
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = lock(&self.thread).take() {
            // A panic there was reported by its own thread.
            let _ = thread.join();
        }
    }
}

impl Tvix {
    /// Builds the index anew from the log. Searches and writes go on meanwhile.
    pub(crate) async fn rebuild_index(&self) -> Result<()> {
        // What this starts comes first. An index that cannot be asked is replaced all the same.
        let _ = self.begins_after().await;
        let rebuilds = self.rebuilds();
        let Some(workshop) = &rebuilds.workshop else { return self.rebuild_in_place().await };
        let guard = rebuilds.running.lock_arc().await;
        let (total, _) = self.extent().await?;
        let builder = self.build_with(workshop);
        builder.state.begin(Progress { is_partial: false, done: 0, total });
        tracing::info!(documents = total, "the index is built anew beside the old one");
        let outcome = Arc::new(Mutex::new(None));
        let told = Arc::clone(&outcome);
        let work = async move {
            *lock(&told) = Some(builder.replace().await);
            builder.state.end();
            drop(guard);
        };
        rebuilds.start(&**workshop, Box::pin(work))?;
        rebuilds.ended().await;
        let outcome = lock(&outcome).take();
        self.meaning().forget().await;
        self.embed_new().await;
        // Only a panic leaves nothing.
        outcome.unwrap_or_else(|| Err(Error::corrupt("text index", "its rebuild broke off")))
    }

    /// Fills an index whose cursor is at `cursor`: by a thread if it is far behind, else that is left
    /// to whoever needs it. Returns where [`Tvix::catch_up`] goes on.
    async fn fill_from(&self, cursor: Seq) -> Result<Seq> {
        let rebuilds = self.rebuilds();
        let Some(workshop) = &rebuilds.workshop else { return Ok(cursor) };
        let (total, last) = self.extent().await?;
        let unseen = last.0.saturating_sub(cursor.0).min(total);
        if unseen <= rebuilds.far_behind.load(Ordering::Relaxed) {
            return Ok(cursor);
        }
        let Some(guard) = rebuilds.running.try_lock_arc() else { return Ok(cursor) };
        workshop.hold().await?;
        let builder = self.build_with(workshop);
        builder.state.begin(Progress { is_partial: true, done: total - unseen, total });
        tracing::warn!(documents = total, "the index is rebuilt; until then searches find a part");
        let work = async move {
            builder.fill(cursor, last).await;
            builder.state.end();
            drop(guard);
        };
        rebuilds.start(&**workshop, Box::pin(work))?;
        Ok(last)
    }

    /// Where indexing goes on after opening. An index that has seen changes the store does not have
    /// belongs to another state of the store, such as one newer than a copy that was put back: what
    /// it holds cannot be trusted, so it is built anew. A write would hide that by catching up with
    /// the index's cursor, which is why this is asked before the first.
    pub(crate) async fn first_unseen(&self) -> Result<Seq> {
        let mut cursor = self.index().cursor().await?;
        if self.is_ahead(cursor).await? {
            tracing::warn!(%cursor, "the index is ahead of the store and is built anew");
            self.index().reset().await?;
            cursor = Seq::ZERO;
        }
        self.fill_from(cursor).await
    }

    /// Whether no change of the store is as late as `cursor`. The last change of all is always in
    /// the log.
    pub(crate) async fn is_ahead(&self, cursor: Seq) -> Result<bool> {
        let before = Seq(cursor.0.saturating_sub(1));
        Ok(cursor > Seq::ZERO && self.store().changes(before, 1).await?.is_empty())
    }

    /// Empties the index and fills it again; nothing else writes to it meanwhile.
    async fn rebuild_in_place(&self) -> Result<()> {
        let (_, index, applied) = self.parts();
        let mut applied = applied.lock().await;
        *applied = Some(Seq::ZERO);
        index.reset().await?;
        self.meaning().forget().await;
        self.apply_after(Seq::ZERO, &mut applied).await?;
        drop(applied);
        self.embed_new().await;
        Ok(())
    }

    fn build_with(&self, workshop: &Arc<dyn Workshop>) -> Builder {
        let (store, index, applied) = self.parts();
        let state = Arc::clone(&self.rebuilds().state);
        Builder { store, index, workshop: Arc::clone(workshop), applied, state }
    }

    /// How many documents there are, and the last change of any.
    async fn extent(&self) -> Result<(u64, Seq)> {
        let (mut total, mut last) = (0, Seq::ZERO);
        for kind in Kind::ALL {
            for source in self.store().facets(kind, Facet::Source).await? {
                total += source.count;
                last = last.max(source.last_change);
            }
        }
        Ok((total, last))
    }
}

impl Builder {
    /// Builds a second index and puts it in place of the first.
    async fn replace(&self) -> Result<()> {
        let draft = self.workshop.begin().await?;
        if let Err(error) = self.fill_draft(&*draft).await {
            self.workshop.give_up().await;
            return Err(error);
        }
        drop(draft);
        let mut applied = self.applied.lock().await;
        let finished = self.workshop.finish().await;
        // What came since then is taken in by whoever needs it next; until then nobody looks.
        *applied = Some(self.index.cursor().await?);
        self.catch_up(&mut applied).await?;
        finished
    }

    /// The log is read in order to its end, so what is written meanwhile gets in as well.
    async fn fill_draft(&self, draft: &dyn SearchIndex) -> Result<()> {
        let mut seen = Seq::ZERO;
        loop {
            self.workshop.room().await?;
            let changes = self.store.changes(seen, STEP).await?;
            draft.apply(&changes).await?;
            let Some(last) = changes.last() else { return self.workshop.save().await };
            seen = last.seq;
            self.state.took(&changes);
            if self.state.stop.load(Ordering::Relaxed) {
                return Err(Error::conflict("the store was closed while its index was rebuilt"));
            }
        }
    }

    async fn catch_up(&self, applied: &mut Option<Seq>) -> Result<()> {
        loop {
            let changes = self.store.changes(applied.unwrap_or_default(), STEP).await?;
            let Some(last) = changes.last() else { return Ok(()) };
            self.index.apply(&changes).await?;
            *applied = Some(last.seq);
        }
    }

    /// Applies the changes after `seen` up to `end`, however often that fails.
    async fn fill(&self, mut seen: Seq, end: Seq) {
        while seen < end {
            match self.fill_step(seen, end).await {
                Ok(reached) => seen = reached,
                Err(error) => {
                    tracing::warn!(%error, "the rebuild of the index waits");
                    // This thread has nothing else to do.
                    for _ in (0..PAUSE).take_while(|_| !self.is_stopped()) {
                        thread::sleep(Duration::from_millis(100));
                    }
                }
            }
            if self.is_stopped() {
                return;
            }
        }
        tracing::warn!("the index is rebuilt: searches find everything again");
    }

    async fn fill_step(&self, seen: Seq, end: Seq) -> Result<Seq> {
        self.workshop.room().await?;
        // Reading and applying are one: a deletion in between would be undone.
        let applied = self.applied.lock().await;
        let mut changes = self.store.changes(seen, STEP).await?;
        let is_last = changes.len() < STEP;
        changes.retain(|change| change.seq <= end);
        self.index.apply(&changes).await?;
        self.state.took(&changes);
        let reached = match changes.last() {
            Some(last) if !is_last && last.seq < end => last.seq,
            _ => end,
        };
        let is_done = reached == end;
        // What came after `end` was applied as it came.
        let known = applied.filter(|_| is_done).map_or(reached, |last| last.max(end));
        self.workshop.reach(known, is_done).await?;
        Ok(reached)
    }

    fn is_stopped(&self) -> bool {
        self.state.stop.load(Ordering::Relaxed)
    }
}

impl State {
    fn begin(&self, progress: Progress) {
        *lock(&self.progress) = Some(progress);
    }

    fn end(&self) {
        *lock(&self.progress) = None;
    }

    /// Counts, and tells every tenth.
    fn took(&self, changes: &[Change]) {
        let mut progress = lock(&self.progress);
        let Some(progress) = progress.as_mut() else { return };
        let before = progress.tenth();
        progress.done += changes.iter().filter(|change| change.document.is_some()).count() as u64;
        // What is written meanwhile comes on top.
        progress.total = progress.total.max(progress.done);
        match progress.tenth() > before {
            // What was not asked for is worth a word at the usual level.
            true if progress.is_partial => tracing::warn!("{progress}"),
            true => tracing::info!("{progress}"),
            false => {}
        }
    }
}

impl Progress {
    fn tenth(self) -> u64 {
        self.done * 10 / self.total.max(1)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.is_partial { "" } else { " beside the one in use" };
        let Self { done, total, .. } = self;
        write!(f, "index is being rebuilt{place}: {done} of {total} documents")
    }
}

#[cfg(all(test, feature = "local"))]
mod tests;
