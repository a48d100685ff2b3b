//! Requests that another node has to answer: it has the reply that is retried, the live agent of the
//! session, or the run that is stopped. That node authenticates the client itself.

use std::task::{Context, Poll};

use bytes::Bytes;
use foxwedge_upstream::{
    AddressPolicy, BaseUrlStyle,
    http::{HttpClient, HttpRequest, HttpSettings, IncomingBody},
    parse_base_url,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};

use crate::{
    BodyError, GatewayBody, HttpReply, body::BodyStream, request_id, response_body::ResponseBody,
};

/// Marks a request that was forwarded. It is not forwarded a second time.
pub(crate) const NODE_HEADER: HeaderName = HeaderName::from_static("x-foxwedge-node");

/// How long a node may take to accept a connection.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

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
pub(crate) fn node_client() -> HttpClient {
    HttpClient::new(HttpSettings { connect: CONNECT_TIMEOUT, ..HttpSettings::default() })
}

/// Lets the node at an address answer. `None` if it does not.
pub(crate) async fn forward_to_node(
    client: &HttpClient,
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
    let reply = client.send(&base.target, request).await.ok()?;
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
