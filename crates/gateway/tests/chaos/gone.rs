//! A client that disconnects, at every stage: the upstream connection is closed, the run ends, the
//! session is free, and all gauges are back to zero.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{
    client::{post, send},
    raw::{ProviderEvent, RawProvider, ReplyExtent},
    stage::{ENDPOINTS, FORMATS, ScriptedServer, TIMEOUT, TestGateway, body},
};

const NAMED: &str = "x-foxwedge-session: mine\r\n";

async fn begin(gateway: &TestGateway, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.expect("somebody listens");
    stream.write_all(bytes).await.expect("it goes out");
    stream
}

async fn next(raw: &mut RawProvider) -> Option<ProviderEvent> {
    timeout(TIMEOUT, raw.events.recv()).await.expect("the provider sees something")
}

/// Reads until this many events have arrived.
async fn read_events(stream: &mut TcpStream, events: usize) {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 4096]);
    let read = async {
        while bytes.windows(6).filter(|window| *window == b"data: ").count() < events {
            let number = stream.read(&mut chunk).await.expect("bytes");
            assert!(number > 0, "{}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&chunk[..number]);
        }
    };
    timeout(TIMEOUT, read).await.expect("events come");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_request_has_no_effect() {
    let provider = ScriptedServer::start().await;
    let gateway = TestGateway::start(provider.address, "").await;
    for (path, list) in ENDPOINTS {
        let request = post(path, NAMED, body(list, "chat-scripted", true));
        let head = request.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
        let half = head + (request.len() - head) / 2;
        for sent in [0, 10, head - 2, head, head + 1, half, request.len() - 1] {
            drop(begin(&gateway, &request[..sent]).await);
        }
    }
    assert_eq!(gateway.wait_until_idle().await, serde_json::json!([]));
    let requests = gateway.count("foxwedge_upstream_requests_total").await;
    assert_eq!(requests, "nothing", "no request was sent upstream");
    assert_eq!(gateway.fetch("/v1/runs").await.json()["data"], serde_json::json!([]));
    gateway.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_at_any_stage_closes_the_upstream_and_ends_the_run() {
    let mut left = 0;
    for extent in [
        ReplyExtent::Nothing,
        ReplyExtent::Events(1),
        ReplyExtent::Events(2),
        ReplyExtent::Events(5),
    ] {
        let mut raw = RawProvider::start(extent).await;
        let gateway = TestGateway::start(raw.address, "").await;
        for (path, list) in ENDPOINTS {
            for format in FORMATS {
                let model = format!("{format}-scripted");
                // Waits for a full reply; reads only part of a stream.
                for streams in [true, false] {
                    let request = post(path, NAMED, body(list, &model, streams));
                    let mut client = begin(&gateway, &request).await;
                    assert_eq!(next(&mut raw).await, Some(ProviderEvent::Replied));
                    // The first events of another format may have no equivalent for the client.
                    match extent {
                        ReplyExtent::Events(2..) if streams => read_events(&mut client, 1).await,
                        ReplyExtent::Nothing | ReplyExtent::Events(_) => {}
                    }
                    drop(client);
                    assert_eq!(
                        next(&mut raw).await,
                        Some(ProviderEvent::Closed),
                        "{path} from {format}"
                    );
                    // The next request of the session would replace a run that has not ended yet.
                    assert_eq!(gateway.wait_until_idle().await, serde_json::json!([]));
                    left += 1;
                }
            }
        }
        let runs = gateway.fetch("/v1/runs?limit=1000").await.json();
        let runs = runs["data"].as_array().expect("a list");
        assert_eq!(runs.len(), ENDPOINTS.len() * FORMATS.len() * 2, "{extent:?}");
        for run in runs {
            assert_eq!(run["outcome"], "stopped", "{extent:?}: {run}");
        }
        // The session that all requests used is free.
        let free = post("/v1/chat/completions", NAMED, body("messages", "scripted", false));
        let answer = timeout(TIMEOUT, send(gateway.address, free)).await.expect("a reply");
        assert_eq!((answer.status, answer.header("x-foxwedge-session")), (200, "mine"));
        gateway.end().await;
    }
    println!("{left} clients left");
}
