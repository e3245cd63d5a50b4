//! `backup`.

use std::path::Path;

use serde_json::json;
use tvix_core::{
    Admin, Result,
    admin::{BackupWriter, Entry},
    storage::Seq,
    types::{Clock, SystemClock},
};

use super::{PAGE, file::Draft};
use crate::{output::Output, progress::Progress};

pub(crate) async fn backup(file: &Path, admin: &dyn Admin, output: &Output) -> Result<()> {
    let (draft, writer) = Draft::of(file)?;
    let files = admin.backup_files().await?;
    let mut writer = BackupWriter::start(writer, SystemClock.now(), &files)?;
    let mut progress = Progress::new("backup");
    let (mut documents, mut next) = (0, Some(Seq::ZERO));
    while let Some(after) = next {
        let page = admin.backup_page(after, PAGE).await?;
        page.entries.iter().try_for_each(|entry| writer.entry(entry))?;
        let found = page.entries.iter().filter(|entry| matches!(entry, Entry::Document(_))).count();
        progress.total(page.total);
        progress.add(found);
        documents += found;
        next = page.next;
    }
    draft.finish(writer.finish()?)?;
    drop(progress);
    let text = format!("backed up {documents} documents to {}", file.display());
    output.print(&json!({"documents": documents, "file": file}), &text)
}
