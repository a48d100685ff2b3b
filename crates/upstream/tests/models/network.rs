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
    server::{Play, lines, serve},
    stand::{Heard, Talk, assert_agrees, said},
};

fn openai(url: &str) -> ModelEndpoint {
    let key = Some(SecretText::new("sk-canary"));
    ModelEndpoint::openai(&format!("{url}/v1"), key, "m").expect("an endpoint")
}

/// An endpoint in a format that has an address of its own elsewhere.
fn at(url: &str, wire: Format) -> ModelEndpoint {
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let target = NetworkTarget {
        tls: false,
        host: "127.0.0.1".into(),
        port,
        prefix: "".into(),
        addresses: AddressPolicy::Private,
    };
    let upstream = UpstreamConfig {
        name: "here".into(),
        transport: UpstreamTransport::Network(target),
        version: if wire == Format::Gemini { "/v1beta".into() } else { "/v1".into() },
        speaks: vec![wire],
        profile: None,
        key: UpstreamKey::Configured(SecretText::new("sk-canary")),
        headers: Vec::new(),
        tries: 3,
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

fn talk(model: ModelEndpoint) -> Talk {
    let mut talk = Talk::with(model);
    talk.user("hello");
    talk
}

#[tokio::test]
async fn a_request_goes_where_it_should_with_its_key_and_its_session() {
    let reply = || Play::events(&[chunk(json!({"content": "hi"}), Some("stop")), json!("[DONE]")]);
    let (url, playing) = serve(vec![reply(), reply()]).await;
    let heard = talk(openai(&url)).turn().await;
    assert_eq!((heard.text(), heard.error), ("hi".to_owned(), None));
    let gateway =
        ModelEndpoint::gateway(&url, Some(SecretText::new("fwk-token")), "m").expect("an endpoint");
    let heard = talk(gateway.with_session("chat-1").expect("a name")).turn().await;
    assert_eq!(heard.stop(), Some(ReplyStopReason::Done));
    let requests = playing.await.expect("played");
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
    for (wire, reply, path, key) in [
        (Format::Anthropic, claude, "post /v1/messages ", "x-api-key: sk-canary"),
        (
            Format::Gemini,
            gemini,
            "post /v1beta/models/m:streamgeneratecontent?alt=sse ",
            "x-goog-api-key: sk-canary",
        ),
    ] {
        // Both ignore that the reply was to come in pieces.
        let (url, playing) = serve(vec![Play::json(200, reply)]).await;
        let endpoint = at(&url, wire);
        assert_eq!((&*endpoint.about().name, endpoint.about().window), ("m", Some(7)));
        let heard = talk(endpoint).turn().await;
        assert_eq!((heard.text(), heard.error), ("hi".to_owned(), None), "{wire:?}");
        let request = playing.await.expect("played").remove(0);
        assert!(request.starts_with(path) && request.contains(key), "{request}");
    }
}

#[tokio::test]
async fn ids_that_are_missing_or_repeated_are_computed_and_the_same_everywhere() {
    let events = [
        chunk(call(0, "call_1", "{\"n\":1}"), None),
        chunk(call(1, "call_1", "{\"n\":2}"), None),
        chunk(call(2, "", "{\"n\":3}"), None),
        // Called, whatever the reason of the stop says.
        chunk(json!({}), Some("stop")),
        json!("[DONE]"),
    ];
    let (url, _) = serve(vec![Play::events(&events), Play::events(&events)]).await;
    let mut all: Vec<Vec<ReplyToolCall>> = Vec::new();
    for _ in 0..2 {
        let heard = talk(openai(&url)).turn().await;
        let calls = heard.calls();
        assert_eq!(calls.len(), 3, "{heard:?}");
        assert_eq!(calls[0].id, "call_1");
        assert!(calls[1].id != "call_1" && calls[1].id != calls[2].id && !calls[2].id.is_empty());
        let (_, written) = said(&heard.message.expect("a message"), Format::OpenaiChat);
        let expected: Vec<String> = calls
            .iter()
            .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
            .collect();
        assert_eq!(written, expected);
        all.push(calls);
    }
    // The same request and reply give the same ids.
    assert_eq!(all[0], all[1]);
    let call = json!({"functionCall": {"name": "look", "args": {"n": 1}}});
    let reply = json!({"candidates": [{"content": {"role": "model", "parts": [call, call]},
        "finishReason": "STOP"}]});
    let (url, _) = serve(vec![Play::events(&[reply])]).await;
    let mut talk = talk(at(&url, Format::Gemini));
    let calls = talk.turn().await.calls();
    assert!(calls.len() == 2 && calls[0].id != calls[1].id && !calls[0].id.is_empty(), "{calls:?}");
    talk.answer(&calls);
    let body: Value = serde_json::from_str(&talk.composed().body).expect("JSON");
    for (at, call) in calls.iter().enumerate() {
        assert_eq!(body["contents"][1]["parts"][at]["functionCall"]["id"], call.id, "{body}");
        assert_eq!(body["contents"][2]["parts"][at]["functionResponse"]["id"], call.id, "{body}");
    }
}

#[tokio::test]
async fn of_what_came_at_once_only_what_was_told_is_in_the_message() {
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
        let (url, _) = serve(vec![Play::events(&events)]).await;
        let mut speech = talk(openai(&url)).ask();
        let mut heard = Heard::default();
        for _ in 0..taken {
            heard.pieces.extend(speech.next_delta().await.expect("a piece"));
        }
        assert_agrees(&heard, speech.take_message().as_deref(), Format::OpenaiChat);
    }
}

#[tokio::test]
async fn a_call_that_the_limit_cut_off_is_told_as_it_is() {
    let events = [
        chunk(call(0, "call_1", "{\"n\": [1, 2"), None),
        chunk(json!({}), Some("length")),
        json!("[DONE]"),
    ];
    let (url, _) = serve(vec![Play::events(&events)]).await;
    let mut talk = talk(openai(&url));
    let heard = talk.turn().await;
    assert_eq!((heard.error.clone(), heard.stop()), (None, Some(ReplyStopReason::Length)));
    assert_eq!(heard.calls()[0].arguments, "{\"n\": [1, 2");
    talk.answer(&heard.calls());
    talk.sealed();
}

/// A history with a call whose id not everybody takes.
fn with_a_call(model: ModelEndpoint) -> Talk {
    let mut talk = talk(model);
    let message = json!({"role": "assistant", "content": "",
        "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "look", "arguments": "{\"n\":1}"}}]});
    talk.turns.push((Format::OpenaiChat, message.to_string()));
    let (id, name) = ("call_1".to_owned(), "look".to_owned());
    talk.answer(&[ReplyToolCall { id, name, arguments: "{}".to_owned() }]);
    talk
}

