//! Names that a server is called by, and pages that may call it.

use std::str::FromStr;

use axum::http::uri::{Authority, Uri};
use serde::Deserialize;

use crate::values::is_loopback_name;

/// A name by which the server may be called. Without a port any port will do: it is the proxy's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AllowedHost {
    host: String,
    port: Option<u16>,
}

/// A page that may call the server: scheme, host, and a port (`:*` is any).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AllowedOrigin {
    scheme: String,
    host: String,
    /// None is any.
    port: Option<u16>,
}

impl AllowedHost {
    /// Whether a request with this `Host` is meant for us.
    pub(crate) fn covers(&self, named: &Authority) -> bool {
        same(&self.host, named.host()) && (self.port.is_none() || self.port == named.port_u16())
    }
}

impl AllowedOrigin {
    /// Whether a request with this `Origin` comes from this page (RFC 6454 section 5).
    pub(crate) fn covers(&self, origin: &Uri) -> bool {
        let scheme = origin.scheme_str().unwrap_or_default();
        let host = origin.authority().map_or("", Authority::host);
        let port = origin.port_u16().or_else(|| default_port(scheme));
        self.scheme == scheme
            && same(&self.host, host)
            && (self.port.is_none() || self.port == port)
    }
}

/// Whether the page of this origin came from this machine.
pub(crate) fn is_loopback_page(origin: &Uri) -> bool {
    origin.authority().is_some_and(|authority| is_loopback_name(authority.host()))
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let authority: Option<Authority> = text.trim().parse().ok();
        let plain = authority.filter(|name| !name.as_str().contains(['@', '*']));
        let plain = plain.map(|name| Self { host: name.host().into(), port: name.port_u16() });
        plain.ok_or_else(|| {
            format!("got {text:?}, send a name such as memory.example.org, with a port if need be")
        })
    }
}

impl FromStr for AllowedOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("got {text:?}, send an origin such as https://app.example.org or http://host:*")
        };
        let (bare, any_port) = match text.trim().strip_suffix(":*") {
            Some(bare) => (bare, true),
            None => (text.trim(), false),
        };
        let uri: Uri = bare.parse().map_err(|_| wrong())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong());
        };
        if uri.path() != "/" || uri.query().is_some() || (any_port && uri.port().is_some()) {
            return Err(wrong());
        }
        let port = if any_port { None } else { uri.port_u16().or_else(|| default_port(scheme)) };
        Ok(Self { scheme: scheme.to_owned(), host: authority.host().to_owned(), port })
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for AllowedOrigin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_covered_by_scheme_host_and_port() {
        let covers = |allowed: &str, origin: &str| {
            allowed.parse::<AllowedOrigin>().expect(allowed).covers(&origin.parse().expect(origin))
        };
        assert!(covers("https://app.example.org", "https://APP.example.org"));
        assert!(covers("https://app.example.org", "https://app.example.org:443"));
        assert!(covers("http://host:*", "http://host:8123"));
        for other in [
            "http://app.example.org",
            "https://app.example.org:8443",
            "https://app.example.org.evil",
        ] {
            assert!(!covers("https://app.example.org", other), "{other}");
        }
    }

    #[test]
    fn a_host_without_a_port_is_covered_on_any() {
        let covers = |allowed: &str, named: &str| {
            allowed.parse::<AllowedHost>().expect(allowed).covers(&named.parse().expect(named))
        };
        assert!(covers("example.org", "Example.org:8443") && covers("[::1]", "[::1]:80"));
        assert!(covers("example.org:443", "example.org:443"));
        assert!(
            !covers("example.org:443", "example.org") && !covers("example.org", "a.example.org")
        );
        assert!("*".parse::<AllowedHost>().is_err() && "a@b".parse::<AllowedHost>().is_err());
    }
}
