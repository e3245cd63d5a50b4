//! Making a data folder from a backup.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{BackupFile, BackupLine, BackupReader, Entry, PAGE_BYTES};
use crate::{
    Error, Result, files,
    folder::Folder,
    storage::{
        Batch, DocumentStore, Filter, Kind, Operation, Page, RedbStore, Written, index::IndexFolder,
    },
    types::Timestamp,
};

/// The most changes that are written in one transaction.
const BATCH: usize = 256;

/// What [`restore`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// How many documents the folder holds now.
    pub documents: u64,
    /// When the backup was made.
    pub made_at: Timestamp,
    /// Files of the user's own that were there already and were left as they are.
    pub kept: Vec<String>,
}

/// Makes the data folder `folder` from the file `backup`, which is read whole and checked before
/// anything is written.
///
/// The documents get into their place with one rename at the end: a restore that is cut off leaves a
/// folder without documents, on which it can be run again. `profile.toml` and `config.toml` are
/// written unless they are there. Receipts of earlier calls are not part of a backup.
///
/// # Errors
/// [`Error::Corrupt`] when the backup is not what was written; [`Error::Conflict`] when the folder is
/// in use or holds documents, or a newer version made the backup. Nothing is changed then.
pub async fn restore(backup: &Path, folder: &Path) -> Result<Restored> {
    open(backup)?.verify()?;
    let folder = Folder::open(folder, None)?;
    let target = folder.redb_file()?;
    refuse_documents(&target).await?;
    let draft = target.with_extension("restoring");
    let failed = |error| Error::backend("restoring", error);
    remove(&draft, |path| fs::remove_file(path)).map_err(failed)?;
    let mut reader = open(backup)?;
    let files = replay(&mut reader, &draft).await?;
    let documents = count(&draft).await?;
    let kept = write_own_files(folder.path(), files)?;
    // An index of what was here before does not belong to these documents.
    IndexFolder::remove(&folder.index_folder()).map_err(failed)?;
    fs::rename(&draft, &target).map_err(failed)?;
    files::sync_folder(target.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    Ok(Restored { documents, made_at: reader.head().at, kept })
}

fn open(backup: &Path) -> Result<BackupReader<BufReader<File>>> {
    let file = File::open(backup)
        .map_err(|error| Error::backend(format!("reading {}", backup.display()), error))?;
    BackupReader::start(BufReader::new(file))
}

fn remove(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

async fn refuse_documents(store: &Path) -> Result<()> {
    if !store.exists() {
        return Ok(());
    }
    let store = RedbStore::open(store)?;
    for kind in Kind::ALL {
        if !store.scan(kind, &Filter::default(), Page::first(1)).await?.is_empty() {
            return Err(Error::conflict(
                "the folder holds documents already; restore into another, or use import",
            ));
        }
    }
    Ok(())
}

/// Writes the entries into a new store, and returns the user's own files.
async fn replay<R: io::BufRead + Send>(
    reader: &mut BackupReader<R>,
    draft: &Path,
) -> Result<Vec<BackupFile>> {
    let store = RedbStore::open(draft)?;
    let (mut files, mut operations, mut bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(line) = reader.read() {
        match line? {
            BackupLine::File(file) => files.push(file),
            BackupLine::Entry(entry) => {
                bytes += size(&entry);
                operations.push(operation(entry));
            }
        }
        if operations.len() == BATCH || bytes > PAGE_BYTES {
            write(&store, std::mem::take(&mut operations)).await?;
            bytes = 0;
        }
    }
    write(&store, operations).await?;
    Ok(files)
}

fn size(entry: &Entry) -> usize {
    match entry {
        Entry::Document(document) => document.text.len(),
        Entry::Deleted(_) => 0,
    }
}

fn operation(entry: Entry) -> Operation {
    match entry {
        Entry::Document(document) => Operation::Put { document, conditions: Vec::new() },
        Entry::Deleted(key) => Operation::Delete { key, conditions: Vec::new() },
    }
}

async fn write(store: &RedbStore, operations: Vec<Operation>) -> Result<()> {
    match store.write(Batch { operations, request: None }).await? {
        Written::Done { .. } => Ok(()),
        Written::Repeated { .. } | Written::Refused { .. } => {
            Err(Error::conflict("the new store refused a document"))
        }
    }
}

async fn count(store: &Path) -> Result<u64> {
    let store = RedbStore::open(store)?;
    let mut documents = 0;
    for kind in Kind::ALL {
        let sources = store.facets(kind, crate::storage::Facet::Source).await?;
        documents += sources.iter().map(|source| source.count).sum::<u64>();
    }
    Ok(documents)
}

/// Returns the names of those that were there.
fn write_own_files(folder: &Path, files: Vec<BackupFile>) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    for BackupFile { file, text } in files {
        let path = folder.join(&file);
        if path.exists() {
            kept.push(file);
        } else {
            files::replace(&path, text.as_bytes())?;
        }
    }
    Ok(kept)
}
