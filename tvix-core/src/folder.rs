//! The data folder: who may open it, which format it has, where things are in it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, files};

/// The format this version writes.
pub(crate) const FORMAT: u32 = 1;
/// The store this build writes.
const STORE: &str = "redb";

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
    _lock: File,
}

impl Folder {
    /// Opens `path`, making it if it is not there; on Unix with mode 0700.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::try_open(path)?.ok_or_else(|| {
            Error::conflict(format_args!(
                "{} is in use by another tvix process; close it, or choose another folder",
                path.display()
            ))
        })
    }

    /// Like [`Folder::open`]; `None` when another process has it open.
    pub(crate) fn try_open(path: &Path) -> Result<Option<Self>> {
        files::make_private(path).map_err(|error| unusable(path, error))?;
        let Some(lock) = lock(path)? else { return Ok(None) };
        let folder = Self { path: path.to_owned(), _lock: lock };
        folder.check_format()?;
        fs::create_dir_all(folder.path.join("store")).map_err(|error| unusable(path, error))?;
        Ok(Some(folder))
    }

    pub(crate) fn store_file(&self) -> PathBuf {
        self.path.join("store").join("tvix.redb")
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.path.join("index")
    }

    pub(crate) fn profile_file(&self) -> PathBuf {
        self.path.join("profile.toml")
    }

    /// Refuses a folder of a newer version or of another store; stamps a new one.
    fn check_format(&self) -> Result<()> {
        let path = self.path.join("format.toml");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return stamp(&path),
            other => other.map_err(|error| Error::backend("reading format.toml", error))?,
        };
        let found: Format = toml::from_str(&text)
            .map_err(|error| Error::corrupt("format.toml", first_line(&error)))?;
        if found.format > FORMAT {
            let (newer, ours) = (found.format, found.written_by);
            return Err(Error::conflict(format_args!(
                "format.toml: this folder has format {newer}, written by tvix {ours}; this is tvix {}, \
                 which reads up to format {FORMAT}: update it",
                env!("CARGO_PKG_VERSION")
            )));
        }
        if found.store != STORE {
            let reason = format!(
                "format.toml: this folder's store is {:?}; this build has {STORE:?}",
                found.store
            );
            return Err(Error::conflict(reason));
        }
        Ok(())
    }
}

fn stamp(path: &Path) -> Result<()> {
    let written_by = env!("CARGO_PKG_VERSION");
    let text = format!("format = {FORMAT}\nstore = \"{STORE}\"\nwritten_by = \"{written_by}\"\n");
    files::replace(path, text.as_bytes())
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
        let first = Folder::open(&path).expect("opened");
        let second = Folder::open(&path).expect_err("in use");
        assert!(second.to_string().contains("in use"), "{second}");
        drop(first);
        Folder::open(&path).expect("free again");
    }

    #[test]
    fn a_newer_format_or_another_store_is_refused_and_left_alone() {
        let place = tempfile::tempdir().expect("folder");
        let file = place.path().join("format.toml");
        for text in [
            "format = 99\nstore = \"redb\"\nwritten_by = \"9.0.0\"\n",
            "format = 1\nstore = \"sled\"\nwritten_by = \"0.1.0\"\n",
            "format = \n",
        ] {
            fs::write(&file, text).expect("written");
            let error = Folder::open(place.path()).expect_err(text).to_string();
            assert!(error.contains("format.toml"), "{error}");
            assert_eq!(fs::read_to_string(&file).expect("read"), text);
            assert!(!place.path().join("store").exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_new_folder_belongs_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("data");
        let _folder = Folder::open(&path).expect("opened");
        let mode = fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
