//! Replies and errors that are not as the API of their upstream says: broken bodies, other content
//! types, compression, errors in other forms.

use std::io::Write as _;

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::{
    clouds::provider::{CannedReply, CloudProvider},
    stand::{TestReply, ask, engine},
    upstreams::{chunks, completion, hello, upstream},
};

/// A request for a whole reply.
fn whole(endpoint: GatewayEndpoint) -> Value {
    let mut body = hello(endpoint);
    body["stream"] = json!(false);
    body
}

/// Sends a request to an upstream with this reply, once.
async fn ask_once(
    kind: &str,
    endpoint: GatewayEndpoint,
    body: &Value,
    reply: CannedReply,
) -> TestReply {
    let provider = CloudProvider::start(vec![reply]).await;
    let engine = engine(&upstream(&provider, kind, "attempts = 1", "")).await;
    ask(&engine, endpoint, body).await
}

fn text(status: u16, content_type: &'static str, body: &str) -> CannedReply {
    CannedReply { content_type, ..CannedReply::json(status, body) }
}

/// The message of an error in any format.
fn message(reply: &TestReply) -> String {
    reply.json()["error"]["message"].as_str().unwrap_or_else(|| panic!("{}", reply.body)).to_owned()
}

#[tokio::test]
async fn a_client_learns_the_reason_of_an_error_in_an_unknown_form() {
    use GatewayEndpoint::{Chat, GenerateContent, Messages, Responses};
    let mistral = r#"{"object":"error","message":{"detail":[{"type":"missing",
        "loc":["body","messages"],"msg":"Field required"}]},"type":"invalid_request_error"}"#;
    let table = [
        ("text/plain", "Invalid tool schema: foo", "Invalid tool schema: foo"),
        ("application/json", r#"{"detail":"Not so"}"#, "Not so"),
        (
            "application/json",
            r#"{"detail":[{"loc":["body","tools",0],"msg":"Field required"}]}"#,
            "body.tools.0: Field required",
        ),
        ("application/json", mistral, "body.messages: Field required"),
        (
            "application/json",
            r#"[{"error":{"code":400,"message":"No such field."}}]"#,
            "No such field.",
        ),
        ("text/html", "<html><title>Bad\nRequest</title><p>private</html>", "Bad Request"),
    ];
    for (content_type, body, reason) in table {
        for endpoint in [Chat, Responses, Messages, GenerateContent] {
            let canned = text(400, content_type, body);
            let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
            assert_eq!(reply.status, 400, "{}", reply.body);
            // An object in the client's format passes as it came.
            if endpoint == Chat && body.starts_with('{') {
                assert_eq!(reply.body, body);
                continue;
            }
            let expected = format!("the upstream returned status 400: {reason}");
            assert_eq!(message(&reply), expected, "{}", endpoint.name());
        }
    }
    let canned = CannedReply::json(400, r#"{"error":"model `x` is not loaded"}"#);
    let reply = ask_once("openai-compatible", Messages, &whole(Messages), canned).await;
    assert_eq!(message(&reply), "model `x` is not loaded");
    assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    for body in ["<html><p>private</html>", ""] {
        let reply =
            ask_once("openai-compatible", Chat, &whole(Chat), text(500, "text/html", body)).await;
        assert_eq!(message(&reply), "the upstream returned status 500");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_recognized_in_a_plain_text() {
    let endpoint = GatewayEndpoint::Chat;
    let body = "This model's maximum context length is 65536 tokens.";
    let canned = text(400, "text/plain", body);
    let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
    let found = (reply.status.as_u16(), &reply.json()["error"]["code"]);
    assert_eq!(found, (400, &json!("context_length_exceeded")), "{}", reply.body);
}

#[tokio::test]
async fn an_event_stream_of_any_content_type_is_passed_on() {
    let plain = chunks("c1", "hello").body;
    let mut comment = b"\xef\xbb\xbf: ping\n\n".to_vec();
    comment.extend_from_slice(&plain);
    for content_type in [
        "Text/Event-Stream; charset=UTF-8",
        "text/plain",
        "application/octet-stream",
        "application/x-ndjson",
        "",
    ] {
        for body in [&plain, &comment] {
            let is_converted = |endpoint| endpoint != GatewayEndpoint::Chat;
            for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Messages] {
                let canned = CannedReply { content_type, ..CannedReply::bytes(body) };
                let reply = ask_once("openai-compatible", endpoint, &hello(endpoint), canned).await;
                assert_eq!(reply.status, 200, "{content_type}: {}", reply.body);
                assert_eq!(reply.header("content-type"), "text/event-stream; charset=utf-8");
                let end = if is_converted(endpoint) { "message_stop" } else { "[DONE]" };
                assert!(reply.body.contains("hello"), "{content_type}: {}", reply.body);
                assert!(reply.body.contains(end), "{content_type}: {}", reply.body);
            }
        }
    }
    // A whole reply stays one.
    let canned = CannedReply { content_type: "text/plain", ..completion("c1", "hello") };
    let endpoint = GatewayEndpoint::Chat;
    let reply = ask_once("openai-compatible", endpoint, &hello(endpoint), canned).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("hello") && reply.body.contains("[DONE]"), "{}", reply.body);
}

#[tokio::test]
async fn an_error_for_clients_of_gemini_has_the_code_of_its_status() {
    let endpoint = GatewayEndpoint::GenerateContent;
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let openai = r#"{"error":{"message":"m","type":"server_error"}}"#;
    let google = r#"{"error":{"code":500,"message":"m","status":"INTERNAL"}}"#;
    let table = [
        ("openai-compatible", 502, openai, 502, "UNAVAILABLE"),
        ("openai-compatible", 422, openai, 422, "INVALID_ARGUMENT"),
        ("openai-compatible", 413, openai, 413, "INVALID_ARGUMENT"),
        ("openai-compatible", 409, "busy", 409, "ABORTED"),
        ("openai-compatible", 501, "no", 501, "UNIMPLEMENTED"),
        ("openai-compatible", 504, "late", 504, "DEADLINE_EXCEEDED"),
        ("openai-compatible", 200, openai, 502, "UNAVAILABLE"),
        ("anthropic", 529, overloaded, 503, "UNAVAILABLE"),
        ("gemini", 200, google, 502, "UNAVAILABLE"),
        ("gemini", 500, google, 500, "INTERNAL"),
    ];
    for (kind, status, body, expected, name) in table {
        let canned = CannedReply::json(status, body);
        let reply = ask_once(kind, endpoint, &whole(endpoint), canned).await;
        let error = &reply.json()["error"];
        let found = (reply.status.as_u16(), &error["code"], &error["status"]);
        assert_eq!(found, (expected, &json!(expected), &json!(name)), "{kind}: {body}");
    }
}

/// Routes of `m` with a fallback to the built-in model.
fn with_fallback(provider: &CloudProvider) -> String {
    upstream(provider, "openai-compatible", "attempts = 1", "")
        + "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\n\
           upstream_model = \"scripted\"\nfallback = true\n"
}

#[tokio::test]
async fn a_fallback_replies_in_place_of_a_broken_whole_reply() {
    let json = completion("c1", "hello");
    let cut = {
        let mut cut = json.clone();
        cut.body.truncate(30);
        cut
    };
    let compressed = CannedReply { headers: "content-encoding: br\r\n", ..json.clone() };
    let redirect = CannedReply { headers: "location: /x\r\n", ..CannedReply::json(302, "") };
    let mut half_stream = chunks("c1", "hello");
    half_stream.body.truncate(60);
    let broken = [
        ("empty", CannedReply::json(200, "")),
        ("page", text(200, "text/html", "<html>")),
        ("other", CannedReply::json(200, r#"{"id":"x"}"#)),
        ("cut", cut),
        ("compressed", compressed),
        ("redirect", redirect),
        ("half a stream", half_stream),
    ];
    for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Responses] {
        for (name, canned) in &broken {
            let provider = CloudProvider::start(vec![canned.clone()]).await;
            let engine = engine(&with_fallback(&provider)).await;
            let reply = ask(&engine, endpoint, &whole(endpoint)).await;
            let found = (reply.status.as_u16(), reply.header("x-foxwedge-fallback"));
            assert_eq!(found, (200, "messages"), "{name}: {}", reply.body);
        }
    }
    // So it does for a client that wants a stream and gets a page.
    for canned in [text(200, "text/html", "<html>"), CannedReply::stream("")] {
        let provider = CloudProvider::start(vec![canned]).await;
        let engine = engine(&with_fallback(&provider)).await;
        let reply = ask(&engine, GatewayEndpoint::Chat, &hello(GatewayEndpoint::Chat)).await;
        let found = (reply.status.as_u16(), reply.header("x-foxwedge-fallback"));
        assert_eq!(found, (200, "messages"), "{}", reply.body);
    }
}

#[tokio::test]
async fn broken_whole_replies_open_the_circuit_of_an_upstream() {
    let replies = vec![CannedReply::json(200, ""); 6];
    let provider = CloudProvider::start(replies).await;
    let engine = engine(&with_fallback(&provider)).await;
    for _ in 0..7 {
        let reply = ask(&engine, GatewayEndpoint::Chat, &whole(GatewayEndpoint::Chat)).await;
        assert_eq!(reply.header("x-foxwedge-fallback"), "messages", "{}", reply.body);
    }
    let line = "foxwedge_upstream_requests_total{upstream=\"own\",status=\"2xx\"} 5";
    let metrics = engine.metrics().render();
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test]
async fn an_unreadable_reply_is_reported_with_its_content_type_and_its_cause() {
    let endpoint = GatewayEndpoint::Chat;
    let table = [
        (
            text(200, "text/html; charset=utf-8", "<html>"),
            "it is a web page (its content type is `text/html; charset=utf-8`)",
        ),
        (CannedReply::json(200, ""), "it is empty (its content type is `application/json`)"),
        (CannedReply::json(200, "{}"), "not a chat completion: it has no `choices` list"),
    ];
    for (canned, expected) in table {
        let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
        assert_eq!(reply.json()["error"]["code"], "upstream_unreadable", "{}", reply.body);
        let found = message(&reply);
        assert!(found.contains(expected), "{found}");
    }
}

#[tokio::test]
async fn an_error_inside_a_choice_is_an_error_of_the_clients_format() {
    let choice = json!({"index": 0, "finish_reason": "error",
        "message": {"role": "assistant", "content": ""},
        "error": {"code": 502, "message": "the provider is gone"}});
    let body = json!({"id": "c1", "object": "chat.completion", "choices": [choice]}).to_string();
    // The second is read behind the limit for errors that are looked for.
    let large = body.replace("\"c1\"", &format!("\"{}\"", "c".repeat(70 << 10)));
    for body in [&body, &large] {
        for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Messages] {
            let canned = CannedReply::json(200, body);
            let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
            assert_eq!(reply.status, 502, "{}", reply.body);
            assert_eq!(message(&reply), "the provider is gone");
            assert!(reply.json().get("choices").is_none(), "{}", reply.body);
        }
    }
}

#[tokio::test]
async fn a_failed_response_passes_as_openai_sends_it() {
    let failed = json!({"id": "resp_1", "object": "response", "model": "m", "status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "slow down"}, "output": []});
    let endpoint = GatewayEndpoint::Responses;
    let fallback = "[[route]]\nmodel = \"m\"\nupstream = \"responses\"\n\
                    upstream_model = \"scripted\"\nfallback = true\n";
    let provider = CloudProvider::start(vec![CannedReply::json(200, &failed.to_string()); 2]).await;
    let engine = engine(&(upstream(&provider, "openai", "", "") + fallback)).await;
    let reply = ask(&engine, endpoint, &whole(endpoint)).await;
    assert_eq!((reply.status.as_u16(), reply.json()), (200, failed.clone()), "{}", reply.body);
    assert_eq!(reply.header("x-foxwedge-fallback"), "");
    // Clients of another API get an error.
    let canned = CannedReply::json(200, &failed.to_string());
    let chat = "formats = [\"openai-responses\"]\nattempts = 1";
    let provider = CloudProvider::start(vec![canned]).await;
    let engine = self::engine(&upstream(&provider, "openai", chat, "")).await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &whole(GatewayEndpoint::Chat)).await;
    assert_eq!((reply.status.as_u16(), message(&reply)), (429, "slow down".to_owned()));
}

#[tokio::test]
async fn a_retry_delay_in_the_body_of_gemini_is_obeyed_and_handed_over() {
    let error = |delay: &str| {
        let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": delay});
        let error = json!({"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED",
            "details": [detail]});
        CannedReply::json(429, &json!({"error": error}).to_string())
    };
    for endpoint in [GatewayEndpoint::GenerateContent, GatewayEndpoint::Chat] {
        // Longer than the gateway waits.
        let provider = CloudProvider::start(vec![error("40.5s"); 2]).await;
        let engine = engine(&upstream(&provider, "gemini", "", "")).await;
        let reply = ask(&engine, endpoint, &whole(endpoint)).await;
        let found = (reply.status.as_u16(), reply.header("retry-after"));
        assert_eq!(found, (429, "41"), "{}", reply.body);

        let part = json!({"candidates": [{"index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": "done"}]}}]});
        let done = CannedReply::json(200, &part.to_string());
        let provider = CloudProvider::start(vec![error("0.6s"), done]).await;
        let engine = self::engine(&upstream(&provider, "gemini", "", "")).await;
        let began = tokio::time::Instant::now();
        let reply = ask(&engine, endpoint, &whole(endpoint)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(began.elapsed().as_millis() >= 600, "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn tokens_are_counted_here_if_the_upstream_does_not_count_them() {
    let endpoint = GatewayEndpoint::CountTokens;
    let missing = r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#;
    for (status, body) in [(404, missing), (405, "no"), (501, "")] {
        let canned = CannedReply::json(status, body);
        let reply = ask_once("anthropic", endpoint, &whole(endpoint), canned).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.json()["input_tokens"].as_u64() > Some(0), "{}", reply.body);
    }
    // The model does not exist.
    let unknown = missing.replace("Not Found", "model: claude-x");
    let provider = CloudProvider::start(vec![CannedReply::json(404, &unknown)]).await;
    let route = "upstream_model = \"claude-x\"";
    let engine = engine(&upstream(&provider, "anthropic", "attempts = 1", route)).await;
    let reply = ask(&engine, endpoint, &whole(endpoint)).await;
    assert_eq!((reply.status.as_u16(), reply.body.contains("model: claude-x")), (404, true));
}

/// Compresses bytes; `raw` is deflate without the header that it should have.
fn compress(form: &str, bytes: &[u8]) -> Vec<u8> {
    let level = Compression::fast();
    let compressed = match form {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        _ => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
    };
    compressed.expect("into memory")
}

#[tokio::test]
async fn a_compressed_reply_is_read() {
    let encodings = [
        ("content-encoding: gzip\r\n", "gzip"),
        ("content-encoding: deflate\r\n", "zlib"),
        ("content-encoding: Deflate\r\n", "raw"),
    ];
    let endpoint = GatewayEndpoint::Messages;
    for (headers, form) in encodings {
        let packed = |reply: CannedReply| {
            let body = compress(form, &reply.body);
            CannedReply { headers, body, ..reply }
        };
        let canned = packed(completion("c1", "hello"));
        let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
        assert_eq!(reply.json()["content"][0]["text"], "hello", "{headers}");
        let canned = packed(chunks("c1", "hello"));
        let reply = ask_once("openai-compatible", endpoint, &hello(endpoint), canned).await;
        assert!(reply.body.contains("hello"), "{headers}: {}", reply.body);
        assert!(reply.body.contains("message_stop"), "{headers}: {}", reply.body);
        let canned = packed(text(400, "text/plain", "bad tool"));
        let reply = ask_once("openai-compatible", endpoint, &whole(endpoint), canned).await;
        assert_eq!(message(&reply), "the upstream returned status 400: bad tool", "{headers}");
    }
    // Small bytes with a large content are no way to fill the memory.
    let mut large = completion("c1", &" ".repeat(4 << 20));
    large.body = compress("gzip", &large.body);
    large.headers = "content-encoding: gzip\r\n";
    let provider = CloudProvider::start(vec![large]).await;
    let limits = "[limits]\nwhole_reply = \"1MiB\"\n";
    let engine =
        engine(&(limits.to_owned() + &upstream(&provider, "openai-compatible", "", ""))).await;
    let reply = ask(&engine, endpoint, &whole(endpoint)).await;
    assert_eq!(reply.status, 502, "{}", reply.body);
    assert!(message(&reply).contains("too long"), "{}", reply.body);
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_ends_with_one_error_behind_whole_events() {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let stream = [
        chunk(json!({"role": "assistant", "content": "one"}), json!(null)),
        chunk(json!({"content": " two"}), json!(null)),
        chunk(json!({}), json!("stop")),
    ]
    .concat();
    let last = stream.rfind("data: ").expect("a frame");
    let cuts: Vec<usize> = (1..last).step_by(9).collect();
    for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages] {
        let replies = cuts.iter().map(|cut| CannedReply::stream(&stream[..*cut])).collect();
        let provider = CloudProvider::start(replies).await;
        let chat = "formats = [\"openai-chat\"]\nattempts = 1";
        let engine = engine(&upstream(&provider, "openai", chat, "")).await;
        for cut in &cuts {
            let reply = ask(&engine, endpoint, &hello(endpoint)).await;
            let data = reply.body.lines().filter_map(|line| line.strip_prefix("data: "));
            let events: Vec<Value> = data
                .map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("{cut}: {data}")))
                .collect();
            let is_error = |event: &&Value| !event["error"].is_null();
            let errors = events.iter().filter(is_error).count();
            assert_eq!((reply.status.as_u16(), errors), (200, 1), "{cut}: {}", reply.body);
            let failed = events.iter().filter(|event| event["type"] == "response.failed").count();
            let expected = usize::from(endpoint == GatewayEndpoint::Responses);
            assert_eq!(failed, expected, "{cut}: {}", reply.body);
            assert!(reply.body.contains("the upstream's reply was interrupted"), "{}", reply.body);
        }
    }
}
