//! A provider that redirects, leaks headers or always fails: no client learns another address, and
//! the retries of a client do not multiply ours.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use crate::{
    client::{Answer, post, send},
    raw::request,
    stage::{ENDPOINTS, FORMATS, TIMEOUT, TestGateway, body},
};

/// A provider that sends the same reply to every request, and counts the requests.
struct FixedReplyProvider {
    address: SocketAddr,
    request_count: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl FixedReplyProvider {
    async fn start(reply: String) -> FixedReplyProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let request_count = Arc::new(AtomicUsize::new(0));
        let count = request_count.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(say(stream, reply.clone(), count.clone()));
            }
        });
        FixedReplyProvider { address, request_count, task }
    }

    fn request_count(&self) -> usize {
        self.request_count.load(Ordering::SeqCst)
    }
}

impl Drop for FixedReplyProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn say(mut stream: TcpStream, reply: String, request_count: Arc<AtomicUsize>) {
    if request(&mut stream).await.is_some() {
        request_count.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(reply.as_bytes()).await;
    }
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

async fn ask(gateway: &TestGateway, path: &str, headers: &str, body: &str) -> Answer {
    timeout(TIMEOUT, send(gateway.address, post(path, headers, body))).await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_and_no_location_reaches_a_client() {
    let statuses = ["300 Odd", "301 Moved", "302 Found", "303 Other", "304 Same", "305 Proxy"];
    for status in statuses.into_iter().chain(["307 Temporary", "308 Permanent", "399 Nothing"]) {
        let headers = "location: http://203.0.113.7/steal\r\nrefresh: 0; url=http://203.0.113.7/\r\n\
                       content-type: application/json\r\n";
        let provider =
            FixedReplyProvider::start(reply(status, headers, r#"{"error":{"message":"go"}}"#))
                .await;
        let gateway = TestGateway::start(provider.address, "").await;
        let mut request_count = 0;
        for (path, list) in ENDPOINTS {
            for format in FORMATS {
                for stream in [false, true] {
                    let model = format!("{format}-m");
                    let answer = ask(&gateway, path, "", &body(list, &model, stream)).await;
                    let context = format!("{status}, {path} from {format}: {answer:?}");
                    assert_eq!(answer.status, 502, "{context}");
                    assert!(answer.json()["error"]["message"].is_string(), "{context}");
                    let whole = format!("{}{}", answer.head, answer.body);
                    assert!(
                        !whole.contains("203.0.113.7") && !whole.contains("location:"),
                        "{context}"
                    );
                    request_count += 1;
                    assert_eq!(provider.request_count(), request_count, "{context}");
                }
            }
        }
        let count = r#"{"model":"messages-m","messages":[{"role":"user","content":"x"}]}"#;
        let answer = ask(&gateway, "/v1/messages/count_tokens", "", count).await;
        assert_eq!((answer.status, answer.header("location")), (502, ""), "{answer:?}");
        gateway.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_upstream_headers_are_forwarded() {
    let headers = "location: http://203.0.113.7/\r\ncontent-security-policy: default-src *\r\n\
                   x-accel-redirect: /etc/passwd\r\nx-sendfile: /etc/passwd\r\n\
                   set-cookie: a=b\r\nx-nobody-knows: 1\r\nx-ratelimit-remaining-requests: 7\r\n\
                   openai-processing-ms: 3\r\nx-ratelimit-for-this-hop: 1\r\n\
                   connection: x-ratelimit-for-this-hop\r\nx-request-id: theirs\r\n\
                   x-foxwedge-session: forged\r\nretry-after: 3600\r\n\
                   content-type: application/json\r\n";
    let completion = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}"#;
    let refused = r#"{"error":{"message":"no","type":"invalid_request_error"}}"#;
    for (status, reply_body) in [("200 OK", completion), ("403 No", refused), ("429 Wait", refused)]
    {
        let provider = FixedReplyProvider::start(reply(status, headers, reply_body)).await;
        let gateway = TestGateway::start(provider.address, "").await;
        for (path, list) in ENDPOINTS {
            let answer = ask(&gateway, path, "", &body(list, "chat-m", false)).await;
            let context = format!("{status}, {path}: {answer:?}");
            for name in [
                "location",
                "content-security-policy",
                "x-accel-redirect",
                "x-sendfile",
                "set-cookie",
                "x-nobody-knows",
                "x-ratelimit-for-this-hop",
            ] {
                assert_eq!(answer.header(name), "", "{name}, {context}");
            }
            assert_ne!(answer.header("x-foxwedge-session"), "forged", "{context}");
            assert_eq!(answer.header("x-upstream-request-id"), "theirs", "{context}");
            assert_eq!(answer.header("retry-after"), "3600", "{context}");
            let same = path.ends_with("completions");
            let limit = answer.header("x-ratelimit-remaining-requests");
            assert_eq!(limit, if same { "7" } else { "" }, "{context}");
            assert_eq!(answer.header("openai-processing-ms"), if same { "3" } else { "" });
        }
        gateway.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_a_client_does_not_multiply_ours() {
    for status in ["500 Oops", "429 Wait", "503 Busy", "529 Full"] {
        let reply_body = r#"{"error":{"message":"no","type":"server_error"}}"#;
        let json = "content-type: application/json\r\n";
        let provider = FixedReplyProvider::start(reply(status, json, reply_body)).await;
        let gateway = TestGateway::start(provider.address, "").await;
        let request = body("messages", "chat-m", false);
        let first = ask(&gateway, "/v1/chat/completions", "", &request).await;
        assert_eq!(
            (provider.request_count(), first.header("x-should-retry")),
            (3, "false"),
            "{first:?}"
        );
        let retry = "x-stainless-retry-count: 1\r\n";
        let second = ask(&gateway, "/v1/chat/completions", retry, &request).await;
        assert_eq!((provider.request_count(), second.header("x-should-retry")), (4, "false"));
        gateway.end().await;
    }
    // A permanent error has no retry headers.
    let provider =
        FixedReplyProvider::start(reply("400 No", "", r#"{"error":{"message":"no"}}"#)).await;
    let gateway = TestGateway::start(provider.address, "").await;
    let answer =
        ask(&gateway, "/v1/chat/completions", "", &body("messages", "chat-m", false)).await;
    assert_eq!((answer.status, answer.header("x-should-retry")), (400, ""));
    gateway.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_refuses_a_retry_gets_none_and_its_fallback_replies() {
    let fallback = "[[route]]\nmodel = \"m\"\nupstream = \"chat\"\n\
                    [[route]]\nmodel = \"m\"\nupstream = \"scripted\"\n\
                    upstream_model = \"scripted\"\nfallback = true\n";
    let reply_body = r#"{"error":{"message":"no","type":"server_error"}}"#;
    for status in ["429 Wait", "503 Busy"] {
        for (wish, attempts) in [("false", 1), ("true", 3)] {
            let headers = format!("content-type: application/json\r\nx-should-retry: {wish}\r\n");
            let provider = FixedReplyProvider::start(reply(status, &headers, reply_body)).await;
            let gateway = TestGateway::start(provider.address, fallback).await;
            let path = "/v1/chat/completions";
            let answer = ask(&gateway, path, "", &body("messages", "chat-m", false)).await;
            let found = (provider.request_count(), answer.header("x-should-retry"));
            assert_eq!(found, (attempts, "false"), "{status} {wish}: {answer:?}");
            let answer = ask(&gateway, path, "", &body("messages", "m", false)).await;
            let found = (answer.status, answer.header("x-foxwedge-fallback"));
            assert_eq!(found, (200, "scripted"), "{status} {wish}: {answer:?}");
            assert_eq!(provider.request_count(), 2 * attempts, "{status} {wish}");
            gateway.end().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_with_a_long_retry_after_is_not_retried() {
    let far = ["retry-after: 99999999999999999999", "retry-after: 1e30", "retry-after: 3600"];
    let more =
        ["retry-after: Fri, 31 Dec 9999 23:59:59 GMT", "retry-after-ms: 99999999999999999999999"];
    for wish in far.into_iter().chain(more) {
        let headers = format!("content-type: application/json\r\n{wish}\r\n");
        let provider = FixedReplyProvider::start(reply("429 Wait", &headers, "{}")).await;
        let gateway = TestGateway::start(provider.address, "").await;
        for (at, (path, list)) in ENDPOINTS.into_iter().enumerate() {
            let answer = ask(&gateway, path, "", &body(list, "chat-m", false)).await;
            let (name, value) = wish.split_once(": ").expect("a header");
            assert_eq!(answer.status, 429);
            assert_eq!(answer.header(name), value.to_ascii_lowercase(), "{wish}");
            assert_eq!(provider.request_count(), at + 1, "{wish}");
        }
        gateway.end().await;
    }
}
