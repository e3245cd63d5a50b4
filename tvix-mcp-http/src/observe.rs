//! Every request gets an id, an address, a line in the log, and is counted.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{ConnectInfo, MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;
use tvix_core::tools;
use uuid::Uuid;

use crate::{client, message::Message, refusal::Reason, router::App};

/// Names a request in our log.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Who called what, in the extensions of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    user: Uuid,
    method: String,
    tool: Option<String>,
}

impl Called {
    pub(crate) fn by(user: Uuid) -> Self {
        Self { user, method: String::new(), tool: None }
    }

    /// Notes what `message` asks for, as far as it is a name of ours: others could hold anything.
    pub(crate) fn note(&mut self, message: &Message) {
        let method = message.method();
        let plain = |c: char| c.is_ascii_alphabetic() || c == '/' || c == '_';
        if method.len() <= 64 && method.chars().all(plain) {
            method.clone_into(&mut self.method);
        }
        let known = method == "tools/call" && tools::reach(message.name()).is_some();
        self.tool = known.then(|| message.name().to_owned());
    }
}

/// The layer around everything.
pub(crate) async fn observe(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let id = Uuid::now_v7();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let client = peer.map(|peer| client::address(peer, request.headers(), &app.config.proxies));
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "other".to_owned());
    let method = request.method().clone();
    let span = tracing::info_span!("request", %id);
    let mut response = next.run(request).instrument(span).await;
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    let took = began.elapsed();
    app.metrics.answered(&route, response.status().as_u16(), took);
    let client = client.map(|client| client.0.to_string()).unwrap_or_default();
    log(&app, &Line { id, client, route, method, took }, &response);
    response
}

/// What a line says of a request, whatever the answer.
struct Line {
    id: Uuid,
    client: String,
    route: String,
    method: Method,
    took: Duration,
}

fn log(app: &App, line: &Line, response: &Response) {
    let called = response.extensions().get::<Called>();
    let tool = called.and_then(|called| called.tool.as_deref());
    if let Some(tool) = tool {
        app.metrics.called(tool);
    }
    let reason = response.extensions().get::<Reason>();
    tracing::info!(
        id = %line.id,
        client = line.client,
        method = %line.method,
        route = line.route,
        status = response.status().as_u16(),
        ms = line.took.as_millis() as u64,
        user = called.map(|called| called.user.to_string()),
        call = called.map(|called| called.method.as_str()),
        tool,
        reason = reason.map(|reason| reason.0.as_ref()),
        "answered"
    );
}
