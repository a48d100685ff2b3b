use super::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

/// Sends each request over its own connection, and returns the bytes until the server closes it.
async fn replies_to(requests: &[String]) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve_scripted(listener, async {
        let _ = stopped.await;
    }));
    let mut replies = Vec::new();
    for request in requests {
        let mut socket = TcpStream::connect(address).await.expect("a connection");
        socket.write_all(request.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        // A cut connection may end in an error; the bytes before it count.
        let _ = socket.read_to_end(&mut bytes).await;
        replies.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    drop(stop);
    server.await.expect("the server ends");
    replies
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn every_provider_answers_under_its_own_path() {
    let history = r#"[{"role":"user","content":"hello"}]"#;
    let chat = format!(r#"{{"model":"scripted","messages":{history}}}"#);
    let messages = format!(r#"{{"model":"scripted","max_tokens":50,"messages":{history}}}"#);
    let responses = format!(r#"{{"model":"scripted","input":{history}}}"#);
    let gemini = r#"{"contents":[{"parts":[{"text":"hello"}]}]}"#;
    let table = [
        (post("/v1/chat/completions", &chat), "200 OK", "You said: hello"),
        (post("/v1/messages", &messages), "200 OK", "You said: hello"),
        (post("/v1/messages/count_tokens", &chat), "200 OK", "input_tokens"),
        (post("/v1/responses", &responses), "200 OK", "You said: hello"),
        (post("/v1beta/models/scripted:generateContent", gemini), "200 OK", "You said: hello"),
        (
            post("/v1beta/models/scripted:streamGenerateContent?alt=sse", gemini),
            "200 OK",
            "text/event-stream",
        ),
        (
            "GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
            "200 OK",
            "scripted-deepseek",
        ),
        (post("/v1/messages", &chat), "400 Bad Request", "max_tokens: Field required"),
        (post("/v1/models", "{}"), "405 Method Not Allowed", "method"),
        (post("/v1/embeddings", "{}"), "404 Not Found", "path"),
    ];
    let requests: Vec<String> = table.iter().map(|row| row.0.clone()).collect();
    for (replies, (request, status, messages)) in replies_to(&requests).await.iter().zip(&table) {
        let first = replies.lines().next().unwrap_or_default();
        assert!(first.ends_with(status) && replies.contains(messages), "{request}\n{replies}");
    }
}

#[tokio::test]
async fn a_cut_stream_has_no_end_and_a_whole_one_has() {
    let body = |model: &str| {
        format!(
            r#"{{"model":"{model}","stream":true,"messages":[{{"role":"user","content":"one two three"}}]}}"#
        )
    };
    let requests = [
        post("/v1/chat/completions", &body("scripted")),
        post("/v1/chat/completions", &body("scripted?cut=2")),
    ];
    let replies = replies_to(&requests).await;
    assert!(replies[0].contains("[DONE]") && replies[0].ends_with("0\r\n\r\n"), "{}", replies[0]);
    assert_eq!(replies[1].matches("data: ").count(), 2, "{}", replies[1]);
    assert!(!replies[1].ends_with("0\r\n\r\n"), "{}", replies[1]);
}
