//! HTTP/1.1 client for upstreams: one request, one response, whose body is read as the upstream
//! writes it. The next bytes of a body are all that one read of the socket returned, without the
//! framing: there is no task and no channel between the socket and the reader.
//!
//! A name is resolved once, the address is checked, and the client connects to that address.
//! Redirects are never followed. A response with an ambiguous length is refused. Dropping an
//! [`IncomingBody`] before its end closes the connection, which cancels the upstream's work.

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

pub use client::HttpClient;
pub use error::{HttpError, HttpErrorKind, HttpStage, RequestDelivery};
pub use incoming::{IncomingBody, LocalBody};
pub use proxy::{NO_PROXY_VARIABLES, NoProxyRule, ProxyRules, ProxyServer, proxy_variable};
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
