//! Who may knock at all: the Host and Origin of a request.
//!
//! A page in a browser can send requests to this machine, and by a name of its own that resolves here
//! (DNS rebinding) even read the answers. So a request must name a host that we go by, and a request
//! for tools that says which page it comes from must come from one that may call.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::{
    client::is_forwarded, config::Config, origin::is_loopback_page, refusal::Refusal, router::App,
    settings::AuthMode, values::is_loopback_name,
};

/// How long a browser may keep what a preflight said, in seconds.
const PREFLIGHT_SECONDS: u64 = 3_600;

/// Refuses requests that were not meant for this server.
pub(crate) async fn host(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match check_host(&app.config, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses requests from pages that may not call, preflights too.
pub(crate) async fn origin(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match check_origin(&app.config, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// What a page may do that [`origin`] let through. Tokens travel in a header that no browser adds by
/// itself, so every header may be sent.
pub(crate) fn cors() -> CorsLayer {
    let exposed = [
        "www-authenticate",
        "mcp-session-id",
        "mcp-protocol-version",
        "x-request-id",
        "retry-after",
    ];
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.map(header::HeaderName::from_static))
        .max_age(std::time::Duration::from_secs(PREFLIGHT_SECONDS))
}

fn check_host(config: &Config, request: &Request) -> Result<(), Refusal> {
    let named = request.headers().get(header::HOST).map(HeaderValue::to_str);
    let named: Option<Authority> = match named {
        Some(name) => name.ok().and_then(|name| name.parse().ok()),
        None => request.uri().authority().cloned(),
    };
    let Some(named) = named else {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "Host: send the name of the server"));
    };
    let known =
        is_loopback_name(named.host()) || config.hosts.iter().any(|host| host.covers(&named));
    if !known {
        return Err(forbidden("Host: this server does not go by that name; see allowed_hosts"));
    }
    if config.auth == AuthMode::None && is_forwarded(request.headers()) {
        return Err(forbidden("without authentication the server is not for use behind a proxy"));
    }
    Ok(())
}

fn check_origin(config: &Config, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
    let origin = origin.filter(|origin| origin.scheme().is_some());
    let known = origin.is_some_and(|origin| {
        is_loopback_page(&origin) || config.origins.iter().any(|page| page.covers(&origin))
    });
    if known {
        Ok(())
    } else {
        Err(forbidden("Origin: that page may not call; see allowed_origins"))
    }
}

fn forbidden(message: &'static str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, message)
}
