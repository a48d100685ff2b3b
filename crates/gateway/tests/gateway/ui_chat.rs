//! Chats of user interfaces, and calls that are repaired while a reply streams.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc};

use foxwedge_core::Format;
use foxwedge_gateway::config::{GatewayConfig, GuardConfig, GuardMode, ModelRoute};
use foxwedge_upstream::{UpstreamKey, single_upstream};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    client::{Answer, get, post, send},
    server::{Server, TOKEN, config},
};

fn token() -> String {
    format!("authorization: Bearer {TOKEN}\r\n")
}

async fn chat(server: &Server, path: &str, body: &Value) -> Answer {
    send(server.address, post(path, &token(), body.to_string())).await
}

/// The JSON of every frame, however the body was cut into chunks.
fn frames(answer: &Answer) -> Vec<Value> {
    let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn texts(frames: &[Value], kind: &str) -> String {
    let deltas = frames.iter().filter(|frame| frame["type"] == kind);
    deltas.filter_map(|frame| frame["delta"].as_str()).collect()
}

fn weather() -> Value {
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    json!({ "name": "weather", "description": "", "parameters": city })
}

#[tokio::test]
async fn an_agent_of_ag_ui_gets_the_text_and_its_calls_stay_open() {
    let server = Server::start_default().await;
    let mut input = json!({
        "threadId": "t-1", "runId": "r-1", "state": {}, "context": [], "tools": [weather()],
        "forwardedProps": {},
        "messages": [{ "id": "1", "role": "user", "content": "call weather with {\"city\":\"Ulm\"}" }],
    });
    let path = "/v1/ui/agui?model=scripted";
    let answer = chat(&server, path, &input).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let events = frames(&answer);
    assert_eq!(events[0]["type"], "RUN_STARTED");
    assert_eq!((&events[0]["threadId"], &events[0]["runId"]), (&json!("t-1"), &json!("r-1")));
    let end = events.last().expect("an end");
    assert_eq!(end["type"], "RUN_FINISHED", "{end}");
    let call = events.iter().find(|event| event["type"] == "TOOL_CALL_START").expect("a call");
    assert_eq!(end["outcome"]["pendingToolCallIds"], json!([call["toolCallId"]]));
    assert_eq!(texts(&events, "TOOL_CALL_ARGS"), "{\"city\":\"Ulm\"}");
    assert!(events.iter().all(|event| event["type"] != "TOOL_CALL_RESULT"), "{events:?}");

    let function = json!({ "name": "weather", "arguments": "{\"city\":\"Ulm\"}" });
    let call = json!({ "id": call["toolCallId"], "type": "function", "function": function });
    let messages = input["messages"].as_array_mut().expect("messages");
    let id = call["id"].clone();
    messages.push(json!({ "id": "2", "role": "assistant", "toolCalls": [call] }));
    messages.push(json!({ "id": "3", "role": "tool", "toolCallId": id, "content": "sunny" }));
    input["runId"] = json!("r-2");
    let events = frames(&chat(&server, path, &input).await);
    assert_eq!(texts(&events, "TEXT_MESSAGE_CONTENT"), "The tool said: sunny");

    let refused = chat(&server, "/v1/ui/agui", &input).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("no model"), "{}", refused.body);
    let refused = chat(&server, path, &json!({ "messages": 7 })).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    server.end().await;
}

