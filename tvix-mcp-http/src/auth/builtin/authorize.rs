//! The authorization endpoint: who may use the memory of the person at the browser?

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::get,
};
use uuid::Uuid;

use super::{
    Server, answer,
    answer::PageError,
    asked::Asked,
    browser::{Browser, Person},
    client::Origin,
    forms::form,
    login,
};
use crate::auth::{
    clock::{DAY, Seconds},
    pages::consent,
    secret::{Hash, Purpose, Secret},
    store::{Code, Consent, Failure},
};

/// How long a code is good (RFC 6749 4.1.2 says at most ten minutes).
const CODE_LASTS: Seconds = 60;
/// How long a consent is remembered.
const CONSENT_LASTS: Seconds = 90 * DAY;

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/authorize", get(show).post(decide))
}

async fn show(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let query = query.unwrap_or_default();
    match Asked::read(&server, &query).await {
        Ok(asked) => {
            ask(&server, &headers, &asked, &query).await.unwrap_or_else(PageError::into_response)
        }
        Err(refusal) => refusal.into_response(&server),
    }
}

async fn ask(
    server: &Server,
    headers: &HeaderMap,
    asked: &Asked,
    query: &str,
) -> Result<Response, PageError> {
    let browser = Browser::read(server, headers).await?;
    let Some(person) = &browser.person else {
        return Ok(answer::see_other(&login::address(&format!("/authorize?{query}"))));
    };
    if is_remembered(server, person, asked).await? {
        return Ok(issue(server, person, asked).await?);
    }
    let page = consent::page(&consent::Question {
        client: &asked.client.name,
        proven_host: proven_host(asked),
        configured: asked.client.origin == Origin::Configured,
        redirect: &asked.redirect,
        scopes: &asked.scopes,
        user: &person.user.name,
        request: query,
        csrf: &browser.token(&purpose(query)),
        csrf_logout: &browser.token("logout"),
    });
    Ok(browser.remember(server, answer::page(StatusCode::OK, page)))
}

async fn decide(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Response {
    let form = form(&headers, &body).unwrap_or_default();
    let query = form.get("request").unwrap_or_default();
    let browser = match Browser::read(&server, &headers).await {
        Ok(browser) => browser,
        Err(failure) => return PageError::from(failure).into_response(),
    };
    if let Err(error) = browser.check(&headers, &form, &purpose(query)) {
        return error.into_response();
    }
    let Some(person) = &browser.person else {
        return answer::see_other(&login::address(&format!("/authorize?{query}")));
    };
    // The form carries the request as it came: it is checked again, so nothing in it is trusted.
    let asked = match Asked::read(&server, query).await {
        Ok(asked) => asked,
        Err(refusal) => return refusal.into_response(&server),
    };
    if form.get("decision") != Some("allow") {
        return asked.back().error(&server, "access_denied", "the user said no");
    }
    let issued = allow(&server, person, &asked).await;
    issued.unwrap_or_else(|failure| PageError::from(failure).into_response())
}

/// What the token of the consent form is bound to, beside the browser: the request.
fn purpose(query: &str) -> String {
    format!("consent {query}")
}

fn proven_host(asked: &Asked) -> Option<&str> {
    match &asked.client.origin {
        Origin::Document { host } => Some(host),
        Origin::Configured | Origin::Registered => None,
    }
}

/// Whether a consent for this client is worth remembering. Not where anybody can call themselves so: a
/// registered name proves nothing, and any program can listen on this machine.
fn can_be_remembered(asked: &Asked) -> bool {
    asked.client.origin != Origin::Registered && asked.redirect.is_web()
}

fn consent_key(user: Uuid, asked: &Asked) -> Hash {
    let parts: [&[u8]; 3] =
        [user.as_bytes(), asked.client.id.as_bytes(), asked.redirect.as_str().as_bytes()];
    Hash::of(&parts)
}

async fn is_remembered(server: &Server, person: &Person, asked: &Asked) -> Result<bool, Failure> {
    if !can_be_remembered(asked) {
        return Ok(false);
    }
    let known = server.store.get::<Consent>(consent_key(person.id, asked).bytes()).await?;
    Ok(known
        .is_some_and(|known| known.ends > server.now() && known.scopes.is_superset(&asked.scopes)))
}

async fn allow(server: &Server, person: &Person, asked: &Asked) -> Result<Response, Failure> {
    if can_be_remembered(asked) {
        let consent = Consent {
            user: person.id,
            client: asked.client.id.clone(),
            scopes: asked.scopes.clone(),
            ends: server.now() + CONSENT_LASTS,
        };
        server.store.put(consent_key(person.id, asked).bytes(), consent).await?;
    }
    issue(server, person, asked).await
}

async fn issue(server: &Server, person: &Person, asked: &Asked) -> Result<Response, Failure> {
    let secret = Secret::new(Purpose::Code)?;
    let code = Code {
        grant: Uuid::now_v7(),
        user: person.id,
        client: asked.client.id.clone(),
        name: asked.client.name.clone(),
        redirect_uri: asked.redirect.as_str().to_owned(),
        challenge: asked.challenge.clone(),
        resource: server.settings.public_url.resource(),
        scopes: asked.scopes.clone(),
        ends: server.now() + CODE_LASTS,
        used: false,
    };
    server.store.put(secret.hash().bytes(), code).await?;
    tracing::info!(user = %person.id, client = %asked.client.id, "access was allowed");
    Ok(asked.back().code(server, secret.expose()))
}
