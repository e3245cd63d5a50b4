//! What each table holds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Failure, Record, Writing};
use crate::auth::{Scope, clock::Seconds, secret::Hash};

/// A person. Key: the bytes of the UUID that names the folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct User {
    /// As it was given; one spelling of a name exists once.
    pub(in crate::auth) name: String,
    /// A PHC string, argon2id.
    pub(in crate::auth) password: String,
    pub(in crate::auth) disabled: bool,
    pub(in crate::auth) created: Seconds,
}

/// A client that registered itself (RFC 7591). Key: its id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Registered {
    pub(in crate::auth) name: String,
    pub(in crate::auth) redirect_uris: Vec<String>,
    pub(in crate::auth) secret: Option<Hash>,
    pub(in crate::auth) created: Seconds,
    /// When it last got a token; at first, when it registered.
    pub(in crate::auth) used: Seconds,
}

/// What a user allowed a client: one family of tokens. Key: the bytes of its UUID. Without this row no
/// token of the family is good, so removing it revokes them all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Grant {
    pub(in crate::auth) user: Uuid,
    pub(in crate::auth) client: String,
    /// How the client is called, in memories as well.
    pub(in crate::auth) name: String,
    pub(in crate::auth) resource: String,
    pub(in crate::auth) scopes: BTreeSet<Scope>,
    pub(in crate::auth) created: Seconds,
    pub(in crate::auth) used: Seconds,
    /// When its last refresh token ends.
    pub(in crate::auth) ends: Seconds,
}

/// An authorization code. Key: its hash. It stays after its use, so that a second use is noticed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Code {
    /// The family that it begins, or began.
    pub(in crate::auth) grant: Uuid,
    pub(in crate::auth) user: Uuid,
    pub(in crate::auth) client: String,
    pub(in crate::auth) name: String,
    pub(in crate::auth) redirect_uri: String,
    /// The S256 challenge (RFC 7636).
    pub(in crate::auth) challenge: String,
    pub(in crate::auth) resource: String,
    pub(in crate::auth) scopes: BTreeSet<Scope>,
    pub(in crate::auth) ends: Seconds,
    pub(in crate::auth) used: bool,
}

/// An access token. Key: its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Access {
    pub(in crate::auth) grant: Uuid,
    pub(in crate::auth) scopes: BTreeSet<Scope>,
    pub(in crate::auth) ends: Seconds,
}

/// A refresh token. Key: its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Refresh {
    pub(in crate::auth) grant: Uuid,
    pub(in crate::auth) ends: Seconds,
    /// When it was first used.
    pub(in crate::auth) used: Option<Seconds>,
    /// How often it was used again within the grace.
    pub(in crate::auth) again: u32,
}

/// A personal access token. Key: its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Personal {
    pub(in crate::auth) id: Uuid,
    pub(in crate::auth) user: Uuid,
    pub(in crate::auth) name: String,
    pub(in crate::auth) scopes: BTreeSet<Scope>,
    pub(in crate::auth) created: Seconds,
    pub(in crate::auth) used: Option<Seconds>,
    pub(in crate::auth) ends: Seconds,
}

/// A browser that logged in. Key: the hash of its cookie.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Session {
    pub(in crate::auth) user: Uuid,
    pub(in crate::auth) ends: Seconds,
}

/// What a user agreed to once and need not be asked again. Key: hash of user, client and redirect URI.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Consent {
    pub(in crate::auth) user: Uuid,
    pub(in crate::auth) client: String,
    pub(in crate::auth) scopes: BTreeSet<Scope>,
    pub(in crate::auth) ends: Seconds,
}

/// A one-time link that makes the first user. Key: its hash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::auth) struct Setup {
    pub(in crate::auth) ends: Seconds,
}

macro_rules! records {
    ($($record:ident in $table:literal),+ $(,)?) => {
        $(impl Record for $record {
            const TABLE: &'static str = $table;
        })+

        /// Makes the tables that are not there: reading one that is missing would be an error.
        pub(super) fn make_tables(rows: &Writing) -> Result<(), Failure> {
            $(rows.open::<$record>()?;)+
            Ok(())
        }
    };
}

records! {
    User in "users",
    Registered in "clients",
    Grant in "grants",
    Code in "codes",
    Access in "access_tokens",
    Refresh in "refresh_tokens",
    Personal in "personal_tokens",
    Session in "sessions",
    Consent in "consents",
    Setup in "setups",
}
