//! Small files that must never be half written.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use crate::{Error, Result};

/// Puts `bytes` in place of the file at `path`: readers see the old or the new content, whole, also
/// after a power cut.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error| Error::backend(format!("writing {name}"), error);
    let draft = path.with_file_name(format!("{name}.new"));
    let mut file = File::create(&draft).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&draft, path).map_err(failed)?;
    sync_folder(path.parent().unwrap_or(Path::new("."))).map_err(failed)
}

/// Makes a rename durable. Only Unix lets a folder be opened for that.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
