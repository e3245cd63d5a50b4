//! The data folder: who may open it, which format it has, where things are in it.

use std::{
    fmt,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, files,
    migrate::{self, Step},
};

/// The format this version writes.
const FORMAT: u32 = 1;
/// The store this build writes.
const STORE: &str = "redb";

/// `format.toml`: what wrote this folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Format {
    format: u32,
    store: String,
    written_by: String,
}

impl Format {
    /// Reads `format.toml` in `folder`; `None` when it is not there.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        match fs::read_to_string(folder.join("format.toml")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::backend("reading format.toml", error)),
            Ok(text) => toml::from_str(&text)
                .map(Some)
                .map_err(|error| Error::corrupt("format.toml", first_line(&error))),
        }
    }

    /// Refuses a newer format than `latest`, and another store.
    fn check(&self, latest: u32) -> Result<()> {
        if self.format > latest {
            let (newer, ours) = (self.format, &self.written_by);
            return Err(Error::conflict(format_args!(
                "format.toml: this folder has format {newer}, written by tvix {ours}; this is tvix {}, \
                 which reads up to format {latest}: update it",
                env!("CARGO_PKG_VERSION")
            )));
        }
        if self.store != STORE {
            let reason = format!(
                "format.toml: this folder's store is {:?}; this build has {STORE:?}",
                self.store
            );
            return Err(Error::conflict(reason));
        }
        Ok(())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, store, written_by } = self;
        write!(f, "format {format}, store {store}, written by tvix {written_by}")
    }
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
        Self::open_as(path, FORMAT, migrate::STEPS)
    }

    /// Opens `path` as a version does that writes the format `latest` and comes to it by `steps`.
    fn open_as(path: &Path, latest: u32, steps: &[Step]) -> Result<Self> {
        make_private(path).map_err(|error| unusable(path, error))?;
        let folder = Self { path: path.to_owned(), _lock: lock(path)? };
        match Format::read(path)? {
            None => stamp(path, latest)?,
            Some(found) => {
                found.check(latest)?;
                if found.format < latest {
                    migrate::run(path, found.format, steps)?;
                    stamp(path, latest)?;
                }
            }
        }
        fs::create_dir_all(folder.path.join("store")).map_err(|error| unusable(path, error))?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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
}

fn stamp(folder: &Path, format: u32) -> Result<()> {
    let written_by = env!("CARGO_PKG_VERSION");
    let text = format!("format = {format}\nstore = \"{STORE}\"\nwritten_by = \"{written_by}\"\n");
    files::replace(&folder.join("format.toml"), text.as_bytes())
}

fn lock(path: &Path) -> Result<File> {
    let open = File::options().create(true).truncate(false).write(true).open(path.join("LOCK"));
    let file = open.map_err(|error| unusable(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::conflict(format_args!(
            "{} is in use by another tvix process; close it, or choose another folder with --data or TVIX_HOME",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(unusable(path, error)),
    }
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
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

    fn note(text: &str) -> impl Fn(&Path) -> Result<()> + '_ {
        move |store| {
            let file = store.join("steps");
            let before = fs::read_to_string(&file).unwrap_or_default();
            files::replace(&file, format!("{before}{text} ").as_bytes())
        }
    }

    const TO_TWO: Step = Step { from: 1, run: |store| note("two")(store) };
    const TO_THREE: Step = Step { from: 2, run: |store| note("three")(store) };
    const FAILS: Step = Step { from: 2, run: |_| Err(Error::conflict("told to fail")) };

    #[test]
    fn an_older_folder_is_copied_then_migrated_step_by_step_then_stamped() {
        let place = tempfile::tempdir().expect("folder");
        let path = place.path();
        drop(Folder::open_as(path, 1, &[]).expect("made"));
        fs::write(path.join("store/data"), "kept").expect("written");
        let failed = Folder::open_as(path, 3, &[TO_TWO, FAILS]).expect_err("the second step");
        assert!(failed.to_string().contains("told to fail"), "{failed}");
        let format = || Format::read(path).expect("read").expect("stamped").format;
        assert_eq!(format(), 1, "a migration that failed is not stamped");
        let copies = || fs::read_dir(path.join("backups")).expect("copies").count();
        assert_eq!(copies(), 1);
        let copy = path.join("backups/format-1");
        assert_eq!(fs::read_to_string(copy.join("data")).expect("copied"), "kept");
        assert!(!copy.join("steps").exists(), "the copy is from before the first step");
        drop(Folder::open_as(path, 3, &[TO_TWO, TO_THREE]).expect("migrated"));
        assert_eq!((format(), copies()), (3, 2));
        let steps = fs::read_to_string(path.join("store/steps")).expect("ran");
        assert_eq!(steps, "two two three ", "a step may be run again after a failure");
        drop(Folder::open_as(path, 3, &[TO_TWO, TO_THREE]).expect("opened"));
        assert_eq!(copies(), 2, "nothing is left to do");
        assert!(Folder::open_as(path, 4, &[TO_TWO]).is_err(), "no step leads to 4");
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
