//! Routes and the layers around them.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::StatusCode,
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tower_http::{catch_panic::CatchPanicLayer, timeout::TimeoutLayer};

use crate::{
    auth::{Authenticator, Scope},
    config::Config,
    gate,
    limits::InFlight,
    mcp,
    metrics::Metrics,
    observe,
    refusal::Refusal,
    scopes,
    tenants::Tenants,
};

/// The greatest size of a form or document that a way to log in takes, in bytes.
const FORM_MAX: usize = 64 * 1024;
/// How long a request for a page or document may take.
const PAGE: Duration = Duration::from_secs(30);

/// What every request has at hand.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) auth: Arc<dyn Authenticator>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) in_flight: InFlight,
    pub(crate) tenants: Tenants,
    pub(crate) metrics: Metrics,
    pub(crate) rmcp: StreamableHttpServerConfig,
    pub(crate) handle: axum_server::Handle<SocketAddr>,
    /// Whether the server was asked to end.
    pub(crate) ending: AtomicBool,
}

impl App {
    pub(crate) fn new(config: Config, auth: Arc<dyn Authenticator>) -> Self {
        Self {
            auth,
            scopes: scopes::offered(&config.toolsets),
            in_flight: InFlight::new(&config.limits),
            tenants: Tenants::new(config.folder.join("users"), config.limits.open_users),
            metrics: Metrics::new(),
            rmcp: mcp::config(config.limits.body),
            handle: axum_server::Handle::new(),
            ending: AtomicBool::new(false),
            config,
        }
    }
}

/// Everything that the server serves.
///
/// The Host of a request is checked everywhere but for the two probes, which name the server by its
/// bare address. Origin and CORS stand around the endpoint alone: pages and documents of a way to log in
/// have rules of their own.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let pages = app.auth.router().layer((
        TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, PAGE),
        DefaultBodyLimit::max(FORM_MAX),
    ));
    endpoint(app)
        .merge(pages)
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::clone(app), gate::host))
        .merge(probes(app))
        .layer(CatchPanicLayer::custom(|_| panicked()))
        .layer(from_fn_with_state(Arc::clone(app), observe::observe))
}

fn endpoint(app: &Arc<App>) -> Router {
    let routes = Router::new()
        .route("/mcp", any(mcp::protocol))
        .route("/mcp/", any(mcp::protocol))
        .route("/api/mcp", any(mcp::plain))
        .with_state(Arc::clone(app));
    #[cfg(feature = "conformance-fixtures")]
    let routes = {
        let state = (Arc::clone(app), crate::fixtures::service());
        routes.route("/conformance/mcp", any(crate::fixtures::serve).with_state(state))
    };
    routes.layer(gate::cors()).layer(from_fn_with_state(Arc::clone(app), gate::origin))
}

fn probes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(Arc::clone(app))
}

async fn ready(State(app): State<Arc<App>>) -> Response {
    if app.ending.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is ending\n").into_response();
    }
    if !app.auth.is_ready() {
        return (StatusCode::SERVICE_UNAVAILABLE, "callers cannot be recognised yet\n")
            .into_response();
    }
    "ready\n".into_response()
}

async fn nothing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "nothing is here; MCP is served at /mcp")
}

fn panicked() -> Response {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says where")
        .into_response()
}
