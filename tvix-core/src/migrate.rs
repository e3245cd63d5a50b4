//! From the format of an earlier version to this one's.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crate::{Error, Result, files};

/// What takes the folder `store/` from one format to the next.
///
/// A step may be cut off at any moment, and is run again from its beginning then: it writes in one
/// transaction, or such that a second run does no harm.
pub(crate) struct Step {
    /// The format it begins with; it ends with the next.
    pub(crate) from: u32,
    /// Does it, given the path of `store/`.
    pub(crate) run: fn(&Path) -> Result<()>,
}

/// All steps there are, the oldest first. Format 1 is the first.
pub(crate) const STEPS: &[Step] = &[];

/// Takes `folder` from the format `found` to the latest. A copy of `store/` as it was is kept in
/// `backups/`. The caller stamps the folder afterwards, and only then the migration has happened.
pub(crate) fn run(folder: &Path, found: u32, steps: &[Step]) -> Result<()> {
    let steps: Vec<&Step> = steps.iter().filter(|step| step.from >= found).collect();
    if steps.first().is_none_or(|first| first.from != found) {
        return Err(Error::conflict(format_args!(
            "format.toml: this version cannot bring a folder of format {found} up to date"
        )));
    }
    let store = folder.join("store");
    let copy = keep_copy(folder, &store, found)
        .map_err(|error| Error::backend("copying the store before its migration", error))?;
    for step in steps {
        tracing::warn!(from = step.from, copy = %copy.display(), "migrating the data folder");
        (step.run)(&store)?;
    }
    Ok(())
}

/// Copies `store` to a new place in `backups/`; a copy with a final name is whole.
fn keep_copy(folder: &Path, store: &Path, format: u32) -> io::Result<PathBuf> {
    let backups = folder.join("backups");
    fs::create_dir_all(&backups)?;
    let name = |number: u32| match number {
        1 => format!("format-{format}"),
        _ => format!("format-{format}-{number}"),
    };
    let mut places = (1..).map(|number| backups.join(name(number)));
    let place = places.find(|place| !place.exists()).unwrap_or_default();
    let draft = backups.join("incomplete");
    match fs::remove_dir_all(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => copy_folder(store, &draft)?,
    }
    fs::rename(&draft, &place)?;
    files::sync_folder(&backups)?;
    Ok(place)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            File::options().write(true).open(&target)?.sync_all()?;
        }
    }
    files::sync_folder(to)
}
