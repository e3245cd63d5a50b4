//! Migrations that are made for a test, on a real data folder. Versions that come need no such thing.

use std::path::Path;

use crate::{Error, Result, Settings, Tvix, folder::Folder, migrate::Step};

/// Takes the folder `store/` from the given format to the next.
pub type TestStep = (u32, fn(&Path) -> Result<()>);

/// Opens `folder` as a version would that writes the format `latest` and comes to it by `steps`.
///
/// # Errors
/// As [`Tvix::open`], and what a step reports.
pub fn open(folder: &Path, latest: u32, steps: &[TestStep]) -> Result<Tvix> {
    let steps: Vec<Step> = steps.iter().map(|&(from, run)| Step { from, run }).collect();
    let folder = Folder::open_as(folder, None, latest, &steps)?;
    let folder = folder.ok_or_else(|| Error::conflict("the folder is in use"))?;
    Tvix::in_folder(folder, Settings::default(), None)
}
