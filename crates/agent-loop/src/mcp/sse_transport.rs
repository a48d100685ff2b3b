//! The older HTTP transport (HTTP+SSE, protocol 2024-11-05): a GET opens an event stream, whose first
//! event names the address that messages are posted to; the replies arrive on the stream.
//!
//! A session lives as long as its stream. When the stream ends, the transport is closed, and the next
//! call opens a new session.

use std::{future::poll_fn, io, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    address::{self, ServerAddress},
    events::{SseEvents, read_events},
    http_client::{
        ContentKind, EVENT_STREAM_TYPE, JSON_TYPE, MAX_REFUSAL_BYTES, McpHttpClient, content_kind,
        describe_refusal,
    },
    pipe::{MAX_LINE, parse_message},
};
use foxwedge_upstream::format_base_url;

/// Maximum characters of the address for messages.
const MAX_ENDPOINT_CHARS: usize = 4 << 10;

/// An open event stream.
pub(super) struct SseTransport {
    client: McpHttpClient,
    events: Option<SseEvents>,
    /// Path and query that messages are posted to.
    message_path: Arc<str>,
    /// Raised when the server has lost the session.
    session_lost: Arc<Notify>,
}

/// Why an event stream could not be opened.
#[derive(Debug)]
pub(super) enum SseOpenError {
    /// The address has no event stream of this transport.
    Unusable(String),
    /// Nothing arrived in time.
    TimedOut,
}

impl SseTransport {
    /// Opens the stream and waits for the address of messages.
    pub(super) async fn open(
        client: McpHttpClient,
        deadline: Instant,
    ) -> Result<SseTransport, SseOpenError> {
        match timeout_at(deadline, SseTransport::open_stream(client)).await {
            Ok(opened) => opened.map_err(SseOpenError::Unusable),
            Err(_) => Err(SseOpenError::TimedOut),
        }
    }

    async fn open_stream(client: McpHttpClient) -> Result<SseTransport, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM_TYPE));
        let response = client
            .send(Method::GET, &client.address.path, headers, Bytes::new())
            .await
            .map_err(|error| error.to_string())?;
        if !response.status.is_success() {
            let body = response.body.read_all(MAX_REFUSAL_BYTES).await.unwrap_or_default();
            return Err(describe_refusal(response.status, &body, client.login.as_deref()));
        }
        if !matches!(content_kind(&response.headers), ContentKind::Events) {
            return Err("there is no event stream at this address".to_owned());
        }
        let mut events = read_events(response.body, MAX_LINE);
        let message_path = loop {
            let event = poll_fn(|context| events.as_mut().poll_next(context)).await;
            let event = match event {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Err(format!("its event stream broke: {error}")),
                None => return Err("its event stream ended before it said anything".to_owned()),
            };
            match (event.event.as_deref(), event.data) {
                (Some("endpoint"), Some(endpoint)) => {
                    break resolve_endpoint(&client.address, endpoint.trim())?;
                }
                // Without that name, it is a stream of the newer transport.
                (None | Some("message"), Some(_)) => {
                    return Err("its event stream does not begin with an `endpoint`".to_owned());
                }
                _ => {}
            }
        };
        Ok(SseTransport {
            client,
            events: Some(events),
            message_path: message_path.into(),
            session_lost: Arc::default(),
        })
    }
}

/// The path that messages are posted to. It must be at the origin of the stream: a server cannot make
/// us send messages and keys elsewhere.
fn resolve_endpoint(stream: &ServerAddress, endpoint: &str) -> Result<String, String> {
    let invalid = |why: &str| format!("its address for messages cannot be used: {why}");
    if endpoint.is_empty() || endpoint.len() > MAX_ENDPOINT_CHARS {
        return Err(invalid("it is empty or too long"));
    }
    let origin = format_base_url(&stream.target, "");
    let folder = stream.path.split('?').next().unwrap_or("/");
    let folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
    let url = if endpoint.starts_with("http://") || endpoint.starts_with("https://") {
        endpoint.to_owned()
    } else if endpoint.starts_with("//") {
        format!("{}:{endpoint}", if stream.target.tls { "https" } else { "http" })
    } else if endpoint.starts_with('/') {
        format!("{origin}{endpoint}")
    } else if endpoint.starts_with('?') {
        format!("{origin}{}{endpoint}", stream.path.split('?').next().unwrap_or("/"))
    } else {
        format!("{origin}{folder}/{endpoint}")
    };
    let address = address::parse(&url).map_err(invalid)?;
    if address.target != stream.target {
        return Err(invalid("it is at another host, port or scheme than the event stream"));
    }
    Ok(address.path)
}

impl Transport<RoleClient> for SseTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (client, path) = (self.client.clone(), Arc::clone(&self.message_path));
        let (session_lost, is_open) = (Arc::clone(&self.session_lost), self.events.is_some());
        async move {
            if !is_open {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
            let body = Bytes::from(serde_json::to_vec(&item)?);
            let sent = client.send(Method::POST, &path, headers, body).await;
            let response = sent.map_err(io::Error::other)?;
            let body = response.body.read_all(MAX_REFUSAL_BYTES).await.unwrap_or_default();
            if response.status.is_success() {
                return Ok(());
            }
            if matches!(response.status, StatusCode::NOT_FOUND | StatusCode::GONE) {
                session_lost.notify_one();
            }
            let why = describe_refusal(response.status, &body, client.login.as_deref());
            Err(io::Error::other(why))
        }
    }

    /// Cancel safe.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let events = self.events.as_mut()?;
            let event = tokio::select! {
                biased;
                event = poll_fn(|context| events.as_mut().poll_next(context)) => event,
                () = self.session_lost.notified() => None,
            };
            let Some(Ok(event)) = event else {
                self.events = None;
                return None;
            };
            if !matches!(event.event.as_deref(), None | Some("message")) {
                continue;
            }
            if let Some(message) = event.data.as_deref().and_then(|it| parse_message(it.as_bytes()))
            {
                return Some(message);
            }
            // A server that floods us must not starve other tasks.
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.events = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_origin_of_the_stream() {
        let table = [
            ("/messages?id=1", Ok("/messages?id=1")),
            ("messages/?id=1", Ok("/a/messages/?id=1")),
            ("?id=1", Ok("/a/sse?id=1")),
            ("https://mcp.example/m", Ok("/m")),
            ("https://MCP.example:443/m", Ok("/m")),
            ("//mcp.example/m", Ok("/m")),
            ("http://mcp.example/m", Err("another host, port or scheme")),
            ("https://mcp.example:444/m", Err("another host, port or scheme")),
            ("https://elsewhere.example/m", Err("another host, port or scheme")),
            ("//elsewhere.example/m", Err("another host, port or scheme")),
            ("https://me:canary@mcp.example/m", Err("a user or a password")),
            ("/a b", Err("not a valid URL")),
            ("", Err("empty or too long")),
        ];
        let stream = address::parse("https://mcp.example/a/sse?key=k").expect("an address");
        for (endpoint, expected) in table {
            let found = resolve_endpoint(&stream, endpoint);
            match expected {
                Ok(path) => assert_eq!(found.as_deref(), Ok(path), "{endpoint}"),
                Err(part) => {
                    let error = found.expect_err(endpoint);
                    assert!(error.contains(part), "{endpoint}: {error}");
                    assert!(!error.contains("canary"), "{error}");
                }
            }
        }
    }
}
