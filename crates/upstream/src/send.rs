//! Sends requests to upstreams: address, headers, authorization and retries.

mod breaker;
mod budget;
mod headers;
mod decompress;
mod event_stream;
mod retry_policy;
mod retry;

use std::time::SystemTime;

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};
use http::{HeaderMap, Method, StatusCode, header};

use crate::{
    SecretText, UpstreamConfig, UpstreamKey, UpstreamTransport,
    http::{HttpClient, HttpError, HttpRequest, HttpResponse, IncomingBody, host_header},
    platform::{
        ModelCall,
        aws_signature::{BEDROCK_SERVICE, SignedParts},
    },
    request_path::{count_body, request_path},
};

pub use crate::request_path::UpstreamOperation;
pub use breaker::CircuitBreaker;
pub use budget::RetryBudget;
pub use decompress::content_encoding;
pub use headers::{is_stream, response_headers};
pub use retry::{
    AttemptObserver, RetryCause, RetryPlan, UpstreamResponse, embedded_status, is_failed_response,
    send_with_retry,
};
pub use retry_policy::{RetryAfter, RetryPolicy, UpstreamTries, retry_after};

/// A request for an upstream.
#[derive(Clone, Copy)]
pub struct UpstreamRequest<'a> {
    /// The upstream.
    pub upstream: &'a UpstreamConfig,
    /// What is requested.
    pub operation: UpstreamOperation,
    /// The format of the body.
    pub format: Format,
    /// The format of the client's request. Headers for one provider mean nothing to another.
    pub client_format: Format,
    /// The upstream's name of the model.
    pub model: &'a str,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// The client's headers.
    pub headers: &'a HeaderMap,
    /// The client's own key, for upstreams that are called with it.
    pub client_key: Option<&'a ClientKey>,
    /// The `traceparent` header.
    pub trace: Option<&'a str>,
}

/// A request that is forwarded as it is.
pub struct ForwardedRequest<'a> {
    /// The upstream.
    pub upstream: &'a UpstreamConfig,
    /// The method.
    pub method: Method,
    /// The path behind the version: `/embeddings`.
    pub path: &'a str,
    /// The query, without `?`.
    pub query: Option<&'a str>,
    /// The format of the API that the path belongs to. It decides how the key is sent.
    pub format: Format,
    /// The upstream's name of the model, if the request names one.
    pub model: Option<&'a str>,
    /// The client's headers.
    pub headers: &'a HeaderMap,
    /// The client's own key, for upstreams that are called with it.
    pub client_key: Option<&'a ClientKey>,
}

/// A client's own key.
#[derive(Clone, Debug)]
pub struct ClientKey {
    /// The key.
    pub secret: SecretText,
    /// How the client sent it. It is forwarded in the same way: subscriptions use another header
    /// than keys.
    pub scheme: AuthScheme,
}

/// How a client sends a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthScheme {
    /// `authorization: Bearer …`.
    Bearer,
    /// In a header for API keys.
    Key,
}

/// Sends a request once. A response is a success or an error, never a redirect. Its body is not
/// compressed, unless its headers name an encoding that is not read here.
pub async fn send_once(
    client: &HttpClient,
    request: UpstreamRequest<'_>,
    body: Bytes,
    attempt: u32,
) -> Result<HttpResponse, HttpError> {
    let UpstreamRequest { upstream, operation, format, model, stream, .. } = request;
    let version = match (&upstream.transport, format) {
        (UpstreamTransport::Network(_) | UpstreamTransport::Agent, _) => &*upstream.version,
        (UpstreamTransport::Scripted, Format::Gemini | Format::GeminiInteractions) => "/v1beta",
        (UpstreamTransport::Scripted, _) => "/v1",
    };
    let call = ModelCall { operation, format, model, stream };
    let platform = upstream.platform.as_ref();
    let mut path = platform
        .and_then(|platform| platform.request_path(version, call))
        .unwrap_or_else(|| request_path(version, operation, format, model, stream));
    if let UpstreamTransport::Network(target) = &upstream.transport {
        path.insert_str(0, &target.prefix);
    }
    let headers = headers::request_headers(request, attempt);
    let reply = match &request.upstream.transport {
        UpstreamTransport::Network(_) => {
            let body = match platform {
                Some(platform) => platform.platform_body(call, body),
                None => match operation {
                    UpstreamOperation::CountTokens => count_body(format, model, body),
                    UpstreamOperation::Generate => body,
                },
            };
            send_authorized(client, upstream, Method::POST, &path, headers, body).await?
        }
        UpstreamTransport::Scripted => {
            let mut reply = send_scripted(request.format, &path, &headers, &body);
            reply.body = reply.body.with_idle(client.idle_timeout());
            reply
        }
        UpstreamTransport::Agent => return Err(HttpError::no_network()),
    };
    check_status(reply).map(decompress::decompress_reply)
}

