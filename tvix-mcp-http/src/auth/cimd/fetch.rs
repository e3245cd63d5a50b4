//! Fetching an address from the web, and from nowhere else.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use ureq::{
    Agent,
    http::{HeaderMap, Uri, header},
    tls::{Certificate, RootCerts, TlsConfig},
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

use super::{Fetch, Fetched, address::is_public};
use crate::auth::clock::{DAY, MINUTE, Seconds};

/// The time for everything: look-up, connection, answer.
const TIME: Duration = Duration::from_secs(5);
/// The greatest document, in bytes.
const BODY_MAX: u64 = 64 << 10;

/// Looks names up.
pub(super) trait Lookup: std::fmt::Debug + Send + Sync {
    /// The addresses of a host.
    fn addresses(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>>;
}

/// The system's way.
#[derive(Debug)]
struct System;

impl Lookup for System {
    fn addresses(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok((host, port).to_socket_addrs()?.collect())
    }
}

/// Fetches by https from public addresses.
#[derive(Debug)]
pub(super) struct Web {
    agent: Agent,
}

impl Web {
    /// `None` where TLS cannot be had: the processor lacks something, or there are no root certificates.
    pub(super) fn new() -> Option<Self> {
        if !processor_fits() {
            tracing::warn!(
                "this processor lacks what TLS needs; client metadata documents are not read"
            );
            return None;
        }
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            tracing::warn!("no root certificates found; client metadata documents are not read");
            return None;
        }
        let roots = found.certs.iter().map(|root| Certificate::from_der(root).to_owned());
        Some(Self::with(&roots.collect::<Vec<_>>(), Arc::new(System), is_public))
    }

    /// With the addresses that `allowed` lets through; all of the product goes by [`is_public`].
    pub(super) fn with(
        roots: &[Certificate<'static>],
        lookup: Arc<dyn Lookup>,
        allowed: fn(IpAddr) -> bool,
    ) -> Self {
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls_graviola::default_provider()))
            .root_certs(RootCerts::new_with_certs(roots))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .https_only(true)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_response_header_size(16 << 10)
            .timeout_global(Some(TIME))
            .user_agent(concat!("tvix/", env!("CARGO_PKG_VERSION")))
            .build();
        let resolver = Checked { lookup, allowed };
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), resolver) }
    }
}

impl Fetch for Web {
    fn fetch(&self, address: &str) -> Result<Fetched, String> {
        let sent = self.agent.get(address).header(header::ACCEPT, "application/json").call();
        let response = sent.map_err(|error| plainly(&error))?;
        if response.status() != 200 {
            return Err(format!(
                "its server answered {}, where 200 is due",
                response.status().as_u16()
            ));
        }
        let holds = holds(response.headers());
        let body = response.into_body().into_with_config().limit(BODY_MAX).read_to_vec();
        let body = body.map_err(|_| "it could not be read, or has more than 64 KiB".to_owned())?;
        Ok(Fetched { body, holds })
    }
}

/// What went wrong, without telling what is to be found at an address.
fn plainly(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "it was not there within 5 seconds".to_owned(),
        ureq::Error::HostNotFound => "its host is not known or not a public one".to_owned(),
        _ => "its server could not be reached by https".to_owned(),
    }
}

/// For how long an answer holds: what it says itself, between 5 minutes and a day.
fn holds(headers: &HeaderMap) -> Seconds {
    let line =
        headers.get(header::CACHE_CONTROL).and_then(|line| line.to_str().ok()).unwrap_or_default();
    let mut parts = line.split(',').filter_map(|part| part.trim().split_once('='));
    let age = parts.find(|(key, _)| key.eq_ignore_ascii_case("max-age"));
    let age = age.and_then(|(_, seconds)| seconds.trim_matches('"').parse().ok());
    age.unwrap_or(0).clamp(5 * MINUTE, DAY)
}

/// A look-up that answers with checked addresses. The connection is made to just these: the name is not
/// looked up again, so it cannot point elsewhere a moment later.
#[derive(Debug)]
struct Checked {
    lookup: Arc<dyn Lookup>,
    allowed: fn(IpAddr) -> bool,
}

impl Resolver for Checked {
    fn resolve(
        &self,
        uri: &Uri,
        _: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?.to_owned();
        let port = uri.port_u16().unwrap_or(443);
        let (lookup, (send, receive)) = (Arc::clone(&self.lookup), mpsc::sync_channel(1));
        // The system's look-up cannot be stopped; its thread ends by itself.
        thread::spawn(move || send.send(lookup.addresses(&host, port)).ok());
        let found = receive
            .recv_timeout(*timeout.after)
            .map_err(|_| ureq::Error::Timeout(timeout.reason))?;
        let found = found.map_err(|_| ureq::Error::HostNotFound)?;
        // One private address among public ones is no accident.
        if found.is_empty() || !found.iter().all(|address| (self.allowed)(address.ip())) {
            return Err(ureq::Error::HostNotFound);
        }
        let mut addresses = self.empty();
        found.into_iter().take(16).for_each(|address| addresses.push(address));
        Ok(addresses)
    }
}

/// Whether the processor has the instructions that graviola uses without asking.
fn processor_fits() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("adx")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("sha2")
        && std::arch::is_aarch64_feature_detected!("pmull")
        && std::arch::is_aarch64_feature_detected!("neon");
}
