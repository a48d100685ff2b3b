//! TLS: which certificates are trusted, TLS 1.2 and 1.3, HTTP/1.1 only.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustls::{
    ClientConfig, RootCertStore,
    client::{ResolvesClientCert, Resumption},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::sync::OnceCell;

use crate::{
    client_identity::ClientIdentity,
    http::{HttpError, HttpErrorKind, HttpStage},
};

type TlsConfig = Result<Arc<ClientConfig>, rustls::Error>;
type IdentifiedConfigs = Vec<(ClientIdentity, Arc<ClientConfig>)>;

/// The certificate authorities that are trusted: by default those of the system, and the bundled
/// ones of Mozilla on a system that has none. They are loaded before the first encrypted
/// connection. Cheap to clone; clones load them once.
#[derive(Clone, Default)]
pub struct TrustedRoots {
    /// Instead of those of the system.
    system: Option<Vec<CertificateDer<'static>>>,
    /// Folders with more of them.
    folders: Vec<PathBuf>,
    /// Beside them.
    added: Vec<CertificateDer<'static>>,
    config: Arc<OnceCell<TlsConfig>>,
    /// The configurations for targets that are shown a certificate.
    identified: Arc<Mutex<IdentifiedConfigs>>,
}

impl TrustedRoots {
    /// Trusts the authorities of a PEM file instead of those of the system, as `SSL_CERT_FILE` does
    /// in other programs.
    ///
    /// # Errors
    /// If the file contains no certificate.
    pub fn with_system(self, pem: &[u8]) -> Result<TrustedRoots, &'static str> {
        let TrustedRoots { folders, added, .. } = self;
        let system = Some(parse_certificates(pem)?);
        Ok(TrustedRoots { system, folders, added, ..Default::default() })
    }

    /// Trusts the authorities in the PEM files of these folders instead of those of the system, as
    /// `SSL_CERT_DIR` does in other programs. Those of a file are trusted, too
    /// ([`with_system`](TrustedRoots::with_system)). Folders and files that cannot be read are
    /// skipped.
    #[must_use]
    pub fn with_system_folders(self, folders: Vec<PathBuf>) -> TrustedRoots {
        let TrustedRoots { system, added, .. } = self;
        let system = Some(system.unwrap_or_default());
        TrustedRoots { system, folders, added, ..Default::default() }
    }

    /// Also trusts the authorities of a PEM file.
    ///
    /// # Errors
    /// If the file contains no certificate.
    pub fn with_added(self, pem: &[u8]) -> Result<TrustedRoots, &'static str> {
        let TrustedRoots { system, folders, .. } = self;
        let added = parse_certificates(pem)?;
        Ok(TrustedRoots { system, folders, added, ..Default::default() })
    }

    /// A configuration that was made elsewhere.
    #[cfg(test)]
    pub(super) fn from_config(config: Arc<ClientConfig>) -> TrustedRoots {
        let config = Arc::new(OnceCell::new_with(Some(Ok(config))));
        TrustedRoots { config, ..TrustedRoots::default() }
    }

    /// The TLS configuration for a target that is shown a certificate, or none.
    pub(super) async fn client_config(
        &self,
        identity: Option<&ClientIdentity>,
    ) -> Result<Arc<ClientConfig>, HttpError> {
        let config = self.anonymous_config().await?;
        let Some(identity) = identity else { return Ok(config) };
        let mut known = self.identified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = known.iter().find(|(known, _)| known == identity) {
            return Ok(config.clone());
        }
        let mut config = ClientConfig::clone(&config);
        config.client_auth_cert_resolver = Arc::clone(&identity.0) as Arc<dyn ResolvesClientCert>;
        // Sessions that another target began, or that showed no certificate, are not resumed.
        config.resumption = Resumption::default();
        let config = Arc::new(config);
        known.push((identity.clone(), config.clone()));
        Ok(config)
    }

    async fn anonymous_config(&self) -> Result<Arc<ClientConfig>, HttpError> {
        let load = || async {
            let TrustedRoots { system, folders, added, .. } = self.clone();
            // The certificates of a system are in files or in a service of their own.
            let loading = tokio::task::spawn_blocking(move || {
                let system = system.map(|file| [file, load_folders(&folders)].concat());
                build_config(system, added)
            });
            loading.await.unwrap_or_else(|error| Err(rustls::Error::General(error.to_string())))
        };
        self.config.get_or_init(load).await.clone().map_err(|error| {
            HttpError::before_send(HttpStage::Tls, HttpErrorKind::Failed, "it cannot be set up")
                .with_source(error)
        })
    }
}

impl fmt::Debug for TrustedRoots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TrustedRoots")
            .field("system", &self.system.as_ref().map(Vec::len))
            .field("folders", &self.folders)
            .field("added", &self.added.len())
            .finish_non_exhaustive()
    }
}

/// The certificates of a PEM file that can be used; at least one. Bundles of systems also contain
/// some that cannot.
fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let mut found = found.map_err(|_| "it is not a valid PEM file")?;
    found.retain(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok());
    if found.is_empty() { Err("it contains no certificate") } else { Ok(found) }
}

/// The certificates of all files in these folders.
fn load_folders(folders: &[PathBuf]) -> Vec<CertificateDer<'static>> {
    let load = |folder: &Path| rustls_native_certs::load_certs_from_paths(None, Some(folder)).certs;
    folders.iter().flat_map(|folder| load(folder)).collect()
}

fn build_config(
    system: Option<Vec<CertificateDer<'static>>>,
    added: Vec<CertificateDer<'static>>,
) -> TlsConfig {
    let mut roots = RootCertStore::empty();
    let system = system.unwrap_or_else(|| rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(system);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots.add_parsable_certificates(added);
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