#[tokio::test]
async fn a_refused_shape_is_repaired_once_and_never_sent_again_as_it_was() {
    let refusal = || {
        Play::json(
            400,
            json!({"object": "error", "type": "invalid_request_message_order",
            "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}),
        )
    };
    let reply = Play::events(&[chunk(json!({"content": "ok"}), Some("stop")), json!("[DONE]")]);
    let (url, playing) = serve(vec![refusal(), reply]).await;
    let heard = with_a_call(openai(&url)).turn().await;
    assert_eq!((heard.text(), heard.error.clone()), ("ok".to_owned(), None));
    let Some(ReplyDelta::Repaired(changes)) = heard.pieces.first() else { panic!("{heard:?}") };
    assert_eq!(changes.iter().map(|change| change.code).collect::<Vec<_>>(), [203]);
    let requests = playing.await.expect("played");
    assert_eq!(requests[0].matches("\"call_1\"").count(), 2, "{}", requests[0]);
    assert_eq!(requests[1].matches("\"call_1\"").count(), 0, "{}", requests[1]);
    // One that goes on refusing is believed.
    let (url, playing) = serve(vec![refusal(), refusal()]).await;
    let heard = with_a_call(openai(&url)).turn().await;
    assert_eq!(heard.code(), "refused");
    assert!(heard.error.expect("an error").message.contains("with a length of 9"));
    assert_eq!(playing.await.expect("played").len(), 2);
}

#[tokio::test]
async fn an_overflow_and_a_wrong_key_have_names_of_their_own() {
    let error = |message: &str| json!({"error": {"message": message, "code": "x", "type": "y"}});
    let overflow = error("This model's maximum context length is 8192 tokens. Please shorten.");
    let key = error("Incorrect API key provided: sk-canary.");
    let (url, _) = serve(vec![Play::json(400, overflow), Play::json(401, key)]).await;
    let heard = talk(openai(&url)).turn().await;
    assert_eq!(heard.code(), "overflow");
    assert!(heard.error.expect("an error").message.contains("8192"));
    let heard = talk(openai(&url)).turn().await;
    let error = heard.error.expect("an error");
    assert!(error.code == "unauthorized" && !error.message.contains("canary"), "{error}");
}

#[tokio::test]
async fn nobody_at_the_address_is_told_after_some_tries() {
    // A port that was free a moment ago.
    let (url, playing) = serve(Vec::new()).await;
    playing.await.expect("played");
    let heard = talk(openai(&url).with_attempts(2)).turn().await;
    assert_eq!((heard.waits(), heard.code()), (1, "upstream_unreachable"));
    let error = heard.error.expect("an error");
    assert!(error.retryable && error.message.contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_failure_in_the_middle_keeps_what_was_said_and_one_at_the_beginning_is_waited_out() {
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
    let plays = vec![
        Play::events(&[start.clone(), failure.clone()]),
        Play::json(200, whole),
        Play::events(&[start, open, text, failure]),
    ];
    let (url, _) = serve(plays).await;
    let endpoint = at(&url, Format::Anthropic);
    let heard = talk(endpoint.clone()).turn().await;
    assert_eq!((heard.waits(), heard.text(), heard.error.clone()), (1, "hi".to_owned(), None));
    let mut talk = talk(endpoint);
    let heard = talk.turn().await;
    let error = heard.error.clone().expect("an error");
    assert!(error.code == "cut" && error.message.contains("Overloaded, sorry"), "{error}");
    assert_eq!(said(&heard.message.expect("a message"), Format::Anthropic).0, "Half a ");
}

#[tokio::test]
async fn a_broken_connection_is_a_cut_and_leaving_closes_it() {
    let half = lines(&[chunk(json!({"content": "Half"}), None)]);
    let (url, playing) = serve(vec![Play::Break(half.clone()), Play::Hang(half)]).await;
    let heard = talk(openai(&url)).turn().await;
    assert_eq!((heard.text(), heard.code()), ("Half".to_owned(), "cut"));
    let talk = talk(openai(&url));
    let mut speech = talk.ask();
    assert_eq!(speech.next_delta().await, Ok(Some(ReplyDelta::Text("Half".to_owned()))));
    drop(speech);
    assert_eq!(playing.await.expect("played").last().map(String::as_str), Some("closed"));
}

#[tokio::test]
async fn a_stream_that_says_it_is_none_is_read_all_the_same() {
    let events = lines(&[chunk(json!({"content": "hi"}), Some("stop")), json!("[DONE]")]);
    let (url, _) = serve(vec![Play::Say(200, "text/plain", events)]).await;
    let heard = talk(openai(&url)).turn().await;
    assert_eq!((heard.text(), heard.error), ("hi".to_owned(), None));
}

#[test]
fn what_is_no_model_is_refused_with_a_reason() {
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
