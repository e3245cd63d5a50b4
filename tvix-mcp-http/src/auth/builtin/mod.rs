//! Our own authorization server (OAuth 2.1) for one resource: the MCP endpoint beside it.
//!
//! | path | what | by |
//! |---|---|---|
//! | `/.well-known/…` | metadata | RFC 9728, RFC 8414 |
//! | `/register` | clients register themselves | RFC 7591 |
//! | `/authorize` | consent | RFC 6749 4.1, RFC 7636, RFC 8707, RFC 9207 |
//! | `/token`, `/revoke` | tokens | RFC 6749 5 and 6, RFC 7009 |
//! | `/login`, `/logout`, `/setup`, `/account/…` | pages for people | |
//!
//! Tokens are opaque and looked up with each request, so that what is revoked ends at once.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderMap, Uri},
};
use uuid::Uuid;

use super::{
    Authenticator, Denied, Identity,
    bearer::bearer,
    cimd::Documents,
    clock::{DAY, MINUTE, Seconds},
    limits::{Buckets, Delays},
    params::LONGEST,
    passwords::Passwords,
    secret::{Purpose, Secret},
    settings::Settings,
    store::{Access, Failure, Grant, Rows as _, Setup, Store, users},
    tokens::{self, PersonalTokens},
};

mod account;
mod answer;
mod asked;
mod authorize;
mod browser;
mod client;
mod forms;
mod grants;
mod login;
mod metadata;
mod redirect;
mod register;
mod revoke;
mod setup;
mod token;

pub use redirect::RedirectUri;

/// How old the time of the last use may be before it is written anew.
const USE_RESOLUTION: Seconds = 5 * MINUTE;
/// The pause between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(5 * MINUTE);
/// How long the one-time link of the first start is good.
const SETUP_LASTS: Seconds = DAY;

/// The authorization server and what its tokens prove. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct Builtin(Arc<Server>);

#[derive(Debug)]
struct Server {
    settings: Settings,
    store: Store,
    passwords: Passwords,
    clients: client::Clients,
    personal: PersonalTokens,
    account_delays: Delays,
    address_delays: Delays,
    registrations: Buckets,
    uses: Buckets,
    resource_metadata: String,
}

/// Why the server cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuiltinError {
    /// An option is not good; the text names it.
    #[error("{0}")]
    Option(String),
    /// Passwords cannot be hashed here.
    #[error(transparent)]
    Passwords(#[from] super::passwords::Busy),
}

impl Builtin {
    /// Prepares the server on a store.
    ///
    /// # Errors
    /// [`BuiltinError`].
    pub fn new(settings: Settings, store: Store) -> Result<Self, BuiltinError> {
        Self::with_documents(settings, store, Documents::new())
    }

    pub(super) fn with_documents(
        settings: Settings,
        store: Store,
        documents: Option<Documents>,
    ) -> Result<Self, BuiltinError> {
        settings.options.check().map_err(BuiltinError::Option)?;
        Ok(Self(Arc::new(Server {
            resource_metadata: metadata::resource_metadata(settings.public_url.as_str()),
            clients: client::Clients::new(&settings.options, documents),
            personal: PersonalTokens::new(store.clone(), settings.clock.clone()),
            passwords: Passwords::new()?,
            account_delays: Delays::new(4, 30),
            address_delays: Delays::new(20, 5 * MINUTE),
            registrations: Buckets::new(30, 2 * MINUTE),
            uses: Buckets::new(1, USE_RESOLUTION),
            store,
            settings,
        })))
    }

    /// A one-time link that makes the first user, if there is none yet: to be shown to who started the
    /// server, and to nobody else. It is good for a day, or until there is a user.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn setup_link(&self) -> Result<Option<String>, Failure> {
        let server = &self.0;
        if !server.store.users().await?.is_empty() {
            return Ok(None);
        }
        let secret = Secret::new(Purpose::Setup)?;
        let row = Setup { ends: server.now() + SETUP_LASTS };
        server.store.put(secret.hash().bytes(), row).await?;
        let origin = server.settings.public_url.as_str();
        Ok(Some(format!("{origin}/setup?token={}", secret.expose())))
    }

    /// Removes what is over from the store. Meant for the start and every few minutes.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn sweep(&self) -> Result<usize, Failure> {
        self.0.store.sweep(self.0.now()).await
    }

    /// [Sweeps](Self::sweep) now and every few minutes, for ever.
    pub async fn keep_swept(self) {
        loop {
            match self.sweep().await {
                Ok(removed) => tracing::debug!(removed, "rows that were over are removed"),
                Err(failure) => tracing::warn!(%failure, "what is over could not be removed"),
            }
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
    }

    /// How many password hashes were computed since the start.
    pub fn hashes_computed(&self) -> u64 {
        self.0.passwords.computed()
    }
}

