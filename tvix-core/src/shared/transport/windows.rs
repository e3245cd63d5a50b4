//! Named pipes. Written by the documentation of tokio and not yet compiled on Windows.

use std::{io, path::Path, sync::Mutex};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::windows::named_pipe::{ClientOptions, NamedPipeServer, ServerOptions},
};

use crate::storage::Fingerprint;

/// A connection, from either side.
pub(in crate::shared) type Stream = Box<dyn Duplex>;

/// Both directions of a pipe.
pub(in crate::shared) trait Duplex:
    AsyncRead + AsyncWrite + Send + Unpin
{
}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A pipe whose default security lets in its creator, administrators and the system.
#[derive(Debug)]
pub(in crate::shared) struct Listener {
    name: String,
    /// The instance that the next client connects to.
    next: Mutex<Option<NamedPipeServer>>,
}

impl Listener {
    /// Listens for the clients of `folder`.
    pub(in crate::shared) fn bind(folder: &Path) -> io::Result<Self> {
        let name = name(folder)?;
        let first = ServerOptions::new()
            .first_pipe_instance(true)
            .reject_remote_clients(true)
            .create(&name)?;
        Ok(Self { name, next: Mutex::new(Some(first)) })
    }

    /// The next client.
    pub(in crate::shared) async fn accept(&self) -> io::Result<Stream> {
        let waiting = self.next.lock().ok().and_then(|mut next| next.take());
        let server = match waiting {
            Some(server) => server,
            None => ServerOptions::new().reject_remote_clients(true).create(&self.name)?,
        };
        server.connect().await?;
        let next = ServerOptions::new().reject_remote_clients(true).create(&self.name)?;
        if let Ok(mut slot) = self.next.lock() {
            *slot = Some(next);
        }
        Ok(Box::new(server))
    }
}

/// Connects to the owner of `folder`.
pub(in crate::shared) async fn connect(folder: &Path) -> io::Result<Stream> {
    Ok(Box::new(ClientOptions::new().open(name(folder)?)?))
}

fn name(folder: &Path) -> io::Result<String> {
    let folder = std::fs::canonicalize(folder)?;
    let name = Fingerprint::of(&[&folder.to_string_lossy().to_lowercase()]);
    Ok(format!(r"\\.\pipe\tvix-{name:?}"))
}
