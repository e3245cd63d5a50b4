//! Settings with their defaults, checked against each other.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use axum::http::Uri;
use ipnet::IpNet;
use tvix_core::{Error, Result, tools::Toolset};

use crate::{
    auth::Options,
    origin::{AllowedHost, AllowedOrigin, is_loopback_page},
    settings::{self, AuthMode, LogFormat, Settings},
    values::Bounded,
};

/// The address where nobody asks for another.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10_013);

/// Everything that the server goes by.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server's folder.
    pub(crate) folder: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<String>,
    pub(crate) toolsets: Vec<Toolset>,
    pub(crate) hosts: Vec<AllowedHost>,
    pub(crate) origins: Vec<AllowedOrigin>,
    pub(crate) proxies: Vec<IpNet>,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) auth: AuthMode,
    pub(crate) builtin: Options,
    #[cfg_attr(not(feature = "oidc"), allow(dead_code, reason = "read, then refused"))]
    pub(crate) oidc: settings::Oidc,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsFiles>,
}

/// How much at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) body: usize,
    pub(crate) read: Duration,
    pub(crate) call: Duration,
    pub(crate) calls: usize,
    pub(crate) calls_per_token: usize,
    pub(crate) connections: usize,
    pub(crate) open_users: usize,
}

/// Where certificate and key lie.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "checked, then refused"))]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Config {
    /// The settings for the server in `folder`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the setting that does not go with the others.
    pub fn new(folder: PathBuf, settings: Settings) -> Result<Self> {
        let listen = settings.listen.map_or(LISTEN, |address| address.0);
        let public_url = settings.public_url.map(|url| url.0);
        let (own_host, own_origin) = public_url.as_deref().map(own_names).transpose()?.unzip();
        let config = Self {
            folder,
            listen,
            public_url,
            toolsets: toolsets(settings.toolsets),
            hosts: own_host
                .into_iter()
                .chain(settings.allowed_hosts.into_iter().flatten())
                .collect(),
            origins: own_origin
                .into_iter()
                .chain(settings.allowed_origins.into_iter().flatten())
                .collect(),
            proxies: settings.trusted_proxies.into_iter().flatten().map(|net| net.0).collect(),
            metrics: settings.metrics.map(|address| address.0),
            log: settings.log.map_or_else(|| "info".to_owned(), |level| level.0),
            log_format: settings.log_format.unwrap_or_default(),
            auth: settings.auth.mode.unwrap_or_default(),
            builtin: settings.auth.builtin.unwrap_or_default(),
            oidc: settings.auth.oidc,
            limits: Limits::new(&settings.limits),
            tls: tls(settings.tls)?,
        };
        config.check()?;
        Ok(config)
    }

    /// What no single setting can tell.
    fn check(&self) -> Result<()> {
        let open = !self.listen.ip().is_loopback();
        if self.auth == AuthMode::None && (open || self.is_public()) {
            return Err(Error::invalid(
                "auth.mode",
                "got \"none\" for a server that others reach; listen on 127.0.0.1 without a \
                 public_url, or send mode = \"builtin\"",
            ));
        }
        if self.auth == AuthMode::Oidc && !cfg!(feature = "oidc") {
            let reason = "this build knows no external issuer: build with `--features oidc`";
            return Err(Error::invalid("auth.mode", reason));
        }
        if self.auth == AuthMode::Oidc && self.oidc.issuer.is_none() {
            let reason = "is missing; send the issuer's address, such as https://login.example.org";
            return Err(Error::invalid("auth.oidc.issuer", reason));
        }
        if open && self.public_url.is_none() {
            return Err(Error::invalid(
                "public_url",
                format_args!(
                    "is needed to listen on {}; send the origin that clients use, such as \
                     https://memory.example.org",
                    self.listen
                ),
            ));
        }
        self.builtin.check().map_err(|reason| Error::invalid("auth.builtin", reason))?;
        if self.metrics.is_some_and(|address| !address.ip().is_loopback()) {
            return Err(Error::invalid(
                "metrics",
                "send a loopback address such as 127.0.0.1:10014",
            ));
        }
        Ok(())
    }

    fn is_public(&self) -> bool {
        let host = self.public_url.as_deref().and_then(|url| url.parse::<Uri>().ok());
        host.is_some_and(|url| !is_loopback_page(&url))
    }

    /// The origin under which clients reach the server that listens on `address`.
    pub(crate) fn origin(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{address}"))
    }

    /// What the settings come to, for a person.
    pub(crate) fn summary(&self) -> String {
        let toolsets: Vec<_> = self.toolsets.iter().map(|toolset| toolset.name()).collect();
        let metrics = self.metrics.map_or("none".to_owned(), |address| address.to_string());
        format!(
            "good\nfolder: {}\nlisten: {}\nclients connect to: {}/mcp\nauth: {:?}\ntoolsets: {}\nmetrics: {metrics}",
            self.folder.display(),
            self.listen,
            self.origin(self.listen),
            self.auth,
            toolsets.join(", "),
        )
    }
}

