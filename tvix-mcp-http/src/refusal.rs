//! Answers to requests that are not let through.

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

/// Why a request was refused, in the extensions of its answer: the log line names it. Never holds a
/// token, a code, or a text that someone stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(pub Cow<'static, str>);

/// JSON-RPC 2.0 section 5.1: the text is not JSON.
pub(crate) const PARSE_ERROR: i32 = -32_700;
/// The JSON is not a request.
pub(crate) const INVALID_REQUEST: i32 = -32_600;
/// Everything that is not the caller's fault.
pub(crate) const INTERNAL_ERROR: i32 = -32_603;

/// A refusal, which becomes an answer whose body is a JSON-RPC error.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: i32,
    message: Cow<'static, str>,
    id: Value,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// A refusal whose message, which names nothing that is secret, is also its reason in the log.
    pub(crate) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        let code = if status.is_server_error() { INTERNAL_ERROR } else { INVALID_REQUEST };
        Self { status, code, message: message.into(), id: Value::Null, headers: Vec::new() }
    }

    /// With another code of JSON-RPC.
    pub(crate) fn with_code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// In answer to the request with this id.
    pub(crate) fn in_answer_to(mut self, id: &Value) -> Self {
        self.id.clone_from(id);
        self
    }

    /// With a header; one that cannot be written is left out.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(value.parse().ok().map(|value| (name, value)));
        self
    }

    /// Too much at once: the caller may come again in a second.
    pub(crate) fn busy(status: StatusCode, message: &'static str) -> Self {
        Self::new(status, message).with_code(INTERNAL_ERROR).with_header(header::RETRY_AFTER, "1")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = json!({"code": self.code, "message": self.message});
        let body = Json(json!({"jsonrpc": "2.0", "id": self.id, "error": error}));
        let mut response = (self.status, body).into_response();
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(Reason(self.message));
        response
    }
}
