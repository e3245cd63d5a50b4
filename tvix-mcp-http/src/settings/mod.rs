//! What can be set. Each setting stands here once, for the flag, the environment and the file alike.
//!
//! The doc comments are what `--help` prints, so they carry no markup.
#![allow(clippy::doc_markdown)]

use std::{fs, io, ops::Range, path::Path, path::PathBuf};

use clap::ValueEnum;
use serde::Deserialize;
use tvix_core::{Error, Result};

mod auth;

pub(crate) use auth::{Auth, AuthMode, Oidc};

use crate::{
    origin::{AllowedHost, AllowedOrigin},
    values::{Address, Bounded, LogLevel, Network, PublicUrl, ToolsetName},
};

/// Everything that may be set; what is not set has a default.
#[derive(Debug, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to listen [default: 127.0.0.1:10013]
    #[arg(long, env = "TVIX_HTTP_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<Address>,
    /// The origin under which clients reach this server, such as https://memory.example.org
    /// [default: the address it listens on]
    #[arg(long, env = "TVIX_HTTP_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<PublicUrl>,
    /// The tools to offer, exactly: memory, wiki [default: both]
    #[arg(long, env = "TVIX_HTTP_TOOLSETS", value_name = "LIST", value_delimiter = ',')]
    pub toolsets: Option<Vec<ToolsetName>>,
    /// Names by which the server may be called, besides its public one and those of this machine
    #[arg(long, env = "TVIX_HTTP_ALLOWED_HOSTS", value_name = "LIST", value_delimiter = ',')]
    pub allowed_hosts: Option<Vec<AllowedHost>>,
    /// Web pages that may call the server, such as https://app.example.org, besides its own and those of
    /// this machine
    #[arg(long, env = "TVIX_HTTP_ALLOWED_ORIGINS", value_name = "LIST", value_delimiter = ',')]
    pub allowed_origins: Option<Vec<AllowedOrigin>>,
    /// Proxies whose X-Forwarded-For is believed: addresses or networks [default: none]
    #[arg(long, env = "TVIX_HTTP_TRUSTED_PROXIES", value_name = "LIST", value_delimiter = ',')]
    pub trusted_proxies: Option<Vec<Network>>,
    /// A loopback address for Prometheus metrics at /metrics [default: none]
    #[arg(long, env = "TVIX_HTTP_METRICS", value_name = "ADDRESS:PORT")]
    pub metrics: Option<Address>,
    /// How much to log on stderr: off, error, warn, info, debug, trace [default: info]
    #[arg(long, env = "TVIX_HTTP_LOG", value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// How log lines look [default: text]
    #[arg(long, env = "TVIX_HTTP_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Who may call
    #[command(flatten)]
    pub auth: Auth,
    /// How much at once
    #[command(flatten)]
    pub limits: Limits,
    /// TLS without a proxy
    #[command(flatten)]
    pub tls: Tls,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How much at once.
#[derive(Debug, Default, clap::Args, Deserialize)]
#[command(next_help_heading = "Limits, [limits] in server.toml")]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The greatest size of a request, in bytes [default: 4194304]
    #[arg(long, env = "TVIX_HTTP_BODY_BYTES", value_name = "BYTES")]
    pub body_bytes: Option<Bounded<1_024, 67_108_864>>,
    /// How long a request may take to arrive, in seconds [default: 30]
    #[arg(long, env = "TVIX_HTTP_READ_SECONDS", value_name = "SECONDS")]
    pub read_seconds: Option<Bounded<1, 600>>,
    /// How long a call may take, in seconds [default: 60]
    #[arg(long, env = "TVIX_HTTP_CALL_SECONDS", value_name = "SECONDS")]
    pub call_seconds: Option<Bounded<1, 3_600>>,
    /// How many calls are answered at a time [default: 256]
    #[arg(long, env = "TVIX_HTTP_CALLS", value_name = "NUMBER")]
    pub calls: Option<Bounded<1, 100_000>>,
    /// How many of one token [default: 32]
    #[arg(long, env = "TVIX_HTTP_CALLS_PER_TOKEN", value_name = "NUMBER")]
    pub calls_per_token: Option<Bounded<1, 100_000>>,
    /// How many connections are held [default: 4096]
    #[arg(long, env = "TVIX_HTTP_CONNECTIONS", value_name = "NUMBER")]
    pub connections: Option<Bounded<1, 1_000_000>>,
    /// How many users' folders are open at a time [default: 64]
    #[arg(long, env = "TVIX_HTTP_OPEN_USERS", value_name = "NUMBER")]
    pub open_users: Option<Bounded<1, 100_000>>,
}

