//! A file that is there whole or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use tvix_core::{Error, Result};

/// A file under another name until it is finished; removed when that does not come to pass.
#[derive(Debug)]
pub(super) struct Draft {
    target: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl Draft {
    /// Begins to write `target`, for its owner alone.
    ///
    /// # Errors
    /// [`Error::Conflict`] when `target` is there: it may be the only good copy of something.
    pub(super) fn of(target: &Path) -> Result<(Self, BufWriter<File>)> {
        if target.exists() {
            let reason = format!("{} is there already; name another file", target.display());
            return Err(Error::conflict(reason));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let path = target.with_file_name(name);
        let file = create(&path)
            .map_err(|error| Error::backend(format!("writing {}", path.display()), error))?;
        let draft = Self { target: target.to_owned(), path, finished: false };
        Ok((draft, BufWriter::new(file)))
    }

    /// Gives the file its name, once it is on the disk.
    pub(super) fn finish(mut self, writer: BufWriter<File>) -> Result<()> {
        let target = self.target.display().to_string();
        let failed = |error| Error::backend(format!("writing {target}"), error);
        let file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().and_then(|()| fs::rename(&self.path, &self.target)).map_err(failed)?;
        self.finished = true;
        let folder = self.target.parent().filter(|path| !path.as_os_str().is_empty());
        sync(folder.unwrap_or(Path::new("."))).map_err(failed)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.finished {
            // What is left of it says by its name that it is not whole.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}
