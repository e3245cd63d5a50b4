//! TLS without a proxy.

use std::{io, sync::Arc};

use axum_server::tls_rustls::RustlsConfig;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::config::TlsFiles;

/// TLS 1.2 and 1.3 with the certificate of `files`.
pub(crate) fn config(files: &TlsFiles) -> io::Result<RustlsConfig> {
    let named =
        |path: &std::path::Path, error| io::Error::other(format!("{}: {error}", path.display()));
    let chain = CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| named(&files.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| named(&files.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| named(&files.certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(RustlsConfig::from_config(Arc::new(config)))
}
