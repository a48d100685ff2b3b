use super::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

/// Sends requests over connections of their own, and gives back what came until the server closed.
async fn said(requests: &[String]) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve_scripted(listener, async {
        let _ = stopped.await;
    }));
    let mut told = Vec::new();
    for request in requests {
        let mut socket = TcpStream::connect(address).await.expect("a connection");
        socket.write_all(request.as_bytes()).await.expect("sent");
        let mut bytes = Vec::new();
        // A connection that is cut may end in an error; what came before it counts.
        let _ = socket.read_to_end(&mut bytes).await;
        told.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    drop(stop);
    server.await.expect("the server ends");
    told
}

fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn every_provider_answers_under_its_own_path() {
    let words = r#"[{"role":"user","content":"hello"}]"#;
    let chat = format!(r#"{{"model":"scripted","messages":{words}}}"#);
    let messages = format!(r#"{{"model":"scripted","max_tokens":50,"messages":{words}}}"#);
    let responses = format!(r#"{{"model":"scripted","input":{words}}}"#);
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
    for (told, (request, status, words)) in said(&requests).await.iter().zip(&table) {
        let first = told.lines().next().unwrap_or_default();
        assert!(first.ends_with(status) && told.contains(words), "{request}\n{told}");
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
    let told = said(&requests).await;
    assert!(told[0].contains("[DONE]") && told[0].ends_with("0\r\n\r\n"), "{}", told[0]);
    assert_eq!(told[1].matches("data: ").count(), 2, "{}", told[1]);
    assert!(!told[1].ends_with("0\r\n\r\n"), "{}", told[1]);
}
