//! What is read from the issuer.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::jwk::JwkSet;
use rustls::crypto::ring;
use serde::{Deserialize, de::DeserializeOwned};
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

/// How long the issuer may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The greatest document, in bytes.
const DOCUMENT_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// Runs what waits for the network outside of the threads that serve.
pub(super) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

/// Where the keys of `issuer` are, and the keys. Its metadata is asked for as `OpenID` Connect Discovery
/// has it, then as RFC 8414 section 3.1 has it, where the path of the issuer comes last.
pub(super) fn issuer(issuer: &str) -> Result<(String, JwkSet), String> {
    let bare = issuer.trim_end_matches('/');
    let (scheme, rest) = bare.split_once("://").unwrap_or_default();
    let (host, path) = rest
        .split_once('/')
        .map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let places = [
        format!("{bare}/.well-known/openid-configuration"),
        format!("{scheme}://{host}/.well-known/oauth-authorization-server{path}"),
    ];
    let mut reasons = Vec::new();
    for place in places {
        match read::<Metadata>(&place) {
            Ok(metadata) if metadata.issuer == issuer => {
                return keys(&metadata.jwks_uri).map(|set| (metadata.jwks_uri, set));
            }
            Ok(metadata) => reasons.push(format!("{place} is of the issuer {:?}", metadata.issuer)),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

/// The keys at `address`.
pub(super) fn keys(address: &str) -> Result<JwkSet, String> {
    read(address)
}

fn read<T: DeserializeOwned>(address: &str) -> Result<T, String> {
    let failed = |error: ureq::Error| format!("{address}: {error}");
    let response =
        agent(address).get(address).header("accept", "application/json").call().map_err(failed)?;
    let body = response.into_body().into_with_config().limit(DOCUMENT_MAX).read_to_vec();
    serde_json::from_slice(&body.map_err(failed)?).map_err(|error| format!("{address}: {error}"))
}

/// Trusts what the system trusts. Asked for so seldom that none is kept.
fn agent(address: &str) -> Agent {
    let roots = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = roots.iter().map(|cert| Certificate::from_der(cert).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .user_agent(concat!("tvix/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls);
    // Without TLS it is on this machine, where a proxy would not find it.
    let config = if address.starts_with("http://") { config.proxy(None) } else { config };
    Agent::new_with_config(config.build())
}
