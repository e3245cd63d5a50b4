//! One data folder, many processes.
//!
//! Every MCP host starts a server of its own, so two editors are two processes on one folder. The one
//! that gets the folder's lock opens the store and answers the others over a local socket: it is the
//! *owner*, they are *clients*. When the owner goes, whoever gets the lock next is the owner, and calls
//! that were not answered are sent again; the identifier of a call is stored in the transaction of its
//! write, so a repeated call is answered from that record and never lands twice.
//!
//! The socket carries operations, not MCP messages: each process keeps its own MCP session, and an
//! owner that goes is a short pause for the others. There is no daemon to install, orphan or upgrade.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Error, Memory, Project, Result, Search, Settings, Tvix, Wiki,
    admin::Admin,
    embed::Embedder,
    folder::Folder,
    profile::ProfileSource,
    types::{Id, RequestId, Source, TimeZone},
};

mod client;
mod frame;
mod handle;
mod operation;
mod owner;
mod transport;

use client::{Client, Lost};
use frame::{Call, Context};
use owner::Owner;

/// How long a process tries to become owner or client before it gives up.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two attempts: the owner may be about to listen, or about to let go.
const PAUSE: Duration = Duration::from_millis(5);

/// A folder shared with other processes: the same calls whether this process owns it or not.
///
/// Cheap to clone; clones share the role. It offers the domain traits ([`memory`](Self::memory),
/// [`wiki`](Self::wiki), [`projects`](Self::projects), [`search`](Self::search)) and is a [`Service`](crate::tools::Service).
/// Call [`close`](Self::close) before the runtime ends, so that an owner hands over what is in flight.
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
    source: Source,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    settings: Settings,
    /// In place of the model that the settings ask for.
    embedder: Option<Arc<dyn Embedder>>,
    role: Mutex<Arc<Role>>,
    /// Held by whoever looks for a new role.
    election: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
enum Role {
    Owner(Owner),
    Client(Client),
    Closed,
}

/// Opens the data folder `folder` together with other processes; see [`Tvix::open_with`] for what is
/// made there. Must be called in a tokio runtime, which also serves the clients.
///
/// # Errors
/// As [`Tvix::open_with`], but another process is no hindrance; [`Error::Conflict`] when the process
/// that owns the folder is of a version that cannot be spoken to.
pub async fn open(folder: impl AsRef<Path>, settings: Settings) -> Result<Handle> {
    open_embedding(folder, settings, None).await
}

/// Like [`open`], with an embedder of the caller's in place of the one that the settings ask for. It is
/// in use while this process owns the folder; else the owner's is.
///
/// # Errors
/// As [`open`].
pub async fn open_embedding(
    folder: impl AsRef<Path>,
    settings: Settings,
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<Handle> {
    let folder = folder.as_ref().to_owned();
    let role = Mutex::new(Arc::new(elect(&folder, &settings, embedder.as_ref()).await?));
    let election = tokio::sync::Mutex::new(());
    let shared = Arc::new(Shared { folder, settings, embedder, role, election });
    Ok(Handle { shared, source: Source::library() })
}

/// Becomes the owner if the lock is free, else a client of who holds it.
async fn elect(
    folder: &Path,
    settings: &Settings,
    embedder: Option<&Arc<dyn Embedder>>,
) -> Result<Role> {
    let began = Instant::now();
    loop {
        if let Some(free) = Folder::try_open(folder, settings.store)? {
            let tvix = Tvix::in_folder(free, settings.clone(), embedder.cloned())?;
            return Owner::start(tvix, folder).map(Role::Owner);
        }
        match Client::connect(folder, settings).await {
            Ok(client) => return Ok(Role::Client(client)),
            Err(error @ Error::Conflict { .. }) => return Err(error),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(error) => tracing::debug!(%error, "neither lock nor owner yet"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Handle {
    /// The same folder, with `source` written on what is stored.
    #[must_use]
    pub fn speaking_for(&self, source: Source) -> Self {
        Self { shared: Arc::clone(&self.shared), source }
    }

    /// The memories of this folder.
    pub fn memory(&self) -> &dyn Memory {
        self
    }

    /// The wiki of this folder.
    pub fn wiki(&self) -> &dyn Wiki {
        self
    }

    /// The projects of this folder.
    pub fn projects(&self) -> &dyn Project {
        self
    }

    /// The search over this folder.
    pub fn search(&self) -> &dyn Search {
        self
    }

    /// Where the user's profile is kept: a file of its own, which any process may read and edit.
    pub fn profile_source(&self) -> ProfileSource {
        ProfileSource::File(crate::folder::profile_file(&self.shared.folder))
    }

    /// The time zone for dates without one: the profile's, else UTC.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the profile cannot be read.
    pub fn zone(&self) -> Result<TimeZone> {
        self.profile_source().read()?.zone()
    }

    /// The care of this folder.
    pub fn admin(&self) -> &dyn Admin {
        self
    }

    /// Whether this process owns the folder at the moment.
    pub fn is_owner(&self) -> bool {
        matches!(*self.role(), Role::Owner(_))
    }

    /// Finishes what is in flight and lets go of the folder; as owner, hands it over. Calls after this
    /// fail.
    pub async fn close(&self) {
        let role = self.replace(Arc::new(Role::Closed));
        if let Role::Owner(owner) = &*role {
            owner.close().await;
        }
    }

    fn role(&self) -> Arc<Role> {
        Arc::clone(&self.shared.role.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, role: Arc<Role>) -> Arc<Role> {
        let mut slot = self.shared.role.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, role)
    }

    /// Looks for a new role after the connection of `lost` broke, unless another call has.
    async fn elect_again(&self, lost: &Arc<Role>) -> Result<()> {
        let _election = self.shared.election.lock().await;
        if Arc::ptr_eq(&self.role(), lost) {
            let Shared { folder, settings, embedder, .. } = &*self.shared;
            let role = elect(folder, settings, embedder.as_ref()).await?;
            tracing::info!(owner = matches!(role, Role::Owner(_)), "the former owner has gone");
            self.replace(Arc::new(role));
        }
        Ok(())
    }

    /// Performs the operation `op`, here or at the owner; sends it again when the owner goes.
    async fn perform<T: DeserializeOwned>(
        &self,
        op: &str,
        name: Option<&str>,
        args: impl Serialize,
        context: Context,
    ) -> Result<T> {
        let args = serde_json::to_value(args).map_err(|error| Error::backend(op, error))?;
        let id = RequestId(Id::new());
        let call =
            Call { id, op: op.to_owned(), name: name.map(str::to_owned), args, ctx: context };
        let answer = self.send(&call).await?;
        serde_json::from_value(answer)
            .map_err(|error| Error::backend(format!("reading {op}"), error))
    }

    async fn send(&self, call: &Call) -> Result<serde_json::Value> {
        loop {
            let role = self.role();
            match &*role {
                Role::Owner(owner) => return operation::perform(owner.tvix(), call.clone()).await,
                Role::Client(client) => match client.send(call).await {
                    Ok(answer) => return answer,
                    Err(Lost) => self.elect_again(&role).await?,
                },
                Role::Closed => return Err(Error::conflict("this handle was closed")),
            }
        }
    }
}
