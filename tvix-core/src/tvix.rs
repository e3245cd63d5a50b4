//! [`Tvix`], the handle that everything goes through, and the order in which a write happens: it
//! lives here only.

mod builder;

use std::{fmt, sync::Arc};

use async_lock::{Mutex, OnceCell};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error, Memory, Project, Result, Wiki,
    admin::{Admin, Place},
    profile::ProfileSource,
    rebuild::Rebuilds,
    search::{Meaning, Notice},
    settings::Settings,
    storage::{
        Batch, Condition, DocKey, Document, DocumentStore, Kind, Operation, Request, SearchIndex,
        Seq, Written,
    },
    types::{Clock, RequestId, Source, TimeZone},
};

pub use builder::Builder;

/// How many changes `catch_up` takes from the log at a time.
const CATCH_UP_STEP: usize = 500;
/// How often an edit is tried again when another writer changed the record in between.
const EDIT_ATTEMPTS: usize = 8;

/// One user's store: memories, wiki documents and the search over both.
///
/// Cheap to clone; clones share the store. A handle speaks for one caller, whose [`Source`] is
/// written on what it stores: see [`Tvix::speaking_for`]. No method takes a user: a handle reaches
/// one user's data only.
#[derive(Clone)]
pub struct Tvix {
    engine: Arc<Engine>,
    source: Source,
    request: Option<RequestId>,
}

struct Engine {
    /// The first to be dropped: what they run must end before the rest goes.
    rebuilds: Rebuilds,
    store: Arc<dyn DocumentStore>,
    index: Arc<dyn SearchIndex>,
    /// The last change given to the index by this process; `None` until the index was asked.
    applied: Arc<Mutex<Option<Seq>>>,
    /// Where indexing goes on after opening, asked once and before the first write.
    begins_after: OnceCell<Seq>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    profile: ProfileSource,
    meaning: Meaning,
    /// The data folder, and with it the lock on it.
    folder: Option<Box<dyn Place>>,
}

/// A handle that does not keep the store open.
#[cfg(feature = "local")]
pub(crate) struct WeakTvix(std::sync::Weak<Engine>);

#[cfg(feature = "local")]
impl WeakTvix {
    /// The handle, unless the last one was dropped.
    pub(crate) fn upgrade(&self) -> Option<Tvix> {
        let engine = self.0.upgrade()?;
        Some(Tvix { engine, source: Source::library(), request: None })
    }
}

type Parts = (Arc<dyn DocumentStore>, Arc<dyn SearchIndex>, Arc<Mutex<Option<Seq>>>);

/// What became of a batch, and what the caller should know beside it.
pub(crate) struct Committed {
    pub(crate) written: Written,
    pub(crate) notice: Option<Notice>,
}

