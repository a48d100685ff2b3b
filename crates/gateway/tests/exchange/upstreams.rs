//! Upstreams that differ from the one whose format they use: ids, models, encodings and errors.

use foxwedge_gateway::{GatewayEndpoint, GatewayEngine};
use serde_json::{Value, json};

use crate::{
    clouds::provider::{CannedReply, CloudProvider},
    stand::{ask, engine},
};

/// Routes of `m`: to a provider that stores nothing, with these settings.
pub(crate) fn upstream(
    provider: &CloudProvider,
    kind: &str,
    settings: &str,
    route: &str,
) -> String {
    let url = &provider.url;
    let base = if kind == "anthropic" { url.clone() } else { format!("{url}/v1") };
    format!(
        "[[upstream]]\nname = \"own\"\nkind = \"{kind}\"\nkey = \"none\"\nbase_url = \"{base}\"\n\
         {settings}\n[[route]]\nmodel = \"m\"\nupstream = \"own\"\n{route}\n"
    )
}

pub(crate) fn completion(id: &str, text: &str) -> CannedReply {
    let message = json!({"role": "assistant", "content": text});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({"id": id, "object": "chat.completion", "created": 1, "model": "x",
        "choices": [choice]});
    CannedReply::json(200, &body.to_string())
}

pub(crate) fn chunks(id: &str, text: &str) -> CannedReply {
    let chunk = |delta: Value, end: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        let chunk = json!({"id": id, "object": "chat.completion.chunk", "created": 1,
            "model": "x", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let body = chunk(json!({"role": "assistant", "content": text}), Value::Null)
        + &chunk(json!({}), json!("stop"))
        + "data: [DONE]\n\n";
    CannedReply::stream(&body)
}

/// The response object of a reply, streamed or not.
async fn respond(engine: &GatewayEngine, body: Value) -> Value {
    let reply = ask(engine, GatewayEndpoint::Responses, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    match reply.body.rsplit("data: ").find(|it| it.contains("\"response.completed\"")) {
        Some(last) => serde_json::from_str::<Value>(last.trim()).expect("JSON")["response"].clone(),
        None => reply.json(),
    }
}

#[tokio::test]
async fn equal_reply_ids_of_an_upstream_never_mix_conversations() {
    for stream in [false, true] {
        let reply = |text: &str| match stream {
            false => completion("chatcmpl-7", text),
            true => chunks("chatcmpl-7", text),
        };
        let replies = vec![reply("I know Ada"), reply("I know Bob"), reply("Ada"), reply("Bob")];
        let provider = CloudProvider::start(replies).await;
        let engine = engine(&upstream(&provider, "openai-compatible", "", "")).await;
        let mut ids = Vec::new();
        for name in ["Ada", "Bob"] {
            let body = json!({"model": "m", "stream": stream, "input": format!("I am {name}")});
            let response = respond(&engine, body).await;
            let id = response["id"].as_str().expect("an id").to_owned();
            assert!(id.starts_with("resp_fox"), "{id}");
            let item = response["output"][0]["id"].clone();
            ids.push((name, id, item));
        }
        assert!(ids[0].1 != ids[1].1 && ids[0].2 != ids[1].2, "{ids:?}");
        let (_, _) = (provider.next().await, provider.next().await);
        for (name, id, _) in ids {
            let next = json!({"model": "m", "stream": stream, "previous_response_id": id,
                "input": "who am I?"});
            respond(&engine, next).await;
            let sent = provider.next().await.body["messages"].to_string();
            assert!(sent.contains(&format!("I am {name}")), "{sent}");
            assert!(sent.contains(&format!("I know {name}")), "{sent}");
        }
    }
}

#[tokio::test]
async fn a_response_whose_input_is_stored_passes_unchanged() {
    let response = json!({"id": "resp_2", "object": "response", "model": "m",
        "status": "completed", "output": []});
    for (key, value) in [
        ("prompt", json!({"id": "pmpt_1"})),
        ("conversation", json!("conv_1")),
        ("previous_response_id", json!("resp_1")),
    ] {
        let reply = CannedReply::json(200, &response.to_string());
        let provider = CloudProvider::start(vec![reply]).await;
        let engine = engine(&upstream(&provider, "openai", "", "")).await;
        let body = json!({"model": "m", key: value});
        respond(&engine, body.clone()).await;
        assert_eq!(provider.next().await.body, body);
    }
}

/// A history with a call, as another model made it.
fn with_call(id: &str) -> Value {
    json!({"model": "m", "messages": [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": id, "name": "read", "content": "A"}]})
}

#[tokio::test]
async fn the_rules_are_those_of_the_model_that_is_sent() {
    let provider = CloudProvider::start(vec![completion("a", "x"), completion("b", "y")]).await;
    let as_reasoner = "upstream_model = \"deepseek-reasoner\"";
    let reasoner = engine(&upstream(&provider, "openai-compatible", "", as_reasoner)).await;
    let reply = ask(&reasoner, GatewayEndpoint::Chat, &with_call("call_1")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let sent = provider.next().await.body;
    assert_eq!(sent["model"], "deepseek-reasoner");
    assert!(sent["messages"][1]["reasoning_content"].is_string(), "{sent}");

    let as_mistral = "upstream_model = \"mistral-large\"";
    let mistral = engine(&upstream(&provider, "openai-compatible", "", as_mistral)).await;
    let reply = ask(&mistral, GatewayEndpoint::Chat, &with_call("call_of_more_letters")).await;
    assert_eq!((reply.status.as_u16(), reply.header("x-foxwedge-action")), (200, "fixed"));
    let sent = provider.next().await.body;
    let id = sent["messages"][1]["tool_calls"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!((id.len(), &sent["messages"][2]["tool_call_id"]), (9, &json!(id)));
}

#[tokio::test]
async fn a_claude_behind_an_alias_has_the_rules_of_its_version() {
    let route = "[[route]]\nmodel = \"fast\"\nupstream = \"messages\"\n\
                 upstream_model = \"claude-opus-4-6\"\nmode = \"strict\"\n";
    let engine = engine(route).await;
    let body = json!({"model": "fast", "max_tokens": 9, "messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well"}]});
    let reply = ask(&engine, GatewayEndpoint::Messages, &body).await;
    assert_eq!((reply.status.as_u16(), reply.header("x-foxwedge-action")), (400, "rejected"));
    assert!(reply.header("x-foxwedge-findings").starts_with("FW403"), "{}", reply.body);
}

#[tokio::test]
async fn a_repair_after_a_refusal_changes_only_what_the_error_is_about() {
    let refusal = json!({"error": {"message": "An assistant message with 'tool_calls' must be \
        followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids \
        did not have response messages: call_2", "type": "invalid_request_error"}});
    let provider = CloudProvider::start(vec![CannedReply::json(400, &refusal.to_string())]).await;
    let engine = engine(&upstream(&provider, "openai-compatible", "", "")).await;
    // The history is valid, so there is nothing to repair, and certainly no id to rename.
    let reply = ask(&engine, GatewayEndpoint::Chat, &with_call("call_of_more_letters")).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert_eq!(
        provider.next().await.body["messages"],
        with_call("call_of_more_letters")["messages"]
    );
}

fn embedded(error: Value) -> CannedReply {
    CannedReply::json(200, &json!({"id": "x", "error": error}).to_string())
}

#[tokio::test]
async fn an_error_inside_a_success_is_retried_and_passed_on_with_its_status() {
    let overloaded = json!({"code": 503, "message": "no instance"});
    let replies = vec![embedded(overloaded.clone()), completion("a", "done")];
    let provider = CloudProvider::start(replies).await;
    let engine = engine(&upstream(&provider, "openai-compatible", "", "")).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
    assert_eq!((reply.status.as_u16(), reply.body.contains("done")), (200, true), "{}", reply.body);

    // Not one that a retry cannot change.
    let provider =
        CloudProvider::start(vec![embedded(json!({"code": 402, "message": "pay"}))]).await;
    let engine = self::engine(&upstream(&provider, "openai-compatible", "", "")).await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
    assert_eq!((reply.status.as_u16(), reply.body.contains("pay")), (403, true), "{}", reply.body);

    // A fallback replies in its place.
    let provider = CloudProvider::start(vec![embedded(overloaded)]).await;
    let fallback = "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\n\
                    upstream_model = \"scripted\"\nfallback = true\n";
    let settings = upstream(&provider, "openai-compatible", "attempts = 1", "") + fallback;
    let engine = self::engine(&settings).await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
    let found = (reply.status.as_u16(), reply.header("x-foxwedge-fallback"));
    assert_eq!(found, (200, "messages"), "{}", reply.body);
}

#[tokio::test]
async fn an_overloaded_anthropic_is_a_server_error_for_clients_of_openai() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages] {
        let reply = CannedReply { headers: "retry-after: 7\r\n", ..CannedReply::json(529, error) };
        let provider = CloudProvider::start(vec![reply]).await;
        let engine = engine(&upstream(&provider, "anthropic", "attempts = 1", "")).await;
        let list = if endpoint == GatewayEndpoint::Responses { "input" } else { "messages" };
        let mut body = json!({"model": "m", "max_tokens": 9});
        body[list] = json!([{"role": "user", "content": "hi"}]);
        let reply = ask(&engine, endpoint, &body).await;
        let (status, kind) = match endpoint {
            GatewayEndpoint::Messages => (529, "overloaded_error"),
            _ => (503, "server_error"),
        };
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (status, "7"));
        assert_eq!(reply.json()["error"]["type"], kind, "{}", reply.body);
        assert_eq!(reply.header("x-should-retry"), "");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_has_the_code_that_clients_look_for() {
    let text = "prompt is too long: 5 tokens > 4 maximum";
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}});
    for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Responses] {
        let reply = CannedReply::json(400, &error.to_string());
        let provider = CloudProvider::start(vec![reply]).await;
        let engine = engine(&upstream(&provider, "anthropic", "attempts = 1", "")).await;
        let reply = ask(&engine, endpoint, &hello(endpoint)).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        assert_eq!(reply.json()["error"]["code"], "context_length_exceeded", "{}", reply.body);
        assert_eq!(reply.json()["error"]["message"], text);
    }
}

#[tokio::test]
async fn replies_are_asked_for_without_compression_and_an_unknown_one_is_an_error() {
    let compressed = || CannedReply {
        headers: "content-encoding: br\r\n",
        ..CannedReply::bytes(b"\x1f\x8b\x08\x00")
    };
    let provider = CloudProvider::start(vec![compressed()]).await;
    let engine = engine(&upstream(&provider, "openai-compatible", "", "")).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
    assert_eq!(reply.status, 502, "{}", reply.body);
    assert!(reply.body.contains("it is compressed with `br`"), "{}", reply.body);
    assert_eq!(provider.next().await.headers["accept-encoding"], "identity");
}

#[tokio::test]
async fn a_streamed_call_whose_name_never_comes_is_an_error() {
    let function = json!({"arguments": "{}"});
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
    let chunk = |delta: Value, end: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let stream = chunk(json!({"tool_calls": [call]}), Value::Null)
        + &chunk(json!({}), json!("tool_calls"))
        + "data: [DONE]\n\n";
    let provider = CloudProvider::start(vec![CannedReply::stream(&stream)]).await;
    let engine = engine(&upstream(&provider, "openai-compatible", "", "")).await;
    let body = json!({"model": "m", "stream": true, "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}]});
    let reply = ask(&engine, GatewayEndpoint::Messages, &body).await;
    assert!(reply.body.contains("event: error"), "{}", reply.body);
    assert!(reply.body.contains("without the name of its tool"), "{}", reply.body);
    assert!(!reply.body.contains("message_stop"), "{}", reply.body);
}

#[tokio::test]
async fn a_body_that_nests_deeper_than_configured_is_refused() {
    let engine = engine("[limits]\njson_depth = 6\n").await;
    let body = |schema: &str| {
        let body = format!(
            "{{\"model\":\"scripted\",\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}],\
             \"tools\":[{{\"type\":\"function\",\"function\":{{\"name\":\"f\",\"parameters\":{schema}}}}}]}}"
        );
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    let flat = ask(&engine, GatewayEndpoint::Chat, &body("{\"type\":\"object\"}")).await;
    assert_eq!(flat.status, 200, "{}", flat.body);
    let deep = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}";
    let deep = ask(&engine, GatewayEndpoint::Chat, &body(deep)).await;
    assert_eq!(deep.status, 400, "{}", deep.body);
    assert!(deep.body.contains("nested deeper than 6 levels"), "{}", deep.body);
}

/// Streams that are whole, each with one event that the gateway cannot read.
fn unreadable_streams() -> Vec<(&'static str, GatewayEndpoint, String)> {
    let large = "A".repeat(5 << 20);
    let event = |data: Value| format!("data: {data}\n\n");
    let named = |data: Value| {
        format!("event: {}\n{}", data["type"].as_str().expect("a type"), event(data.clone()))
    };
    let part = |part: Value, more: Value| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        if more.is_string() {
            candidate["finishReason"] = more;
        }
        event(json!({"candidates": [candidate]}))
    };
    let image = json!({"inlineData": {"mimeType": "image/png", "data": large}});
    let gemini = part(json!({"text": "a"}), Value::Null)
        + &part(image, Value::Null)
        + &part(json!({"text": "b"}), json!("STOP"));
    let chunk = |delta: Value, end: Value, more: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice]});
        if !more.is_null() {
            chunk["usage"] = more;
        }
        event(chunk)
    };
    let chat = |odd: String| {
        chunk(json!({"content": "a"}), Value::Null, Value::Null)
            + &odd
            + &chunk(json!({}), json!("stop"), Value::Null)
            + "data: [DONE]\n\n"
    };
    let delta =
        |delta: Value| named(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}});
    let block = json!({"type": "text", "text": ""});
    let anthropic = named(json!({"type": "message_start", "message": message}))
        + &named(json!({"type": "content_block_start", "index": 0, "content_block": block}))
        + &delta(json!({"type": "text_delta", "text": "a"}))
        + &delta(json!({"type": "citations_delta", "citation": null}))
        + &named(json!({"type": "content_block_stop", "index": 0}))
        + &named(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2}}))
        + &named(json!({"type": "message_stop"}));
    let response = |status: &str| {
        json!({"id": "resp_1", "object": "response", "model": "m",
        "status": status, "output": []})
    };
    let responses = named(json!({"type": "response.created", "sequence_number": 0,
            "response": response("in_progress")}))
        + &named(json!({"type": "response.image_generation_call.partial_image",
            "sequence_number": 1, "output_index": 0, "partial_image_b64": large}))
        + &named(json!({"type": "response.completed", "sequence_number": 2,
            "response": response("completed")}));
    let odd_chunks = [
        chunk(json!({"content": large}), Value::Null, Value::Null),
        chunk(json!({}), Value::Null, json!("none")),
        chunk(json!({"content": "b"}), json!(0), Value::Null),
        chunk(json!({"reasoning": {"text": "b"}}), Value::Null, Value::Null),
        "data: ping\n\n".to_owned(),
    ];
    let mut streams = vec![
        ("gemini", GatewayEndpoint::StreamGenerateContent, gemini),
        ("anthropic", GatewayEndpoint::Messages, anthropic),
        ("openai", GatewayEndpoint::Responses, responses),
    ];
    let chats = odd_chunks.map(|odd| ("openai-compatible", GatewayEndpoint::Chat, chat(odd)));
    streams.extend(chats);
    streams
}

