//! The HTTP transport of rmcp over our own client. Redirects are never followed, and errors do not
//! repeat an address or a header.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::{
            client_side_sse::SseRetryPolicy,
            http_header::{HEADER_LAST_EVENT_ID, HEADER_SESSION_ID},
        },
        streamable_http_client::{
            StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};

use super::{
    address::ServerAddress,
    events::{SseEvents, read_events},
    oauth::ServerLogin,
    pipe::MAX_LINE,
};
use foxwedge_upstream::http::{HttpClient, HttpError, HttpRequest, HttpResponse, IncomingBody};

/// Maximum bytes of an error response that are read, and characters of it in the error.
pub(super) const MAX_REFUSAL_BYTES: usize = 64 << 10;
const MAX_REFUSAL_CHARS: usize = 400;
pub(super) const EVENT_STREAM_TYPE: &str = "text/event-stream";
pub(super) const JSON_TYPE: &str = "application/json";

type HttpTransportError = StreamableHttpError<HttpError>;

/// Client of one MCP server.
#[derive(Clone, Debug)]
pub(super) struct McpHttpClient {
    pub(super) client: HttpClient,
    pub(super) address: Arc<ServerAddress>,
    /// Configured headers of every request.
    pub(super) headers: Arc<HeaderMap>,
    /// The login at the server; `None` if a key is configured, or logins are not supported.
    pub(super) login: Option<Arc<ServerLogin>>,
    /// Whether the first request was refused as servers with only the older transport do it.
    pub(super) may_be_older: Arc<AtomicBool>,
}

/// How often the notification stream is reopened.
#[derive(Debug)]
pub(super) struct StreamRetryPolicy;

impl SseRetryPolicy for StreamRetryPolicy {
    fn retry(&self, attempt: usize) -> Option<Duration> {
        (attempt < 5).then(|| Duration::from_secs(1 << attempt))
    }
}

impl McpHttpClient {
    async fn send_request(
        &self,
        method: Method,
        session: Option<&str>,
        extra_headers: HashMap<HeaderName, HeaderValue>,
        body: Bytes,
    ) -> Result<HttpResponse, HttpTransportError> {
        let mut headers: HeaderMap = extra_headers.into_iter().collect();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, accept);
        if method == Method::POST {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
        }
        if let Some(session) = session {
            let value = HeaderValue::from_str(session)
                .map_err(|_| unexpected_response("the id of its session is no header"))?;
            headers.insert(HeaderName::from_static("mcp-session-id"), value);
        }
        let sent = self.send(method, &self.address.path, headers, body).await;
        sent.map_err(HttpTransportError::Client)
    }

    /// Sends a request with the configured headers and the login. After a refusal the login is
    /// renewed, if that is possible, and the request is sent once more.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        protocol_headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        let mut headers = (*self.headers).clone();
        // Headers of the protocol win over configured ones.
        headers.extend(protocol_headers);
        let mut token = match &self.login {
            Some(login) => login.authorization().await,
            None => None,
        };
        let mut is_first = true;
        loop {
            if let Some(token) = &token {
                headers.insert(header::AUTHORIZATION, token.clone());
            }
            let (method, body) = (method.clone(), body.clone());
            let request = HttpRequest { method, path, headers: &headers, body };
            let response = self.client.send(&self.address.target, request).await?;
            let Some(login) = &self.login else { return Ok(response) };
            if !needs_key(response.status) {
                login.note_accepted();
                return Ok(response);
            }
            let (status, challenge) = (response.status, &response.headers);
            match login.renew_after(status, challenge, token.as_ref()).await {
                Some(next) if is_first => (token, is_first) = (Some(next), false),
                Some(_) | None => return Ok(response),
            }
        }
    }
}