impl Tvix {
    /// Opens the data folder `path`, making it (for its owner alone) if it is not there.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another process has it open, a newer version wrote it, or its store is
    /// another than `config.toml` asks for or this build has; [`Error::InvalidInput`] when its
    /// `config.toml` is wrong, [`Error::Corrupt`] or [`Error::Backend`] when the store cannot be opened.
    #[cfg(feature = "local")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let config = crate::config::Config::load(path.as_ref())?;
        Self::open_with(path, config.settings)
    }

    /// Like [`Tvix::open`], with settings of the caller's in place of the folder's `config.toml`.
    ///
    /// # Errors
    /// As [`Tvix::open`].
    #[cfg(feature = "local")]
    pub fn open_with(path: impl AsRef<std::path::Path>, settings: Settings) -> Result<Self> {
        let folder = crate::folder::Folder::open(path.as_ref(), settings.store)?;
        Self::in_folder(folder, settings, None)
    }

    /// The store in `folder`, with `embedder` in place of the one that `settings` ask for.
    #[cfg(feature = "local")]
    pub(crate) fn in_folder(
        folder: crate::folder::Folder,
        settings: Settings,
        embedder: Option<Arc<dyn crate::embed::Embedder>>,
    ) -> Result<Self> {
        if let Some(name) = crate::admin::filesystem::network(folder.path()) {
            tracing::warn!(
                "the data folder lies on {name}: locks and syncs of a network file system are not to be \
                 trusted; keep it on a local disk"
            );
        }
        let store = folder.open_store()?;
        let index = Arc::new(crate::storage::index::IndexFolder::open(folder.index_folder()));
        let rebuilds = Rebuilds::new(Some(Arc::clone(&index) as _));
        let profile = ProfileSource::File(folder.profile_file());
        let embedder = embedder.or_else(|| {
            crate::embed::open(&settings.embed).unwrap_or_else(|error| {
                tracing::warn!(%error, "the model cannot be opened: search is by word alone");
                None
            })
        });
        let builder = Self::builder(store, index).settings(settings).profile(profile);
        let builder = builder.embedder(embedder);
        Ok(builder.build_holding(Some(Box::new(folder)), rebuilds))
    }

    /// The same store, speaking for another caller. `request` identifies the call: a write that
    /// already happened under it is answered from its record and does not happen again.
    #[must_use]
    pub fn speaking_for(&self, source: Source, request: Option<RequestId>) -> Self {
        Self { engine: Arc::clone(&self.engine), source, request }
    }

    /// The memories of this store: `tvix.memory().add(…)` reads better than naming the trait where
    /// several are in scope.
    pub fn memory(&self) -> &dyn Memory {
        self
    }

    /// The wiki of this store.
    pub fn wiki(&self) -> &dyn Wiki {
        self
    }

    /// The projects of this store.
    pub fn projects(&self) -> &dyn Project {
        self
    }

    /// The care of this store: checks, rebuilds, backups, export and import.
    pub fn admin(&self) -> &dyn Admin {
        self
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.engine.settings
    }

    /// Where the user's profile is kept.
    pub fn profile_source(&self) -> &ProfileSource {
        &self.engine.profile
    }

    /// The time zone for dates without one: the profile's, else UTC.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the profile cannot be read.
    pub fn zone(&self) -> Result<TimeZone> {
        self.engine.profile.read()?.zone()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.engine.clock
    }

    pub(crate) fn store(&self) -> &dyn DocumentStore {
        &*self.engine.store
    }

    pub(crate) fn index(&self) -> &dyn SearchIndex {
        &*self.engine.index
    }

    pub(crate) fn meaning(&self) -> &Meaning {
        &self.engine.meaning
    }

    /// A handle that does not keep the store open.
    #[cfg(feature = "local")]
    pub(crate) fn downgrade(&self) -> WeakTvix {
        WeakTvix(Arc::downgrade(&self.engine))
    }

    pub(crate) fn rebuilds(&self) -> &Rebuilds {
        &self.engine.rebuilds
    }

    /// What takes changes from the log into the index; the last is held while it does.
    pub(crate) fn parts(&self) -> Parts {
        let Engine { store, index, applied, .. } = &*self.engine;
        (Arc::clone(store), Arc::clone(index), Arc::clone(applied))
    }

    pub(crate) fn folder(&self) -> Option<&dyn Place> {
        self.engine.folder.as_deref()
    }

    /// The answer this very call was given before, if it wrote something then.
    pub(crate) async fn answered<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let Some(request) = self.request else { return Ok(None) };
        self.store().receipt(request).await?.map(|receipt| read_receipt(&receipt)).transpose()
    }

    /// Writes the batch, durably, then lets the index see it. `receipt` is what the call answers if
    /// the batch is applied, and again if the call is repeated.
    ///
    /// When indexing fails the write stands: the notice says so and the next search tries again.
    pub(crate) async fn commit(
        &self,
        operations: Vec<Operation>,
        receipt: &impl Serialize,
    ) -> Result<Committed> {
        if operations.is_empty() {
            return Ok(Committed { written: Written::Done { seq: Seq::ZERO }, notice: None });
        }
        let request = self.request.map(|id| -> Result<Request> {
            let receipt = serde_json::to_string(receipt)
                .map_err(|error| Error::backend("writing a receipt", error))?;
            Ok(Request { id, receipt, at: self.clock().now() })
        });
        let batch = Batch { operations, request: request.transpose()? };
        // A failure is reported when the index is to take the change.
        let _ = self.begins_after().await;
        let written = self.store().write(batch).await?;
        let notice = match &written {
            Written::Done { .. } => self.catch_up().await.err().map(|error| {
                tracing::warn!(%error, "stored, but the index could not take it yet");
                Notice::IndexBehind
            }),
            Written::Repeated { .. } | Written::Refused { .. } => None,
        };
        Ok(Committed { written, notice })
    }

    /// Lets the index see every change it has not seen: normal indexing, recovery after a crash and
    /// a full rebuild are this one loop.
    ///
    /// # Errors
    /// What store or index report; what was applied by then stays applied.
    pub async fn catch_up(&self) -> Result<()> {
        let mut applied = self.engine.applied.lock().await;
        let seen = match *applied {
            Some(seq) => seq,
            None => self.begins_after().await?,
        };
        self.apply_after(seen, &mut applied).await?;
        drop(applied);
        self.embed_new().await;
        Ok(())
    }

    pub(crate) async fn begins_after(&self) -> Result<Seq> {
        self.engine.begins_after.get_or_try_init(|| self.first_unseen()).await.copied()
    }

    pub(crate) async fn apply_after(&self, mut seen: Seq, applied: &mut Option<Seq>) -> Result<()> {
        loop {
            let changes = self.store().changes(seen, CATCH_UP_STEP).await?;
            if let Some(last) = changes.last() {
                self.index().apply(&changes).await?;
                seen = last.seq;
            }
            *applied = Some(seen);
            if changes.len() < CATCH_UP_STEP {
                return Ok(());
            }
        }
    }

    pub(crate) async fn document(&self, key: DocKey) -> Result<Option<Document>> {
        Ok(self.store().get(&[key]).await?.pop().flatten())
    }

    pub(crate) async fn require(&self, key: DocKey) -> Result<Document> {
        let found = self.document(key).await?;
        found.ok_or_else(|| Error::not_found(noun(key.kind), key.id))
    }

    /// Reads the document under `key`, lets `edit` make operations of it, and commits them unless
    /// someone changed the document in between; then it is read and edited again.
    pub(crate) async fn edit<T: Serialize>(
        &self,
        key: DocKey,
        edit: impl Fn(Document) -> Result<(Vec<Operation>, T)>,
    ) -> Result<(Committed, T)> {
        for _ in 0..EDIT_ATTEMPTS {
            let (operations, answer) = edit(self.require(key).await?)?;
            let committed = self.commit(operations, &answer).await?;
            if !lost_a_race(&committed.written) {
                return Ok((committed, answer));
            }
        }
        Err(Error::conflict(format_args!(
            "{} {} keeps changing; try again",
            noun(key.kind),
            key.id
        )))
    }
}

impl Tvix {
    /// Removes the document under `key` and returns what it was.
    pub(crate) async fn delete_document(&self, key: DocKey) -> Result<Document> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        let delete = |document: Document| {
            let conditions = vec![Condition::Unchanged(document.seq)];
            Ok((vec![Operation::Delete { key, conditions }], document))
        };
        let (committed, document) = self.edit(key, delete).await?;
        match committed.written {
            Written::Repeated { receipt } => read_receipt(&receipt),
            Written::Done { .. } | Written::Refused { .. } => Ok(document),
        }
    }
}

fn lost_a_race(written: &Written) -> bool {
    matches!(written, Written::Refused { condition: Condition::Unchanged(_), .. })
}

/// What a record of `kind` is called in messages.
pub(crate) fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Memory => "memory",
        Kind::Wiki => "wiki document",
    }
}

pub(crate) fn read_receipt<T: DeserializeOwned>(receipt: &str) -> Result<T> {
    serde_json::from_str(receipt)
        .map_err(|error| Error::corrupt("the record of an earlier call", error))
}

impl fmt::Debug for Tvix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tvix").field("store", &self.engine.store).finish_non_exhaustive()
    }
}