#[tokio::test]
async fn a_whole_stream_with_an_unreadable_event_passes_byte_for_byte() {
    for (kind, endpoint, stream) in unreadable_streams() {
        let provider = CloudProvider::start(vec![CannedReply::stream(&stream)]).await;
        let engine = engine(&upstream(&provider, kind, "", "")).await;
        let reply = ask(&engine, endpoint, &hello(endpoint)).await;
        let tail = |text: &str| text[text.len().saturating_sub(500)..].to_owned();
        assert!(reply.body == stream, "{kind}: {}", tail(&reply.body));
    }
}

#[tokio::test]
async fn an_event_that_is_too_long_to_convert_names_the_setting() {
    let (kind, _, stream) = unreadable_streams().remove(0);
    let provider = CloudProvider::start(vec![CannedReply::stream(&stream)]).await;
    let engine = engine(&upstream(&provider, kind, "", "")).await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &hello(GatewayEndpoint::Chat)).await;
    assert!(reply.body.contains("raise `limits.stream_event`"), "{}", reply.body);
}

/// A streamed request with one message.
pub(crate) fn hello(endpoint: GatewayEndpoint) -> Value {
    let message = json!({"role": "user", "content": "hi"});
    match endpoint {
        GatewayEndpoint::Responses | GatewayEndpoint::Interactions => {
            json!({"model": "m", "stream": true, "input": [message]})
        }
        GatewayEndpoint::GenerateContent
        | GatewayEndpoint::StreamGenerateContent
        | GatewayEndpoint::GeminiCountTokens => {
            json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
        }
        GatewayEndpoint::Chat | GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => {
            json!({"model": "m", "stream": true, "max_tokens": 9, "messages": [message]})
        }
    }
}

