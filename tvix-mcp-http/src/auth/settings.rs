//! What the owner of a server chooses about the built-in authorization server.

use std::fmt;

use serde::Deserialize;
use url::{Host, Url};

use super::{
    Scope,
    builtin::RedirectUri,
    clock::{Clock, DAY, HOUR, MINUTE, Seconds},
    secret::Hash,
};

/// The path of the resource below the public address.
pub const RESOURCE_PATH: &str = "/mcp";

/// The address by which clients know this server: scheme, host and port, without a path. It is the issuer,
/// byte for byte the same in every document and answer, and never taken from a `Host` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    secure: bool,
}

impl PublicUrl {
    /// Reads an address such as `https://tvix.example.com`, or with `http` one of this machine.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| format!("public_url: got {text:?}; {reason}");
        let url = Url::parse(text.trim()).map_err(|_| wrong("send an address as https://host"))?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("send it without path, query and fragment"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("send it without user and password"));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => return Err(wrong("send https: http is for loopback addresses only")),
            _ => return Err(wrong("send https")),
        }
        let secure = url.scheme() == "https";
        Ok(Self { origin: url.origin().ascii_serialization(), secure })
    }

    /// The address, without a slash at its end: the issuer.
    pub fn as_str(&self) -> &str {
        &self.origin
    }

    /// The address of the resource: what a client must name and a token is for (RFC 8707).
    pub fn resource(&self) -> String {
        format!("{}{RESOURCE_PATH}", self.origin)
    }

    /// Whether browsers reach it by TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

/// Whether an address is of this machine: RFC 8252 7.3 and `localhost`.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The section of the configuration file for the built-in server. Every key has a default.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How long an access token is good, in seconds: 300 to 86,400; 8 hours.
    pub access_token_seconds: Seconds,
    /// How long a refresh token is good after its last use, in days: 1 to 365; 60.
    pub refresh_token_days: u64,
    /// How long a refresh token may be used again, in seconds: 0 (strict) to 3,600; 10 minutes. Several
    /// processes of one client refresh at nearly the same time, and drop their login if one is refused.
    pub refresh_grace_seconds: Seconds,
    /// Whether clients may register themselves (RFC 7591).
    pub registration: bool,
    /// Clients that are known from the start.
    pub clients: Vec<KnownClient>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access_token_seconds: 8 * HOUR,
            refresh_token_days: 60,
            refresh_grace_seconds: 10 * MINUTE,
            registration: true,
            clients: Vec::new(),
        }
    }
}

/// A client that is registered in the configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownClient {
    /// Its `client_id`.
    pub id: String,
    /// How it is called on the consent page.
    pub name: String,
    /// Where it may be sent to.
    pub redirect_uris: Vec<String>,
    /// SHA-256 of its secret as 64 hexadecimal digits; absent for a public client. The secret itself is
    /// written nowhere.
    pub secret_sha256: Option<String>,
}

impl Options {
    /// Checks every value.
    ///
    /// # Errors
    /// A sentence that names the key, what came, and what to send.
    pub fn check(&self) -> Result<(), String> {
        within("access_token_seconds", self.access_token_seconds, 5 * MINUTE, DAY)?;
        within("refresh_token_days", self.refresh_token_days, 1, 365)?;
        within("refresh_grace_seconds", self.refresh_grace_seconds, 0, HOUR)?;
        self.clients.iter().try_for_each(KnownClient::check)
    }
}

impl KnownClient {
    fn check(&self) -> Result<(), String> {
        let wrong = |reason: &str| format!("clients: {:?}: {reason}", self.id);
        if self.id.is_empty()
            || self.id.len() > 200
            || !self.id.bytes().all(|b| b.is_ascii_graphic())
        {
            return Err(wrong("id: send 1-200 visible ASCII characters"));
        }
        if self.id.starts_with("https://") {
            return Err(wrong("id: an https address names a metadata document; send another"));
        }
        if self.redirect_uris.is_empty() {
            return Err(wrong("redirect_uris: send at least one"));
        }
        for uri in &self.redirect_uris {
            RedirectUri::parse(uri).map_err(|reason| wrong(&format!("redirect_uris: {reason}")))?;
        }
        match &self.secret_sha256 {
            Some(hex) if Hash::from_hex(hex).is_none() => {
                Err(wrong("secret_sha256: send the SHA-256 of the secret, 64 hexadecimal digits"))
            }
            _ => Ok(()),
        }
    }
}

fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{key}: got {value}, send {least}-{most}"))
}

/// All that the built-in server is made from, beside its store.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The issuer.
    pub public_url: PublicUrl,
    /// The scopes of the toolsets that are on, in the order in which documents list them.
    pub scopes: Vec<Scope>,
    /// What the owner chose.
    pub options: Options,
    /// Where the time comes from.
    pub clock: Clock,
}

impl Settings {
    /// The defaults for a public address: all scopes, the system's time.
    pub fn new(public_url: PublicUrl) -> Self {
        let scopes = Scope::ALL.to_vec();
        Self { public_url, scopes, options: Options::default(), clock: Clock::system() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, PublicUrl};

    #[test]
    fn the_public_address_is_an_origin_and_http_is_for_this_machine() {
        let parsed = |text| PublicUrl::parse(text).map(|url| url.as_str().to_owned());
        assert_eq!(parsed("https://Tvix.Example.com/"), Ok("https://tvix.example.com".to_owned()));
        assert_eq!(parsed("http://127.0.0.1:8095"), Ok("http://127.0.0.1:8095".to_owned()));
        for bad in [
            "tvix.example.com",
            "http://tvix.example.com",
            "https://a/b",
            "https://u@a/",
            "ftp://a/",
        ] {
            assert!(parsed(bad).unwrap_err().contains(bad), "{bad}");
        }
    }

    #[test]
    fn options_out_of_range_are_named() {
        let options = Options { access_token_seconds: 5, ..Options::default() };
        assert_eq!(options.check().unwrap_err(), "access_token_seconds: got 5, send 300-86400");
        assert_eq!(Options::default().check(), Ok(()));
    }
}
