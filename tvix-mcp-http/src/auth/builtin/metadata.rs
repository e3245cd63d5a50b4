//! The documents by which clients find everything (RFC 9728, RFC 8414).

use std::sync::Arc;

use axum::{Router, extract::State, http::StatusCode, response::Response, routing::get};
use serde_json::{Value, json};

use super::{Server, answer};
use crate::auth::{Scope, settings::RESOURCE_PATH};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Where clients look for the description of the authorization server. The issuer has no path, so the
/// first is the right one; the others are what older clients build from the address of the resource, or
/// know from `OpenID` Connect.
const SERVER: [&str; 6] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
    "/mcp/.well-known/oauth-authorization-server",
];

/// The address of the protected-resource document, as challenges name it (RFC 9728 3.1).
pub(super) fn resource_metadata(issuer: &str) -> String {
    format!("{issuer}{RESOURCE}{RESOURCE_PATH}")
}

pub(super) fn routes() -> Router<Arc<Server>> {
    let mut router = Router::new();
    for path in [RESOURCE.to_owned(), format!("{RESOURCE}{RESOURCE_PATH}")] {
        router = router.route(&path, get(protected_resource).options(answer::preflight));
    }
    for path in SERVER {
        router = router.route(path, get(authorization_server).options(answer::preflight));
    }
    router
}

fn scopes(server: &Server) -> Vec<&'static str> {
    server.settings.scopes.iter().copied().map(Scope::as_str).collect()
}

async fn protected_resource(State(server): State<Arc<Server>>) -> Response {
    let url = &server.settings.public_url;
    let document = json!({
        "resource": url.resource(),
        "authorization_servers": [url.as_str()],
        "scopes_supported": scopes(&server),
        "bearer_methods_supported": ["header"],
        "resource_name": "Tvix",
        "resource_documentation": env!("CARGO_PKG_REPOSITORY"),
    });
    answer::json(StatusCode::OK, &document)
}

async fn authorization_server(State(server): State<Arc<Server>>) -> Response {
    answer::json(StatusCode::OK, &document(&server))
}

fn document(server: &Server) -> Value {
    let issuer = server.settings.public_url.as_str();
    let methods = ["none", "client_secret_post", "client_secret_basic"];
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "revocation_endpoint": format!("{issuer}/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "client_id_metadata_document_supported": server.clients.reads_documents(),
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": scopes(server),
        "protected_resources": [server.settings.public_url.resource()],
        "service_documentation": env!("CARGO_PKG_REPOSITORY"),
    });
    if server.settings.options.registration {
        document["registration_endpoint"] = format!("{issuer}/register").into();
    }
    document
}
