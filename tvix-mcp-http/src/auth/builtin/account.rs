//! What a person sees of their own account: connected apps, access tokens, the password.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use maud::Markup;
use uuid::Uuid;

use super::{
    Server,
    answer::{self, PageError},
    browser::{Browser, Person},
    forms::form,
    login,
};
use crate::auth::{
    Scope,
    pages::account::{self, Frame},
    params::Params,
    passwords::Password,
    secret::Secret,
    store::{Consent, Grant, Rows as _, Session, User},
    tokens::{NewToken, TokenError},
};

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/account", get(|| async { answer::see_other("/account/apps") }))
        .route("/account/apps", get(apps))
        .route("/account/apps/revoke", post(revoke_app))
        .route("/account/apps/rename", post(rename_app))
        .route("/account/tokens", get(tokens).post(create_token))
        .route("/account/tokens/revoke", post(revoke_token))
        .route("/account/password", get(password).post(change_password))
}

/// A logged-in browser.
struct Owner {
    browser: Browser,
    person: Person,
}

impl Owner {
    /// Who asks for a page, or the way to the login.
    async fn read(server: &Server, headers: &HeaderMap, path: &str) -> Result<Self, Response> {
        let browser = Browser::read(server, headers).await;
        let browser = browser.map_err(|failure| PageError::from(failure).into_response())?;
        match browser.person.clone() {
            Some(person) => Ok(Self { browser, person }),
            None => Err(answer::see_other(&login::address(path))),
        }
    }

    /// Who sent a form of the account pages, and the form.
    async fn form(
        server: &Server,
        headers: &HeaderMap,
        body: &Bytes,
        path: &str,
    ) -> Result<(Self, Params), Response> {
        let owner = Self::read(server, headers, path).await?;
        let form = form(headers, body).unwrap_or_default();
        let checked = owner.browser.check(headers, &form, "account");
        checked.map_err(PageError::into_response)?;
        Ok((owner, form))
    }