/// Sends a request over the network, with a token or a signature where the upstream needs one. A
/// token that is refused is replaced once: it may have been revoked.
async fn send_authorized(
    client: &HttpClient,
    upstream: &UpstreamConfig,
    method: Method,
    path: &str,
    mut headers: HeaderMap,
    body: Bytes,
) -> Result<HttpResponse, HttpError> {
    let UpstreamTransport::Network(target) = &upstream.transport else {
        return Err(HttpError::no_network());
    };
    let (source, platform) = match (&upstream.key, &upstream.platform) {
        (UpstreamKey::Token(source), Some(platform)) => (source, platform),
        (key, _) => {
            if let UpstreamKey::Signature(credentials) = key {
                let host = host_header(target);
                let (method, service) = (method.as_str(), BEDROCK_SERVICE);
                let parts = SignedParts { service, method, host: &host, path, body: &body };
                credentials.sign(parts, &mut headers, SystemTime::now());
            }
            return client
                .send(target, HttpRequest { method, path, headers: &headers, body })
                .await;
        }
    };
    let mut is_second = false;
    loop {
        let token = source.token(client).await?;
        headers::add_platform_key(platform, token.reveal(), &mut headers);
        let (method, body) = (method.clone(), body.clone());
        let request = HttpRequest { method, path, headers: &headers, body };
        let reply = client.send(target, request).await?;
        if reply.status != StatusCode::UNAUTHORIZED || is_second {
            return Ok(reply);
        }
        source.forget(&token).await;
        is_second = true;
    }
}

/// Sends a request once, with its own path, content type and body.
///
/// # Errors
/// If the upstream is not reached over the network, cannot be reached, or sends a redirect.
pub async fn send_forwarded(
    client: &HttpClient,
    request: ForwardedRequest<'_>,
    body: Bytes,
) -> Result<HttpResponse, HttpError> {
    let ForwardedRequest { upstream, method, path, query, format, model, headers, client_key } =
        request;
    let UpstreamTransport::Network(target) = &upstream.transport else {
        return Err(HttpError::no_network());
    };
    let mut out = headers::request_headers(
        UpstreamRequest {
            upstream,
            operation: UpstreamOperation::Generate,
            format,
            client_format: format,
            model: "",
            stream: false,
            headers,
            client_key,
            trace: None,
        },
        1,
    );
    for name in [header::CONTENT_TYPE, header::ACCEPT] {
        match headers.get(&name) {
            Some(value) => out.insert(name, value.clone()),
            None => out.remove(name),
        };
    }
    let version = &*upstream.version;
    let mut full_path = target.prefix.to_string();
    full_path += &match &upstream.platform {
        Some(platform) => platform.forwarded_path(version, path, model),
        // The version of Anthropic's API is a part of its paths.
        None if format == Format::Anthropic && version.is_empty() => format!("/v1{path}"),
        None => format!("{version}{path}"),
    };
    if let Some(query) = query {
        full_path.push(if full_path.contains('?') { '&' } else { '?' });
        full_path.push_str(query);
    }
    check_status(send_authorized(client, upstream, method, &full_path, out, body).await?)
}

/// A client that trusts us would follow a redirect, and send its token and its history there.
fn check_status(reply: HttpResponse) -> Result<HttpResponse, HttpError> {
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
    let status = StatusCode::from_u16(response.status).unwrap_or_default();
    HttpResponse { status, headers, body: IncomingBody::from_script(response) }
}
