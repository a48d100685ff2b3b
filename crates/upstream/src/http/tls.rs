//! TLS configuration: default root certificates, TLS 1.2 and 1.3, HTTP/1.1 only.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};

use crate::http::{HttpError, HttpErrorKind, HttpStage};

/// The default TLS configuration.
pub(super) fn default_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name that the certificate must match.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, HttpError> {
    ServerName::try_from(host.to_owned()).map_err(|error| {
        HttpError::before_send(HttpStage::Tls, HttpErrorKind::Forbidden, "the host is not a name")
            .with_source(error)
    })
}
