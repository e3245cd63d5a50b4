//! Reading forms.

use axum::{
    body::Bytes,
    http::{HeaderMap, header},
};

use crate::auth::params::Params;

/// The parameters of a form; none if the body is of another type. Endpoints then say which one is missing.
pub(super) fn form(headers: &HeaderMap, body: &Bytes) -> Option<Params> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    std::str::from_utf8(body).ok().map(Params::parse)
}
