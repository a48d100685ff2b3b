//! Endpoints that are forwarded as they are, at a provider that returns the request it got.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    client::{Answer, get, post, send},
    stage::TestGateway,
};

/// Replies with the request: its head, then its body.
async fn echo(mut stream: TcpStream) {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        let Ok(number @ 1..) = stream.read(&mut chunk).await else { return };
        bytes.extend_from_slice(&chunk[..number]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            break;
        }
    }
    let status = if bytes.starts_with(b"GET /v1/files/elsewhere") { "302 Found" } else { "200 OK" };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: audio/mpeg\r\nset-cookie: canary=1\r\n\
         location: http://elsewhere\r\nx-request-id: r7\r\nconnection: close\r\n\r\n"
    );
    let _ = stream.write_all(&[head.as_bytes(), &bytes].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embeddings_audio_and_files_pass_unchanged() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let provider = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(echo(stream));
        }
    });
    let more = "[limits]\nrequest_body = \"64KiB\"\ndecompressed_body = \"64KiB\"";
    let gateway = TestGateway::start(provider, more).await;
    let to = gateway.address;

    let embeddings = r#"{"input" :["a"],  "model":"chat-embed", "unknown":1e2}"#;
    let headers =
        "content-type: application/json\r\nx-team: one\r\nauthorization: Bearer canary\r\n";
    let answer = send(to, post("/v1/embeddings?x=1", headers, embeddings)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "audio/mpeg"));
    assert!(answer.body.contains("POST /v1/embeddings?x=1 HTTP/1.1"), "{answer:?}");
    assert!(answer.body.contains(embeddings) && answer.body.contains("x-team: one"));
    assert!(!answer.body.contains("Bearer canary"), "the client's key: {answer:?}");
    for header in ["set-cookie", "location"] {
        assert_eq!(answer.header(header), "", "{answer:?}");
    }
    assert_eq!(answer.header("x-upstream-request-id"), "r7");

    let form = "--b0\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nchat-whisper\r\n\
                --b0\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\n\u{1}\u{2}\r\n--b0--\r\n";
    let headers = "content-type: multipart/form-data; boundary=b0\r\n";
    let answer = send(to, post("/v1/audio/transcriptions", headers, form)).await;
    assert!(answer.status == 200 && answer.body.contains(form), "{answer:?}");

    // Requests without a model go to the first upstream of the API.
    let answer = send(to, get("/v1/files/f-1/content", "")).await;
    assert!(answer.body.contains("GET /v1/files/f-1/content HTTP/1.1"), "{answer:?}");
    let answer = send(to, get("/v1/messages/batches/b-1", "")).await;
    assert!(answer.body.contains("GET /v1/messages/batches/b-1 HTTP/1.1"), "{answer:?}");
    assert!(answer.body.contains("anthropic-version: "), "{answer:?}");

    // Stored responses are those of the upstream with that API.
    for path in ["resp_1?stream=true", "resp_1/input_items", "resp_1/cancel"] {
        let answer = send(to, get(&format!("/v1/responses/{path}"), "")).await;
        assert!(answer.body.contains(&format!("GET /v1/responses/{path} HTTP/1.1")), "{answer:?}");
    }
    let input = r#"{"model":"responses-1","input":"hi"}"#;
    for path in ["input_tokens", "compact"] {
        let answer = send(to, post(&format!("/v1/responses/{path}"), "", input)).await;
        assert!(answer.body.contains(&format!("POST /v1/responses/{path} HTTP/1.1")), "{answer:?}");
        assert!(answer.body.contains(input), "{answer:?}");
    }
    let asked = "foxwedge_upstream_requests_total{upstream=\"responses\",status=\"2xx\"}";
    assert_eq!(gateway.count(asked).await, "5");

    let refused = |answer: Answer, status: u16, code: &str| {
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains(code), "{answer:?}");
    };
    let unknown = r#"{"input":"a","model":"nobody"}"#;
    refused(send(to, post("/v1/embeddings", "", unknown)).await, 404, "model_not_found");
    // The built-in model and providers of another API have no embeddings.
    for model in ["scripted", "messages-1", "gemini-1"] {
        let body = format!(r#"{{"input":"a","model":"{model}"}}"#);
        refused(send(to, post("/v1/embeddings", "", body)).await, 404, "no_endpoint");
    }
    let chat = r#"{"model":"chat-1","input":"hi"}"#;
    refused(send(to, post("/v1/responses/input_tokens", "", chat)).await, 404, "openai-responses");
    let own = "/v1/responses/resp_fox0123456789abcdef0123456789abcdef";
    refused(send(to, get(own, "")).await, 404, "response_not_stored");
    let long = "x".repeat(70_000);
    refused(send(to, post("/v1/embeddings", "", long)).await, 413, "body_too_large");
    refused(send(to, get("/v1/files/elsewhere", "")).await, 502, "upstream_redirect");
    refused(send(to, get("/v1/fine_tuning/jobs", "")).await, 404, "not_found");
    gateway.end().await;
    task.abort();
}
