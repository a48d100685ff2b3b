//! Asks an upstream over HTTP/1.1: one request, one reply, whose body comes as the upstream writes
//! it. The next bytes of a body are everything that one read of the socket gave, without the
//! framing: no task and no channel stand between the socket and whoever reads.
//!
//! A name is resolved once, the address is checked, and that address is connected to. Redirects
//! are never followed. A reply whose length can be read in two ways is refused. Whoever drops an
//! [`Incoming`] before its end closes the connection, and so ends the upstream's work.

mod client;
mod request;
mod connection;
mod head;
mod decode;
mod incoming;
mod pool;
mod connect;
mod address;
mod tls;
mod error;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

pub use client::HttpClient;
pub use error::{HttpError, HttpErrorKind, HttpStage, RequestDelivery};
pub use incoming::IncomingBody;
pub(crate) use incoming::{BodyChunk, PING};

/// How long, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    /// A connection has to stand: the name, all its addresses and the encryption together.
    pub connect: Duration,
    /// The head of the reply has to be there, from the moment the request begins to be sent.
    pub first_byte: Duration,
    /// The body has to go on. Starts again with every read.
    pub idle: Duration,
    /// A connection may rest between two requests. Shorter than what upstreams allow.
    pub connection_idle: Duration,
    /// How many connections may rest, for each target.
    pub max_idle_connections: usize,
    /// Bytes of a reply's head.
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
/// `host` and what belongs to the connection (`content-length`, `transfer-encoding`, `connection`,
/// …) are the client's own business: such headers are not sent on.
#[derive(Clone, Debug)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: Method,
    /// The whole path: the target's prefix, the path itself, the query. Sent as it is.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A reply whose head is there.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status; never one of the provisional 1xx.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: IncomingBody,
}
