//! Endpoints over HTTP.

use std::sync::Arc;

use foxwedge_core::{Format, Policy};
use foxwedge_upstream::{
    AddressPolicy, NetworkTarget, SecretText, UpstreamConfig, UpstreamKey, UpstreamTransport,
    http::{HttpClient, HttpSettings},
    model::{
        ChatModel as _, ModelEndpoint, ModelEndpointError, ReplyDelta, ReplyStopReason,
        ReplyToolCall,
    },
};
use serde_json::{Value, json};

use crate::{
    conversation::{Conversation, ReceivedReply, assert_agrees, message_content},
    server::{ServerReply, lines, serve},
};

fn openai(url: &str) -> ModelEndpoint {
    let key = Some(SecretText::new("sk-canary"));
    ModelEndpoint::openai(&format!("{url}/v1"), key, "m").expect("an endpoint")
}

/// An endpoint on loopback for a format that usually has a fixed address.
fn at(url: &str, wire: Format) -> ModelEndpoint {
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let target = NetworkTarget {
        tls: false,
        host: "127.0.0.1".into(),
        port,
        prefix: "".into(),
        addresses: AddressPolicy::Private,
        identity: None,
    };
    let upstream = UpstreamConfig {
        name: "here".into(),
        transport: UpstreamTransport::Network(target),
        version: if wire == Format::Gemini { "/v1beta".into() } else { "/v1".into() },
        platform: None,
        formats: vec![wire],
        profile: None,
        key: UpstreamKey::Configured(SecretText::new("sk-canary")),
        headers: Vec::new(),
        attempts: 3,
    };
    let client = HttpClient::new(HttpSettings::default());
    let repair = Some(Policy::default());
    ModelEndpoint::of_upstream(client, Arc::new(upstream), "m", Some(7), repair)
        .expect("an endpoint")
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn call(index: usize, id: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": "look", "arguments": arguments}}]})
}

fn conversation(model: ModelEndpoint) -> Conversation {
    let mut conversation = Conversation::new(model);
    conversation.add_prompt("hello");
    conversation
}

#[tokio::test]
async fn requests_have_path_key_and_session() {
    let response =
        || ServerReply::events(&[chunk(json!({"content": "hi"}), Some("stop")), json!("[DONE]")]);
    let (url, server) = serve(vec![response(), response()]).await;
    let reply = conversation(openai(&url)).turn().await;
    assert_eq!((reply.text(), reply.error), ("hi".to_owned(), None));
    let gateway =
        ModelEndpoint::gateway(&url, Some(SecretText::new("fwk-token")), "m").expect("an endpoint");
    let reply = conversation(gateway.with_session("chat-1").expect("a name")).turn().await;
    assert_eq!(reply.stop(), Some(ReplyStopReason::Done));
    let requests = server.await.expect("server finished");
    assert!(requests[0].starts_with("post /v1/chat/completions http/1.1"), "{}", requests[0]);
    assert!(requests[0].contains("authorization: bearer sk-canary"), "{}", requests[0]);
    assert!(requests[0].contains("\"stream\":true"), "{}", requests[0]);
    assert!(!requests[0].contains("x-foxwedge"), "{}", requests[0]);
    assert!(requests[1].contains("x-foxwedge-session: chat-1"), "{}", requests[1]);
    assert!(requests[1].contains("authorization: bearer fwk-token"), "{}", requests[1]);
}

#[tokio::test]
async fn other_formats_have_their_own_paths_and_keys() {
    let claude = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1}});
    let gemini = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]},
        "finishReason": "STOP"}]});
    for (wire, response, path, key) in [
        (Format::Anthropic, claude, "post /v1/messages ", "x-api-key: sk-canary"),
        (
            Format::Gemini,
            gemini,
            "post /v1beta/models/m:streamgeneratecontent?alt=sse ",
            "x-goog-api-key: sk-canary",
        ),
    ] {
        // Both ignore that the reply was requested as a stream.
        let (url, server) = serve(vec![ServerReply::json(200, response)]).await;
        let endpoint = at(&url, wire);
        assert_eq!((&*endpoint.about().name, endpoint.about().window), ("m", Some(7)));
        let reply = conversation(endpoint).turn().await;
        assert_eq!((reply.text(), reply.error), ("hi".to_owned(), None), "{wire:?}");
        let request = server.await.expect("server finished").remove(0);
        assert!(request.starts_with(path) && request.contains(key), "{request}");
    }
}

