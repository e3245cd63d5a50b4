//! Each user's own folder, opened when it is called for.
//!
//! A request gets a [`Lease`] on the folder of its caller and on no other: from there on nothing names a
//! user, so no argument, identifier or cursor can lead into the folder of another.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell};
use tvix_core::{
    Error, Result,
    config::Config,
    shared::{self, Handle},
    tools::{CallContext, Reply, Service, ServiceError, ToolDefinition},
};
use uuid::Uuid;

/// The folders of all users, a bounded number of them open.
#[derive(Debug, Clone)]
pub(crate) struct Tenants {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    users: PathBuf,
    max: usize,
    open: Mutex<Open>,
    /// Told when a lease ends and when a folder was closed.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    tenants: HashMap<Uuid, Tenant>,
    /// Counts leases: the larger, the later.
    clock: u64,
}

#[derive(Debug)]
struct Tenant {
    /// Empty until the folder was opened; those who come meanwhile wait for the same opening.
    handle: Arc<OnceCell<Handle>>,
    leases: usize,
    last: u64,
    closing: bool,
}

/// What stands in the way of a lease.
enum Step {
    Open(Lease),
    Close(Uuid, Arc<OnceCell<Handle>>),
    Wait,
}

/// One user's open folder. It stays open until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    shared: Arc<Shared>,
    user: Uuid,
    handle: Arc<OnceCell<Handle>>,
}

impl Tenants {
    /// Folders below `users`, at most `max` of them open.
    pub(crate) fn new(users: PathBuf, max: usize) -> Self {
        let (open, freed) = (Mutex::default(), Notify::new());
        Self { shared: Arc::new(Shared { users, max, open, freed }) }
    }

    /// How many folders are open.
    pub(crate) fn count(&self) -> usize {
        self.shared.lock().tenants.len()
    }

    /// The folder of `user`. Where too many are open, the one that was not used for the longest time is
    /// closed first; where all are in use, this waits for one.
    ///
    /// # Errors
    /// As [`shared::open`].
    pub(crate) async fn lease(&self, user: Uuid) -> Result<Lease> {
        // Whom this has begun to close: one makes place enough.
        let mut leaving = None;
        loop {
            let freed = self.shared.freed.notified();
            tokio::pin!(freed);
            // From here on no notice is missed, though it is awaited only below.
            freed.as_mut().enable();
            match self.step(user, leaving) {
                Step::Open(lease) => {
                    lease.open().await?;
                    return Ok(lease);
                }
                Step::Close(idle, handle) => {
                    leaving = Some(idle);
                    self.close(idle, handle);
                }
                Step::Wait => {}
            }
            freed.await;
        }
    }

    fn step(&self, user: Uuid, leaving: Option<Uuid>) -> Step {
        let mut open = self.shared.lock();
        open.clock += 1;
        let now = open.clock;
        if let Some(tenant) = open.tenants.get_mut(&user) {
            if tenant.closing {
                return Step::Wait;
            }
            tenant.leases += 1;
            tenant.last = now;
            return Step::Open(self.lease_of(user, &tenant.handle));
        }
        if open.tenants.len() < self.shared.max {
            let handle = Arc::default();
            let lease = self.lease_of(user, &handle);
            open.tenants.insert(user, Tenant { handle, leases: 1, last: now, closing: false });
            return Step::Open(lease);
        }
        let leaving = leaving.and_then(|left| open.tenants.get(&left));
        if leaving.is_some_and(|tenant| tenant.closing) {
            return Step::Wait;
        }
        let idle =
            open.tenants.iter_mut().filter(|(_, tenant)| tenant.leases == 0 && !tenant.closing);
        let Some((idle, tenant)) = idle.min_by_key(|(_, tenant)| tenant.last) else {
            return Step::Wait;
        };
        tenant.closing = true;
        Step::Close(*idle, Arc::clone(&tenant.handle))
    }

    fn lease_of(&self, user: Uuid, handle: &Arc<OnceCell<Handle>>) -> Lease {
        Lease { shared: Arc::clone(&self.shared), user, handle: Arc::clone(handle) }
    }

    /// Closes the folder of `user`, in a task of its own: a request that is given up must not leave it
    /// half closed.
    fn close(&self, user: Uuid, handle: Arc<OnceCell<Handle>>) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            if let Some(handle) = handle.get() {
                handle.close().await;
            }
            tracing::debug!(%user, "closed the folder of a user");
            shared.lock().tenants.remove(&user);
            shared.freed.notify_waiters();
        });
    }

    /// Closes all folders. Called when nothing is in flight any more.
    pub(crate) async fn close_all(&self) {
        let tenants = std::mem::take(&mut self.shared.lock().tenants);
        for tenant in tenants.into_values() {
            if let Some(handle) = tenant.handle.get() {
                handle.close().await;
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self, user: Uuid) -> Result<Handle> {
        let folder = self.users.join(user.to_string());
        let config = Config::load(&folder)?.overlay(|name| std::env::var(name).ok())?;
        let handle = shared::open(&folder, config.settings).await?;
        tracing::debug!(%user, owner = handle.is_owner(), "opened the folder of a user");
        Ok(handle)
    }
}

impl Lease {
    /// Opens the folder unless it is open. In a task of its own, so that whoever gives up waiting does
    /// not undo it for the others.
    async fn open(&self) -> Result<()> {
        if self.handle.initialized() {
            return Ok(());
        }
        let (shared, user, handle) =
            (Arc::clone(&self.shared), self.user, Arc::clone(&self.handle));
        let opened =
            tokio::spawn(
                async move { handle.get_or_try_init(|| shared.open(user)).await.map(|_| ()) },
            );
        opened.await.map_err(|error| Error::backend("opening the folder of a user", error))?
    }

    fn handle(&self) -> Result<&Handle> {
        self.handle.get().ok_or_else(|| Error::conflict("the folder of the user is not open"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(tenant) = self.shared.lock().tenants.get_mut(&self.user) {
            tenant.leases -= 1;
        }
        self.shared.freed.notify_waiters();
    }
}

/// The lease lives as long as the last call that runs on it, also one whose caller has gone away.
#[async_trait]
impl Service for Lease {
    async fn tools(&self, context: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.handle()?.tools(context).await
    }

    async fn call(
        &self,
        context: &CallContext,
        name: &str,
        arguments: Value,
    ) -> Result<Reply, ServiceError> {
        self.handle()?.call(context, name, arguments).await
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        uri: &str,
    ) -> Result<String, ServiceError> {
        self.handle()?.read_resource(context, uri).await
    }
}
