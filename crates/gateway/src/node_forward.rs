//! Requests that another node has to answer: it has the reply that is retried, the live agent of the
//! session, or the run that is stopped. That node authenticates the client itself.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_store::{AnyStore, Store};
use foxwedge_upstream::{
    AddressPolicy, BaseUrlStyle,
    http::{HttpClient, HttpRequest, HttpSettings, IncomingBody},
    parse_base_url,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use tokio::time::{sleep, timeout};

use crate::{
    BodyError, GatewayBody, HttpReply, body::BodyStream, request_id, response_body::ResponseBody,
};

/// Marks a request that was forwarded. It is not forwarded a second time.
pub(crate) const NODE_HEADER: HeaderName = HeaderName::from_static("x-foxwedge-node");

/// How long a node may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to check whether a node whose reply has not begun is alive, and how long a check may
/// take.
const ALIVE_CHECK: Duration = Duration::from_secs(1);
/// After how many checks in a row a node that does not count as alive is gone. It may show that it is
/// alive again just after an outage of the store.
const GONE_AFTER_CHECKS: u32 = 3;

/// Headers that belong to one connection or to the body as it was received.
static CONNECTION_HEADERS: [HeaderName; 8] = [
    header::HOST,
    header::ORIGIN,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::TRANSFER_ENCODING,
    header::EXPECT,
    header::UPGRADE,
];

/// A request to forward.
pub(crate) struct ForwardedCall<'a> {
    pub(crate) method: Method,
    /// The path and the query.
    pub(crate) path: &'a str,
    /// The headers as the client sent them, with its token.
    pub(crate) headers: &'a HeaderMap,
    /// The body, decompressed.
    pub(crate) body: Bytes,
    /// The id of the request.
    pub(crate) id: &'a str,
}

/// A client for other nodes. They are in the same network: no proxy leads to them.
pub(crate) struct NodeClient {
    http: HttpClient,
    store: Arc<AnyStore>,
    /// The keys of the nodes that requests are forwarded to, by address.
    nodes: Mutex<HashMap<String, String>>,
}

impl NodeClient {
    pub(crate) fn new(store: Arc<AnyStore>) -> NodeClient {
        let settings = HttpSettings { connect: CONNECT_TIMEOUT, ..HttpSettings::default() };
        NodeClient { http: HttpClient::new(settings), store, nodes: Mutex::default() }
    }

    /// Notes which node has an address. A request is forwarded there only while it is alive.
    pub(crate) fn note_node(&self, key: String, address: &str) {
        self.lock().insert(address.to_owned(), key);
    }

    /// Waits until the node at an address is not alive. A node that is frozen accepts connections and
    /// does not answer. While the store does not answer either, nothing is known.
    async fn wait_until_gone(&self, address: &str) {
        let mut missed = 0;
        while missed < GONE_AFTER_CHECKS {
            sleep(ALIVE_CHECK).await;
            let Some(key) = self.lock().get(address).cloned() else { continue };
            match timeout(ALIVE_CHECK, self.store.entries(vec![key.clone()])).await {
                Ok(Ok(entries)) if entries.iter().any(|entry| entry.key == key) => missed = 0,
                Ok(Ok(_)) => missed += 1,
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the node at an address answer. `None` if it does not, or does not accept the client's token:
/// it may have other tokens than this node, which has authenticated the client.
pub(crate) async fn forward_to_node(
    client: &NodeClient,
    address: &str,
    call: ForwardedCall<'_>,
) -> Option<HttpReply> {
    let url = format!("http://{address}");
    let base = parse_base_url(&url, BaseUrlStyle::Plain, AddressPolicy::Private).ok()?;
    let mut headers = call.headers.clone();
    CONNECTION_HEADERS.iter().for_each(|name| {
        headers.remove(name);
    });
    headers.insert(NODE_HEADER, HeaderValue::from_str(address).ok()?);
    if let Ok(id) = HeaderValue::from_str(call.id) {
        headers.insert(HeaderName::from_static(request_id::NAME), id);
    }
    let request =
        HttpRequest { method: call.method, path: call.path, headers: &headers, body: call.body };
    let reply = tokio::select! {
        reply = client.http.send(&base.target, request) => reply.ok()?,
        () = client.wait_until_gone(address) => return None,
    };
    if reply.status == StatusCode::UNAUTHORIZED {
        return None;
    }
    let mut response =
        Response::new(ResponseBody::from(GatewayBody::streaming(NodeBody(reply.body))));
    *response.status_mut() = reply.status;
    let mut headers = reply.headers;
    CONNECTION_HEADERS.iter().for_each(|name| {
        headers.remove(name);
    });
    *response.headers_mut() = headers;
    Some(response)
}

/// The body of another node's reply, unchanged.
struct NodeBody(IncomingBody);

impl BodyStream for NodeBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_next(context).map_err(|error| BodyError(error.to_string()))
    }
}
