//! A request to the gateway's own API.

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::{ConnectionAddresses, access::Principal};

/// A request to the API or the console.
#[derive(Debug)]
pub(crate) struct ApiRequest<'a> {
    /// HTTP method.
    pub(crate) method: &'a Method,
    /// Path of the URL.
    pub(crate) path: &'a str,
    /// Query string, without the `?`.
    pub(crate) query: Option<&'a str>,
    /// Headers; credentials are already removed.
    pub(crate) headers: &'a HeaderMap,
    /// The authenticated client.
    pub(crate) principal: &'a Principal,
    /// Request body, decompressed.
    pub(crate) body: Bytes,
    /// Request id.
    pub(crate) id: &'a str,
    /// Addresses of the connection.
    pub(crate) peer: ConnectionAddresses,
}