impl StreamableHttpClient for McpHttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            authorization,
            headers,
            MAX_LINE,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        max_event: usize,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        let body = Bytes::from(serde_json::to_vec(&message)?);
        let response = self.send_request(Method::POST, session.as_deref(), headers, body).await?;
        let HttpResponse { status, headers, body } = response;
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if session.is_some() => {
                return Err(HttpTransportError::SessionExpired);
            }
            status if !status.is_success() => {
                let refusal =
                    read_refusal(status, body, session.is_some(), self.login.as_deref()).await;
                // A server with the older transport accepts messages at another address. A 400 with
                // an error of the protocol comes from a newer server.
                let is_older = match status {
                    StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => true,
                    StatusCode::BAD_REQUEST => refusal.is_err(),
                    _ => false,
                };
                if is_older && is_request && session.is_none() {
                    self.may_be_older.store(true, Ordering::Relaxed);
                }
                return refusal;
            }
            _ => {}
        }
        let id = headers.get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match content_kind(&headers) {
            ContentKind::Events => {
                Ok(StreamableHttpPostResponse::Sse(read_events(body, max_event), id))
            }
            // A notification has no response.
            ContentKind::Json | ContentKind::Other(_) if !is_request => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            ContentKind::Json => {
                let body = body.read_all(MAX_LINE).await.map_err(HttpTransportError::Client)?;
                let message = serde_json::from_slice(&body).map_err(|error| {
                    unexpected_response(format!("its response cannot be read: {error}"))
                })?;
                Ok(StreamableHttpPostResponse::Json(message, id))
            }
            ContentKind::Other(kind) => Err(HttpTransportError::UnexpectedContentType(kind)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpTransportError> {
        // The status does not matter: the session is over for us.
        self.send_request(Method::DELETE, Some(&session), headers, Bytes::new()).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<SseEvents, HttpTransportError> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last,
            authorization,
            headers,
            MAX_LINE,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
        max_event: usize,
    ) -> Result<SseEvents, HttpTransportError> {
        if let Some(last) = last {
            let value = HeaderValue::from_str(&last)
                .map_err(|_| unexpected_response("the id of its event is no header"))?;
            let name = HeaderName::from_bytes(HEADER_LAST_EVENT_ID.as_bytes())
                .map_err(|_| unexpected_response("no name of a header"))?;
            headers.insert(name, value);
        }
        let response =
            self.send_request(Method::GET, session.as_deref(), headers, Bytes::new()).await?;
        match (response.status, content_kind(&response.headers)) {
            (StatusCode::OK, ContentKind::Events) => Ok(read_events(response.body, max_event)),
            // The stream is optional, and servers without one respond in many ways.
            _ => Err(HttpTransportError::ServerDoesNotSupportSse),
        }
    }
}

/// Content type of a body.
pub(super) enum ContentKind {
    Events,
    Json,
    Other(Option<String>),
}

pub(super) fn content_kind(headers: &HeaderMap) -> ContentKind {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = value.map(|value| value.split(';').next().unwrap_or_default().trim());
    match media_type.map(str::to_ascii_lowercase) {
        Some(kind) if kind == EVENT_STREAM_TYPE => ContentKind::Events,
        Some(kind) if kind == JSON_TYPE => ContentKind::Json,
        other => ContentKind::Other(other),
    }
}

/// Reads an error response: a JSON-RPC error if it is one, else the start of its text.
async fn read_refusal(
    status: StatusCode,
    body: IncomingBody,
    in_session: bool,
    login: Option<&ServerLogin>,
) -> Result<StreamableHttpPostResponse, HttpTransportError> {
    let body = body.read_all(MAX_REFUSAL_BYTES).await.unwrap_or_default();
    if !needs_key(status)
        && let Ok(ServerJsonRpcMessage::Error(error)) = serde_json::from_slice(&body)
    {
        // Many restarted servers do not return 404 for a lost session, as they should.
        let message_text = error.error.message.to_ascii_lowercase();
        if in_session && status == StatusCode::BAD_REQUEST && message_text.contains("session") {
            return Err(HttpTransportError::SessionExpired);
        }
        let message = ServerJsonRpcMessage::Error(error);
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    Err(unexpected_response(describe_refusal(status, &body, login)))
}

fn needs_key(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// An error response in words: what the server requires, else the start of its text.
pub(super) fn describe_refusal(
    status: StatusCode,
    body: &[u8],
    login: Option<&ServerLogin>,
) -> String {
    if needs_key(status) {
        let required = login.and_then(ServerLogin::required);
        let what = required.unwrap_or_else(|| {
            "it requires another key, in a header such as `Authorization`".to_owned()
        });
        return format!("HTTP {status}: {what}");
    }
    let text = String::from_utf8_lossy(body);
    let start: String = text.chars().filter(|c| !c.is_control()).take(MAX_REFUSAL_CHARS).collect();
    format!("HTTP {status}: {start}")
}

fn unexpected_response(what: impl Into<Cow<'static, str>>) -> HttpTransportError {
    HttpTransportError::UnexpectedServerResponse(what.into())
}
