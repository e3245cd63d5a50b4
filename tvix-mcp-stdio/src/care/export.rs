//! `export`.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use serde::Serialize;
use serde_json::json;
use tvix_core::{
    Admin, Error, Result,
    admin::{EXPORT_VERSION, ExportHead},
    storage::Seq,
    types::{Clock, SystemClock},
};

use super::{PAGE, file::Draft};
use crate::{output::Output, progress::Progress};

/// Into `file` with a summary on stdout, or to stdout with nothing beside.
pub(crate) async fn export(file: Option<&Path>, admin: &dyn Admin, output: &Output) -> Result<()> {
    let Some(file) = file else {
        return match write(&mut BufWriter::new(io::stdout().lock()), admin).await {
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map(|_| ()),
        };
    };
    let (draft, mut writer) = Draft::of(file)?;
    let records = write(&mut writer, admin).await?;
    draft.finish(writer)?;
    let text = format!("exported {records} records to {}", file.display());
    output.print(&json!({"records": records, "file": file}), &text)
}

async fn write(output: &mut impl Write, admin: &dyn Admin) -> Result<u64> {
    let at = SystemClock.now();
    line(output, &ExportHead { tvix_export: EXPORT_VERSION, at })?;
    let mut progress = Progress::new("export");
    let (mut written, mut next) = (0, Some(Seq::ZERO));
    while let Some(after) = next {
        let page = admin.records(after, PAGE).await?;
        page.records.iter().try_for_each(|record| line(output, record))?;
        progress.total(page.total);
        progress.add(page.records.len());
        written += page.records.len() as u64;
        next = page.next;
    }
    output.flush().map_err(unwritten)?;
    Ok(written)
}

fn line(output: &mut impl Write, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value).map_err(|error| unwritten(error.into()))?;
    line.push(b'\n');
    output.write_all(&line).map_err(unwritten)
}

fn unwritten(error: io::Error) -> Error {
    Error::backend("writing the export", error)
}

/// Whether whoever read stdout has had enough.
fn is_gone(error: &Error) -> bool {
    let Error::Backend { source: Some(source), .. } = error else { return false };
    let cause = source.downcast_ref::<io::Error>();
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
