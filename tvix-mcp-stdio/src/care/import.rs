//! `import`: records go to the store in batches, each a transaction, so one that is cut off has stored
//! whole batches and can be run again.

use serde::Serialize;
use tvix_core::{
    Admin, Error, Result,
    admin::{ImportStatus, Imported, Record},
    import::{Item, Items},
};

use crate::{output::Output, progress::Progress};

/// The most records of one batch, and the most bytes of their texts.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 2 << 20;

/// What became of all records.
#[derive(Debug, Default, Serialize)]
struct Summary {
    dry_run: bool,
    stored: u64,
    unchanged: u64,
    duplicate: u64,
    refused: u64,
    unreadable: u64,
}

/// Records that go to the store together, with their places.
#[derive(Default)]
struct Batch {
    places: Vec<String>,
    records: Vec<Record>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, at: String, record: Record) {
        self.bytes += record.content.len();
        self.places.push(at);
        self.records.push(record);
    }

    fn is_full(&self) -> bool {
        self.records.len() >= BATCH || self.bytes >= BATCH_BYTES
    }
}

impl Summary {
    fn count(&mut self, status: ImportStatus) {
        *match status {
            ImportStatus::Stored => &mut self.stored,
            ImportStatus::Unchanged => &mut self.unchanged,
            ImportStatus::Duplicate => &mut self.duplicate,
            ImportStatus::Refused => &mut self.refused,
        } += 1;
    }

    /// Whether there was something to read and none of it could be.
    fn nothing_was_read(&self) -> bool {
        let read = self.stored + self.unchanged + self.duplicate + self.refused;
        self.unreadable > 0 && read == 0
    }

    fn text(&self) -> String {
        let verb = if self.dry_run { "would store" } else { "stored" };
        format!(
            "{verb} {}; {} unchanged, {} duplicates, {} refused, {} unreadable",
            self.stored, self.unchanged, self.duplicate, self.refused, self.unreadable
        )
    }
}

/// Stores what can be read; the rest is named on stderr.
///
/// # Errors
/// A failure of the store, or an input of which nothing could be read.
pub(crate) async fn import(
    items: Items,
    dry_run: bool,
    admin: &dyn Admin,
    output: &Output,
) -> Result<()> {
    let mut summary = Summary { dry_run, ..Summary::default() };
    let mut progress = Progress::new("import");
    let mut batch = Batch::default();
    for Item { at, record } in items {
        match record {
            Ok(record) => batch.add(at, record),
            Err(error) => {
                summary.unreadable += 1;
                progress.say(&format!("{at}: {error}"));
            }
        }
        if batch.is_full() {
            store(std::mem::take(&mut batch), admin, &mut summary, &mut progress).await?;
        }
    }
    store(batch, admin, &mut summary, &mut progress).await?;
    drop(progress);
    if summary.nothing_was_read() {
        return Err(Error::invalid("path", "nothing in it could be read as such"));
    }
    output.print(&summary, &summary.text())
}

async fn store(
    batch: Batch,
    admin: &dyn Admin,
    summary: &mut Summary,
    progress: &mut Progress,
) -> Result<()> {
    let Batch { places, records, .. } = batch;
    let count = records.len();
    let results = admin.import(records, summary.dry_run).await?;
    for (at, Imported { status, error, notices, .. }) in places.into_iter().zip(results) {
        summary.count(status);
        if let Some(error) = error {
            progress.say(&format!("{at}: {}", Error::from(error)));
        }
        for notice in notices {
            progress.say(&format!("{at}: {notice}"));
        }
    }
    progress.add(count);
    Ok(())
}
