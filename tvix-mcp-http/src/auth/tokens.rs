//! Personal access tokens: for programs that cannot log in by a browser. They work in every mode.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use axum::{Router, http::HeaderMap};
use uuid::Uuid;

use super::{
    Authenticator, Denied, Identity, Scope,
    bearer::bearer,
    clock::{Clock, DAY, MINUTE, Seconds},
    secret::{Purpose, Secret},
    store::{Failure, Personal, Rows as _, Store, users},
};

/// How many tokens one user may have.
const MOST: usize = 50;
/// How old the time of the last use may be before it is written anew.
const USE_RESOLUTION: Seconds = 5 * MINUTE;
/// How long a token may last, in days.
pub(super) const DAYS: std::ops::RangeInclusive<u64> = 1..=3650;

/// The secret, if `token` has the shape of a personal access token.
pub(super) fn read_personal(token: &str) -> Option<Secret> {
    Secret::read(Purpose::Personal, token)
}

/// What a new token shall be.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whose it is.
    pub user: Uuid,
    /// What it is called, in lists and as the source of memories: 1 to 60 characters.
    pub name: String,
    /// What it allows.
    pub scopes: BTreeSet<Scope>,
    /// How long it is good, in days: 1 to 3,650.
    pub days: u64,
}

/// A token as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// By which it is revoked.
    pub id: Uuid,
    /// Whose it is.
    pub user: Uuid,
    /// What it is called.
    pub name: String,
    /// What it allows.
    pub scopes: BTreeSet<Scope>,
    /// When it was made.
    pub created: Seconds,
    /// When it was last used, to within five minutes.
    pub used: Option<Seconds>,
    /// When it ends.
    pub ends: Seconds,
}

/// Why a token is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A value is not good; the text names the field.
    #[error("{0}")]
    Invalid(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Failure),
}

/// The personal access tokens of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PersonalTokens {
    store: Store,
    clock: Clock,
}

impl PersonalTokens {
    /// The tokens in `store`, by the time of `clock`.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Makes a token. The secret is returned here and kept nowhere.
    ///
    /// # Errors
    /// [`TokenError`].
    pub async fn create(&self, new: NewToken) -> Result<Secret, TokenError> {
        let name = new.name.trim().to_owned();
        check(&name, &new).map_err(TokenError::Invalid)?;
        let (secret, now) = (Secret::new(Purpose::Personal)?, self.clock.now());
        let ends = now + new.days * DAY;
        let (id, user, scopes) = (Uuid::now_v7(), new.user, new.scopes);
        let row = Personal { id, user, name, scopes, created: now, used: None, ends };
        let key = secret.hash();
        let room = self.store.write(move |rows| {
            let own =
                rows.all::<Personal>()?.iter().filter(|(_, token)| token.user == user).count();
            if own < MOST {
                rows.put(key.bytes(), &row)?;
            }
            Ok(own < MOST)
        });
        let too_many = TokenError::Invalid("there are 50 tokens already; revoke one first");
        if room.await? { Ok(secret) } else { Err(too_many) }
    }

    /// The tokens of a user, newest first.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn list(&self, user: Uuid) -> Result<Vec<TokenRow>, Failure> {
        let rows = self.store.all::<Personal>().await?;
        let own = rows.into_iter().map(|(_, row)| row).filter(|row| row.user == user);
        let mut list: Vec<_> = own.map(TokenRow::from).collect();
        list.sort_by_key(|row| std::cmp::Reverse(row.id));
        Ok(list)
    }

    /// Revokes a token of a user; false if there is none of that id.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn revoke(&self, user: Uuid, id: Uuid) -> Result<bool, Failure> {
        let removed = self.store.write(move |rows| {
            rows.remove_if::<Personal>(|_, row| row.user == user && row.id == id)
        });
        Ok(removed.await? > 0)
    }

    /// Who calls with such a token.
    pub(super) async fn identity(&self, secret: &Secret) -> Result<Identity, Denied> {
        let (key, now) = (secret.hash(), self.clock.now());
        let row = self
            .store
            .read(move |rows| {
                let Some(row) = rows.get::<Personal>(key.bytes())? else { return Ok(None) };
                Ok(users::usable(rows, row.user)?.then_some(row))
            })
            .await
            .map_err(|failure| Denied::Unavailable(failure.to_string()))?;
        let row =
            row.ok_or(Denied::BadToken("the personal access token is unknown or was revoked"))?;
        if row.ends <= now {
            return Err(Denied::BadToken("the personal access token has expired"));
        }
        self.note_use(*key.bytes(), &row, now);
        Ok(Identity { user: row.user, scopes: row.scopes, client: Some(row.name), session: row.id })
    }

    fn note_use(&self, key: [u8; 32], row: &Personal, now: Seconds) {
        if row.used.is_some_and(|used| used + USE_RESOLUTION > now) {
            return;
        }
        let store = self.store.clone();
        tokio::spawn(async move {
            let noted = store.write(move |rows| {
                let Some(mut row) = rows.get::<Personal>(&key)? else { return Ok(()) };
                row.used = Some(now);
                rows.put(&key, &row)
            });
            if let Err(failure) = noted.await {
                tracing::warn!(%failure, "the time of a last use was not written");
            }
        });
    }
}

impl From<Personal> for TokenRow {
    fn from(row: Personal) -> Self {
        let Personal { id, user, name, scopes, created, used, ends } = row;
        Self { id, user, name, scopes, created, used, ends }
    }
}

fn check(name: &str, new: &NewToken) -> Result<(), &'static str> {
    if !(1..=60).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        return Err("name: send 1-60 characters that say what the token is for");
    }
    if new.scopes.is_empty() {
        return Err("scopes: choose at least one");
    }
    if !DAYS.contains(&new.days) {
        return Err("days: send 1-3650");
    }
    Ok(())
}

/// Another way to know the caller, with personal access tokens beside it.
#[derive(Debug)]
pub struct WithPersonalTokens {
    inner: Arc<dyn Authenticator>,
    tokens: PersonalTokens,
}

impl WithPersonalTokens {
    /// `inner`, and the tokens.
    pub fn new(inner: Arc<dyn Authenticator>, tokens: PersonalTokens) -> Self {
        Self { inner, tokens }
    }
}

#[async_trait]
impl Authenticator for WithPersonalTokens {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Identity, Denied> {
        match bearer(headers).ok().and_then(read_personal) {
            Some(secret) => self.tokens.identity(&secret).await,
            None => self.inner.authenticate(headers).await,
        }
    }

    fn router(&self) -> Router {
        self.inner.router()
    }

    fn resource_metadata(&self) -> Option<&str> {
        self.inner.resource_metadata()
    }
}
