//! Clients that register themselves (RFC 7591).
//!
//! Open to everyone, as clients need it; so what it costs is bounded: a bucket for each address, a cap on
//! all rows, and an unused client is forgotten after 30 days.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Extension, State},
    http::StatusCode,
    response::Response,
    routing::post,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    RedirectUri, Server,
    answer::{self, OAuthError},
};
use crate::ClientAddress;
use crate::auth::{
    clock::{HOUR, Seconds},
    limits::address_key,
    secret::{Purpose, Secret},
    store::{Failure, Grant, Registered, Rows as _, Writing},
};

/// How many clients are kept.
const MOST: usize = 2_000;
/// How long a client without a token is safe when there is no room.
const SAFE: Seconds = HOUR;
/// How many redirect URIs one client may have.
const REDIRECTS: usize = 20;

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/register", post(register).options(answer::preflight))
}

/// What a client says about itself, as far as it matters here; the rest is only echoed.
#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    redirect_uris: Vec<String>,
    client_name: Option<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    application_type: Option<String>,
}

async fn register(
    State(server): State<Arc<Server>>,
    peer: Option<Extension<ClientAddress>>,
    body: Bytes,
) -> Result<Response, OAuthError> {
    if !server.settings.options.registration {
        let text = "this server registers no clients; ask its owner for a client_id";
        return Err(OAuthError::new("invalid_client_metadata", text));
    }
    let address = address_key(peer.map(|Extension(ClientAddress(address))| address));
    server.registrations.take(&address, server.now()).map_err(OAuthError::too_often)?;
    let (echo, metadata) = read(&body)?;
    let secret = secret(&metadata)?;
    let name = name(&metadata);
    check(&metadata)?;
    let now = server.now();
    let row = Registered {
        name,
        redirect_uris: metadata.redirect_uris.clone(),
        secret: secret.as_ref().map(Secret::hash),
        created: now,
        used: now,
    };
    let id = format!("tvx_client_{}", Uuid::new_v4().simple());
    let key = id.clone();
    if !server.store.write(move |rows| keep(rows, &key, &row)).await? {
        return Err(OAuthError::too_often(SAFE));
    }
    tracing::info!(client = %id, "a client registered");
    Ok(answer::json(StatusCode::CREATED, &described(echo, &metadata, &id, secret.as_ref(), now)))
}

fn invalid(text: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_client_metadata", text)
}

fn read(body: &Bytes) -> Result<(Map<String, Value>, Metadata), OAuthError> {
    let wrong =
        |error: serde_json::Error| invalid(format!("the body must be a JSON object: {error}"));
    let echo: Map<String, Value> = serde_json::from_slice(body).map_err(wrong)?;
    let metadata = Metadata::deserialize(Value::Object(echo.clone()));
    Ok((echo, metadata.map_err(|error| invalid(error.to_string()))?))
}

fn check(metadata: &Metadata) -> Result<(), OAuthError> {
    let redirect = |text: String| OAuthError::new("invalid_redirect_uri", text);
    if metadata.redirect_uris.is_empty() || metadata.redirect_uris.len() > REDIRECTS {
        return Err(redirect(format!("redirect_uris: send 1-{REDIRECTS}")));
    }
    for uri in &metadata.redirect_uris {
        let uri =
            RedirectUri::parse(uri).map_err(|text| redirect(format!("redirect_uris: {text}")))?;
        if metadata.application_type.as_deref() == Some("web") && !uri.is_web() {
            let text = "a client of application_type web needs https; send native for a program";
            return Err(redirect(format!("redirect_uris: {:?}: {text}", uri.as_str())));
        }
    }
    let lacks = |list: &Option<Vec<String>>, wanted: &str| {
        list.as_ref().is_some_and(|list| !list.iter().any(|item| item == wanted))
    };
    if lacks(&metadata.grant_types, "authorization_code") {
        return Err(invalid("grant_types: must contain authorization_code"));
    }
    if lacks(&metadata.response_types, "code") {
        return Err(invalid("response_types: must contain code"));
    }
    Ok(())
}

fn name(metadata: &Metadata) -> String {
    let name = metadata.client_name.as_deref().unwrap_or_default();
    let shown: String = name.trim().chars().filter(|c| !c.is_control()).take(100).collect();
    if shown.is_empty() { "An app without a name".to_owned() } else { shown }
}

/// A secret, if the client asked for one. One that says nothing is public: programs on people's machines
/// cannot keep a secret, and most leave the method out.
fn secret(metadata: &Metadata) -> Result<Option<Secret>, OAuthError> {
    match metadata.token_endpoint_auth_method.as_deref() {
        None | Some("none") => Ok(None),
        Some("client_secret_post" | "client_secret_basic") => {
            Ok(Some(Secret::new(Purpose::Client)?))
        }
        Some(_) => Err(invalid(
            "token_endpoint_auth_method: send none, client_secret_post or client_secret_basic",
        )),
    }
}

/// Keeps a client; makes room by forgetting those that never got a token, oldest first.
fn keep(rows: &Writing, id: &str, row: &Registered) -> Result<bool, Failure> {
    let mut clients = rows.all::<Registered>()?;
    if clients.len() >= MOST {
        let grants = rows.all::<Grant>()?;
        clients.retain(|(key, client)| {
            client.used == client.created
                && client.created + SAFE <= row.created
                && !grants.iter().any(|(_, grant)| grant.client.as_bytes() == key.as_slice())
        });
        clients.sort_by_key(|(_, client)| client.created);
        let Some((oldest, _)) = clients.first() else { return Ok(false) };
        rows.remove::<Registered>(oldest)?;
    }
    rows.put(id.as_bytes(), row)?;
    Ok(true)
}

/// The answer: what was sent, and what became of it (RFC 7591 3.2.1).
fn described(
    mut echo: Map<String, Value>,
    metadata: &Metadata,
    id: &str,
    secret: Option<&Secret>,
    now: Seconds,
) -> Value {
    echo.remove("client_secret");
    echo.remove("client_secret_expires_at");
    let method = metadata.token_endpoint_auth_method.as_deref().unwrap_or("none");
    echo.insert("client_id".to_owned(), json!(id));
    echo.insert("client_id_issued_at".to_owned(), json!(now));
    echo.insert("token_endpoint_auth_method".to_owned(), json!(method));
    echo.insert("grant_types".to_owned(), json!(["authorization_code", "refresh_token"]));
    echo.insert("response_types".to_owned(), json!(["code"]));
    if let Some(secret) = secret {
        echo.insert("client_secret".to_owned(), json!(secret.expose()));
        echo.insert("client_secret_expires_at".to_owned(), json!(0));
    }
    Value::Object(echo)
}
