//! HTTP/1.1 client for upstreams: one request, one response, whose body is read as the upstream
//! writes it.
//!
//! Why it is ours: a relay of streams spends its time between the socket and the reader. The next
//! bytes of a body are all that one read of the socket returned, without the framing. There is no
//! task and no channel in between, and a waiting stream holds one small buffer.
//!
//! What it does:
//! - A name is resolved once, the addresses are checked, and the client connects to one of them.
//! - Idle connections are reused per target, after a look whether the upstream has closed them. A
//!   request of which nothing could be sent is sent on a new one, and so is a `GET` without a byte
//!   of a response. Any other failure is an error: the upstream may have begun to work.
//! - Request and response overlap: a response may begin before the request is sent.
//! - TLS 1.2 and 1.3 with the certificates of the system, or the bundled ones ([`TrustedRoots`]). A
//!   target that asks for a certificate gets that of its [`ClientIdentity`].
//! - Through a proxy ([`ProxyRules`]), `https` targets get a tunnel (`CONNECT`) and `http` targets
//!   an absolute-form request. The proxy looks up names, so their addresses are not checked here.
//!   User and password are sent to the proxy only, and are in no error and no log.
//! - Dropping an [`IncomingBody`] before its end closes the connection, which cancels the upstream's
//!   work.
//!
//! What it refuses: responses with an ambiguous length (two lengths, a length and chunks, unknown
//! transfer encodings), `101`, bytes after a tunnel's response, bare line feeds among chunks, paths
//! and hosts that could inject a header, and addresses that a target may not have. It never follows
//! a redirect, decompresses nothing, stores no cookie, and does not speak HTTP/2, SOCKS or any
//! proxy authentication other than Basic.
//!
//! Limits: [`HttpSettings`] for times, idle connections and the head of a response; 128 headers;
//! 4 KiB for the line of a chunk; 64 KiB of trailers; 64 KiB for one read. The length of a body is
//! limited by its reader. `tests/parser.rs` feeds the parser damaged responses in all chunks.

mod client;
mod request;
mod connection;
mod exchange;
mod head;
mod decode;
mod incoming;
mod pool;
mod connect;
mod address;
mod proxy;
mod tls;
mod error;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

pub use crate::client_identity::ClientIdentity;
pub use client::HttpClient;
pub use error::{HttpError, HttpErrorKind, HttpStage, RequestDelivery};
pub use incoming::{IncomingBody, LocalBody};
pub use proxy::{NO_PROXY_VARIABLES, NoProxyRule, ProxyRules, ProxyServer, proxy_variable};
pub(crate) use request::host_header;
pub use tls::TrustedRoots;

/// How the network is reached. Nothing here reads the environment: the caller does.
#[derive(Clone, Debug, Default)]
pub struct NetworkConfig {
    /// Which targets are reached through a proxy.
    pub proxies: ProxyRules,
    /// The certificate authorities that are trusted.
    pub roots: TrustedRoots,
}

/// Timeouts and limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    /// Timeout for connecting: name lookup, all addresses and TLS together.
    pub connect: Duration,
    /// Timeout for the response head, from the start of sending the request.
    pub first_byte: Duration,
    /// Timeout between two reads of the body.
    pub idle: Duration,
    /// How long a connection may be idle between two requests. Shorter than upstreams allow.
    pub connection_idle: Duration,
    /// Maximum idle connections per target.
    pub max_idle_connections: usize,
    /// Maximum bytes of a response head.
    pub max_head: usize,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            connection_idle: Duration::from_secs(55),
            max_idle_connections: 256,
            max_head: 64 << 10,
        }
    }
}

/// A request.
///
/// The client itself sets `host` and the connection headers (`content-length`,
/// `transfer-encoding`, `connection`, …); such headers are not sent.
#[derive(Clone, Debug)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: Method,
    /// The whole path: the target's prefix, the path itself, the query. Sent unchanged.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A response whose head was read.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status; never an informational 1xx.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: IncomingBody,
}
