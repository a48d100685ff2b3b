//! Asking an upstream: where, with which headers, in whose name, and how often.

mod address;
mod budget;
mod headers;
mod patience;
mod persist;

use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_scripted::{Ask, play};
use http::{HeaderMap, Method};

use crate::{
    Caller, Face,
    config::{Reach, Upstream},
    http::{Client, HttpError, Incoming, Outgoing, Reply},
};

pub(crate) use budget::RetryBudget;
pub(crate) use headers::{back, is_stream};
pub(crate) use patience::{Patience, RetryAfter, retry_after};
pub(crate) use persist::{Again, Onlooker, RetryPlan, Said, UpstreamTries, persist};

/// A request for an upstream.
#[derive(Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) face: Face,
    /// The format of the body.
    pub(crate) wire: Wire,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    /// The client's headers.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) caller: &'a Caller,
    pub(crate) trace: Option<&'a str>,
}

/// Sends a request once. A reply is a success or an error, never a redirect.
pub(crate) async fn send(
    client: &Client,
    sending: Sending<'_>,
    body: Bytes,
    attempt: u32,
) -> Result<Reply, HttpError> {
    let Sending { upstream, face, wire, model, stream, .. } = sending;
    let version = match (&upstream.reach, wire) {
        (Reach::Network(_) | Reach::Agent(_), _) => &*upstream.version,
        (Reach::Scripted, Wire::Gemini) => "/v1beta",
        (Reach::Scripted, _) => "/v1",
    };
    let mut path = address::path(version, face, wire, model, stream);
    if let Reach::Network(target) = &upstream.reach {
        path.insert_str(0, &target.prefix);
    }
    let headers = headers::out(sending, attempt);
    let reply = match &sending.upstream.reach {
        Reach::Network(target) => {
            let request = Outgoing { method: Method::POST, path: &path, headers: &headers, body };
            client.send(target, request).await?
        }
        Reach::Scripted => {
            let mut reply = scripted(sending.wire, &path, &headers, &body);
            reply.body = reply.body.with_idle(client.idle());
            reply
        }
        Reach::Agent(_) => return Err(HttpError::no_network()),
    };
    // A client that trusts us would follow a redirect, with its token and all that was said.
    match reply.status.as_u16() {
        200..300 | 400..600 => Ok(reply),
        300..400 => Err(HttpError::redirect()),
        _ => Err(HttpError::odd_status()),
    }
}

fn scripted(wire: Wire, path: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
    let told: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let play = play(&Ask { wire, path, headers: &told, body });
    let mut headers = HeaderMap::with_capacity(play.headers.len());
    for (name, value) in &play.headers {
        if let Ok(value) = value.parse() {
            headers.append(*name, value);
        }
    }
    let status = http::StatusCode::from_u16(play.status).unwrap_or_default();
    Reply { status, headers, body: Incoming::scripted(play) }
}
