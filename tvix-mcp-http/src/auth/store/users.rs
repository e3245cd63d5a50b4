//! Users: adding, finding, disabling.

use std::fmt;

use uuid::Uuid;

use super::{Consent, Failure, Grant, Personal, Rows, Session, Setup, Store, User, Writing};
use crate::auth::clock::Seconds;

/// A user's name: 1 to 64 letters, digits and `. _ - @`. Upper and lower case are one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName(String);

impl UserName {
    /// Reads a name; white space around it is dropped.
    ///
    /// # Errors
    /// A sentence that says what a name may be.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let name = text.trim();
        let fits = (1..=64).contains(&name.chars().count())
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@'));
        let reason = "name: send 1-64 letters, digits and the signs . _ - @";
        fits.then(|| Self(name.to_owned())).ok_or(reason)
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is(&self, other: &str) -> bool {
        self.folded() == other.to_lowercase()
    }

    /// The one spelling by which names are compared.
    pub(in crate::auth) fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A user as lists show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// The name of the folder below `users/`.
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// Whether they are shut out.
    pub disabled: bool,
    /// When they were added.
    pub created: Seconds,
}

/// What came of adding a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::auth) enum Added {
    /// The new user.
    New(Uuid),
    /// There is one of that name.
    Taken,
    /// The link is not good, or there is a user already.
    NotAllowed,
}

/// The user of that name, with the key, if there is one. A handful of rows: scanned.
pub(in crate::auth) fn by_name(
    rows: &impl Rows,
    name: &UserName,
) -> Result<Option<(Uuid, User)>, Failure> {
    let found = rows.all::<User>()?.into_iter().find(|(_, user)| name.is(&user.name));
    Ok(found.and_then(|(key, user)| Some((Uuid::from_slice(&key).ok()?, user))))
}

/// The user with that id, unless disabled or gone.
pub(in crate::auth) fn active(rows: &impl Rows, id: Uuid) -> Result<Option<User>, Failure> {
    Ok(rows.get::<User>(id.as_bytes())?.filter(|user| !user.disabled))
}

/// Whether tokens of that id may be used. A user of another mode has no row here; one who has must not be
/// disabled.
pub(in crate::auth) fn usable(rows: &impl Rows, id: Uuid) -> Result<bool, Failure> {
    Ok(rows.get::<User>(id.as_bytes())?.is_none_or(|user| !user.disabled))
}

/// Ends everything that lets someone act as `user`.
pub(in crate::auth) fn revoke_all(rows: &Writing, user: Uuid) -> Result<(), Failure> {
    rows.remove_if::<Grant>(|_, grant| grant.user == user)?;
    rows.remove_if::<Personal>(|_, token| token.user == user)?;
    rows.remove_if::<Consent>(|_, consent| consent.user == user)?;
    rows.remove_if::<Session>(|_, session| session.user == user)?;
    Ok(())
}

impl Store {
    /// Every user, by name.
    ///
    /// # Errors
    /// [`Failure::Database`].
    pub async fn users(&self) -> Result<Vec<UserRow>, Failure> {
        let rows = self.all::<User>().await?;
        let mut users: Vec<_> =
            rows.into_iter().filter_map(|(key, user)| row(&key, user)).collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(users)
    }

    /// Adds a user; `setup` is the key of the one-time link, where one is needed.
    pub(in crate::auth) async fn add_user(
        &self,
        name: UserName,
        user: User,
        setup: Option<[u8; 32]>,
    ) -> Result<Added, Failure> {
        self.write(move |rows| {
            if let Some(key) = setup
                && !takes_setup(rows, &key, user.created)?
            {
                return Ok(Added::NotAllowed);
            }
            if by_name(rows, &name)?.is_some() {
                return Ok(Added::Taken);
            }
            // With a user in place the links of every process have done their work.
            rows.remove_if::<Setup>(|_, _| true)?;
            let id = Uuid::now_v7();
            rows.put(id.as_bytes(), &user)?;
            Ok(Added::New(id))
        })
        .await
    }

    /// Changes the row of a user by name; false if there is none.
    pub(in crate::auth) async fn change_user(
        &self,
        name: UserName,
        change: impl FnOnce(&Writing, Uuid, &mut User) -> Result<(), Failure> + Send + 'static,
    ) -> Result<bool, Failure> {
        self.write(move |rows| {
            let Some((id, mut user)) = by_name(rows, &name)? else { return Ok(false) };
            change(rows, id, &mut user)?;
            rows.put(id.as_bytes(), &user)?;
            Ok(true)
        })
        .await
    }
}

/// Whether the link is good: known, not over, and nobody is there yet.
fn takes_setup(rows: &Writing, key: &[u8], now: Seconds) -> Result<bool, Failure> {
    let good = rows.get::<Setup>(key)?.is_some_and(|setup| setup.ends > now);
    Ok(good && rows.all::<User>()?.is_empty())
}

fn row(key: &[u8], user: User) -> Option<UserRow> {
    let id = Uuid::from_slice(key).ok()?;
    Some(UserRow { id, name: user.name, disabled: user.disabled, created: user.created })
}
