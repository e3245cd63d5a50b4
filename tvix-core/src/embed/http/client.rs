//! Requests, and what is tried again.

use std::{sync::OnceLock, thread, time::Duration};

use rustls::crypto::ring;
use serde::Serialize;
use ureq::{
    Agent, Body, Error as Failure,
    http::Response,
    tls::{Certificate, RootCerts, TlsConfig},
};

use super::{Key, OPERATION, Patience, answer};
use crate::{Error, Result, embed::Vector};

/// How often a request is sent in all.
const ATTEMPTS: u32 = 3;
/// The longest wait that an endpoint may ask for within a call; for more the caller comes back.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// The greatest answer, in bytes: 64 vectors of dimension 8,192, written at length, have a third.
const ANSWER_MAX: u64 = 32 << 20;
/// How much is read of an answer that tells of a fault.
const FAULT_MAX: u64 = 64 << 10;

/// The texts of one request.
pub(super) struct Request<'a> {
    texts: &'a [String],
}

impl<'a> Request<'a> {
    pub(super) fn new(texts: &'a [String]) -> Self {
        Self { texts }
    }
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

/// What became of one attempt that failed.
struct Fault {
    error: Error,
    /// When it may be tried again; `None`: it would fail again.
    again: Option<Wait>,
}

enum Wait {
    /// As long as is usual.
    Usual,
    /// What the endpoint asked for.
    Asked(Duration),
}

/// One endpoint.
#[derive(Debug, Clone)]
pub(super) struct Client {
    url: String,
    model: String,
    key: Option<Key>,
    patience: Patience,
    agent: OnceLock<Agent>,
}

impl Client {
    pub(super) fn new(url: &str, model: &str) -> Self {
        Self {
            url: url.to_owned(),
            model: model.to_owned(),
            key: None,
            patience: Patience::default(),
            agent: OnceLock::new(),
        }
    }

    pub(super) fn set_key(&mut self, key: Key) {
        if !self.is_encrypted() && !is_loopback(&self.url) {
            tracing::warn!(url = %self.url, "the key is sent unencrypted; use https:// if there is");
        }
        self.key = Some(key);
    }

    pub(super) fn set_patience(&mut self, patience: Patience) {
        (self.patience, self.agent) = (patience, OnceLock::new());
    }

    /// One vector of length 1 for each text of `request`. Stops trying when nobody waits any longer.
    pub(super) fn embed(
        &self,
        request: &Request<'_>,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Vec<Vector>> {
        let question =
            Question { model: &self.model, input: request.texts, encoding_format: "float" };
        let question =
            serde_json::to_vec(&question).map_err(|error| Error::backend(OPERATION, error))?;
        let mut attempt = 1;
        loop {
            let fault = match self.attempt(&question, request.texts.len()) {
                Ok(vectors) => return Ok(vectors),
                Err(fault) => fault,
            };
            let wait = fault.again.map(|again| self.wait(&again, attempt));
            match wait.filter(|wait| attempt < ATTEMPTS && *wait <= WAIT_MAX && wanted()) {
                None => return Err(fault.error),
                Some(wait) => {
                    tracing::debug!(error = %fault.error, attempt, "asking again");
                    thread::sleep(wait);
                }
            }
            attempt += 1;
        }
    }

    fn wait(&self, again: &Wait, attempt: u32) -> Duration {
        match again {
            Wait::Usual => self.patience.pause.saturating_mul(1 << (attempt - 1)),
            Wait::Asked(wait) => *wait,
        }
    }

    fn attempt(&self, question: &[u8], texts: usize) -> Result<Vec<Vector>, Fault> {
        let mut post = self
            .agent()
            .map_err(|error| Fault { error, again: None })?
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(Key(key)) = &self.key {
            post = post.header("authorization", format!("Bearer {key}"));
        }
        let response = post.send(question).map_err(|failure| self.unreachable(&failure))?;
        if !response.status().is_success() {
            return Err(self.refused(response));
        }
        let body = response.into_body().into_with_config().limit(ANSWER_MAX).read_to_vec();
        let body = body.map_err(|failure| self.unreachable(&failure))?;
        answer::vectors(&body, texts).map_err(|reason| self.fault(&reason, None))
    }

    fn fault(&self, reason: &str, again: Option<Wait>) -> Fault {
        let reason = format!("{}: {}", self.url, self.without_key(reason));
        Fault { error: Error::backend(OPERATION, reason), again }
    }

    /// An endpoint may repeat the key that it was sent.
    fn without_key(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |Key(key)| text.replace(key, "[key]"))
    }

    /// A time-out is not tried again: the caller has waited long enough.
    fn unreachable(&self, failure: &Failure) -> Fault {
        let again = match failure {
            Failure::Io(_) | Failure::ConnectionFailed | Failure::HostNotFound => Some(Wait::Usual),
            _ => None,
        };
        let reason = match failure {
            Failure::Timeout(_) => "it did not answer in time".to_owned(),
            Failure::BodyExceedsLimit(most) => format!("its answer has more than {most} bytes"),
            other => other.to_string(),
        };
        self.fault(&reason, again)
    }

    fn refused(&self, response: Response<Body>) -> Fault {
        let status = response.status();
        let header = |name| response.headers().get(name)?.to_str().ok();
        let asked = header("retry-after").and_then(|text| text.trim().parse().ok());
        let again = match status.as_u16() {
            429 | 500..=599 => {
                Some(asked.map_or(Wait::Usual, |text| Wait::Asked(Duration::from_secs(text))))
            }
            _ => None,
        };
        let reason = match status.as_u16() {
            // What it says about the key may hold parts of it.
            401 | 403 => format!("status {status}; check the key, and that key_env names it"),
            300..=399 => {
                let to = header("location").unwrap_or("nowhere");
                format!("status {status}: redirects are not followed; it points to {to}")
            }
            _ => {
                let body = response.into_body().into_with_config().limit(FAULT_MAX).read_to_vec();
                format!("status {status}{}", answer::message(&body.unwrap_or_default()))
            }
        };
        self.fault(&reason, again)
    }

    fn is_encrypted(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// Made at the first request, since reading the system's certificates takes a while.
    fn agent(&self) -> Result<&Agent> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(self.patience.connect))
            .timeout_global(Some(self.patience.answer))
            .user_agent(concat!("tvix/", env!("CARGO_PKG_VERSION")));
        if self.is_encrypted() {
            config = config.tls_config(tls()?);
        } else {
            config = config.proxy(None);
        }
        let agent = Agent::new_with_config(config.build());
        Ok(self.agent.get_or_init(|| agent))
    }
}

/// TLS that trusts what the system trusts.
fn tls() -> Result<TlsConfig> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(
            || "the system has none; install its package ca-certificates".to_owned(),
            ToString::to_string,
        );
        return Err(Error::backend("reading the system's certificates", reason));
    }
    let trusted = found.certs.iter().map(|der| Certificate::from_der(der).to_owned());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(trusted))
        .unversioned_rustls_crypto_provider(ring::default_provider().into())
        .build())
}

fn is_loopback(url: &str) -> bool {
    let host = url.split('/').nth(2).unwrap_or_default();
    ["localhost", "127.", "[::1]"].iter().any(|name| host.starts_with(name))
}
