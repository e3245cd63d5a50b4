//! The commands that look after a data folder.

use std::path::Path;

use serde_json::json;
use tvix_core::{
    Admin, Error, Result,
    admin::{self, Report},
};

use crate::{args::Args, output::Output};

mod backup;
mod export;
mod file;
mod import;

pub(crate) use backup::backup;
pub(crate) use export::export;
pub(crate) use import::import;

/// How many records are asked for at a time.
const PAGE: usize = 500;

/// Examines the folder also when it cannot be opened. What needs care and was not mended makes the
/// command fail.
pub(crate) async fn doctor(repair: bool, args: &Args, output: &Output) -> Result<()> {
    crate::logging::start("error");
    let report = admin::examine(&args.folder()?, repair).await;
    let value = json!({"healthy": report.is_healthy(), "report": report});
    output.print(&value, &text(&report))?;
    if report.is_healthy() {
        return Ok(());
    }
    Err(Error::conflict("something needs care; see the report"))
}

fn text(report: &Report) -> String {
    let Report { version, memories, wiki_documents, findings } = report;
    let head = format!("tvix {version}: {memories} memories, {wiki_documents} wiki documents");
    let lines = findings.iter().map(ToString::to_string);
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

pub(crate) async fn reindex(admin: &dyn Admin, output: &Output) -> Result<()> {
    let done = admin.reindex().await?;
    output.print(&done, &format!("the text index finds {} documents", done.documents))
}

pub(crate) async fn restore(file: &Path, args: &Args, output: &Output) -> Result<()> {
    let folder = args.folder()?;
    let restored = admin::restore(file, &folder).await?;
    let mut text = format!(
        "restored {} documents as of {} into {}",
        restored.documents,
        restored.made_at,
        folder.display()
    );
    for kept in &restored.kept {
        text.extend(["\nkept what was there: ", kept]);
    }
    output.print(&restored, &text)
}
