//! The endpoint: who calls, may they, and on to rmcp.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tower::ServiceExt;
use tvix_core::{mcp::Server, types::Source};

use crate::{
    auth::{Denied, Identity},
    challenge,
    limits::Permit,
    message::{self, Message},
    observe::Called,
    refusal::{Reason, Refusal},
    router::App,
};

/// What both kinds of answers are called; a client must be able to read both.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// How much of an answer of rmcp is read to mend it.
const ERROR_TEXT_MAX: usize = 64 * 1024;

/// How strict a path is about headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `/mcp`: as the protocol has it.
    Protocol,
    /// `/api/mcp`: whatever `curl -d` sends.
    Plain,
}

/// `/mcp` and `/mcp/`.
pub(crate) async fn protocol(State(app): State<Arc<App>>, request: Request) -> Response {
    serve(&app, request, Style::Protocol).await
}

/// `/api/mcp`.
pub(crate) async fn plain(State(app): State<Arc<App>>, request: Request) -> Response {
    serve(&app, request, Style::Plain).await
}

/// How rmcp serves: without sessions, so that neither a restart nor another server process is noticed;
/// with plain JSON where an answer is one message; without the checks that stand before it here.
pub(crate) fn config(body_max: usize) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body_max.saturating_mul(2))
        .disable_allowed_hosts()
        .disable_allowed_origins()
}

async fn serve(app: &App, request: Request, style: Style) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut response = match enter(app, &parts).await {
        Ok((caller, permit)) => {
            let mut trace = Called::by(caller.user);
            complete(&mut parts.headers, style);
            let answer = answer(app, &caller, parts, body, &mut trace).await;
            drop(permit);
            let mut response = answer.unwrap_or_else(IntoResponse::into_response);
            response.extensions_mut().insert(trace);
            response
        }
        Err(refused) => refused,
    };
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Who calls, and a place among those who are answered. Comes before everything else, for some clients
/// begin with a GET and learn from its challenge where to log in.
async fn enter(app: &App, request: &Parts) -> Result<(Identity, Permit), Response> {
    let query = request.uri.query().unwrap_or_default();
    let caller = if query.split('&').any(|pair| pair.starts_with("access_token=")) {
        Err(Denied::BadToken("a token came in the query; send it in the Authorization header"))
    } else {
        app.auth.authenticate(&request.headers).await
    };
    let caller = caller.map_err(|denied| challenge::unknown_caller(app, &denied))?;
    if request.method != Method::POST {
        let refusal = Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "send a POST: there is no stream to listen to",
        );
        return Err(refusal.with_header(header::ALLOW, "POST").into_response());
    }
    let permit = app.in_flight.enter(caller.session).map_err(IntoResponse::into_response)?;
    Ok((caller, permit))
}

async fn answer(
    app: &App,
    caller: &Identity,
    parts: Parts,
    body: Body,
    trace: &mut Called,
) -> Result<Response, Refusal> {
    if !is_json(&parts.headers) {
        let message = "Content-Type: send application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let message = Message::read(&message::body(body, &app.config.limits).await?)?;
    trace.note(&message);
    let id = message.id().clone();
    if let Some(response) = challenge::missing_scope(app, caller, &message) {
        return Ok(response);
    }
    let call = call(app, caller, parts, message);
    let answered = tokio::time::timeout(app.config.limits.call, call).await;
    let late = |_| {
        let message = "the call took too long and was given up; what it had stored stays";
        Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, message))
    };
    answered.unwrap_or_else(late).map_err(|refusal| refusal.in_answer_to(&id))
}

async fn call(
    app: &App,
    caller: &Identity,
    parts: Parts,
    message: Message,
) -> Result<Response, Refusal> {
    let lease = app.tenants.lease(caller.user).await.map_err(|error| {
        tracing::error!(user = %caller.user, %error, "the folder of a user could not be opened");
        let message = "your store cannot be opened now; the server's log says why";
        Refusal::busy(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    let server = Server::new(Arc::new(lease), app.config.toolsets.clone(), None);
    let server = match source(caller, &parts.headers, &message) {
        Some(source) => server.speaking_for(source),
        None => server,
    };
    let factory = move || Ok(server.clone());
    let service = StreamableHttpService::new(
        factory,
        Arc::new(NeverSessionManager::default()),
        app.rmcp.clone(),
    );
    let request = Request::from_parts(parts, Full::new(message.into_bytes()));
    match service.oneshot(request).await {
        Ok(response) => mend(response.map(Body::new)).await,
        Err(never) => match never {},
    }
}

/// Where memories of this caller come from: the client that the token was issued to; else the name in
/// the message, which the server reads itself; else, in the older revisions without a session, what
/// `User-Agent` says, if it is a client that we know.
fn source(caller: &Identity, headers: &HeaderMap, message: &Message) -> Option<Source> {
    if let Some(client) = &caller.client {
        return Some(Source::from_client(client));
    }
    if message.names_client() {
        return None;
    }
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    Some(agent.and_then(Source::known_client).unwrap_or_else(Source::unknown))
}

/// Fills in headers that say what goes without saying: all that we answer is JSON.
fn complete(headers: &mut HeaderMap, style: Style) {
    let accepts = |wanted: &str| {
        let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).any(|range| {
            let range = range.split(';').next().unwrap_or_default();
            range.trim().eq_ignore_ascii_case(wanted)
        })
    };
    let any = !headers.contains_key(header::ACCEPT) || accepts("*/*") || accepts("application/*");
    if style == Style::Plain || any || accepts("application/json") {
        headers.insert(header::ACCEPT, ACCEPTED);
    }
    if style == Style::Plain {
        headers.insert(header::CONTENT_TYPE, JSON);
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Makes every error of rmcp a JSON-RPC error: some are plain text, and a body that is JSON but no
/// message of the protocol is answered as if its media type were wrong.
pub(crate) async fn mend(response: Response) -> Result<Response, Refusal> {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let text = axum::body::to_bytes(body, ERROR_TEXT_MAX).await.unwrap_or_default();
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let message = "Invalid Request: send a message of MCP, with jsonrpc, method and an id that is a text or a number";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
    }
    let code = serde_json::from_slice::<serde_json::Value>(&text).ok();
    let Some(code) = code.and_then(|error| error["error"]["code"].as_i64()) else {
        let text = String::from_utf8_lossy(&text).into_owned();
        return Err(Refusal::new(status, text));
    };
    parts.extensions.insert(Reason(format!("JSON-RPC error {code}").into()));
    Ok(Response::from_parts(parts, Body::from(text)))
}