#[async_trait]
impl Authenticator for Builtin {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Denied> {
        let token = bearer(headers)?;
        match tokens::read_personal(token) {
            Some(secret) => self.0.personal.identity(&secret).await,
            None => self.0.identity(token).await,
        }
    }

    fn router(&self) -> Router {
        Router::new()
            .merge(metadata::routes())
            .merge(register::routes())
            .merge(authorize::routes())
            .merge(token::routes())
            .merge(revoke::routes())
            .merge(login::routes())
            .merge(setup::routes())
            .merge(account::routes())
            .layer(DefaultBodyLimit::max(LONGEST))
            .with_state(Arc::clone(&self.0))
    }

    fn resource_metadata(&self) -> Option<&str> {
        Some(&self.0.resource_metadata)
    }
}

/// What a good access token leads to.
struct Good {
    grant: Uuid,
    row: Grant,
    access: Access,
}

impl Server {
    fn now(&self) -> Seconds {
        self.settings.clock.now()
    }

    /// Whether an address that a client sent is our resource. Compared as addresses: clients write the
    /// same one with another case of the host or a slash at the end.
    fn is_resource(&self, sent: &str) -> bool {
        let own = self.settings.public_url.resource();
        let plain = |text: &str| {
            let url: Uri = text.trim_end_matches('/').parse().ok()?;
            let host = url.authority()?.as_str().to_ascii_lowercase();
            let scheme = url.scheme_str()?.to_ascii_lowercase();
            url.query().is_none().then(|| (scheme, host, url.path().to_owned()))
        };
        sent == own || plain(sent).is_some_and(|sent| plain(&own) == Some(sent))
    }

    async fn identity(self: &Arc<Self>, token: &str) -> Result<Identity, Denied> {
        let secret = Secret::read(Purpose::Access, token);
        let secret = secret.ok_or(Denied::BadToken("the token is not one of this server"))?;
        let (key, now) = (secret.hash(), self.now());
        let good = self
            .store
            .read(move |rows| {
                let Some(access) = rows.get::<Access>(key.bytes())? else { return Ok(None) };
                let Some(row) = rows.get::<Grant>(access.grant.as_bytes())? else {
                    return Ok(None);
                };
                let active = users::active(rows, row.user)?.is_some();
                Ok(active.then_some(Good { grant: access.grant, row, access }))
            })
            .await
            .map_err(|failure| Denied::Unavailable(failure.to_string()))?;
        let good = good.ok_or(Denied::BadToken("the token is unknown or was revoked"))?;
        self.admit(good, now)
    }

    fn admit(self: &Arc<Self>, good: Good, now: Seconds) -> Result<Identity, Denied> {
        if good.access.ends <= now {
            return Err(Denied::BadToken("the token has expired"));
        }
        if good.row.resource != self.settings.public_url.resource() {
            return Err(Denied::BadToken("the token is for another resource"));
        }
        self.note_use(good.grant, good.row.used, now);
        let scopes = good.access.scopes;
        Ok(Identity {
            user: good.row.user,
            scopes,
            client: Some(good.row.name),
            session: good.grant,
        })
    }

    /// Writes the time of the last use, now and then and without keeping the caller waiting.
    fn note_use(self: &Arc<Self>, grant: Uuid, used: Seconds, now: Seconds) {
        if used + USE_RESOLUTION > now || self.uses.take(&grant.to_string(), now).is_err() {
            return;
        }
        let store = self.store.clone();
        tokio::spawn(async move {
            let noted = store.write(move |rows| {
                let Some(mut row) = rows.get::<Grant>(grant.as_bytes())? else { return Ok(()) };
                row.used = now;
                rows.put(grant.as_bytes(), &row)
            });
            if let Err(failure) = noted.await {
                tracing::warn!(%failure, "the time of a last use was not written");
            }
        });
    }
}