#[tokio::test]
async fn a_chat_of_the_ai_sdk_continues_its_message_with_the_results() {
    let server = Server::start_default().await;
    let tools = json!([{ "type": "function", "function": weather() }]);
    let prompt = json!({ "type": "text", "text": "call weather with {\"city\":\"Ulm\"}" });
    let mut body = json!({
        "id": "chat-1", "trigger": "submit-message", "model": "scripted", "tools": tools,
        "messages": [{ "id": "1", "role": "user", "parts": [prompt] }],
    });
    let path = "/v1/ui/ai-sdk";
    let answer = chat(&server, path, &body).await;
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1", "{}", answer.body);
    assert!(answer.body.contains("data: [DONE]"), "{}", answer.body);
    let chunks = frames(&answer);
    let message = chunks[0]["messageId"].clone();
    let run = answer.header("x-foxwedge-run").to_owned();
    let session = answer.header("x-foxwedge-session").to_owned();
    let metadata = chunks[0]["messageMetadata"]["foxwedge"].clone();
    assert_eq!((&metadata["run"], &metadata["session"]), (&json!(run), &json!(session)));
    // As a resumed stream has it.
    assert_eq!(message, run);
    let row = send(server.address, get(&format!("/v1/runs/{run}"), &token())).await;
    assert_eq!((row.status, &row.json()["session"]), (200, &json!(session)), "{}", row.body);
    let find = |kind: &str| chunks.iter().find(|chunk| chunk["type"] == kind);
    let call = find("tool-input-available").expect("a call");
    assert_eq!(call["input"], json!({ "city": "Ulm" }));
    assert_eq!(find("finish").expect("an end")["finishReason"], "tool-calls");
    assert_eq!((find("tool-output-available"), find("tool-output-error")), (None, None));
    let resumed = send(server.address, get("/v1/ui/ai-sdk/chat-1/stream", &token())).await;
    assert_eq!(resumed.status, 204, "the run waits for the client: {}", resumed.body);

    let part = json!({
        "type": "dynamic-tool", "toolName": "weather", "toolCallId": call["toolCallId"],
        "state": "output-available", "input": call["input"], "output": "sunny",
    });
    let reply =
        json!({ "id": message, "role": "assistant", "parts": [{ "type": "step-start" }, part] });
    body["messages"].as_array_mut().expect("messages").push(reply);
    // The client may have an id of its own for the message.
    body["messages"][1]["id"] = json!("own-1");
    let chunks = frames(&chat(&server, path, &body).await);
    assert_eq!(chunks[0]["messageId"], "own-1");
    assert_eq!(chunks[0]["messageMetadata"]["foxwedge"]["run"], run);
    assert_eq!(texts(&chunks, "text-delta"), "The tool said: sunny");

    let resumed = send(server.address, get("/v1/ui/ai-sdk/chat-1/stream", &token())).await;
    assert_eq!(resumed.status, 204, "{}", resumed.body);
    server.end().await;
}

#[tokio::test]
async fn a_chat_whose_id_is_no_session_name_has_a_session_and_is_resumed() {
    let server = Server::start_default().await;
    let long = "x".repeat(200);
    let ids = [("a:b", "a:b"), ("c/d", "c/d"), ("e f", "e%20f"), ("é", "%C3%A9"), (&long, &long)];
    let mut sessions = Vec::new();
    for (id, in_path) in ids {
        let text = json!([{ "type": "text", "text": "call weather with {}" }]);
        let message = json!({ "id": "1", "role": "user", "parts": text });
        let tools = json!([{ "type": "function", "function": weather() }]);
        let body = json!({ "id": id, "model": "scripted", "messages": [message], "tools": tools });
        let answer = chat(&server, "/v1/ui/ai-sdk", &body).await;
        assert_eq!(answer.header("x-foxwedge-match"), "session-id", "{id}: {}", answer.body);
        sessions.push(answer.header("x-foxwedge-session").to_owned());
        let path = format!("/v1/ui/ai-sdk/{in_path}/stream");
        let resumed = send(server.address, get(&path, &token())).await;
        assert_eq!(resumed.status, 204, "{id}: {}", resumed.body);
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), ids.len(), "{sessions:?}");
    server.end().await;
}