/// TLS without a proxy.
#[derive(Debug, Default, clap::Args, Deserialize)]
#[command(next_help_heading = "TLS, [tls] in server.toml; needs a build with the feature tls")]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// The certificate and those it rests on, as PEM
    #[arg(long = "tls-certificate", env = "TVIX_HTTP_TLS_CERTIFICATE", value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long = "tls-key", env = "TVIX_HTTP_TLS_KEY", value_name = "FILE")]
    pub key: Option<PathBuf>,
}

impl Settings {
    /// Reads the file at `path`. An absent file sets nothing.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::backend(format!("reading {}", path.display()), error)),
            Ok(text) => {
                let parsed = toml::from_str(&text);
                parsed.map_err(|error| {
                    let place = place(&text, error.span().unwrap_or_default());
                    Error::invalid(format!("{}:{place}", path.display()), error.message())
                })
            }
        }
    }

    /// What is set here, and what `file` sets beside it.
    pub(crate) fn over(self, file: Self) -> Self {
        Self {
            listen: self.listen.or(file.listen),
            public_url: self.public_url.or(file.public_url),
            toolsets: self.toolsets.or(file.toolsets),
            allowed_hosts: self.allowed_hosts.or(file.allowed_hosts),
            allowed_origins: self.allowed_origins.or(file.allowed_origins),
            trusted_proxies: self.trusted_proxies.or(file.trusted_proxies),
            metrics: self.metrics.or(file.metrics),
            log: self.log.or(file.log),
            log_format: self.log_format.or(file.log_format),
            auth: self.auth.over(file.auth),
            limits: self.limits.over(&file.limits),
            tls: Tls {
                certificate: self.tls.certificate.or(file.tls.certificate),
                key: self.tls.key.or(file.tls.key),
            },
        }
    }
}

impl Limits {
    fn over(&self, file: &Self) -> Self {
        Self {
            body_bytes: self.body_bytes.or(file.body_bytes),
            read_seconds: self.read_seconds.or(file.read_seconds),
            call_seconds: self.call_seconds.or(file.call_seconds),
            calls: self.calls.or(file.calls),
            calls_per_token: self.calls_per_token.or(file.calls_per_token),
            connections: self.connections.or(file.connections),
            open_users: self.open_users.or(file.open_users),
        }
    }
}

/// Where `span` begins, for a person: line, column, and the key that stands there.
fn place(text: &str, span: Range<usize>) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let table = text.lines().take(line + 1).filter_map(table).last();
    let key = text.lines().take(line + 1).filter_map(key).last();
    let field: Vec<&str> = table.into_iter().chain(key).collect();
    format!("{}:{column}: {}", line + 1, field.join("."))
}

fn table(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix('[')?.split(']').next()?.trim())
}

fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    Some(key.trim()).filter(|key| !key.is_empty() && key.chars().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Settings> {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("server.toml");
        fs::write(&path, text).expect("written");
        Settings::load(&path)
    }

    #[test]
    fn what_is_wrong_in_the_file_is_told_with_its_place_and_what_to_write() {
        for (text, place, send) in [
            ("listen = \"here\"", ":1:10: listen: ", "127.0.0.1:10013"),
            ("\n[limits]\ncalls = 0", ":3:9: limits.calls: ", "1-100000"),
            ("[limits]\ncalls = \"many\"", ":2:9: limits.calls: ", "1-100000"),
            ("[auth]\nmode = \"open\"", ":2:8: auth.mode: ", "builtin"),
            ("toolsets = [\"memory\",\n  \"wikki\"]", ":1:12: toolsets: ", "memory or wiki"),
            ("colour = 1", ":1:1: colour: ", "listen"),
            ("log = ", ":1:", "string"),
            ("public_url = \"http://example.org\"", ":1:14: public_url: ", "https"),
        ] {
            let error = load(text).expect_err(text).to_string();
            assert!(error.contains(place) && error.contains(send), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_sets_nothing() {
        let settings = Settings::load(Path::new("no/such/server.toml")).expect("defaults");
        assert!(settings.listen.is_none() && settings.auth.mode.is_none());
    }
}
