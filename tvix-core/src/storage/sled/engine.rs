//! The folder: making it, opening it, committing to it, and sled's errors in our words.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

use sled::{
    Transactional, Tree,
    transaction::{ConflictableTransactionError, TransactionError},
};

use super::tables::{self, Fault, Pending, Snapshot};
use crate::{
    Error, Result,
    storage::embedded::{
        Database, Embedded, Failure, Fault as AnyFault,
        engine::{guarded, keep_entry},
        rows,
    },
};

/// sled's own default is 1 GiB.
const CACHE_BYTES: u64 = 64 << 20;
/// The file in the folder that holds sled's log.
const LOG: &str = "db";
/// How long the lock may be held by what was just closed.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// An open database.
pub(super) struct Sled {
    /// In the order of [`tables::Table`].
    trees: Vec<Tree>,
    database: sled::Db,
    /// A second handle of the log, to sync it by.
    log: File,
    /// sled has no snapshots: readers keep the writer from its commit, and see none that is not yet
    /// on the disk.
    gate: RwLock<()>,
}

impl Sled {
    fn commit(&self, changes: &[sled::Batch]) -> Result<(), sled::Error> {
        let applied = self.trees.as_slice().transaction(|trees| {
            for (tree, batch) in trees.iter().zip(changes) {
                tree.apply_batch(batch)?;
            }
            Ok::<(), ConflictableTransactionError<()>>(())
        });
        applied.map_err(|error| match error {
            TransactionError::Storage(error) => error,
            TransactionError::Abort(()) => sled::Error::ReportableBug("aborted".to_owned()),
        })?;
        self.database.flush()?;
        Ok(self.log.sync_data()?)
    }
}

impl Database for Sled {
    type Failure = sled::Error;

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn rows::Snapshot<Failure = sled::Error>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        work(&Snapshot(&self.trees))
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&mut dyn rows::Tables<Failure = sled::Error>) -> Result<(bool, T), Fault>,
    ) -> Result<T, Fault> {
        let mut pending = Pending::new(&self.trees);
        let (is_wanted, value) = work(&mut pending)?;
        if is_wanted {
            let changes = pending.into_batches();
            let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            self.commit(&changes)?;
        }
        Ok(value)
    }
}

/// Opens the store in the folder `path`.
pub(super) fn in_folder(path: &Path) -> Result<Embedded<Sled>> {
    let path = path.to_owned();
    Embedded::open(path.display().to_string(), Box::new(move || open(&path)))
}

fn open(folder: &Path) -> Result<Sled> {
    let name = folder.display().to_string();
    let operation = format!("open {name}");
    if !folder.join(LOG).exists() {
        make(folder, &operation)?;
    }
    guarded(&name, &operation, || {
        let sled = open_trees(folder)?;
        match tables::format(&sled.trees)? {
            Some(format) => tables::check_format(format).map(|()| sled),
            // A folder gets its name when the number is in it.
            None => Err(Fault::Record(Error::corrupt(&name, "the number of its format is gone"))),
        }
    })
}

fn open_trees(folder: &Path) -> Result<Sled, Fault> {
    let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES);
    // Every commit is flushed anyway.
    let config = config.mode(sled::Mode::HighThroughput).flush_every_ms(None);
    let database = open_patiently(&config)?;
    let trees = tables::open(&database)?;
    // Windows syncs only what was opened for writing.
    let log = File::options().read(true).write(true).open(folder.join(LOG));
    let log = log.map_err(sled::Error::from)?;
    Ok(Sled { trees, database, log, gate: RwLock::new(()) })
}

/// Threads of sled's own hold the lock for a moment after a store was closed, so it is tried for a while
/// before it counts as another process's.
fn open_patiently(config: &sled::Config) -> Result<sled::Db, sled::Error> {
    let began = Instant::now();
    loop {
        match config.open() {
            Err(error) if is_locked(&error) && began.elapsed() < LOCK_PATIENCE => {
                thread::sleep(LOCK_PAUSE);
            }
            opened => return opened,
        }
    }
}

/// It says so in words only.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

/// Makes the folder under another name and gives it its own when it is complete: one that a power
/// cut left half made would be taken for a damaged store.
fn make(folder: &Path, operation: &str) -> Result<()> {
    let failed = |error| Error::backend(operation, error);
    let draft = draft_of(folder);
    remove(&draft).map_err(failed)?;
    let name = draft.display().to_string();
    drop(guarded(&name, operation, || {
        let sled = open_trees(&draft)?;
        sled.commit(&tables::stamp(&sled.trees)?)?;
        Ok(sled)
    })?);
    let named = keep_entry(&draft.join(LOG)).and_then(|()| fs::rename(&draft, folder));
    match named.and_then(|()| keep_entry(folder)) {
        // Another process was faster.
        Err(_) if folder.join(LOG).exists() => remove(&draft).map_err(failed),
        other => other.map_err(failed),
    }
}

/// Beside the folder, and of this process alone.
fn draft_of(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    folder.with_file_name(name)
}

fn remove(draft: &Path) -> io::Result<()> {
    match fs::remove_dir_all(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl From<sled::Error> for AnyFault<sled::Error> {
    fn from(error: sled::Error) -> Self {
        Self::Engine(error)
    }
}

impl Failure for sled::Error {
    /// sled remembers an I/O error and repeats it.
    fn lasts(&self) -> bool {
        true
    }

    fn explain(self, name: &str, operation: &str) -> Error {
        match self {
            error if is_locked(&error) => Error::conflict(format_args!(
                "another process uses {name}: end it, or reach the data through it"
            )),
            Self::Io(error) => Error::backend(operation, error),
            error @ (Self::Corruption { .. } | Self::CollectionNotFound(_)) => {
                Error::corrupt(name, error)
            }
            error => Error::backend(operation, error.to_string()),
        }
    }
}
