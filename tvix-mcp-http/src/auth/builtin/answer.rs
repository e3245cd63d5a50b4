//! Answers: JSON of the endpoints, pages, redirects; each with the headers that it must have.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::Markup;
use serde::Serialize;

use crate::auth::{pages, passwords::Busy, store::Failure};

/// A JSON answer that browsers of any origin may read: it depends on no cookie.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).unwrap_or_default();
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
        (header::PRAGMA, "no-cache"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (status, headers, body).into_response()
}

/// What a browser asks before it sends a request of another origin.
pub(super) async fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type, MCP-Protocol-Version"),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// A page. It can be framed by nobody, loads nothing, and is kept by no cache.
pub(super) fn page(status: StatusCode, page: Markup) -> Response {
    let mut response = (status, page.into_string()).into_response();
    let headers = response.headers_mut();
    let plain = HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, plain("text/html; charset=utf-8"));
    if let Ok(policy) = HeaderValue::from_str(pages::content_security_policy()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::X_FRAME_OPTIONS, plain("DENY"));
    headers.insert(header::REFERRER_POLICY, plain("no-referrer"));
    headers.insert(header::CACHE_CONTROL, plain("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, plain("nosniff"));
    headers.insert(
        HeaderName::from_static("permissions-policy"),
        plain("camera=(), geolocation=(), microphone=()"),
    );
    response
}

/// Sends the browser on with GET.
pub(super) fn see_other(location: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(location) else {
        return page(
            StatusCode::BAD_REQUEST,
            pages::problem("Bad address", "The address to go to cannot be sent."),
        );
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// An error of an endpoint, as RFC 6749 5.2 and RFC 7591 3.2.2 write it.
#[derive(Debug)]
pub(super) struct OAuthError {
    status: StatusCode,
    code: &'static str,
    description: String,
    /// Seconds until it is worth another try.
    retry_after: Option<u64>,
}

impl OAuthError {
    pub(super) fn new(code: &'static str, description: impl Into<String>) -> Self {
        let status = match code {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        };
        Self { status, code, description: description.into(), retry_after: None }
    }

    pub(super) fn too_often(seconds: u64) -> Self {
        let description = format!("too many requests; try again in {seconds} seconds");
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            code: "temporarily_unavailable",
            description,
            retry_after: Some(seconds),
        }
    }
}

impl From<Failure> for OAuthError {
    fn from(failure: Failure) -> Self {
        tracing::error!(%failure, "the store of tokens failed");
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "temporarily_unavailable",
            description: "the server cannot answer now; try again".to_owned(),
            retry_after: Some(1),
        }
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'static str,
    error_description: &'a str,
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        tracing::info!(error = self.code, reason = %self.description, "an OAuth request was refused");
        let body = ErrorBody { error: self.code, error_description: &self.description };
        let mut response = json(self.status, &body);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Tvix\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        wait(&mut response, self.retry_after);
        response
    }
}

/// Why a page cannot be shown.
#[derive(Debug)]
pub(super) enum PageError {
    /// The form does not belong to this browser and page, or is too old.
    Forged,
    /// Too many tries; seconds to wait.
    TooOften(u64),
    /// The server is at its limit or broken.
    Unavailable(String),
}

impl From<Failure> for PageError {
    fn from(failure: Failure) -> Self {
        Self::Unavailable(failure.to_string())
    }
}

impl From<Busy> for PageError {
    fn from(busy: Busy) -> Self {
        Self::Unavailable(busy.to_string())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        match self {
            Self::Forged => {
                tracing::info!("a form without the right token was refused");
                let text = "This form is too old or did not come from this page. Go back, load the page again \
                            and try once more.";
                page(StatusCode::FORBIDDEN, pages::problem("This form has expired", text))
            }
            Self::TooOften(seconds) => {
                let text = format!("Wait {seconds} seconds, then try again.");
                let status = StatusCode::TOO_MANY_REQUESTS;
                let mut response = page(status, pages::problem("Too many attempts", &text));
                wait(&mut response, Some(seconds));
                response
            }
            Self::Unavailable(reason) => {
                tracing::error!(reason, "a page could not be answered");
                let text = "The server cannot answer just now. Try again in a moment.";
                let mut response =
                    page(StatusCode::SERVICE_UNAVAILABLE, pages::problem("Not available", text));
                wait(&mut response, Some(2));
                response
            }
        }
    }
}

fn wait(response: &mut Response, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
