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
    Error, Memory, Project, Result, Settings, Tvix, Wiki,
    admin::Admin,
    folder::Folder,
    types::{Id, RequestId, Source},
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
/// [`wiki`](Self::wiki), [`projects`](Self::projects)) and is a [`Service`](crate::tools::Service).
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
    let folder = folder.as_ref().to_owned();
    let role = Mutex::new(Arc::new(elect(&folder, &settings).await?));
    let election = tokio::sync::Mutex::new(());
    let shared = Arc::new(Shared { folder, settings, role, election });
    Ok(Handle { shared, source: Source::library() })
}

/// Becomes the owner if the lock is free, else a client of who holds it.
async fn elect(folder: &Path, settings: &Settings) -> Result<Role> {
    let began = Instant::now();
    loop {
        if let Some(free) = Folder::try_open(folder, settings.store)? {
            let tvix = Tvix::in_folder(free, settings.clone())?;
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
            let role = elect(&self.shared.folder, &self.shared.settings).await?;
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
