//! Unix sockets.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixStream};

use crate::storage::Fingerprint;

/// The longest path that every Unix takes for a socket, in bytes.
const PATH_MAX: usize = 100;

/// A connection.
pub(in crate::shared) type Stream = UnixStream;

/// A socket that only the owner of the data folder can reach.
#[derive(Debug)]
pub(in crate::shared) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    user: u32,
}

impl Listener {
    /// Listens for the clients of `folder`. The caller holds the folder's lock, so a socket that is
    /// there already belongs to a process that has gone.
    pub(in crate::shared) fn bind(folder: &Path) -> io::Result<Self> {
        let user = fs::metadata(folder)?.uid();
        let path = path(folder)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Self { socket, path, user })
    }

    /// The next client of the same user.
    pub(in crate::shared) async fn accept(&self) -> io::Result<Stream> {
        loop {
            let (stream, _) = self.socket.accept().await?;
            let peer = stream.peer_cred()?.uid();
            if peer == self.user || peer == 0 {
                return Ok(stream);
            }
            tracing::warn!(peer, "a process of another user was turned away");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // What stays behind is removed by the next owner.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to the owner of `folder`.
pub(in crate::shared) async fn connect(folder: &Path) -> io::Result<Stream> {
    UnixStream::connect(path(folder)?).await
}

/// The socket of `folder`: inside of it, or in a private folder of the temporary directory when that
/// path is too long for a socket.
fn path(folder: &Path) -> io::Result<PathBuf> {
    let folder = fs::canonicalize(folder)?;
    let inside = folder.join("tvix.sock");
    if inside.as_os_str().len() <= PATH_MAX {
        return Ok(inside);
    }
    let user = fs::metadata(&folder)?.uid();
    let place = std::env::temp_dir().join(format!("tvix-{user}"));
    make_private(&place, user)?;
    let name = Fingerprint::of(&[&folder.to_string_lossy()]);
    Ok(place.join(format!("{name:?}.sock")))
}

/// The temporary directory is everybody's: a folder of our name that is not ours alone is refused.
fn make_private(place: &Path, user: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(place) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let found = fs::symlink_metadata(place)?;
    let open_to_others = found.mode() & 0o077;
    if found.is_dir() && found.uid() == user && open_to_others == 0 {
        return Ok(());
    }
    let reason = format!("{} is not a private folder of this user", place.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_fits_however_long_the_folder_is() {
        let place = tempfile::tempdir().expect("folder");
        let short = path(place.path()).expect("a path");
        assert_eq!(short.file_name().and_then(|name| name.to_str()), Some("tvix.sock"));
        let mut deep = place.path().to_owned();
        deep.extend(["ein langer Ordnername mit Umlauten äöü"; 4]);
        fs::create_dir_all(&deep).expect("made");
        let long = path(&deep).expect("a path");
        assert!(long.as_os_str().len() <= PATH_MAX, "{}", long.display());
        assert_eq!(long, path(&deep).expect("the same path"));
    }
}
