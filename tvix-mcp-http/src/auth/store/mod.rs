//! `auth.redb`: users, clients and what was granted.
//!
//! **Several processes.** redb's multi-writer mode lets every server process of a folder open the file:
//! one write transaction at a time over all of them, and readers follow commits at once. So a token that
//! one process revokes is gone in all with the next request, and nothing need be cached. (Measured with
//! three processes against opening the file for each transaction: 22 ms beside 29 ms for a write at the
//! median, 7 µs beside 87 µs for a read.)
//!
//! **Losing power.** A commit is synced before it is answered: what a client was given is known after a
//! `kill -9`.
//!
//! **Size.** Every row that can be made from outside has an end or a cap; [`Store::sweep`] removes what
//! is over.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use redb::{ConcurrencyMode, Database, ReadableDatabase as _};
use serde::{Serialize, de::DeserializeOwned};

mod records;
mod sweep;
mod tables;
pub(super) mod users;

pub(super) use records::{
    Access, Code, Consent, Grant, Personal, Refresh, Registered, Session, Setup, User,
};
pub(super) use tables::{All, Reading, Record, Rows, Writing};
pub use users::{UserName, UserRow};

/// What redb may keep in memory, in bytes. The whole database of a small team fits.
const CACHE: usize = 8 << 20;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The database failed; it may work again later.
    #[error("auth.redb: {0}")]
    Database(#[from] redb::Error),
    /// A row cannot be read.
    #[error("auth.redb: a row of the table {table} is damaged: {source}")]
    Damaged {
        /// Which table.
        table: &'static str,
        /// What the reader said.
        source: serde_json::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
    /// The work was stopped: the server is going down.
    #[error("the server is stopping")]
    Stopping,
}

/// The database of one server folder. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Store(Arc<Database>);

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

/// A database file that this process has open.
type Opened = (PathBuf, Weak<Database>);

/// Databases that this process has open: a second handle in one process would not see the locks of the
/// first.
static OPEN: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

impl Store {
    /// Opens `auth.redb` in `folder`, and makes both if they are not there (mode 0700 and 0600 on Unix).
    ///
    /// # Errors
    /// [`Failure::Database`], among others when a process of an older version has the file for itself.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        private_folder(folder)?;
        let file = folder.canonicalize().map_err(io)?.join("auth.redb");
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, database)| database.strong_count() > 0);
        let known =
            open.iter().find(|(path, _)| *path == file).and_then(|(_, known)| known.upgrade());
        if let Some(database) = known {
            return Ok(Self(database));
        }
        let database = Arc::new(create(&file)?);
        open.push((file, Arc::downgrade(&database)));
        Ok(Self(database))
    }

    /// Runs `work` on what was last committed, off the threads that serve requests.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reading) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let database = Arc::clone(&self.0);
        aside(move || work(&Reading(database.begin_read().map_err(redb::Error::from)?))).await
    }

    /// Runs `work` in a transaction and commits it; nothing is changed if `work` fails. Transactions of
    /// all processes run one after the other, so what `work` reads holds until it is done.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Writing) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let database = Arc::clone(&self.0);
        aside(move || {
            let transaction = Writing(database.begin_write().map_err(redb::Error::from)?);
            let value = work(&transaction)?;
            transaction.0.commit().map_err(redb::Error::from)?;
            Ok(value)
        })
        .await
    }

    /// One row.
    pub(super) async fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>, Failure> {
        let key = key.to_owned();
        self.read(move |rows| rows.get::<R>(&key)).await
    }

    /// Every row of a kind.
    pub(super) async fn all<R: Record>(&self) -> Result<All<R>, Failure> {
        self.read(Rows::all::<R>).await
    }

    /// Writes one row.
    pub(super) async fn put<R: Record>(&self, key: &[u8], row: R) -> Result<(), Failure> {
        let key = key.to_owned();
        self.write(move |rows| rows.put(&key, &row)).await
    }
}

/// Runs blocking work on a thread for such work.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Failure::Stopping))
}

fn create(file: &Path) -> Result<Database, Failure> {
    private_file(file)?;
    let database = redb::Builder::new()
        .set_cache_size(CACHE)
        .set_concurrency_mode(ConcurrencyMode::MultiWriter)
        .create(file)
        .map_err(redb::Error::from)?;
    let made = Writing(database.begin_write().map_err(redb::Error::from)?);
    records::make_tables(&made)?;
    made.0.commit().map_err(redb::Error::from)?;
    Ok(database)
}

fn io(error: std::io::Error) -> Failure {
    Failure::Database(redb::Error::Io(error))
}

fn private_folder(folder: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(io)
}

/// Makes an empty file that only its owner can read, before redb writes the first byte.
fn private_file(file: &Path) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop).map_err(io)
}

fn encode(row: &impl Serialize, table: &'static str) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(row).map_err(|source| Failure::Damaged { table, source })
}

fn decode<R: DeserializeOwned>(bytes: &[u8], table: &'static str) -> Result<R, Failure> {
    serde_json::from_slice(bytes).map_err(|source| Failure::Damaged { table, source })
}
