//! What the evaluation asks of the library beyond storing and searching: settings, stores, passages.

use std::{ops::Range, sync::Arc};

use tempfile::TempDir;
use tvix_core::{
    Settings, Tvix,
    search::Query,
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
    if matches!(mode, Mode::Vector | Mode::Hybrid) {
        return Err(format!("--mode {mode}: this build searches by word only").into());
    }
    if *changes != Changes::default() {
        let flags = "--fusion, --dense, --no-context, --no-rerank and --no-stop-words";
        return Err(
            format!("{flags}: this build searches by word only and has no such part").into()
        );
    }
    Ok(Settings::default())
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
                Ok(Tvix::builder(Arc::new(store), Arc::new(index)).settings(settings).build())
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
/// What the search reports; for now, that there is no such search.
#[expect(clippy::unused_async, reason = "waits for the search of passages")]
pub(crate) async fn ranked_passages(_tvix: &Tvix, _query: &Query) -> Result<Vec<Passage>> {
    Err("this build cannot rank passages".into())
}
