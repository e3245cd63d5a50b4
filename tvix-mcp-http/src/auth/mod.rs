//! Who calls, and what they may do.
//!
//! Every way to know the caller stands behind [`Authenticator`]: the transport asks it once for each
//! request and mounts what it serves itself (metadata documents, login pages, token endpoints).

use std::{collections::BTreeSet, fmt};

use async_trait::async_trait;
use axum::{Router, http::HeaderMap};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

mod bearer;
mod builtin;
mod cimd;
mod clock;
mod commands;
mod limits;
mod none;
#[cfg(feature = "oidc")]
pub(crate) mod oidc;
mod pages;
mod params;
mod passwords;
mod secret;
mod settings;
mod store;
mod tokens;

pub use bearer::bearer;
pub use builtin::{Builtin, BuiltinError, RedirectUri};
pub use clock::{Clock, Seconds};
pub use commands::{CommandError, Console, TokenCommand, UserCommand};
pub use none::NoAuth;
pub use passwords::{Busy, Password, Passwords};
pub use secret::{Hash, Purpose, Secret};
pub use settings::{KnownClient, Options, PublicUrl, RESOURCE_PATH, Settings};
pub use store::{Failure, Store, UserName, UserRow};
pub use tokens::{NewToken, PersonalTokens, TokenError, TokenRow, WithPersonalTokens};

/// What a token allows: one toolset, to read or to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Scope {
    /// `memory:read`
    MemoryRead,
    /// `memory:write`
    MemoryWrite,
    /// `wiki:read`
    WikiRead,
    /// `wiki:write`
    WikiWrite,
}

impl Scope {
    /// Every scope, in the order in which documents and challenges list them.
    pub const ALL: [Self; 4] =
        [Self::MemoryRead, Self::MemoryWrite, Self::WikiRead, Self::WikiWrite];

    /// The name in OAuth messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryRead => "memory:read",
            Self::MemoryWrite => "memory:write",
            Self::WikiRead => "wiki:read",
            Self::WikiWrite => "wiki:write",
        }
    }

    /// The scope of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl From<Scope> for &'static str {
    fn from(scope: Scope) -> Self {
        scope.as_str()
    }
}

impl TryFrom<String> for Scope {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::parse(&name).ok_or_else(|| format!("{name:?} is no scope"))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Whose store is opened: the name of the folder below `users/`.
    pub user: Uuid,
    /// What the caller may do.
    pub scopes: BTreeSet<Scope>,
    /// The name of the client that the token was issued to, if it has one: the source of memories.
    pub client: Option<String>,
    /// What is one caller for limits and caches: never the token itself.
    pub session: Uuid,
}

/// Why a request is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No token came; the answer is a bare challenge.
    #[error("no access token")]
    NoToken,
    /// A token came that is not good; the reason is for the log and the caller, and names no secret.
    #[error("{0}")]
    BadToken(&'static str),
    /// The store of tokens or the issuer cannot be asked now.
    #[error("authentication is not available: {0}")]
    Unavailable(String),
}

/// A way to know who calls.
#[async_trait]
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// The caller of a request with these headers.
    ///
    /// # Errors
    /// [`Denied`], with the reason.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Denied>;

    /// What this way serves itself, by absolute path: metadata documents, pages, endpoints.
    fn router(&self) -> Router;

    /// The address of the protected-resource document, for challenges. None: there is nothing to log
    /// in to.
    fn resource_metadata(&self) -> Option<&str>;

    /// Whether callers can be recognised already: what `/readyz` says.
    fn is_ready(&self) -> bool {
        true
    }

    /// What whoever issues tokens calls `scope`, for challenges.
    fn scope_name(&self, scope: Scope) -> &str {
        scope.as_str()
    }
}
