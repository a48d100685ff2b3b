//! Sends requests to upstreams: address, headers, authorization and retries.

mod address;
mod budget;
mod headers;
mod retry_policy;
mod retry;

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};
use http::{HeaderMap, Method};

use crate::{
    GatewayEndpoint, RequestCaller,
    config::{UpstreamConfig, UpstreamTransport},
    http::{HttpClient, HttpError, HttpRequest, HttpResponse, IncomingBody},
};

pub(crate) use budget::RetryBudget;
pub(crate) use headers::{is_stream, response_headers};
pub(crate) use retry::{
    AttemptObserver, RetryCause, RetryPlan, UpstreamResponse, UpstreamTries, send_with_retry,
};
pub(crate) use retry_policy::{RetryAfter, RetryPolicy, retry_after};

/// A request for an upstream.
#[derive(Clone, Copy)]
pub(crate) struct UpstreamRequest<'a> {
    pub(crate) upstream: &'a UpstreamConfig,
    pub(crate) face: GatewayEndpoint,
    /// The format of the body.
    pub(crate) wire: Format,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    /// The client's headers.
    pub(crate) headers: &'a HeaderMap,
    pub(crate) caller: &'a RequestCaller,
    pub(crate) trace: Option<&'a str>,
}

/// Sends a request once. A response is a success or an error, never a redirect.
pub(crate) async fn send_once(
    client: &HttpClient,
    sending: UpstreamRequest<'_>,
    body: Bytes,
    attempt: u32,
) -> Result<HttpResponse, HttpError> {
    let UpstreamRequest { upstream, face, wire, model, stream, .. } = sending;
    let version = match (&upstream.transport, wire) {
        (UpstreamTransport::Network(_) | UpstreamTransport::Agent(_), _) => &*upstream.version,
        (UpstreamTransport::Scripted, Format::Gemini) => "/v1beta",
        (UpstreamTransport::Scripted, _) => "/v1",
    };
    let mut path = address::request_path(version, face, wire, model, stream);
    if let UpstreamTransport::Network(target) = &upstream.transport {
        path.insert_str(0, &target.prefix);
    }
    let headers = headers::request_headers(sending, attempt);
    let reply = match &sending.upstream.transport {
        UpstreamTransport::Network(target) => {
            let request =
                HttpRequest { method: Method::POST, path: &path, headers: &headers, body };
            client.send(target, request).await?
        }
        UpstreamTransport::Scripted => {
            let mut reply = send_scripted(sending.wire, &path, &headers, &body);
            reply.body = reply.body.with_idle(client.idle_timeout());
            reply
        }
        UpstreamTransport::Agent(_) => return Err(HttpError::no_network()),
    };
    // A client that trusts us would follow a redirect, and send its token and its history there.
    match reply.status.as_u16() {
        200..300 | 400..600 => Ok(reply),
        300..400 => Err(HttpError::redirect()),
        _ => Err(HttpError::unexpected_status()),
    }
}

fn send_scripted(format: Format, path: &str, headers: &HeaderMap, body: &[u8]) -> HttpResponse {
    let header_pairs: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let response = respond(&ScriptedRequest { format, path, headers: &header_pairs, body });
    let mut headers = HeaderMap::with_capacity(response.headers.len());
    for (name, value) in &response.headers {
        if let Ok(value) = value.parse() {
            headers.append(*name, value);
        }
    }
    let status = http::StatusCode::from_u16(response.status).unwrap_or_default();
    HttpResponse { status, headers, body: IncomingBody::from_script(response) }
}