impl Limits {
    fn new(set: &settings::Limits) -> Self {
        let seconds = |value: Option<u64>, default| Duration::from_secs(value.unwrap_or(default));
        let number = |value: Option<u64>, default| value.map_or(default, |value| value as usize);
        Self {
            body: number(set.body_bytes.map(inner), 4 * 1024 * 1024),
            read: seconds(set.read_seconds.map(inner), 30),
            call: seconds(set.call_seconds.map(inner), 60),
            calls: number(set.calls.map(inner), 256),
            calls_per_token: number(set.calls_per_token.map(inner), 32),
            connections: number(set.connections.map(inner), 4_096),
            open_users: number(set.open_users.map(inner), 64),
        }
    }
}

fn inner<const MIN: u64, const MAX: u64>(value: Bounded<MIN, MAX>) -> u64 {
    value.0
}

fn toolsets(named: Option<Vec<crate::values::ToolsetName>>) -> Vec<Toolset> {
    let mut toolsets: Vec<Toolset> = named.into_iter().flatten().map(|name| name.0).collect();
    toolsets.dedup();
    if toolsets.is_empty() { Toolset::DEFAULT.to_vec() } else { toolsets }
}

/// The public URL as a host that requests may name and an origin that pages may have.
fn own_names(url: &str) -> Result<(AllowedHost, AllowedOrigin)> {
    let names = || {
        let uri: Option<Uri> = url.parse().ok();
        let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
        Ok((host.parse()?, url.parse()?))
    };
    names().map_err(|reason: String| Error::invalid("public_url", reason))
}

fn tls(set: settings::Tls) -> Result<Option<TlsFiles>> {
    let files = match (set.certificate, set.key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => TlsFiles { certificate, key },
        (Some(_), None) => {
            return Err(Error::invalid("tls.key", "is missing beside tls.certificate"));
        }
        (None, Some(_)) => {
            return Err(Error::invalid("tls.certificate", "is missing beside tls.key"));
        }
    };
    if cfg!(feature = "tls") {
        return Ok(Some(files));
    }
    let reason =
        "this build has no TLS: build with `--features tls`, or put a proxy before the server";
    Err(Error::invalid("tls.certificate", reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{Address, PublicUrl};

    fn config(listen: &str, auth: AuthMode, url: Option<&str>) -> Result<Config> {
        let mut settings = Settings {
            listen: Some(Address(listen.parse().expect(listen))),
            ..Settings::default()
        };
        settings.auth.mode = Some(auth);
        settings.public_url = url.map(|url| PublicUrl(url.to_owned()));
        Config::new(PathBuf::new(), settings)
    }

    #[test]
    fn nobody_is_let_in_unknown_from_another_machine() {
        for (listen, url) in [
            ("0.0.0.0:80", None),
            ("192.0.2.1:10013", None),
            ("[::]:10013", Some("https://memory.example.org")),
            ("127.0.0.1:10013", Some("https://memory.example.org")),
        ] {
            let refused = config(listen, AuthMode::None, url).expect_err(listen).to_string();
            assert!(refused.contains("auth.mode") && refused.contains("builtin"), "{refused}");
        }
        for listen in ["127.0.0.1:0", "[::1]:10013"] {
            assert!(config(listen, AuthMode::None, None).is_ok(), "{listen}");
        }
        assert!(config("127.0.0.1:0", AuthMode::None, Some("http://localhost:10013")).is_ok());
    }

    #[test]
    fn an_open_address_needs_a_public_url() {
        let refused =
            config("0.0.0.0:80", AuthMode::Builtin, None).expect_err("no url").to_string();
        assert!(refused.starts_with("public_url: "), "{refused}");
        let url = Some("https://memory.example.org");
        let config = config("0.0.0.0:80", AuthMode::Builtin, url).expect("good");
        assert!(config.hosts[0].covers(&"memory.example.org".parse().expect("host")));
        assert!(config.origins[0].covers(&"https://memory.example.org".parse().expect("origin")));
    }
}
