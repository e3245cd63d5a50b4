//! The care of a store: checking and mending it, rebuilding what is derived, backups, export and
//! import.
//!
//! Every method of [`Admin`] takes and returns plain values of bounded size, and large things go page
//! by page, so that another process can serve a call as well as this one: files are read and written
//! by whoever calls.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Result, Tvix, storage::Seq};

mod backup;
mod container;
mod doctor;
#[cfg(feature = "local")]
mod examine;
mod export;
#[cfg(feature = "local")]
pub(crate) mod filesystem;
mod import;
mod record;
mod report;
#[cfg(feature = "local")]
mod restore;
mod store;
mod text_index;
mod vectors;

pub use backup::{BackupFile, BackupPage, Entry};
pub use container::{BackupHead, BackupLine, BackupReader, BackupWriter};
#[cfg(feature = "local")]
pub use examine::examine;
pub use import::{ImportStatus, Imported};
pub use record::{EXPORT_VERSION, ExportHead, Record, RecordPage};
pub use report::{Finding, Part, Remedy, Report, Severity};
#[cfg(feature = "local")]
pub use restore::{Restored, restore};

/// How much of the texts of its records a page holds at most, in bytes; a single larger record makes
/// a page of its own. Leaves room for escapes in a message of 16 MiB.
pub(crate) const PAGE_BYTES: usize = 2 << 20;
/// How many changes are read from the log at a time.
pub(crate) const LOG_STEP: usize = 32;

/// Looks after a store.
#[async_trait]
pub trait Admin: Send + Sync {
    /// Live records in the order of their last change, those after `after` first; at most `limit` of
    /// them, and fewer when they are large. [`Seq::ZERO`] asks for the first page,
    /// [`RecordPage::next`] for the one after.
    ///
    /// A pass over all pages misses nothing, whatever is written meanwhile: a record that changes
    /// moves to the end of the log, so it is met there if it was not met before. One that changes
    /// after it was met is met again, and the last time counts.
    async fn records(&self, after: Seq, limit: usize) -> Result<RecordPage>;

    /// Stores records of an export or of another program, in one transaction. One result for each, in
    /// order.
    ///
    /// Identifiers, times, sources, projects and metadata are kept. What is already there is not
    /// stored again, see [`ImportStatus`]; so the same records may be sent twice. The limits and the
    /// policy on secrets hold as for any write. With `dry_run` nothing is stored and the answer is
    /// what would be.
    ///
    /// # Errors
    /// The outer error is a failure of the store, or more records than a call may carry (1,000);
    /// nothing is stored then.
    async fn import(&self, records: Vec<Record>, dry_run: bool) -> Result<Vec<Imported>>;

    /// Checks the store, the index over it and the folder they lie in. With `repair` it mends what is
    /// derived from the documents; it never removes or changes a document.
    ///
    /// # Errors
    /// None for what is found to be wrong: that is in the report.
    async fn doctor(&self, repair: bool) -> Result<Report>;

    /// Builds the text index anew from the documents.
    ///
    /// # Errors
    /// What store or index report; calling again, or the next search, goes on from there.
    async fn reindex(&self) -> Result<Reindexed>;

    /// The files of the folder that belong into a backup beside the documents: `profile.toml` and
    /// `config.toml`, as far as they are there.
    async fn backup_files(&self) -> Result<Vec<BackupFile>>;

    /// The change log as a backup keeps it: documents whole, and deletions. Pages are bounded as
    /// those of [`records`](Self::records).
    ///
    /// Replaying all entries in order gives the store as it was when the last page was read: what
    /// changed or went during the pass comes again at its end.
    async fn backup_page(&self, after: Seq, limit: usize) -> Result<BackupPage>;
}

/// The answer to [`Admin::reindex`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reindexed {
    /// How many documents the index finds now.
    pub documents: u64,
}

/// The folder of a store, as far as its care is concerned.
pub(crate) trait Place: Send + Sync {
    /// What is to be said about the folder. With `repair`, what can be mended is.
    fn check(&self, repair: bool) -> Vec<Finding>;

    /// Whether the index's files are no longer there. Asked once the index is open.
    fn index_is_gone(&self) -> bool;

    /// The files of the user's own.
    fn own_files(&self) -> Result<Vec<BackupFile>>;
}

#[async_trait]
impl Admin for Tvix {
    async fn records(&self, after: Seq, limit: usize) -> Result<RecordPage> {
        self.export_page(after, limit).await
    }

    async fn import(&self, records: Vec<Record>, dry_run: bool) -> Result<Vec<Imported>> {
        self.import_records(records, dry_run).await
    }

    async fn doctor(&self, repair: bool) -> Result<Report> {
        self.examine(repair).await
    }

    async fn reindex(&self) -> Result<Reindexed> {
        self.rebuild_index().await?;
        Ok(Reindexed { documents: self.index().inspect().await?.documents })
    }

    async fn backup_files(&self) -> Result<Vec<BackupFile>> {
        self.folder().map_or_else(|| Ok(Vec::new()), Place::own_files)
    }

    async fn backup_page(&self, after: Seq, limit: usize) -> Result<BackupPage> {
        self.log_page(after, limit).await
    }
}
