//! Answers that tell a client which token to get, and where.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{
    auth::{Denied, Identity, Scope},
    message::Message,
    refusal::{Reason, Refusal},
    router::App,
    scopes,
};

/// RFC 6750 section 3: what is missing, and where to get it.
pub(crate) fn unknown_caller(app: &App, denied: &Denied) -> Response {
    if let Denied::Unavailable(reason) = denied {
        tracing::error!(%reason, "callers cannot be recognised");
        let message = "authentication is not available now; try again";
        return Refusal::busy(StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    }
    let error = matches!(denied, Denied::BadToken(_)).then_some("invalid_token");
    bearer(app, StatusCode::UNAUTHORIZED, error, denied.to_string(), &app.scopes)
}

/// RFC 6750 section 3.1: the answer to a call that the token does not allow. It names what was granted
/// and what is needed, so that the client asks for both.
pub(crate) fn missing_scope(app: &App, caller: &Identity, message: &Message) -> Option<Response> {
    let needed = scopes::needed(message).filter(|scope| !caller.scopes.contains(scope))?;
    let wanted =
        Scope::ALL.into_iter().filter(|scope| caller.scopes.contains(scope) || *scope == needed);
    let wanted: Vec<Scope> = wanted.collect();
    let about = format!("this call needs the scope {needed}");
    Some(bearer(app, StatusCode::FORBIDDEN, Some("insufficient_scope"), about, &wanted))
}

fn bearer(
    app: &App,
    status: StatusCode,
    error: Option<&'static str>,
    about: String,
    scopes: &[Scope],
) -> Response {
    let scope: Vec<_> = scopes.iter().map(|scope| app.auth.scope_name(*scope)).collect();
    let metadata = app.auth.resource_metadata().map(|url| ("resource_metadata", url.to_owned()));
    let error_fields =
        error.map(|error| [("error", error.to_owned()), ("error_description", about.clone())]);
    let fields = metadata.into_iter().chain([("scope", scope.join(" "))]);
    let fields = fields.chain(error_fields.into_iter().flatten());
    let fields: Vec<_> = fields.map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    let body = json!({"error": error.unwrap_or("unauthorized"), "error_description": about});
    let mut response = (status, Json(body)).into_response();
    if let Ok(challenge) = format!("Bearer {}", fields.join(", ")).parse() {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response.extensions_mut().insert(Reason(about.into()));
    response
}
