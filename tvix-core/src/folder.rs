//! The data folder: who may open it, which format it has, where things are in it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, files,
    settings::StoreKind,
    storage::{DocumentStore, RedbStore},
};

/// The format this version writes.
pub(crate) const FORMAT: u32 = 1;

/// `format.toml`: what wrote this folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Format {
    format: u32,
    store: String,
    written_by: String,
}

/// An open data folder. No other process can open it until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    store: StoreKind,
    _lock: File,
}

impl Folder {
    /// Opens `path`, making it if it is not there; on Unix with mode 0700. A new folder gets the
    /// store `wanted`, or the default one; a folder that is there must have that.
    pub(crate) fn open(path: &Path, wanted: Option<StoreKind>) -> Result<Self> {
        Self::try_open(path, wanted)?.ok_or_else(|| {
            Error::conflict(format_args!(
                "{} is in use by another tvix process; close it, or choose another folder",
                path.display()
            ))
        })
    }

    /// Like [`Folder::open`]; `None` when another process has it open.
    pub(crate) fn try_open(path: &Path, wanted: Option<StoreKind>) -> Result<Option<Self>> {
        files::make_private(path).map_err(|error| unusable(path, error))?;
        let Some(lock) = lock(path)? else { return Ok(None) };
        let store = store_of(&path.join("format.toml"), wanted)?;
        fs::create_dir_all(path.join("store")).map_err(|error| unusable(path, error))?;
        Ok(Some(Self { path: path.to_owned(), store, _lock: lock }))
    }

    /// Opens the document store.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn DocumentStore>> {
        let place = self.path.join("store");
        match self.store {
            StoreKind::Redb => Ok(Arc::new(RedbStore::open(place.join("tvix.redb"))?)),
            #[cfg(feature = "sled")]
            StoreKind::Sled => {
                Ok(Arc::new(crate::storage::SledStore::open(place.join("tvix.sled"))?))
            }
            #[cfg(not(feature = "sled"))]
            StoreKind::Sled => Err(missing(self.store)),
        }
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.path.join("index")
    }

    pub(crate) fn profile_file(&self) -> PathBuf {
        self.path.join("profile.toml")
    }
}

/// The store that the folder has. Refuses a folder of a newer version, and one that has another
/// store than is wanted; stamps a new one.
fn store_of(path: &Path, wanted: Option<StoreKind>) -> Result<StoreKind> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return stamp(path, wanted),
        other => other.map_err(|error| Error::backend("reading format.toml", error))?,
    };
    let found: Format =
        toml::from_str(&text).map_err(|error| Error::corrupt("format.toml", first_line(&error)))?;
    if found.format > FORMAT {
        let (newer, ours) = (found.format, found.written_by);
        return Err(Error::conflict(format_args!(
            "format.toml: this folder has format {newer}, written by tvix {ours}; this is tvix {}, \
             which reads up to format {FORMAT}: update it",
            env!("CARGO_PKG_VERSION")
        )));
    }
    let store = StoreKind::named(&found.store).ok_or_else(|| {
        let store = found.store;
        Error::conflict(format_args!(
            "format.toml: this version knows no store {store:?}: update it"
        ))
    })?;
    match wanted.filter(|wanted| *wanted != store) {
        Some(wanted) => Err(Error::conflict(format_args!(
            "format.toml: this folder's documents are in a {store} store, and config.toml asks for \
             {wanted}: remove `store` there, or choose another folder"
        ))),
        None if !store.is_built_in() => Err(missing(store)),
        None => Ok(store),
    }
}

fn missing(store: StoreKind) -> Error {
    Error::conflict(format_args!(
        "format.toml: this folder's documents are in a {store} store, which this build does not have: \
         use one with the feature `{store}`"
    ))
}

fn stamp(path: &Path, wanted: Option<StoreKind>) -> Result<StoreKind> {
    let store = wanted.unwrap_or_default();
    if !store.is_built_in() {
        return Err(missing(store));
    }
    let written_by = env!("CARGO_PKG_VERSION");
    let text = format!("format = {FORMAT}\nstore = \"{store}\"\nwritten_by = \"{written_by}\"\n");
    files::replace(path, text.as_bytes())?;
    Ok(store)
}

fn lock(path: &Path) -> Result<Option<File>> {
    let open = File::options().create(true).truncate(false).write(true).open(path.join("LOCK"));
    let file = open.map_err(|error| unusable(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(unusable(path, error)),
    }
}

fn unusable(path: &Path, error: io::Error) -> Error {
    Error::backend(format!("opening the data folder {}", path.display()), error)
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_opened_once_at_a_time() {
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("a b").join("ü");
        let first = Folder::open(&path, None).expect("opened");
        let second = Folder::open(&path, None).expect_err("in use");
        assert!(second.to_string().contains("in use"), "{second}");
        drop(first);
        Folder::open(&path, None).expect("free again");
    }

    #[test]
    fn a_newer_format_or_another_store_is_refused_and_left_alone() {
        let place = tempfile::tempdir().expect("folder");
        let file = place.path().join("format.toml");
        for text in [
            "format = 99\nstore = \"redb\"\nwritten_by = \"9.0.0\"\n",
            "format = 1\nstore = \"sled\"\nwritten_by = \"0.1.0\"\n",
            "format = 1\nstore = \"floppy\"\nwritten_by = \"0.1.0\"\n",
            "format = \n",
        ] {
            fs::write(&file, text).expect("written");
            let error =
                Folder::open(place.path(), Some(StoreKind::Redb)).expect_err(text).to_string();
            assert!(error.contains("format.toml"), "{error}");
            assert_eq!(fs::read_to_string(&file).expect("read"), text);
            assert!(!place.path().join("store").exists());
        }
    }

    #[test]
    fn a_folder_keeps_its_store() {
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("data");
        let wanted = Some(StoreKind::Sled);
        match Folder::open(&path, wanted) {
            Ok(folder) => drop(folder.open_store().expect("opened")),
            Err(error) => assert!(error.to_string().contains("feature `sled`"), "{error}"),
        }
        let stamped = path.join("format.toml").exists();
        assert_eq!(stamped, StoreKind::Sled.is_built_in());
        let kept = Folder::open(&path, None).expect("opened").store;
        assert_eq!(kept == StoreKind::Sled, stamped);
        let other = if stamped { StoreKind::Redb } else { StoreKind::Sled };
        let error = Folder::open(&path, Some(other)).expect_err("another store").to_string();
        assert!(error.contains("redb") && error.contains("sled"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_folder_belongs_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("data");
        let _folder = Folder::open(&path, None).expect("opened");
        let mode = fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
