//! The revocation endpoint (RFC 7009).

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
    routing::post,
};
use serde_json::json;

use super::{
    Server,
    answer::{self, OAuthError},
    forms::form,
};
use crate::auth::{
    secret::{Purpose, Secret},
    store::{Access, Failure, Grant, Refresh, Rows as _, Writing},
};

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/revoke", post(revoke).options(answer::preflight))
}

/// Revokes an access token alone, or with a refresh token the whole login. The answer is the same for a
/// token that nobody knows. Who holds a token may end it: to ask for more would only keep leaked ones alive.
async fn revoke(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, OAuthError> {
    let form = form(&headers, &body).unwrap_or_default();
    let Some(token) = form.get("token") else {
        return Err(OAuthError::new("invalid_request", "token: missing; send it as a form value"));
    };
    let client = form.get("client_id").map(str::to_owned);
    let access = Secret::read(Purpose::Access, token);
    let refresh = Secret::read(Purpose::Refresh, token);
    server.store.write(move |rows| end(rows, access, refresh, client.as_deref())).await?;
    Ok(answer::json(StatusCode::OK, &json!({})))
}

fn end(
    rows: &Writing,
    access: Option<Secret>,
    refresh: Option<Secret>,
    client: Option<&str>,
) -> Result<(), Failure> {
    if let Some(key) = access.map(|token| token.hash())
        && let Some(row) = rows.get::<Access>(key.bytes())?
        && is_of(rows, row.grant, client)?
    {
        rows.remove::<Access>(key.bytes())?;
    }
    if let Some(key) = refresh.map(|token| token.hash())
        && let Some(row) = rows.get::<Refresh>(key.bytes())?
        && is_of(rows, row.grant, client)?
    {
        rows.remove::<Grant>(row.grant.as_bytes())?;
    }
    Ok(())
}

/// Whether a family was granted to the client that asks, if it says who it is.
fn is_of(rows: &Writing, grant: uuid::Uuid, client: Option<&str>) -> Result<bool, Failure> {
    let grant = rows.get::<Grant>(grant.as_bytes())?;
    Ok(client.is_none_or(|client| grant.is_some_and(|grant| grant.client == client)))
}
