//! What can be said of a data folder without its documents.

use std::{fs, io, path::Path};

use super::{
    Admin, BackupFile, Finding, Part, Place, Report, Severity, backup::OWN_FILES, filesystem,
};
use crate::{
    Error, Result, Settings, config::Config, folder::Folder, format::Format, profile::ProfileSource,
};

/// The largest file of the user's own that a backup takes, in bytes.
const OWN_FILE_MAX: u64 = 1 << 20;

/// Examines the data folder `path`, as [`Admin::doctor`] does for an open store. One that cannot be
/// opened is reported, not an error. No folder is made.
pub async fn examine(path: &Path, repair: bool) -> Report {
    let mut findings = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Vec::new(),
        Ok(_) => vec![Finding::problem(Part::Folder, format!("{} is a file", path.display()))],
        Err(error) => vec![missing(path, &error)],
    };
    if findings.is_empty() {
        // A broken `config.toml` is among the findings and need not keep the rest from being seen.
        let settings = Config::load(path).unwrap_or_default().settings;
        match open_and_examine(path, settings, repair).await {
            Ok(report) => return report,
            Err(error) => {
                findings = check_files(path, repair);
                findings.push(Finding::problem(Part::Store, format!("not opened: {error}")));
            }
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Report { version, memories: 0, wiki_documents: 0, findings }
}

/// Beside a running server its owner is asked, which has the folder open.
#[cfg(feature = "shared")]
async fn open_and_examine(path: &Path, settings: Settings, repair: bool) -> Result<Report> {
    let handle = crate::shared::open(path, settings).await?;
    let report = handle.doctor(repair).await;
    let owned = handle.is_owner();
    handle.close().await;
    report.map(|mut report| {
        let (lock, socket) = if owned {
            ("free; this command held it", "nobody was listening; a stale one was replaced")
        } else {
            ("held by another tvix process", "its owner answered")
        };
        report.findings.push(Finding::good(Part::Lock, lock));
        report.findings.push(Finding::good(Part::Socket, socket));
        report
    })
}

#[cfg(not(feature = "shared"))]
async fn open_and_examine(path: &Path, settings: Settings, repair: bool) -> Result<Report> {
    crate::Tvix::open_with(path, settings)?.doctor(repair).await
}

fn missing(path: &Path, error: &io::Error) -> Finding {
    if error.kind() == io::ErrorKind::NotFound {
        let what = format!("{} is not there; the first use makes it", path.display());
        return Finding::new(Part::Folder, Severity::Note, what);
    }
    Finding::problem(Part::Folder, format!("{}: {error}", path.display()))
}

/// Everything but the store and what is derived from it.
fn check_files(path: &Path, repair: bool) -> Vec<Finding> {
    vec![
        check_permissions(path, repair),
        check_file_system(path),
        check_format(path),
        readable(Part::Config, Config::load(path)),
        readable(Part::Profile, ProfileSource::File(path.join("profile.toml")).read()),
    ]
}

fn readable<T>(part: Part, read: Result<T>) -> Finding {
    match read {
        Ok(_) => Finding::good(part, "readable"),
        Err(error) => Finding::problem(part, error.to_string()).by_hand("mend the file by hand"),
    }
}

fn check_format(path: &Path) -> Finding {
    match Format::read(path) {
        Ok(Some(format)) => Finding::good(Part::Format, format.to_string()),
        Ok(None) => Finding::new(Part::Format, Severity::Note, "not written yet"),
        Err(error) => Finding::problem(Part::Format, error.to_string()),
    }
}

fn check_file_system(path: &Path) -> Finding {
    match filesystem::network(path) {
        None => Finding::good(Part::FileSystem, "local"),
        Some(name) => {
            let what = format!(
                "the folder lies on {name}, over a network: locks and syncs may not hold there"
            );
            let remedy = "keep it on a local disk, and copy backups to the network";
            Finding::new(Part::FileSystem, Severity::Warning, what).by_hand(remedy)
        }
    }
}

#[cfg(unix)]
fn check_permissions(path: &Path, repair: bool) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let mode = match fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o777,
        Err(error) => return Finding::problem(Part::Folder, error.to_string()),
    };
    let others = mode & 0o077;
    if others == 0 {
        return Finding::good(Part::Folder, format!("{}, for you alone", path.display()));
    }
    let what = format!("{} has mode {mode:o}: others on this machine may enter", path.display());
    let finding = Finding::new(Part::Folder, Severity::Warning, what)
        .mended_by("takes their permissions away");
    if !repair {
        return finding;
    }
    finding.tried(fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)))
}

#[cfg(not(unix))]
fn check_permissions(path: &Path, _repair: bool) -> Finding {
    Finding::good(Part::Folder, path.display().to_string())
}

impl Place for Folder {
    fn check(&self, repair: bool) -> Vec<Finding> {
        check_files(self.path(), repair)
    }

    fn index_is_gone(&self) -> bool {
        !self.index_folder().join("text").join("meta.json").exists()
    }

    fn own_files(&self) -> Result<Vec<BackupFile>> {
        let files = OWN_FILES.iter().map(|name| own_file(self.path(), name));
        files.filter_map(Result::transpose).collect()
    }
}

fn own_file(folder: &Path, name: &str) -> Result<Option<BackupFile>> {
    let path = folder.join(name);
    let failed = |error| Error::backend(format!("reading {name}"), error);
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(found) if found.len() > OWN_FILE_MAX => {
            let reason = format!("it has {} bytes, more than any such file needs", found.len());
            return Err(Error::invalid(name, reason));
        }
        Ok(_) => {}
    }
    let text = fs::read_to_string(&path).map_err(failed)?;
    Ok(Some(BackupFile { file: name.to_owned(), text }))
}
