//! Browsers: the cookie, who logged in, and proof that a form came from our page.
//!
//! A browser has one cookie, a random secret. Before the login no row knows it; the login gives a new one,
//! so a cookie that somebody planted is worth nothing afterwards. The token in a form is a hash of the
//! cookie and of what the form is for: only a page of ours that was shown to this browser can hold it.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use uuid::Uuid;

use super::{Server, answer::PageError};
use crate::auth::{
    clock::{DAY, Seconds},
    params::Params,
    secret::{Hash, Purpose, Secret},
    store::{Failure, Rows as _, Session, User, users},
};

/// How long a login lasts.
const LASTS: Seconds = DAY;

/// Who sits at a browser.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) id: Uuid,
    pub(super) user: User,
}

/// A browser that asked for something.
#[derive(Debug)]
pub(super) struct Browser {
    cookie: Secret,
    /// The browser does not have the cookie yet.
    fresh: bool,
    pub(super) person: Option<Person>,
}

impl Browser {
    /// Reads the cookie and looks up who logged in with it.
    pub(super) async fn read(server: &Server, headers: &HeaderMap) -> Result<Self, Failure> {
        let Some(cookie) = sent(server, headers) else {
            return Ok(Self { cookie: Secret::new(Purpose::Session)?, fresh: true, person: None });
        };
        let (key, now) = (cookie.hash(), server.now());
        let person = server
            .store
            .read(move |rows| {
                let session =
                    rows.get::<Session>(key.bytes())?.filter(|session| session.ends > now);
                let Some(session) = session else { return Ok(None) };
                let user = users::active(rows, session.user)?;
                Ok(user.map(|user| Person { id: session.user, user }))
            })
            .await?;
        Ok(Self { cookie, fresh: false, person })
    }

    /// The token for a form, bound to this browser and to `purpose`.
    pub(super) fn token(&self, purpose: &str) -> String {
        self.expected(purpose).base64()
    }

    /// Checks that a form came from our page in this browser.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        form: &Params,
        purpose: &str,
    ) -> Result<(), PageError> {
        let sent = Hash::of(&[form.get("csrf").unwrap_or_default().as_bytes()]);
        let expected = Hash::of(&[self.token(purpose).as_bytes()]);
        if self.fresh || !sent.equals(&expected) || came_from_elsewhere(headers) {
            return Err(PageError::Forged);
        }
        Ok(())
    }

    fn expected(&self, purpose: &str) -> Hash {
        Hash::of(&[b"csrf", purpose.as_bytes(), self.cookie.expose().as_bytes()])
    }

    /// Gives the browser its cookie, if it has none yet.
    pub(super) fn remember(&self, server: &Server, mut response: Response) -> Response {
        if self.fresh {
            set(server, &mut response, &self.cookie, None);
        }
        response
    }

    /// The row by which this browser is known.
    pub(super) fn key(&self) -> Hash {
        self.cookie.hash()
    }

    /// Logs `user` in: a new cookie, known from now on; the old one is forgotten.
    pub(super) async fn log_in(
        &self,
        server: &Server,
        user: Uuid,
        mut response: Response,
    ) -> Result<Response, Failure> {
        let cookie = Secret::new(Purpose::Session)?;
        let (old, new) = (self.key(), cookie.hash());
        let session = Session { user, ends: server.now() + LASTS };
        server
            .store
            .write(move |rows| {
                rows.remove::<Session>(old.bytes())?;
                rows.put(new.bytes(), &session)
            })
            .await?;
        set(server, &mut response, &cookie, Some(LASTS));
        Ok(response)
    }

    /// Logs out, and takes the cookie away.
    pub(super) async fn log_out(
        &self,
        server: &Server,
        mut response: Response,
    ) -> Result<Response, Failure> {
        let key = self.key();
        server.store.write(move |rows| rows.remove::<Session>(key.bytes())).await?;
        set(server, &mut response, &self.cookie, Some(0));
        Ok(response)
    }
}

/// The prefix makes browsers refuse the cookie from any other host or without TLS. On plain http, which
/// is for this machine only, they would refuse it altogether.
fn name(server: &Server) -> &'static str {
    if server.settings.public_url.is_secure() { "__Host-tvix" } else { "tvix" }
}

fn sent(server: &Server, headers: &HeaderMap) -> Option<Secret> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(key, _)| *key == name(server))
        .and_then(|(_, value)| Secret::read(Purpose::Session, value))
}

fn set(server: &Server, response: &mut Response, cookie: &Secret, lasts: Option<Seconds>) {
    let secure = if server.settings.public_url.is_secure() { "; Secure" } else { "" };
    let age = lasts.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    let line = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Lax{secure}{age}",
        name(server),
        cookie.expose()
    );
    if let Ok(mut line) = HeaderValue::from_str(&line) {
        line.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, line);
    }
}

/// What browsers themselves say about where a form came from. `Origin` tells nothing here: with the
/// referrer policy of our pages it is `null`.
fn came_from_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    matches!(site, Some("cross-site" | "same-site"))
}
