//! The database file: opening it, opening it again after an I/O error, and the engine's errors in
//! our words.

use std::{
    any::Any,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{Builder, Database, StorageBackend};

use super::tables;
use crate::{Error, Result};

/// The engine's own default is 1 GiB.
const CACHE_BYTES: usize = 64 << 20;

/// Why work on the database ended early.
pub(super) enum Fault {
    /// The engine failed.
    Engine(redb::Error),
    /// One record cannot be read; the engine is well.
    Record(Error),
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

/// The database, and what it takes to open it again.
#[derive(Debug)]
pub(super) struct Engine {
    /// `None` when it lives in a backend that somebody handed in: that cannot be opened twice.
    file: Option<PathBuf>,
    /// Empty while an attempt to open it again has failed.
    database: RwLock<Option<Database>>,
    /// After an I/O error the engine refuses everything until it is opened again.
    broken: AtomicBool,
}

impl Engine {
    pub(super) fn open(file: &Path) -> Result<Self> {
        let database = open_file(file)?;
        Ok(Self::new(Some(file.to_owned()), database))
    }

    pub(super) fn with_backend(backend: impl StorageBackend) -> Result<Self> {
        let name = name(None);
        let open = || prepared(builder().create_with_backend(backend)?);
        Ok(Self::new(None, guarded(&name, "open the store", open)?))
    }

    fn new(file: Option<PathBuf>, database: Database) -> Self {
        Self { file, database: RwLock::new(Some(database)), broken: AtomicBool::new(false) }
    }

    /// Runs `work` on the database. `operation` says in words what that is, for the error text.
    ///
    /// # Errors
    /// What [`explain`] makes of the engine's error. An engine that failed is opened again by the
    /// next call; if that fails too, this call reports it and the one after tries again.
    pub(super) fn run<T>(
        &self,
        operation: &str,
        work: impl FnOnce(&Database) -> Result<T, Fault>,
    ) -> Result<T> {
        self.mend()?;
        let slot = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = slot.as_ref() else {
            return Err(Error::backend(operation, "the store could not be opened again"));
        };
        let name = name(self.file.as_deref());
        let mut failed = true;
        let outcome = guarded(&name, operation, || {
            let outcome = work(database);
            failed = matches!(&outcome, Err(Fault::Engine(error)) if is_lasting(error));
            outcome
        });
        if failed {
            // While the lock is held: a flag set later could hit the database opened next.
            self.broken.store(true, Ordering::Release);
        }
        outcome
    }

    /// Opens the file again after a failure. A reader may have to wait for that; it is rare.
    fn mend(&self) -> Result<()> {
        let Some(file) = self.file.as_deref().filter(|_| self.broken.load(Ordering::Acquire))
        else {
            return Ok(());
        };
        let mut slot = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if self.broken.load(Ordering::Acquire) {
            // The old handle holds the lock on the file.
            close(slot.take());
            *slot = Some(open_file(file)?);
            self.broken.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        close(self.database.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Closing writes the engine's own bookkeeping, and on a damaged file that may panic.
fn close(database: Option<Database>) {
    if catch_unwind(AssertUnwindSafe(|| drop(database))).is_err() {
        tracing::warn!("the storage engine panicked while closing");
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn open_file(file: &Path) -> Result<Database> {
    let name = name(Some(file));
    let is_new = !file.exists();
    let operation = format!("open {name}");
    let database = guarded(&name, &operation, || prepared(builder().create(file)?))?;
    if is_new {
        keep_entry(file).map_err(|error| Error::backend(operation, error))?;
    }
    Ok(database)
}

fn prepared(database: Database) -> Result<Database, Fault> {
    tables::prepare(&database)?;
    Ok(database)
}

/// Makes the entry of a new file in its folder survive a power cut. Windows cannot open folders as
/// files, and needs no such care.
fn keep_entry(file: &Path) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new("."))) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}

fn name(file: Option<&Path>) -> String {
    file.map_or_else(|| "the store".to_owned(), |file| file.display().to_string())
}

/// Runs `work`; a panic becomes an error. The engine trusts its pages: one that another program
/// changed can make it panic.
fn guarded<T>(name: &str, operation: &str, work: impl FnOnce() -> Result<T, Fault>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault::Record(error))) => Err(error),
        Ok(Err(Fault::Engine(error))) => Err(explain(name, operation, error)),
        Err(panic) => Err(Error::corrupt(name, text_of(panic.as_ref()))),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the storage engine panicked")
}

/// Whether the engine answers every later call with an error too.
fn is_lasting(error: &redb::Error) -> bool {
    !matches!(error, redb::Error::ValueTooLarge(_))
}

fn explain(name: &str, operation: &str, error: redb::Error) -> Error {
    use redb::Error as E;
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    match error {
        E::DatabaseAlreadyOpen | E::LockProtocolMismatch => Error::conflict(format_args!(
            "another process uses {name}: end it, or reach the data through it"
        )),
        E::UpgradeRequired(version) => Error::conflict(format_args!(
            "{name} was written by an old storage engine (file format {version}) that this version does not read"
        )),
        E::Io(error) if matches!(error.kind(), InvalidData | UnexpectedEof) => {
            Error::corrupt(name, error)
        }
        E::Corrupted(reason) => Error::corrupt(name, reason),
        E::RepairAborted
        | E::TableTypeMismatch { .. }
        | E::TableIsMultimap(_)
        | E::TableIsNotMultimap(_)
        | E::TypeDefinitionChanged { .. }
        | E::TableDoesNotExist(_) => Error::corrupt(name, error),
        E::Io(error) => Error::backend(operation, error),
        error => Error::backend(operation, error.to_string()),
    }
}
