//! The database file: making it, opening it, and the engine's errors in our words.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Mutex,
};

use redb::{Builder, StorageBackend};

use super::tables::{self, Fault, Snapshot, Tables};
use crate::{
    Error, Result,
    storage::embedded::{
        Database, Embedded, Failure, Fault as AnyFault,
        engine::{Opener, guarded, keep_entry},
        rows,
    },
};

/// The engine's own default is 1 GiB.
const CACHE_BYTES: usize = 64 << 20;
/// What a store that lies in no file is called in messages.
const NAMELESS: &str = "the store";

/// An open database.
pub(super) struct Redb(redb::Database);

impl Database for Redb {
    type Failure = redb::Error;

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn rows::Snapshot<Failure = redb::Error>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        work(&Snapshot::of(&self.0)?)
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&mut dyn rows::Tables<Failure = redb::Error>) -> Result<(bool, T), Fault>,
    ) -> Result<T, Fault> {
        let transaction = tables::begin(&self.0)?;
        let (is_wanted, value) = work(&mut Tables::open(&transaction)?)?;
        if is_wanted {
            transaction.commit()?;
        }
        Ok(value)
    }
}

/// Opens the store in the file `path`.
pub(super) fn in_file(path: &Path) -> Result<Embedded<Redb>> {
    let path = path.to_owned();
    Embedded::open(path.display().to_string(), Box::new(move || open_file(&path)))
}

/// Opens the store in what `make` returns.
pub(super) fn in_backends<B: StorageBackend>(
    make: impl Fn() -> io::Result<B> + Send + Sync + 'static,
) -> Result<Embedded<Redb>> {
    let open: Opener<Redb> = Box::new(move || {
        let operation = "open the store";
        let backend = make().map_err(|error| Error::backend(operation, error))?;
        guarded(NAMELESS, operation, || prepared(builder().create_with_backend(backend)?))
    });
    Embedded::open(NAMELESS.to_owned(), open)
}

/// Opens the store in `backend`, which is used up by that.
pub(super) fn in_backend(backend: impl StorageBackend) -> Result<Embedded<Redb>> {
    let backend = Mutex::new(Some(backend));
    in_backends(move || {
        let backend = backend.lock().ok().and_then(|mut slot| slot.take());
        backend.ok_or_else(|| io::Error::other("a backend that failed cannot be opened again"))
    })
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn open_file(file: &Path) -> Result<Redb> {
    let name = file.display().to_string();
    let operation = format!("open {name}");
    if !file.exists() {
        make(file, &operation)?;
    }
    guarded(&name, &operation, || prepared(builder().open(file)?))
}

/// Makes the file under another name and gives it its own when it is complete: one that a power cut
/// left half made would be taken for a damaged store.
fn make(file: &Path, operation: &str) -> Result<()> {
    let failed = |error| Error::backend(operation, error);
    let draft = draft_of(file);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let name = draft.display().to_string();
    drop(guarded(&name, operation, || prepared(builder().create(&draft)?))?);
    name_it(&draft, file).and_then(|()| keep_entry(file)).map_err(failed)
}

/// Beside the file, and of this process alone.
fn draft_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    file.with_file_name(name)
}

/// A link is never put in place of a file that another process made meanwhile; a rename would be,
/// and is for file systems without links.
fn name_it(draft: &Path, file: &Path) -> io::Result<()> {
    match fs::hard_link(draft, file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(draft, file),
        _ => fs::remove_file(draft),
    }
}

fn prepared(database: redb::Database) -> Result<Redb, Fault> {
    tables::prepare(&database)?;
    Ok(Redb(database))
}

impl<E: Into<redb::Error>> From<E> for AnyFault<redb::Error> {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

impl Failure for redb::Error {
    fn lasts(&self) -> bool {
        !matches!(self, redb::Error::ValueTooLarge(_))
    }

    fn explain(self, name: &str, operation: &str) -> Error {
        use redb::Error as E;
        use std::io::ErrorKind::{InvalidData, UnexpectedEof};
        match self {
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
            error @ (E::RepairAborted
            | E::TableTypeMismatch { .. }
            | E::TableIsMultimap(_)
            | E::TableIsNotMultimap(_)
            | E::TypeDefinitionChanged { .. }
            | E::TableDoesNotExist(_)) => Error::corrupt(name, error),
            E::Io(error) => Error::backend(operation, error),
            error => Error::backend(operation, error.to_string()),
        }
    }
}
