//! Removing what is over.

use std::collections::HashSet;

use uuid::Uuid;

use super::{
    Access, Code, Consent, Failure, Grant, Personal, Refresh, Registered, Rows as _, Session,
    Setup, Store, Writing,
};
use crate::auth::clock::{DAY, Seconds};

/// How long a registered client may go without a token before it is forgotten.
const UNUSED_CLIENT: Seconds = 30 * DAY;
/// How long a code is remembered after its end, so that its second use is noticed.
const CODE_MEMORY: Seconds = DAY;

impl Store {
    /// Removes every row that is over at the time `now`, and says how many. Meant to be called at the
    /// start and every few minutes.
    ///
    /// # Errors
    /// [`Failure::Database`].
    pub async fn sweep(&self, now: Seconds) -> Result<usize, Failure> {
        self.write(move |rows| sweep(rows, now)).await
    }
}

fn sweep(rows: &Writing, now: Seconds) -> Result<usize, Failure> {
    let mut removed = rows.remove_if::<Grant>(|_, grant| grant.ends <= now)?;
    let grants = rows.all::<Grant>()?;
    let alive: HashSet<_> = grants.iter().map(|(key, _)| key.as_slice()).collect();
    let over = |grant: &Uuid, ends| ends <= now || !alive.contains(grant.as_bytes().as_slice());
    removed += rows.remove_if::<Access>(|_, token| over(&token.grant, token.ends))?;
    removed += rows.remove_if::<Refresh>(|_, token| over(&token.grant, token.ends))?;
    removed += rows.remove_if::<Code>(|_, code| code.ends + CODE_MEMORY <= now)?;
    removed += rows.remove_if::<Personal>(|_, token| token.ends <= now)?;
    removed += rows.remove_if::<Session>(|_, session| session.ends <= now)?;
    removed += rows.remove_if::<Consent>(|_, consent| consent.ends <= now)?;
    removed += rows.remove_if::<Setup>(|_, setup| setup.ends <= now)?;
    let used: HashSet<_> = grants.iter().map(|(_, grant)| grant.client.as_bytes()).collect();
    removed += rows.remove_if::<Registered>(|id, client| {
        client.used + UNUSED_CLIENT <= now && !used.contains(id)
    })?;
    Ok(removed)
}