#[tokio::test]
async fn a_strict_route_refuses_an_invalid_chat_of_the_ai_sdk() {
    let mut config = config();
    config.routes = vec![Arc::new(ModelRoute {
        guard: GuardConfig { mode: GuardMode::Strict, ..GuardConfig::default() },
        ..(*config.routes[0]).clone()
    })];
    let server = Server::start(config).await;
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = json!({
        "type": "dynamic-tool", "toolName": "weather", "toolCallId": "call_1",
        "state": "input-available", "input": {},
    });
    let body = json!({ "id": "chat-1", "model": "scripted", "messages": [
        { "id": "1", "role": "user", "parts": [text("weather?")] },
        { "id": "2", "role": "assistant", "parts": [call] },
        { "id": "3", "role": "user", "parts": [text("go on")] },
    ] });
    let answer = chat(&server, "/v1/ui/ai-sdk", &body).await;
    let found = (answer.status, answer.header("x-foxwedge-action"));
    assert_eq!(found, (400, "rejected"), "{}", answer.body);
    assert_eq!(answer.header("x-foxwedge-findings"), "fw101=1");
    server.end().await;
}

#[tokio::test]
async fn media_of_ag_ui_are_carried_or_named_as_losses() {
    let server = Server::start_default().await;
    let source = |mime: &str| json!({ "type": "data", "value": "QQ==", "mimeType": mime });
    let input = json!({ "threadId": "t-9", "messages": [{ "id": "1", "role": "user", "content": [
        { "type": "text", "text": "say hello" },
        { "type": "document", "source": source("application/pdf") },
        { "type": "video", "source": source("video/mp4") },
        { "type": "hologram", "value": 1 },
    ] }] });
    let answer = chat(&server, "/v1/ui/agui?model=scripted", &input).await;
    let found = (answer.status, answer.header("x-foxwedge-losses"));
    assert_eq!(found, (200, "2"), "{}", answer.body);
    server.end().await;
}

/// An upstream that sends one stream.
async fn upstream(stream: &'static str) -> SocketAddr {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    upstream_with_head(HEAD, stream).await
}

async fn upstream_with_head(head: &'static str, body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 64 << 10];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all([head, body].concat().as_bytes()).await;
        }
    });
    address
}

/// A configuration with that upstream for every model.
fn config_of(address: SocketAddr, repair_streams: bool) -> GatewayConfig {
    let mut config = config();
    let url = format!("http://{address}/v1");
    let upstream = single_upstream("own", Format::OpenaiChat, Some(&url), UpstreamKey::None);
    let upstream = Arc::new(upstream.expect("an upstream"));
    config.routes = vec![Arc::new(ModelRoute {
        model: "*".into(),
        upstream: upstream.clone(),
        agent: None,
        upstream_model: None,
        guard: GuardConfig { repair_streams, ..GuardConfig::default() },
        context_window: None,
        fallbacks: Vec::new(),
    })];
    config.upstreams = vec![upstream];
    config
}

/// A Chat stream with these deltas that ends at the token limit.
fn cut_stream(deltas: &[Value]) -> &'static str {
    let whole = json!({ "index": 0, "id": "call_w", "type": "function",
        "function": { "name": "a", "arguments": "{\"x\":1}" } });
    let deltas = [json!({ "content": "Hm." }), json!({ "tool_calls": [whole] })]
        .into_iter()
        .filter(|delta| delta.get("content").is_some() || !deltas.is_empty())
        .chain(deltas.iter().cloned());
    let frame = |delta: Value, end: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        format!("data: {}\n\n", json!({ "id": "c", "choices": [choice] }))
    };
    let mut stream: String = deltas.map(|delta| frame(delta, Value::Null)).collect();
    stream.push_str(&frame(json!({}), json!("length")));
    stream.push_str("data: [DONE]\n\n");
    stream.leak()
}

