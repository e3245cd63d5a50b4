//! The token endpoint (RFC 6749 3.2; OAuth 2.1 3.2).

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::post,
};
use serde::Serialize;

use super::{
    Server,
    answer::{self, OAuthError},
    client,
    forms::form,
    grants::{Exchange, Outcome, Pair, Refreshing},
};
use crate::auth::{
    Scope,
    params::Params,
    secret::{Hash, Purpose, Secret},
};

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/token", post(token).options(answer::preflight))
}

const SINGLE: [&str; 8] = [
    "grant_type",
    "code",
    "redirect_uri",
    "client_id",
    "client_secret",
    "code_verifier",
    "refresh_token",
    "scope",
];

async fn token(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, OAuthError> {
    let invalid = |text: &str| OAuthError::new("invalid_request", text);
    let form = form(&headers, &body)
        .ok_or_else(|| invalid("send Content-Type: application/x-www-form-urlencoded"))?;
    if let Some(name) = form.repeated(&SINGLE) {
        return Err(invalid(&format!("{name}: came twice; send it once")));
    }
    let client = client::authenticate(&server, &headers, &form).await?;
    let outcome = match form.get("grant_type") {
        Some("authorization_code") => exchange(&server, client, &form).await?,
        Some("refresh_token") => refresh(&server, client, &form).await?,
        None => {
            return Err(invalid("grant_type: missing; send authorization_code or refresh_token"));
        }
        Some(_) => {
            let text = "grant_type: send authorization_code or refresh_token";
            return Err(OAuthError::new("unsupported_grant_type", text));
        }
    };
    match outcome {
        Outcome::Issued(pair) => Ok(success(&server, &pair)),
        Outcome::Refused(code, reason) => Err(OAuthError::new(code, reason)),
    }
}

async fn exchange(server: &Server, client: String, form: &Params) -> Result<Outcome, OAuthError> {
    let missing = |text: &str| OAuthError::new("invalid_request", text);
    let code = form.get("code").ok_or_else(|| missing("code: missing"))?;
    let verifier = form.get("code_verifier").ok_or_else(|| missing("code_verifier: missing"))?;
    if !form.all("resource").all(|resource| server.is_resource(resource)) {
        let text = "resource: this server issues tokens for its own MCP address only";
        return Err(OAuthError::new("invalid_target", text));
    }
    let Some(code) = Secret::read(Purpose::Code, code) else {
        return Ok(Outcome::Refused("invalid_grant", "code: unknown, used or over"));
    };
    let exchange = Exchange {
        code,
        client,
        // Only its hash is needed from here on (RFC 7636 4.6).
        challenge: Hash::of(&[verifier.as_bytes()]).base64(),
        redirect_uri: form.get("redirect_uri").map(str::to_owned),
    };
    Ok(server.exchange(exchange).await?)
}

async fn refresh(server: &Server, client: String, form: &Params) -> Result<Outcome, OAuthError> {
    let token = form
        .get("refresh_token")
        .ok_or_else(|| OAuthError::new("invalid_request", "refresh_token: missing"))?;
    // Not invalid_target: clients do not know what to do with that here, and keep trying.
    if !form.all("resource").all(|resource| server.is_resource(resource)) {
        return Ok(Outcome::Refused(
            "invalid_grant",
            "resource: the token was issued for another one",
        ));
    }
    let Some(token) = Secret::read(Purpose::Refresh, token) else {
        return Ok(Outcome::Refused("invalid_grant", "refresh_token: unknown, revoked or over"));
    };
    let scopes =
        form.get("scope").map(|scopes| scopes.split(' ').filter_map(Scope::parse).collect());
    Ok(server.refresh(Refreshing { token, client, scopes }).await?)
}

#[derive(Serialize)]
struct Tokens<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    refresh_token: &'a str,
    scope: String,
}

fn success(server: &Server, pair: &Pair) -> Response {
    let scope: Vec<_> = pair.scopes.iter().map(|scope| scope.as_str()).collect();
    let tokens = Tokens {
        access_token: pair.access.expose(),
        token_type: "Bearer",
        expires_in: server.settings.options.access_token_seconds,
        refresh_token: pair.refresh.expose(),
        scope: scope.join(" "),
    };
    answer::json(StatusCode::OK, &tokens)
}
