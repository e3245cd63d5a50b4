//! An open database: what it takes to open it again after an I/O error, and no panic of the engine
//! that gets through.

use std::{
    any::Any,
    fs::File,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Database, Failure, Fault};
use crate::{Error, Result};

/// Opens a database: at first, and again after an I/O error.
pub(crate) type Opener<D> = Box<dyn Fn() -> Result<D> + Send + Sync>;

/// The database, and what it takes to open it again.
pub(crate) struct Engine<D> {
    name: String,
    open: Opener<D>,
    /// Empty while an attempt to open it again has failed.
    database: RwLock<Option<D>>,
    /// After an I/O error the engine refuses everything until it is opened again.
    broken: AtomicBool,
}

impl<D> Engine<D> {
    pub(crate) fn open(name: String, open: Opener<D>) -> Result<Self> {
        let database = RwLock::new(Some(open()?));
        Ok(Self { name, open, database, broken: AtomicBool::new(false) })
    }

    /// What the store is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens the database again after a failure. A reader may have to wait for that; it is rare.
    fn mend(&self) -> Result<()> {
        if !self.broken.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut slot = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if self.broken.load(Ordering::Acquire) {
            // The old handle holds the lock on the file.
            close(slot.take());
            *slot = Some((self.open)()?);
            self.broken.store(false, Ordering::Release);
            tracing::info!(store = %self.name, "opened again after a failure");
        }
        Ok(())
    }
}

impl<D: Database> Engine<D> {
    /// Runs `work` on the database. `operation` says in words what that is, for the error text.
    ///
    /// # Errors
    /// What [`Failure::explain`] makes of the engine's error. An engine that failed is opened again
    /// by the next call; if that fails too, this call reports it and the one after tries again.
    pub(crate) fn run<T>(
        &self,
        operation: &str,
        work: impl FnOnce(&D) -> Result<T, Fault<D::Failure>>,
    ) -> Result<T> {
        self.mend()?;
        let slot = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = slot.as_ref() else {
            return Err(Error::backend(operation, "the store could not be opened again"));
        };
        let mut failed = true;
        let outcome = guarded(&self.name, operation, || {
            let outcome = work(database);
            failed = matches!(&outcome, Err(Fault::Engine(failure)) if failure.lasts());
            outcome
        });
        if failed {
            // While the lock is held: a flag set later could hit the database opened next.
            self.broken.store(true, Ordering::Release);
        }
        outcome
    }
}

impl<D> Drop for Engine<D> {
    fn drop(&mut self) {
        close(self.database.get_mut().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Closing writes the engine's own bookkeeping, and on a damaged file that may panic.
fn close<D>(database: Option<D>) {
    if catch_unwind(AssertUnwindSafe(|| drop(database))).is_err() {
        tracing::warn!("the storage engine panicked while closing");
    }
}

/// Runs `work`; a panic becomes an error. The engine trusts its pages: one that another program
/// changed can make it panic.
pub(crate) fn guarded<T, F: Failure>(
    name: &str,
    operation: &str,
    work: impl FnOnce() -> Result<T, Fault<F>>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault::Record(error))) => Err(error),
        Ok(Err(Fault::Engine(failure))) => Err(failure.explain(name, operation)),
        Err(panic) => Err(Error::corrupt(name, text_of(panic.as_ref()))),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the storage engine panicked")
}

/// Makes the entry of `path` in its folder survive a power cut. Windows cannot open folders as
/// files, and needs no such care.
pub(crate) fn keep_entry(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new("."))) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}
