//! What the evaluation asks of the library beyond storing and searching: settings, stores, passages.

use std::{ops::Range, sync::Arc};

use tempfile::TempDir;
use tvix_core::{
    Search, Settings, Tvix, embed,
    search::{PassageHit, Query},
    settings::{Dense, EmbedSettings, FusionKind, SearchMode, SearchSettings},
    storage::{DocKey, MemoryStore, index::MemoryIndex},
};

use crate::{
    Result,
    flags::{Changes, Mode},
};

/// The settings for one run: the default ones but for what the flags change.
///
/// # Errors
/// A flag asks for what this build cannot do.
pub(crate) fn configure(changes: &Changes, mode: Mode) -> Result<Settings> {
    let mode = match mode {
        Mode::Default | Mode::Hybrid => SearchMode::Hybrid,
        Mode::Keyword => SearchMode::Keyword,
        Mode::Vector => SearchMode::Vector,
    };
    let search = SearchSettings {
        fusion: changes.fusion.as_deref().map(FusionKind::named).transpose()?,
        dense: changes.dense.map(Dense::new).transpose()?,
        mode,
        context: !changes.no_context,
        rerank: !changes.no_rerank,
    };
    Ok(Settings { search, embed: model(changes)?, ..Settings::default() })
}

/// Opens the model once, for a store would go on without one that this build or machine has not.
///
/// # Errors
/// What keeps it from being used.
pub(crate) fn check_model(changes: &Changes) -> Result<()> {
    embed::open(&model(changes)?)?;
    Ok(())
}

fn model(changes: &Changes) -> Result<EmbedSettings> {
    Ok(match &changes.candle {
        Some(path) => EmbedSettings::Candle { path: std::path::absolute(path)? },
        None => EmbedSettings::default(),
    })
}

/// Where a set is stored.
pub(crate) enum Place {
    /// In a data folder, as users have it; removed at the end.
    Folder(TempDir),
    /// In memory.
    Memory,
}

impl Place {
    /// A new place without anything in it.
    pub(crate) fn new(in_memory: bool) -> Result<Self> {
        Ok(if in_memory { Self::Memory } else { Self::Folder(tempfile::tempdir()?) })
    }

    /// Opens the store there. One in memory is empty each time.
    pub(crate) fn open(&self, settings: Settings) -> Result<Tvix> {
        match self {
            Self::Folder(folder) => Ok(Tvix::open_with(folder.path().join("data"), settings)?),
            Self::Memory => {
                let (store, index) = (MemoryStore::default(), MemoryIndex::default());
                let embedder = embed::open(&settings.embed)?;
                let builder = Tvix::builder(Arc::new(store), Arc::new(index)).embedder(embedder);
                Ok(builder.settings(settings).build())
            }
        }
    }
}

/// A passage that the search returned.
pub(crate) struct Passage {
    /// Its document.
    pub(crate) key: DocKey,
    /// Bytes of the document's text.
    pub(crate) range: Range<usize>,
}

/// The passages that answer `query`, of all documents together, the best first.
///
/// # Errors
/// What the search reports.
pub(crate) async fn ranked_passages(tvix: &Tvix, query: &Query) -> Result<Vec<Passage>> {
    let passages = tvix.passages(query).await?.into_iter();
    Ok(passages.map(|PassageHit { key, range, .. }| Passage { key, range }).collect())
}