#[tokio::test]
async fn ids_that_are_missing_or_repeated_are_computed_and_the_same_everywhere() {
    let events = [
        chunk(call(0, "call_1", "{\"n\":1}"), None),
        chunk(call(1, "call_1", "{\"n\":2}"), None),
        chunk(call(2, "", "{\"n\":3}"), None),
        // These are calls, whatever the stop reason is.
        chunk(json!({}), Some("stop")),
        json!("[DONE]"),
    ];
    let (url, _) = serve(vec![ServerReply::events(&events), ServerReply::events(&events)]).await;
    let mut all: Vec<Vec<ReplyToolCall>> = Vec::new();
    for _ in 0..2 {
        let reply = conversation(openai(&url)).turn().await;
        let calls = reply.calls();
        assert_eq!(calls.len(), 3, "{reply:?}");
        assert_eq!(calls[0].id, "call_1");
        assert!(calls[1].id != "call_1" && calls[1].id != calls[2].id && !calls[2].id.is_empty());
        let (_, written) = message_content(&reply.message.expect("a message"), Format::OpenaiChat);
        let expected: Vec<String> = calls
            .iter()
            .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
            .collect();
        assert_eq!(written, expected);
        all.push(calls);
    }
    // The same request and response give the same ids.
    assert_eq!(all[0], all[1]);
    let call = json!({"functionCall": {"name": "look", "args": {"n": 1}}});
    let response = json!({"candidates": [{"content": {"role": "model", "parts": [call, call]},
        "finishReason": "STOP"}]});
    let (url, _) = serve(vec![ServerReply::events(&[response])]).await;
    let mut conversation = conversation(at(&url, Format::Gemini));
    let calls = conversation.turn().await.calls();
    assert!(calls.len() == 2 && calls[0].id != calls[1].id && !calls[0].id.is_empty(), "{calls:?}");
    conversation.add_results(&calls);
    let body: Value = serde_json::from_str(&conversation.compose_request().body).expect("JSON");
    for (at, call) in calls.iter().enumerate() {
        assert_eq!(body["contents"][1]["parts"][at]["functionCall"]["id"], call.id, "{body}");
        assert_eq!(body["contents"][2]["parts"][at]["functionResponse"]["id"], call.id, "{body}");
    }
}

#[tokio::test]
async fn the_message_holds_only_delivered_deltas() {
    let events = [
        chunk(json!({"reasoning_content": "Hm. "}), None),
        chunk(json!({"reasoning_content": "Well."}), None),
        chunk(json!({"content": "Let me "}), None),
        chunk(json!({"content": "me look."}), None),
        chunk(call(0, "call_1", "{\"n\":1}"), None),
        chunk(call(1, "call_2", "{\"n\":2}"), None),
        chunk(json!({}), Some("tool_calls")),
        json!("[DONE]"),
    ];
    for taken in 0..8 {
        let (url, _) = serve(vec![ServerReply::events(&events)]).await;
        let mut stream = conversation(openai(&url)).send();
        let mut reply = ReceivedReply::default();
        for _ in 0..taken {
            reply.deltas.extend(stream.next_delta().await.expect("a delta"));
        }
        assert_agrees(&reply, stream.take_message().as_deref(), Format::OpenaiChat);
    }
}

#[tokio::test]
async fn a_call_cut_off_by_the_limit_is_delivered_unchanged() {
    let events = [
        chunk(call(0, "call_1", "{\"n\": [1, 2"), None),
        chunk(json!({}), Some("length")),
        json!("[DONE]"),
    ];
    let (url, _) = serve(vec![ServerReply::events(&events)]).await;
    let mut conversation = conversation(openai(&url));
    let reply = conversation.turn().await;
    assert_eq!((reply.error.clone(), reply.stop()), (None, Some(ReplyStopReason::Length)));
    assert_eq!(reply.calls()[0].arguments, "{\"n\": [1, 2");
    conversation.add_results(&reply.calls());
    conversation.valid_request();
}