    fn show(&self, status: StatusCode, content: impl FnOnce(&Frame<'_>) -> Markup) -> Response {
        let (csrf, csrf_logout) = (self.browser.token("account"), self.browser.token("logout"));
        let frame = Frame { user: &self.person.user.name, csrf: &csrf, csrf_logout: &csrf_logout };
        answer::page(status, content(&frame))
    }
}

const APPS: &str = "/account/apps";
const TOKENS: &str = "/account/tokens";
const PASSWORD: &str = "/account/password";

/// Either way a response: an early one is the way to the login or a refusal.
type Answer = Result<Response, Response>;

fn failed(error: impl Into<PageError>) -> Response {
    error.into().into_response()
}

fn id(form: &Params) -> Uuid {
    form.get("id").and_then(|id| id.parse().ok()).unwrap_or_default()
}

async fn apps(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    let owner = Owner::read(&server, &headers, APPS).await?;
    let (user, now) = (owner.person.id, server.now());
    let grants = server.store.all::<Grant>().await.map_err(failed)?;
    let own = grants.into_iter().filter(|(_, grant)| grant.user == user && grant.ends > now);
    let mut apps: Vec<_> = own
        .filter_map(|(key, grant)| Some(account::App { id: Uuid::from_slice(&key).ok()?, grant }))
        .collect();
    apps.sort_by_key(|app| std::cmp::Reverse(app.grant.used));
    Ok(owner.show(StatusCode::OK, |frame| account::apps(frame, &apps)))
}

async fn revoke_app(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Answer {
    let (owner, form) = Owner::form(&server, &headers, &body, APPS).await?;
    let (user, grant) = (owner.person.id, id(&form));
    let revoked = server.store.write(move |rows| {
        let Some(row) = rows.get::<Grant>(grant.as_bytes())?.filter(|row| row.user == user) else {
            return Ok(false);
        };
        // To connect again the person is asked again.
        rows.remove_if::<Consent>(|_, known| known.user == user && known.client == row.client)?;
        rows.remove::<Grant>(grant.as_bytes())
    });
    if revoked.await.map_err(failed)? {
        tracing::info!(%user, %grant, "an app was disconnected");
    }
    Ok(answer::see_other(APPS))
}

async fn rename_app(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Answer {
    let (owner, form) = Owner::form(&server, &headers, &body, APPS).await?;
    let (user, grant) = (owner.person.id, id(&form));
    let name = form.get("name").unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(100).collect();
    if !name.is_empty() {
        let renamed = server.store.write(move |rows| {
            let row = rows.get::<Grant>(grant.as_bytes())?.filter(|row| row.user == user);
            let Some(row) = row else { return Ok(()) };
            rows.put(grant.as_bytes(), &Grant { name, ..row })
        });
        renamed.await.map_err(failed)?;
    }
    Ok(answer::see_other(APPS))
}

async fn tokens(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    let owner = Owner::read(&server, &headers, TOKENS).await?;
    show_tokens(&server, &owner, None, None).await
}

async fn show_tokens(
    server: &Server,
    owner: &Owner,
    made: Option<&Secret>,
    error: Option<&str>,
) -> Answer {
    let list = server.personal.list(owner.person.id).await.map_err(failed)?;
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let scopes = &server.settings.scopes;
    let content = |frame: &Frame<'_>| {
        account::tokens(frame, &account::Tokens { list: &list, scopes, made, error })
    };
    Ok(owner.show(status, content))
}

async fn create_token(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let (owner, form) = Owner::form(&server, &headers, &body, TOKENS).await?;
    let scopes = form.all("scope").filter_map(Scope::parse);
    let new = NewToken {
        user: owner.person.id,
        name: form.get("name").unwrap_or_default().to_owned(),
        scopes: scopes.filter(|scope| server.settings.scopes.contains(scope)).collect(),
        days: form.get("days").and_then(|days| days.parse().ok()).unwrap_or_default(),
    };
    match server.personal.create(new).await {
        Ok(secret) => {
            tracing::info!(user = %owner.person.id, "a personal access token was made");
            show_tokens(&server, &owner, Some(&secret), None).await
        }
        Err(TokenError::Invalid(reason)) => show_tokens(&server, &owner, None, Some(reason)).await,
        Err(TokenError::Store(failure)) => Err(failed(failure)),
    }
}

async fn revoke_token(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let (owner, form) = Owner::form(&server, &headers, &body, TOKENS).await?;
    server.personal.revoke(owner.person.id, id(&form)).await.map_err(failed)?;
    Ok(answer::see_other(TOKENS))
}

async fn password(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    let owner = Owner::read(&server, &headers, PASSWORD).await?;
    Ok(owner.show(StatusCode::OK, |frame| account::password(frame, None, false)))
}

async fn change_password(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let (owner, form) = Owner::form(&server, &headers, &body, PASSWORD).await?;
    match new_password(&server, &owner, &form).await.map_err(PageError::into_response)? {
        Err(reason) => {
            let content = |frame: &Frame<'_>| account::password(frame, Some(reason), false);
            Ok(owner.show(StatusCode::BAD_REQUEST, content))
        }
        Ok(hash) => {
            set_password(&server, &owner, hash).await?;
            Ok(owner.show(StatusCode::OK, |frame| account::password(frame, None, true)))
        }
    }
}

/// The hash of the new password, if the old one is right and the new one is good.
async fn new_password(
    server: &Server,
    owner: &Owner,
    form: &Params,
) -> Result<Result<String, &'static str>, PageError> {
    let new = form.get("password").unwrap_or_default();
    if Some(new) != form.get("repeated") {
        return Ok(Err("password: the two new ones differ"));
    }
    let new = match Password::new(new) {
        Ok(new) => new,
        Err(reason) => return Ok(Err(reason)),
    };
    // Whoever sits at a browser that was left open must not be able to guess.
    let account = owner.person.user.name.to_lowercase();
    server.account_delays.begin(&account, server.now()).map_err(PageError::TooOften)?;
    let old = form.get("current").unwrap_or_default();
    if !server.passwords.verify(old, Some(owner.person.user.password.clone())).await? {
        return Ok(Err("current password: wrong"));
    }
    server.account_delays.forgive(&account);
    Ok(Ok(server.passwords.hash(new).await?))
}

/// Keeps a new password, and logs every other browser out.
async fn set_password(server: &Server, owner: &Owner, password: String) -> Result<(), Response> {
    let (user, key) = (owner.person.id, owner.browser.key());
    let changed = server.store.write(move |rows| {
        let Some(row) = rows.get::<User>(user.as_bytes())? else { return Ok(()) };
        rows.put(user.as_bytes(), &User { password, ..row })?;
        rows.remove_if::<Session>(|other, row| {
            row.user == user && other != key.bytes().as_slice()
        })?;
        Ok(())
    });
    changed.await.map_err(failed)?;
    tracing::info!(%user, "a password was changed");
    Ok(())
}
