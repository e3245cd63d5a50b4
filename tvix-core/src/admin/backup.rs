//! What a backup consists of.

use serde::{Deserialize, Serialize};

use crate::{
    Result, Tvix,
    storage::{DocKey, Document, Seq},
};

/// The files of the folder that are the user's own.
pub(crate) const OWN_FILES: [&str; 2] = ["profile.toml", "config.toml"];

/// A text file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Its name in the folder, such as `profile.toml`.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// One change of the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A document as it is stored.
    Document(Box<Document>),
    /// The key of a deleted document. It may have been in an entry before.
    Deleted(DocKey),
}

/// A slice of the change log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackupPage {
    /// The entries, oldest change first.
    pub entries: Vec<Entry>,
    /// Where the next page begins; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
    /// How many documents there are in all.
    pub total: u64,
}

impl Tvix {
    pub(super) async fn log_page(&self, after: Seq, limit: usize) -> Result<BackupPage> {
        let page = self.log(after, limit, |_| true).await?;
        let entries = page.changes.into_iter().map(|change| match change.document {
            Some(document) => Entry::Document(Box::new(document)),
            None => Entry::Deleted(change.key),
        });
        let entries = entries.collect();
        Ok(BackupPage { entries, next: page.next, total: self.live_total().await? })
    }
}
