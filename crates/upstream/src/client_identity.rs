//! The certificate that an upstream is shown.

use std::{fmt, sync::Arc};

use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};

/// A certificate that shows a server who its client is, and its key. Cheap to clone.
#[derive(Clone)]
pub struct ClientIdentity(pub(crate) Arc<SingleCertAndKey>);

impl ClientIdentity {
    /// The certificate of a PEM file, with those that lead to its authority behind it, and its key
    /// from another.
    ///
    /// # Errors
    /// If one of them cannot be read, or they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<ClientIdentity, &'static str> {
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| "the file of its key contains no private key")?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or("it contains no certificate")?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|_| "its key does not belong to it, or cannot be used")?;
        Ok(ClientIdentity(Arc::new(SingleCertAndKey::from(certified))))
    }
}

impl PartialEq for ClientIdentity {
    fn eq(&self, other: &ClientIdentity) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ClientIdentity {}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientIdentity")
    }
}
