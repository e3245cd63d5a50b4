//! The index of a data folder as a whole, and its replacement while that is being built beside it.
//!
//! The replacement grows in `index.draft`. When it holds everything, `index` becomes `index.old` and the
//! draft becomes `index`: whenever the process ends, one of the two is there whole.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use async_lock::RwLock;
use async_trait::async_trait;

use super::LocalIndex;
use crate::{
    Error, Result,
    embed::{Model, Vector},
    files,
    rebuild::{Work, Workshop},
    storage::{
        Change, DocKey, Embedded, IndexQuery, IndexState, Neighbours, Ranked, SearchIndex, Seq,
    },
};

/// So many changes of a rebuild may wait for their commit: a process that ends waits for one.
const PENDING: usize = 1000;

/// A [`LocalIndex`] that can be replaced by a new one while it is in use.
#[derive(Debug)]
pub(crate) struct IndexFolder {
    folder: PathBuf,
    /// Every query holds it for reading, so that no file is in use when the folder is moved.
    current: RwLock<LocalIndex>,
    draft: Mutex<Option<Arc<LocalIndex>>>,
}

impl IndexFolder {
    /// The index in `folder`; see [`LocalIndex::open`]. What an unfinished rebuild left is removed.
    pub(crate) fn open(folder: PathBuf) -> Self {
        if let Err(error) = tidy(&folder) {
            tracing::warn!(%error, "what an earlier rebuild of the index left cannot be removed");
        }
        let current = RwLock::new(LocalIndex::open(&folder));
        Self { folder, current, draft: Mutex::default() }
    }

    /// Removes the index in `folder`, which nobody has open, and all that belongs to it.
    pub(crate) fn remove(folder: &Path) -> io::Result<()> {
        [&old(folder), &draft(folder), folder].into_iter().try_for_each(remove)
    }
}

fn draft(folder: &Path) -> PathBuf {
    folder.with_extension("draft")
}

fn old(folder: &Path) -> PathBuf {
    folder.with_extension("old")
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Ends what a killed process began: the old index comes back unless the new one is in its place.
fn tidy(folder: &Path) -> io::Result<()> {
    if old(folder).exists() && !folder.exists() {
        fs::rename(old(folder), folder)?;
    }
    remove(&old(folder))?;
    remove(&draft(folder))
}

/// Puts the draft in place of the index; both are closed.
fn put_in_place(folder: &Path) -> io::Result<()> {
    let (draft, old) = (draft(folder), old(folder));
    let parent = folder.parent().unwrap_or(Path::new("."));
    files::sync_folder(&draft)?;
    remove(&old)?;
    match fs::rename(folder, &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => files::sync_folder(parent)?,
    }
    if let Err(error) = fs::rename(&draft, folder) {
        // If this fails too, the next open does it.
        let _ = fs::rename(&old, folder);
        return Err(error);
    }
    files::sync_folder(parent)?;
    // Vectors stay good: each says of which change it is.
    if let Err(error) = fs::rename(old.join("vectors"), folder.join("vectors")) {
        tracing::debug!(%error, "the old index has no vectors to keep");
    }
    if let Err(error) = remove(&old) {
        tracing::debug!(%error, "the old index is removed at the next start");
    }
    Ok(())
}

#[async_trait]
impl Workshop for IndexFolder {
    async fn begin(&self) -> Result<Arc<dyn SearchIndex>> {
        // One that was given up still writes to the folder.
        if let Some(abandoned) = self.draft().take() {
            abandoned.close();
        }
        let folder = draft(&self.folder);
        remove(&folder).map_err(|error| Error::backend("removing an old draft", error))?;
        let index = Arc::new(LocalIndex::open(folder));
        *self.draft() = Some(Arc::clone(&index));
        Ok(index)
    }

    async fn save(&self) -> Result<()> {
        let draft = self.draft().clone();
        match draft {
            Some(draft) => draft.settled(0).await,
            None => Ok(()),
        }
    }

    async fn finish(&self) -> Result<()> {
        let Some(draft) = self.draft().take() else { return Ok(()) };
        let mut current = self.current.write().await;
        draft.close();
        current.close();
        let moved = put_in_place(&self.folder);
        // Whatever is there now.
        *current = LocalIndex::open(&self.folder);
        moved.map_err(|error| Error::backend("putting the new index in place", error))
    }

    async fn give_up(&self) {
        if let Some(draft) = self.draft().take() {
            draft.close();
        }
        // The next open tries again.
        let _ = remove(&draft(&self.folder));
    }

    async fn hold(&self) -> Result<()> {
        self.current.read().await.hold().await
    }

    async fn reach(&self, seq: Seq, done: bool) -> Result<()> {
        self.current.read().await.reach(seq, done).await
    }

    async fn room(&self) -> Result<()> {
        let draft = self.draft().clone();
        match draft {
            Some(draft) => draft.settled(PENDING).await,
            None => self.current.read().await.settled(PENDING).await,
        }
    }

    fn spawn(&self, work: Work) -> Result<thread::JoinHandle<()>> {
        let failed = |error| Error::backend("starting a thread for the index", error);
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(failed)?;
        let thread = thread::Builder::new().name("tvix-rebuild".into());
        thread.spawn(move || runtime.block_on(work)).map_err(failed)
    }
}

impl IndexFolder {
    fn draft(&self) -> std::sync::MutexGuard<'_, Option<Arc<LocalIndex>>> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SearchIndex for IndexFolder {
    async fn cursor(&self) -> Result<Seq> {
        self.current.read().await.cursor().await
    }

    async fn apply(&self, changes: &[Change]) -> Result<()> {
        self.current.read().await.apply(changes).await
    }

    async fn vector_cursor(&self, model: &Model) -> Result<Seq> {
        self.current.read().await.vector_cursor(model).await
    }

    async fn apply_vectors(&self, embedded: &[Embedded], cursor: Seq) -> Result<()> {
        self.current.read().await.apply_vectors(embedded, cursor).await
    }

    async fn neighbours(&self, keys: &[DocKey]) -> Result<Vec<Neighbours>> {
        self.current.read().await.neighbours(keys).await
    }

    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        self.current.read().await.keyword(query).await
    }

    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>> {
        self.current.read().await.nearest(query, vector).await
    }

    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>> {
        self.current.read().await.indexed(keys).await
    }

    async fn inspect(&self) -> Result<IndexState> {
        self.current.read().await.inspect().await
    }

    async fn reset(&self) -> Result<()> {
        self.current.read().await.reset().await
    }
}