#[tokio::test]
async fn the_tokens_of_a_gemini_request_are_counted_by_its_upstream() {
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
    let rest = json!({"parts": [{"text": "be brief"}]});
    let whole = json!({"contents": contents, "systemInstruction": rest, "model": "models/g"});
    let wrapped = json!({"generateContentRequest": whole});
    let table = [
        (json!({"contents": contents}), json!({"contents": contents})),
        (json!({"contents": contents, "systemInstruction": rest}), wrapped.clone()),
        (wrapped.clone(), wrapped.clone()),
    ];
    for (body, expected) in table {
        let provider =
            CloudProvider::start(vec![CannedReply::json(200, "{\"totalTokens\":77}")]).await;
        let engine = engine(&upstream(&provider, "gemini", "", "upstream_model = \"g\"")).await;
        let mut body = body;
        body["model"] = json!("m");
        let reply = ask(&engine, GatewayEndpoint::GeminiCountTokens, &body).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["totalTokens"]), (200, &json!(77)));
        let request = provider.next().await;
        assert!(request.path.ends_with("/models/g:countTokens"), "{}", request.path);
        assert_eq!(request.body, expected);
    }
}

#[tokio::test]
async fn no_error_of_an_upstream_shows_its_key() {
    let error = json!({"error": {"message": "bad key sk-canary-1", "type": "invalid_request_error",
        "code": "invalid_api_key"}});
    for endpoint in [
        GatewayEndpoint::Chat,
        GatewayEndpoint::Responses,
        GatewayEndpoint::Messages,
        GatewayEndpoint::GenerateContent,
    ] {
        for status in [401, 200] {
            let reply = CannedReply::json(status, &error.to_string());
            let provider = CloudProvider::start(vec![reply]).await;
            let settings = upstream(&provider, "openai-compatible", "attempts = 1", "");
            let settings = settings.replace("key = \"none\"", "key = \"sk-canary-1\"");
            let engine = engine(&settings).await;
            let mut body = hello(endpoint);
            body["stream"] = json!(false);
            let reply = ask(&engine, endpoint, &body).await;
            assert_eq!(reply.status, 401, "{}", reply.body);
            assert!(!reply.body.contains("canary"), "{}", reply.body);
            assert!(reply.body.contains("bad key [secret]"), "{}", reply.body);
        }
    }
}

/// An upstream of any format is asked for a stream when the client asks for one.
#[tokio::test]
async fn a_stream_is_requested_for_every_client_that_wants_one() {
    use GatewayEndpoint::{Chat, GenerateContent, Messages, Responses, StreamGenerateContent};
    let endpoints = [
        (Chat, true),
        (Responses, true),
        (Messages, true),
        (StreamGenerateContent, true),
        (GenerateContent, false),
    ];
    for (endpoint, streams) in endpoints {
        for kind in ["openai-compatible", "openai", "anthropic", "gemini"] {
            let provider = CloudProvider::start(vec![CannedReply::json(400, "{}")]).await;
            let engine = engine(&upstream(&provider, kind, "attempts = 1", "")).await;
            ask(&engine, endpoint, &hello(endpoint)).await;
            let request = provider.next().await;
            let wanted = request.path.contains(":streamGenerateContent")
                || request.body["stream"] == json!(true);
            assert_eq!(wanted, streams, "{} on {kind}: {}", endpoint.name(), request.body);
        }
    }
}
