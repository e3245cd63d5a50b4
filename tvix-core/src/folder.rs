//! The data folder: who may open it, and where things are in it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Result, files,
    format::{self, FORMAT, Format},
    migrate::{self, Step},
    settings::StoreKind,
    storage::{DocumentStore, RedbStore},
};

/// The file of a redb store in the folder `store/`.
const REDB_FILE: &str = "tvix.redb";

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
        Self::open_as(path, wanted, FORMAT, migrate::STEPS)
    }

    /// Opens `path` as a version does that writes the format `latest` and comes to it by `steps`.
    pub(crate) fn open_as(
        path: &Path,
        wanted: Option<StoreKind>,
        latest: u32,
        steps: &[Step],
    ) -> Result<Option<Self>> {
        files::make_private(path).map_err(|error| unusable(path, error))?;
        let Some(lock) = lock(path)? else { return Ok(None) };
        let store = match Format::read(path)? {
            None => format::stamp(path, latest, format::built_in(wanted)?)?,
            Some(found) => up_to_date(path, &found, found.check(latest, wanted)?, latest, steps)?,
        };
        fs::create_dir_all(path.join("store")).map_err(|error| unusable(path, error))?;
        Ok(Some(Self { path: path.to_owned(), store, _lock: lock }))
    }

    /// Opens the document store.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn DocumentStore>> {
        let place = self.path.join("store");
        match self.store {
            StoreKind::Redb => Ok(Arc::new(RedbStore::open(place.join(REDB_FILE))?)),
            #[cfg(feature = "sled")]
            StoreKind::Sled => {
                Ok(Arc::new(crate::storage::SledStore::open(place.join("tvix.sled"))?))
            }
            #[cfg(not(feature = "sled"))]
            StoreKind::Sled => Err(format::missing(self.store)),
        }
    }

    /// The file of a redb store, which a restore puts in place whole.
    pub(crate) fn redb_file(&self) -> Result<PathBuf> {
        match self.store {
            StoreKind::Redb => Ok(self.path.join("store").join(REDB_FILE)),
            StoreKind::Sled => Err(Error::conflict(
                "a backup is restored into a redb store only; choose a folder without `store = \"sled\"`",
            )),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.path.join("index")
    }

    pub(crate) fn profile_file(&self) -> PathBuf {
        profile_file(&self.path)
    }
}

/// The file of the user's profile in the data folder `folder`.
pub(crate) fn profile_file(folder: &Path) -> PathBuf {
    folder.join("profile.toml")
}

/// Migrates a folder of an earlier format, then stamps it.
fn up_to_date(
    path: &Path,
    found: &Format,
    store: StoreKind,
    latest: u32,
    steps: &[Step],
) -> Result<StoreKind> {
    if found.format < latest {
        migrate::run(path, found.format, steps)?;
        format::stamp(path, latest, store)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> Result<Folder> {
        Folder::open(path, None)
    }

    fn open_as(path: &Path, latest: u32, steps: &[Step]) -> Result<Option<Folder>> {
        Folder::open_as(path, None, latest, steps)
    }

    #[test]
    fn a_folder_is_opened_once_at_a_time() {
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("a b").join("ü");
        let first = open(&path).expect("opened");
        let second = open(&path).expect_err("in use");
        assert!(second.to_string().contains("in use"), "{second}");
        drop(first);
        open(&path).expect("free again");
    }

    #[test]
    fn a_newer_format_or_an_unknown_store_is_refused_and_left_alone() {
        let place = tempfile::tempdir().expect("folder");
        let file = place.path().join("format.toml");
        for text in [
            "format = 99\nstore = \"redb\"\nwritten_by = \"9.0.0\"\n",
            "format = 1\nstore = \"floppy\"\nwritten_by = \"0.1.0\"\n",
            "format = \n",
        ] {
            fs::write(&file, text).expect("written");
            let error = open(place.path()).expect_err(text).to_string();
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
        drop(open_as(path, 1, &[]).expect("made"));
        fs::write(path.join("store/data"), "kept").expect("written");
        let failed = open_as(path, 3, &[TO_TWO, FAILS]).expect_err("the second step");
        assert!(failed.to_string().contains("told to fail"), "{failed}");
        let format = || Format::read(path).expect("read").expect("stamped").format;
        assert_eq!(format(), 1, "a migration that failed is not stamped");
        let copies = || fs::read_dir(path.join("backups")).expect("copies").count();
        assert_eq!(copies(), 1);
        let copy = path.join("backups/format-1");
        assert_eq!(fs::read_to_string(copy.join("data")).expect("copied"), "kept");
        assert!(!copy.join("steps").exists(), "the copy is from before the first step");
        drop(open_as(path, 3, &[TO_TWO, TO_THREE]).expect("migrated"));
        assert_eq!((format(), copies()), (3, 2));
        let steps = fs::read_to_string(path.join("store/steps")).expect("ran");
        assert_eq!(steps, "two two three ", "a step may be run again after a failure");
        drop(open_as(path, 3, &[TO_TWO, TO_THREE]).expect("opened"));
        assert_eq!(copies(), 2, "nothing is left to do");
        assert!(open_as(path, 4, &[TO_TWO]).is_err(), "no step leads to 4");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_folder_belongs_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("folder");
        let path = place.path().join("data");
        let _folder = open(&path).expect("opened");
        let mode = fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