#[tokio::test]
async fn a_call_that_the_token_limit_cut_off_is_not_offered() {
    let half = |arguments: &str| {
        let function = json!({ "name": "a", "arguments": arguments });
        let call = json!({ "index": 1, "id": "call_h", "type": "function", "function": function });
        vec![json!({ "tool_calls": [call] })]
    };
    for deltas in [half("{\"x\":\"rm -rf /tmp/"), half(""), Vec::new()] {
        let server = Server::start(config_of(upstream(cut_stream(&deltas)).await, false)).await;
        let (whole, cut): (&[&str], &[&str]) = match deltas.is_empty() {
            true => (&[], &[]),
            false => (&["call_w"], &["call_h"]),
        };
        let text = json!([{ "type": "text", "text": "go" }]);
        let message = json!({ "id": "1", "role": "user", "content": "go", "parts": text });
        let body = json!({ "id": "c-1", "threadId": "c-1", "model": "m", "messages": [message] });
        let of = |frames: &[Value], kind: &str| -> Vec<Value> {
            let of_kind = frames.iter().filter(|frame| frame["type"] == kind);
            of_kind.map(|frame| frame["toolCallId"].clone()).collect()
        };

        let chunks = frames(&chat(&server, "/v1/ui/ai-sdk", &body).await);
        assert_eq!(of(&chunks, "tool-input-available"), whole, "{chunks:?}");
        assert_eq!(of(&chunks, "tool-output-error"), cut, "{chunks:?}");
        assert_eq!(chunks.last().expect("an end")["finishReason"], "length", "{chunks:?}");

        for version in [0, 1] {
            let path = format!("/v1/ui/agui?model=m&agui_version={version}");
            let events = frames(&chat(&server, &path, &body).await);
            assert_eq!(of(&events, "TOOL_CALL_RESULT"), cut, "{events:?}");
            let end = events.last().expect("an end");
            assert_eq!(end["metadata"]["finishedReason"], "length", "{end}");
            let pending = end["outcome"].get("pendingToolCallIds").cloned();
            let pending = pending.unwrap_or(json!([]));
            assert_eq!(pending, json!(if version == 1 { whole } else { &[] }), "{end}");
            let ends = events.iter().filter(|event| event["type"] == "TOOL_CALL_END");
            assert!(
                ends.filter(|end| end["toolCallId"] == "call_h")
                    .all(|end| end["metadata"].get("input").is_none()),
                "{events:?}"
            );
        }
        server.end().await;
    }
}