/// A history with a call id that some providers refuse.
fn with_a_call(model: ModelEndpoint) -> Conversation {
    let mut conversation = conversation(model);
    let message = json!({"role": "assistant", "content": "",
        "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "look", "arguments": "{\"n\":1}"}}]});
    conversation.turns.push((Format::OpenaiChat, message.to_string()));
    let (id, name) = ("call_1".to_owned(), "look".to_owned());
    conversation.add_results(&[ReplyToolCall { id, name, arguments: "{}".to_owned() }]);
    conversation
}

#[tokio::test]
async fn a_refused_history_is_repaired_once_and_never_resent_unchanged() {
    let refusal = || {
        ServerReply::json(
            400,
            json!({"object": "error", "type": "invalid_request_message_order",
            "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}),
        )
    };
    let response =
        ServerReply::events(&[chunk(json!({"content": "ok"}), Some("stop")), json!("[DONE]")]);
    let (url, server) = serve(vec![refusal(), response]).await;
    let reply = with_a_call(openai(&url)).turn().await;
    assert_eq!((reply.text(), reply.error.clone()), ("ok".to_owned(), None));
    let Some(ReplyDelta::Repaired(changes)) = reply.deltas.first() else { panic!("{reply:?}") };
    assert_eq!(changes.iter().map(|change| change.code).collect::<Vec<_>>(), [203]);
    let requests = server.await.expect("server finished");
    assert_eq!(requests[0].matches("\"call_1\"").count(), 2, "{}", requests[0]);
    assert_eq!(requests[1].matches("\"call_1\"").count(), 0, "{}", requests[1]);
    // A second refusal is final.
    let (url, server) = serve(vec![refusal(), refusal()]).await;
    let reply = with_a_call(openai(&url)).turn().await;
    assert_eq!(reply.code(), "refused");
    assert!(reply.error.expect("an error").message.contains("with a length of 9"));
    assert_eq!(server.await.expect("server finished").len(), 2);
}

#[tokio::test]
async fn all_attempts_of_a_request_share_one_count() {
    let refusal = || {
        ServerReply::json(
            400,
            json!({"object": "error", "type": "invalid_request_message_order",
            "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}),
        )
    };
    let busy = || ServerReply::json(503, json!({"error": {"message": "Overloaded, sorry"}}));
    let failure = || {
        ServerReply::events(&[json!({"error":
            {"type": "server_error", "code": 503, "message": "Overloaded, sorry"}})])
    };
    // The server sees three requests and no more: it would not reply to a fourth, and then the
    // error would be another.
    let table = [
        (vec![busy(), failure(), busy()], 2),
        (vec![failure(), busy(), failure()], 2),
        (vec![failure(), failure(), failure()], 2),
        // What was repaired stays repaired when the reply to it fails.
        (vec![refusal(), failure(), failure()], 1),
        (vec![refusal(), busy(), failure()], 1),
    ];
    for (at, (replies, retries)) in table.into_iter().enumerate() {
        let repaired = matches!(replies.first(), Some(ServerReply::Complete(400, ..)));
        let (url, server) = serve(replies).await;
        let reply = with_a_call(openai(&url).with_attempts(3)).turn().await;
        assert_eq!((reply.retries(), reply.is_repaired()), (retries, repaired), "{at}: {reply:?}");
        let error = reply.error.expect("an error");
        assert!(error.message.contains("Overloaded, sorry"), "{at}: {error}");
        let requests = server.await.expect("server finished");
        let refused = requests.iter().filter(|request| request.contains("\"call_1\"")).count();
        assert_eq!((requests.len(), refused), (3, if repaired { 1 } else { 3 }), "{at}");
    }
}

#[tokio::test]
async fn overflow_and_wrong_key_have_their_own_codes() {
    let error = |message: &str| json!({"error": {"message": message, "code": "x", "type": "y"}});
    let overflow = error("This model's maximum context length is 8192 tokens. Please shorten.");
    let key = error("Incorrect API key provided: sk-canary.");
    let (url, _) = serve(vec![ServerReply::json(400, overflow), ServerReply::json(401, key)]).await;
    let reply = conversation(openai(&url)).turn().await;
    assert_eq!(reply.code(), "overflow");
    assert!(reply.error.expect("an error").message.contains("8192"));
    let reply = conversation(openai(&url)).turn().await;
    let error = reply.error.expect("an error");
    assert!(error.code == "unauthorized" && !error.message.contains("canary"), "{error}");
}

#[tokio::test]
async fn an_unreachable_address_is_reported_after_all_attempts() {
    // A port that was free a moment ago.
    let (url, server) = serve(Vec::new()).await;
    server.await.expect("server finished");
    let reply = conversation(openai(&url).with_attempts(2)).turn().await;
    assert_eq!((reply.retries(), reply.code()), (1, "upstream_unreachable"));
    let error = reply.error.expect("an error");
    assert!(error.retryable && error.message.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_failure_before_content_is_retried_and_one_after_keeps_the_content() {
    let start = json!({"type": "message_start", "message": {"id": "m1", "type": "message",
        "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 3}}});
    let failure = json!({"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded, sorry"}});
    let open = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}});
    let text = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": "Half a "}});
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"});
    let replies = vec![
        ServerReply::events(&[start.clone(), failure.clone()]),
        ServerReply::json(200, whole),
        ServerReply::events(&[start, open, text, failure]),
    ];
    let (url, _) = serve(replies).await;
    let endpoint = at(&url, Format::Anthropic);
    let reply = conversation(endpoint.clone()).turn().await;
    assert_eq!((reply.retries(), reply.text(), reply.error.clone()), (1, "hi".to_owned(), None));
    let mut conversation = conversation(endpoint);
    let reply = conversation.turn().await;
    let error = reply.error.clone().expect("an error");
    assert!(error.code == "cut" && error.message.contains("Overloaded, sorry"), "{error}");
    assert_eq!(message_content(&reply.message.expect("a message"), Format::Anthropic).0, "Half a ");
}

#[tokio::test]
async fn a_broken_connection_is_a_cut_and_dropping_closes_it() {
    let half = lines(&[chunk(json!({"content": "Half"}), None)]);
    let (url, server) =
        serve(vec![ServerReply::Break(half.clone()), ServerReply::Hang(half)]).await;
    let reply = conversation(openai(&url)).turn().await;
    assert_eq!((reply.text(), reply.code()), ("Half".to_owned(), "cut"));
    let conversation = conversation(openai(&url));
    let mut stream = conversation.send();
    assert_eq!(stream.next_delta().await, Ok(Some(ReplyDelta::Text("Half".to_owned()))));
    drop(stream);
    assert_eq!(server.await.expect("server finished").last().map(String::as_str), Some("closed"));
}

#[tokio::test]
async fn a_stream_without_its_content_type_is_read() {
    let events = lines(&[chunk(json!({"content": "hi"}), Some("stop")), json!("[DONE]")]);
    let (url, _) = serve(vec![ServerReply::Complete(200, "text/plain", events)]).await;
    let reply = conversation(openai(&url)).turn().await;
    assert_eq!((reply.text(), reply.error), ("hi".to_owned(), None));
}

#[test]
fn invalid_endpoints_are_refused_with_a_reason() {
    let bad = ModelEndpoint::openai("ftp://a.example", None, "m").expect_err("no address");
    assert!(matches!(bad, ModelEndpointError::Address { .. }), "{bad}");
    for key in ["", "a\nb"] {
        let bad = ModelEndpoint::anthropic(SecretText::new(key), "m").expect_err("no key");
        assert_eq!(bad, ModelEndpointError::Header("key"));
    }
    let bad = ModelEndpoint::scripted("m").with_session("a\r\nb").expect_err("no name");
    assert!(bad.to_string().contains("session"), "{bad}");
    let bad = ModelEndpoint::at_address(Format::Bedrock, "http://127.0.0.1:9", None, "m")
        .expect_err("no format");
    assert!(matches!(bad, ModelEndpointError::Address { .. }), "{bad}");
    let gemini = ModelEndpoint::at_address(Format::Gemini, "http://127.0.0.1:9", None, "m")
        .expect("an endpoint");
    assert_eq!(gemini.about().wire, Format::Gemini);
    for endpoint in [
        ModelEndpoint::anthropic(SecretText::new("k"), "claude-opus-4-6"),
        ModelEndpoint::gemini(SecretText::new("k"), "gemini-3-pro"),
        ModelEndpoint::deepseek(SecretText::new("k"), "deepseek-chat"),
    ] {
        let endpoint = endpoint.expect("an endpoint");
        assert!(endpoint.about().window.is_some(), "{endpoint:?}");
        assert!(!format!("{endpoint:?}").contains("\"k\""), "{endpoint:?}");
    }
}
