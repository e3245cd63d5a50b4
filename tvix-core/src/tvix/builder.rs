//! A handle from its parts.

use std::sync::Arc;

use async_lock::OnceCell;

use super::{Engine, Tvix};
use crate::{
    Settings,
    admin::Place,
    embed::{BuiltIn, Embedder},
    profile::ProfileSource,
    rebuild::Rebuilds,
    search::Meaning,
    storage::{DocumentStore, MemoryStore, SearchIndex, index::MemoryIndex},
    types::{Clock, Source, SystemClock},
};

/// Puts a [`Tvix`] together from parts.
#[derive(Debug)]
pub struct Builder {
    store: Arc<dyn DocumentStore>,
    index: Arc<dyn SearchIndex>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    profile: ProfileSource,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Builder {
    /// Replaces the clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Replaces the settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Replaces the built-in model; with `None` search is by word alone.
    #[must_use]
    pub fn embedder(mut self, embedder: Option<Arc<dyn Embedder>>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Says where the user's profile is.
    #[must_use]
    pub fn profile(mut self, profile: ProfileSource) -> Self {
        self.profile = profile;
        self
    }

    /// The finished handle, which speaks for [`Source::library`].
    pub fn build(self) -> Tvix {
        self.build_holding(None, Rebuilds::new(None))
    }

    pub(crate) fn build_holding(self, folder: Option<Box<dyn Place>>, rebuilds: Rebuilds) -> Tvix {
        let Self { store, index, clock, settings, profile, embedder } = self;
        let meaning = Meaning::new(embedder);
        let (applied, begins_after) = (Arc::default(), OnceCell::new());
        let parts = Engine {
            rebuilds,
            store,
            index,
            applied,
            begins_after,
            clock,
            settings,
            profile,
            meaning,
            folder,
        };
        Tvix { engine: Arc::new(parts), source: Source::library(), request: None }
    }
}

impl Tvix {
    /// A handle over a backend of your own.
    pub fn builder(store: Arc<dyn DocumentStore>, index: Arc<dyn SearchIndex>) -> Builder {
        Builder {
            store,
            index,
            clock: Arc::new(SystemClock),
            settings: Settings::default(),
            profile: ProfileSource::default(),
            embedder: Some(Arc::new(BuiltIn::default())),
        }
    }

    /// A store that lives in memory and is gone with its last handle: for tests and trials.
    pub fn in_memory() -> Self {
        Self::builder(Arc::new(MemoryStore::default()), Arc::new(MemoryIndex::default())).build()
    }
}
