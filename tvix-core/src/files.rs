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

/// Makes the folder `path`, and those above it, for their owner alone (mode 0700 on Unix).
#[cfg(unix)]
pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    fs::create_dir_all(path)
}
