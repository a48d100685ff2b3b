//! Other nodes that do not answer.

use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    HttpReply,
    node_forward::{ForwardedCall, forward_to_node},
};

/// Longer than any correct wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Two nodes, and what listens at the address of the first.
async fn nodes() -> (GatewayCluster, GatewayCluster, TcpListener) {
    let store = store().await;
    let nodes = (join(&store, "one").await, join(&store, "two").await);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    nodes.0.listen_at(listener.local_addr().expect("an address")).await;
    (nodes.0, nodes.1, listener)
}

/// Forwards a request to the first node.
async fn forward(from: &GatewayCluster) -> Option<HttpReply> {
    let address = from.address_of("one").await.expect("the first node");
    let headers = HeaderMap::new();
    let (method, path, id) = (Method::POST, "/v1/messages", "q-1");
    let call = ForwardedCall { method, path, headers: &headers, body: Bytes::new(), id };
    let reply = forward_to_node(from.client(), &address, call);
    timeout(TIMEOUT, reply).await.expect("a reply of the other node, or that it is gone")
}

/// Reads the head of a request.
async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) =
        timeout(TIMEOUT, listener.accept()).await.expect("a request").expect("a connection");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    stream
}

#[tokio::test]
async fn a_request_that_waits_for_a_frozen_node_ends_with_its_lease() {
    let (one, two, listener) = nodes().await;
    let (reply, stream) = tokio::join!(forward(&two), async {
        let stream = accept(&listener).await;
        // It answers nothing, and no longer shows that it is alive.
        kill(&one).await;
        stream
    });
    assert!(reply.is_none());
    drop(stream);
}

#[tokio::test]
async fn a_node_that_does_not_know_the_token_cannot_answer() {
    let (_one, two, listener) = nodes().await;
    for (status, expected) in [("401 Unauthorized", None), ("403 Forbidden", Some(403))] {
        let (reply, ()) = tokio::join!(forward(&two), async {
            let mut stream = accept(&listener).await;
            let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(reply.as_bytes()).await.expect("sent");
        });
        assert_eq!(reply.map(|reply| reply.status().as_u16()), expected, "{status}");
    }
}

#[tokio::test]
async fn other_nodes_use_the_advertised_address() {
    let store = store().await;
    let two = join(&store, "two").await;
    for (advertised, expected) in
        [(None, "127.0.0.1:4177"), (Some("gateway-0.gateways:80"), "gateway-0.gateways:80")]
    {
        let one = join_advertised(&store, "one", advertised.map(str::to_owned)).await;
        assert_eq!(two.address_of("one").await, None, "it does not listen yet");
        one.listen_at("127.0.0.1:4177".parse().expect("an address")).await;
        assert_eq!(two.address_of("one").await.as_deref(), Some(expected));
        one.leave().await;
    }
}