/// A Chat stream with calls that share an id, or have none.
const SHARED_IDS: &str = concat!(
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[",
    "{\"index\":0,\"id\":\"ca\",\"type\":\"function\",\"function\":{\"name\":\"fa\",\"arguments\":\"{\\\"n\\\":0}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[",
    "{\"index\":1,\"id\":\"ca\",\"type\":\"function\",\"function\":{\"name\":\"fb\",\"arguments\":\"{\\\"n\\\":1}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[",
    "{\"index\":2,\"type\":\"function\",\"function\":{\"name\":\"fc\",\"arguments\":\"{\\\"n\\\":2}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[",
    "{\"index\":3,\"id\":\"\",\"type\":\"function\",\"function\":{\"name\":\"fd\",\"arguments\":\"{\\\"n\\\":3}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n"
);

#[tokio::test]
async fn every_call_reaches_the_client_if_calls_share_an_id_or_have_none() {
    let server = Server::start(config_of(upstream(SHARED_IDS).await, false)).await;
    let text = json!([{ "type": "text", "text": "go" }]);
    let message = json!({ "id": "1", "role": "user", "content": "go", "parts": text });
    let body = json!({ "id": "c-1", "threadId": "c-1", "model": "m", "messages": [message] });
    // The name and the id of every call.
    let calls = |frames: &[Value], kind: &str, name: &str| -> Vec<(String, String)> {
        let of_kind = frames.iter().filter(|frame| frame["type"] == kind);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        of_kind.map(|frame| (text(&frame[name]), text(&frame["toolCallId"]))).collect()
    };
    let check = |calls: &[(String, String)], frames: &[Value]| {
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["fa", "fb", "fc", "fd"], "{frames:?}");
        let ids: BTreeSet<&str> = calls.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!(ids.len(), 4, "{frames:?}");
        assert_eq!(calls[0].1, "ca", "{frames:?}");
        assert!(ids.iter().all(|id| !id.is_empty()), "{frames:?}");
    };

    let chunks = frames(&chat(&server, "/v1/ui/ai-sdk", &body).await);
    check(&calls(&chunks, "tool-input-available", "toolName"), &chunks);
    let inputs = chunks.iter().filter(|chunk| chunk["type"] == "tool-input-available");
    let numbers: Vec<&Value> = inputs.map(|chunk| &chunk["input"]["n"]).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "{chunks:?}");

    for version in [0, 1] {
        let path = format!("/v1/ui/agui?model=m&agui_version={version}");
        let events = frames(&chat(&server, &path, &body).await);
        let started = calls(&events, "TOOL_CALL_START", "toolCallName");
        check(&started, &events);
        assert_eq!(texts(&events, "TOOL_CALL_ARGS"), r#"{"n":0}{"n":1}{"n":2}{"n":3}"#);
        if version == 1 {
            let ids: Vec<&str> = started.iter().map(|(_, id)| id.as_str()).collect();
            let end = events.last().expect("an end");
            assert_eq!(end["outcome"]["pendingToolCallIds"], json!(ids), "{end}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn a_forwarded_body_keeps_its_encoding() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                        content-encoding: gzip\r\ncontent-length: 6\r\nconnection: close\r\n\r\n";
    let server = Server::start(config_of(upstream_with_head(HEAD, "packed").await, false)).await;
    let answer = chat(&server, "/v1/embeddings", &json!({ "model": "m", "input": "x" })).await;
    assert_eq!((answer.status, answer.header("content-encoding")), (200, "gzip"), "{answer:?}");
    assert!(answer.body.contains("packed"), "{answer:?}");
    server.end().await;
}

#[tokio::test]
async fn a_page_may_read_the_limits_that_the_upstream_sends() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                        x-ratelimit-remaining-tokens: 7\r\nopenai-processing-ms: 3\r\n\
                        content-length: 2\r\nconnection: close\r\n\r\n";
    let server = Server::start(config_of(upstream_with_head(HEAD, "{}").await, false)).await;
    let headers = format!("{}origin: https://app.example\r\n", token());
    let body = json!({ "model": "m", "input": "x" }).to_string();
    let answer = send(server.address, post("/v1/embeddings", &headers, body)).await;
    assert_eq!(answer.header("x-ratelimit-remaining-tokens"), "7", "{answer:?}");
    let exposed: Vec<&str> = answer.header("access-control-expose-headers").split(", ").collect();
    for name in ["x-ratelimit-remaining-tokens", "openai-processing-ms"] {
        assert!(exposed.contains(&name), "{name}: {exposed:?}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_route_repairs_calls_of_its_streams_only_if_it_should() {
    const STREAM: &str = concat!(
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":",
        "[{\"index\":0,\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{'a': 1,\"}}]}}]}\n\n",
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: [DONE]\n\n"
    );
    let address = upstream(STREAM).await;
    for repair_streams in [false, true] {
        let server = Server::start(config_of(address, repair_streams)).await;
        let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
        let answer = chat(&server, "/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let deltas = frames(&answer);
        let calls = deltas.iter().map(|frame| &frame["choices"][0]["delta"]["tool_calls"][0]);
        let calls: Vec<&Value> = calls.filter(|call| call.is_object()).collect();
        let arguments: String =
            calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
        let has_id = calls.iter().any(|call| call["id"].is_string());
        let expected = if repair_streams { "{\"a\": 1}" } else { "{'a': 1," };
        assert_eq!((arguments.as_str(), has_id), (expected, repair_streams));
        let metrics = send(server.address, get("/metrics", &token())).await;
        let count = format!("foxwedge_repaired_calls_total {}", u8::from(repair_streams));
        assert!(metrics.body.contains(&count), "{}", metrics.body);
        server.end().await;
    }
}
