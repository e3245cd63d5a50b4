//! Values of settings: read from a flag, an environment variable or a file by one function each.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use axum::http::Uri;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de::Visitor};
use tvix_core::tools::Toolset;

use crate::auth::Scope;

/// A type around a checked value that clap reads by `FromStr` and serde reads from a text.
macro_rules! text_value {
    ($(#[$about:meta])* $name:ident($inner:ty), $read:expr) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(pub $inner);

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<$inner, String> = $read;
                read(text.trim()).map($name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    };
}

text_value!(
    /// An address and a port.
    Address(SocketAddr),
    |text| text.parse().map_err(|_| got(text, "an address and a port such as 127.0.0.1:10013"))
);

text_value!(
    /// The origin under which clients reach the server: `https://host`, with a port if it is not 443.
    PublicUrl(String),
    public_url
);

text_value!(
    /// A network of proxies: `10.0.0.0/8`, or one address.
    Network(IpNet),
    |text| {
        let one = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| one()).map_err(|_| got(text, "an address or a network such as 10.0.0.0/8"))
    }
);

text_value!(
    /// The name of one toolset.
    ToolsetName(Toolset),
    |text| {
        let parsed = Toolset::parse_list(text).ok().filter(|list| list.len() == 1);
        let parsed = parsed.and_then(|list| list.into_iter().next());
        parsed.ok_or_else(|| got(text, "memory or wiki"))
    }
);

fn got(text: &str, send: &str) -> String {
    format!("got {text:?}, send {send}")
}

/// The issuer and the resource are made from it, and clients compare them byte by byte, so it has one
/// spelling: lower case, no slash at the end, no path.
fn public_url(text: &str) -> Result<String, String> {
    let wrong = || got(text, "an origin without a path, such as https://memory.example.org");
    let text = text.strip_suffix('/').unwrap_or(text);
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(wrong());
    };
    let bare = uri.path() == "/" && uri.query().is_none() && !authority.as_str().contains('@');
    if !bare || !["http", "https"].contains(&scheme) {
        return Err(wrong());
    }
    if scheme == "http" && !is_loopback_name(authority.host()) {
        return Err(got(text, "https: without TLS a token could be read on its way"));
    }
    Ok(text.to_ascii_lowercase())
}

/// Whether `host` names this machine.
pub(crate) fn is_loopback_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounded<const MIN: u64, const MAX: u64>(pub u64);

impl<const MIN: u64, const MAX: u64> Bounded<MIN, MAX> {
    fn check(value: i128) -> Result<Self, String> {
        let inside = u64::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value));
        inside.map(Self).ok_or_else(|| format!("got {value}, send {MIN}-{MAX}"))
    }
}

impl<const MIN: u64, const MAX: u64> FromStr for Bounded<MIN, MAX> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().map_err(|_| got(text, "a whole number"))?;
        Self::check(number)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const MIN: u64, const MAX: u64>;

        impl<const MIN: u64, const MAX: u64> Visitor<'_> for Number<MIN, MAX> {
            type Value = Bounded<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number, {MIN}-{MAX}")
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Bounded::check(value.into()).map_err(E::custom)
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
                Bounded::check(value.into()).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Number::<MIN, MAX>)
    }
}

text_value!(
    /// An issuer of tokens, in its own spelling.
    Issuer(String),
    |text| {
        let uri: Option<Uri> = text.parse().ok();
        let safe = uri.is_some_and(|uri| match (uri.scheme_str(), uri.host()) {
            (Some("https"), Some(_)) => true,
            (Some("http"), Some(host)) => is_loopback_name(host),
            _ => false,
        });
        let text = safe.then(|| text.to_owned());
        text.ok_or_else(|| "send an address such as https://login.example.org".to_owned())
    }
);

text_value!(
    /// The name of one of our scopes.
    #[derive(PartialOrd, Ord)]
    ScopeName(Scope),
    |text| {
        let names = Scope::ALL.map(Scope::as_str).join(", ");
        Scope::parse(text).ok_or_else(|| got(text, &format!("one of {names}")))
    }
);

text_value!(
    /// How much is logged.
    LogLevel(String),
    |text| {
        let levels = tvix_core::config::LOG_LEVELS;
        let known = levels.contains(&text).then(|| text.to_owned());
        known.ok_or_else(|| got(text, &format!("one of {}", levels.join(", "))))
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_one_origin_in_one_spelling() {
        for (text, url) in [
            ("https://Memory.Example.org/", "https://memory.example.org"),
            ("https://memory.example.org:8443", "https://memory.example.org:8443"),
            ("http://localhost:10013", "http://localhost:10013"),
            ("http://[::1]:10013", "http://[::1]:10013"),
        ] {
            assert_eq!(text.parse(), Ok(PublicUrl(url.to_owned())), "{text}");
        }
        for text in [
            "memory.example.org",
            "http://memory.example.org",
            "https://memory.example.org/mcp",
            "https://memory.example.org?x",
            "https://me:secret@memory.example.org",
            "ftp://localhost",
            "",
        ] {
            let refused = text.parse::<PublicUrl>().expect_err(text);
            assert!(refused.contains("send"), "{refused}");
        }
    }

    #[test]
    fn numbers_outside_of_their_range_are_told_the_range() {
        assert_eq!("7".parse(), Ok(Bounded::<1, 9>(7)));
        for text in ["0", "10", "-3", "18446744073709551616"] {
            let refused = text.parse::<Bounded<1, 9>>().expect_err(text);
            assert_eq!(refused, format!("got {text}, send 1-9"));
        }
        assert!("seven".parse::<Bounded<1, 9>>().is_err());
    }
}
