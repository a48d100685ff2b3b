//! What the model says, in every form: whole and in pieces, and sent back to it.

use std::time::Duration;

use foxwedge_core::Format;
use foxwedge_formats::{
    model::{ContentPart, ModelReply, ModelResponse, StopReason, decode_reply},
    stream::{CollectedEnding, collect},
};
use foxwedge_scripted::{ResponseEnding, ScriptedRequest, ScriptedResponse, respond};
use serde_json::{Value, json};

const WIRES: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Gemini,
    Format::GeminiInteractions,
];

fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

/// A request with words and two tools.
fn request(wire: Format, model: &str, words: &str, stream: bool) -> Value {
    let names = ["get_weather", "get_time"];
    match wire {
        Format::OpenaiChat => json!({
            "model": model, "stream": stream, "messages": [{"role": "user", "content": words}],
            "tools": names.map(|name| json!({"type": "function", "function": {"name": name, "parameters": schema()}}))
        }),
        Format::OpenaiResponses => json!({
            "model": model, "stream": stream, "input": [{"role": "user", "content": words}],
            "tools": names.map(|name| json!({"type": "function", "name": name, "parameters": schema()}))
        }),
        Format::GeminiInteractions => json!({
            "model": model, "stream": stream,
            "input": [{"type": "user_input", "content": [{"type": "text", "text": words}]}],
            "tools": names.map(|name| json!({"type": "function", "name": name, "parameters": schema()}))
        }),
        Format::Anthropic => json!({
            "model": model, "stream": stream, "max_tokens": 1000,
            "messages": [{"role": "user", "content": words}],
            "tools": names.map(|name| json!({"name": name, "input_schema": schema()}))
        }),
        Format::Gemini | Format::Bedrock => json!({
            "contents": [{"role": "user", "parts": [{"text": words}]}],
            "tools": [{"functionDeclarations": names.map(|name| json!({"name": name, "parameters": schema()}))}]
        }),
    }
}

fn path(wire: Format, model: &str, stream: bool) -> String {
    match wire {
        Format::OpenaiChat => "/v1/chat/completions".to_owned(),
        Format::OpenaiResponses => "/v1/responses".to_owned(),
        Format::Anthropic => "/v1/messages".to_owned(),
        Format::GeminiInteractions => "/v1beta/interactions".to_owned(),
        Format::Gemini | Format::Bedrock => {
            let model = model.replace('?', "%3F").replace('=', "%3D").replace('&', "%26");
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            format!("/v1beta/models/{model}:{method}")
        }
    }
}

fn ask(wire: Format, model: &str, body: &Value, stream: bool) -> ScriptedResponse {
    let body = body.to_string();
    let path = path(wire, model, stream);
    respond(&ScriptedRequest { format: wire, path: &path, headers: &[], body: body.as_bytes() })
}

fn say(wire: Format, words: &str, stream: bool) -> ScriptedResponse {
    ask(wire, "scripted", &request(wire, "scripted", words, stream), stream)
}

/// A reply in a few words: texts, calls, why it ended.
fn gist(reply: &ModelReply<'_>) -> String {
    let mut told = Vec::new();
    for part in &reply.parts {
        match part.content() {
            ContentPart::Text(text) => told.push(format!("{:?}", &**text)),
            ContentPart::Reasoning(reasoning) => told.push(format!("({})", &*reasoning.text)),
            ContentPart::ToolCall(call) => {
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                told.push(format!("{}{arguments}", call.name));
            }
            other => told.push(format!("{other:?}")),
        }
    }
    let stop = match &reply.stop {
        Some(StopReason::End) => "end",
        Some(StopReason::ToolCalls) => "calls",
        Some(StopReason::Length) => "length",
        Some(StopReason::Refusal) => "refusal",
        _ => "?",
    };
    format!("{} {stop}", told.join(" "))
}

fn whole(play: &ScriptedResponse, wire: Format) -> String {
    let body = String::from_utf8(play.body()).expect("text");
    assert_eq!(play.status, 200, "{body}");
    let told = decode_reply(&body, wire).expect("a reply");
    match told.outcome {
        ModelResponse::Reply(reply) => gist(&reply),
        ModelResponse::Error(failure) => format!("{failure:?}"),
    }
}

fn streamed(play: &ScriptedResponse, wire: Format) -> String {
    let body = play.body();
    assert_eq!(play.status, 200, "{}", String::from_utf8_lossy(&body));
    let collection = collect(wire, &body).expect("a stream");
    match &collection.ending {
        CollectedEnding::Complete => gist(&collection.reply),
        CollectedEnding::Failed(failure) => format!("{failure:?}"),
        CollectedEnding::Truncated => "cut".to_owned(),
    }
}

#[test]
fn a_reply_is_the_same_whole_and_in_pieces_in_every_form() {
    let table = [
        ("hello there", r#""You said: hello there" end"#),
        ("call get_time", r#"get_time{"city":"city"} calls"#),
        (
            "call get_weather with {\"city\":\"Ulm \\\"an\\\" der Donau\"} and call get_time",
            r#"get_weather{"city":"Ulm \"an\" der Donau"} get_time{"city":"city"} calls"#,
        ),
        ("think about it", r#"(They want: think about it) "You said: think about it" end"#),
        (
            "think, then call get_time",
            r#"(They want: think, then call get_time) get_time{"city":"city"} calls"#,
        ),
        ("質問 🦊", r#""You said: 質問 🦊" end"#),
    ];
    for wire in WIRES {
        for (words, said) in table {
            assert_eq!(whole(&say(wire, words, false), wire), said, "{wire:?}");
            let play = say(wire, words, true);
            assert_eq!(streamed(&play, wire), said, "{wire:?}");
            assert_eq!(play.end, ResponseEnding::Complete);
            // One piece for each word of a text.
            let least = if said.contains("You said") { words.split(' ').count() } else { 1 };
            assert!(play.chunks.len() >= least, "{wire:?} {words}: {}", play.chunks.len());
            assert_eq!(play, say(wire, words, true), "the same ask, the same play");
        }
    }
}

/// The conversation goes on with the reply and answers to all its calls.
fn go_on(wire: Format, request: &Value, reply: &Value) -> Value {
    let mut next = request.clone();
    let (key, mut more): (&str, Vec<Value>) = match wire {
        Format::OpenaiChat => {
            let message = &reply["choices"][0]["message"];
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let answers = calls.iter().map(
                |call| json!({"role": "tool", "tool_call_id": call["id"], "content": "sunny"}),
            );
            ("messages", std::iter::once(message.clone()).chain(answers).collect())
        }
        Format::OpenaiResponses => {
            let items = reply["output"].as_array().cloned().unwrap_or_default();
            let calls = items.iter().filter(|item| item["type"] == "function_call");
            let answers: Vec<Value> = calls
                .map(|call| {
                    json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"})
                })
                .collect();
            ("input", items.iter().cloned().chain(answers).collect())
        }
        Format::GeminiInteractions => {
            let steps = reply["steps"].as_array().cloned().unwrap_or_default();
            let calls = steps.iter().filter(|step| step["type"] == "function_call");
            let answers: Vec<Value> = calls
                .map(|call| {
                    json!({"type": "function_result", "call_id": call["id"], "name": call["name"], "result": "sunny"})
                })
                .collect();
            ("input", steps.iter().cloned().chain(answers).collect())
        }
        Format::Anthropic => {
            let blocks = reply["content"].as_array().cloned().unwrap_or_default();
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            let answers: Vec<Value> = calls
                .map(|call| {
                    json!({"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"})
                })
                .collect();
            let message = json!({"role": "assistant", "content": blocks});
            ("messages", vec![message, json!({"role": "user", "content": answers})])
        }
        Format::Gemini | Format::Bedrock => {
            let content = reply["candidates"][0]["content"].clone();
            let parts = content["parts"].as_array().cloned().unwrap_or_default();
            let calls = parts.iter().filter_map(|part| part.get("functionCall"));
            let answers: Vec<Value> = calls
                .map(|call| {
                    json!({"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "sunny"}}})
                })
                .collect();
            ("contents", vec![content, json!({"role": "user", "parts": answers})])
        }
    };
    next[key].as_array_mut().expect("a list").append(&mut more);
    next
}

#[test]
fn what_it_said_may_be_sent_back() {
    for wire in WIRES {
        for model in
            ["scripted", "scripted-mistral", "scripted-deepseek-reasoner", "gemini-3-scripted"]
        {
            for words in ["use tools", "think and use tools"] {
                let mut request = request(wire, model, words, false);
                for _ in 0..2 {
                    let first = ask(wire, model, &request, false);
                    let reply: Value = serde_json::from_slice(&first.body()).expect("JSON");
                    assert_eq!(first.status, 200, "{wire:?} {model} {request}\n{reply}");
                    let mut next = go_on(wire, &request, &reply);
                    if model == "scripted-deepseek-reasoner" && wire == Format::OpenaiChat {
                        for message in next["messages"].as_array_mut().expect("a list") {
                            if message["role"] == "assistant"
                                && message["reasoning_content"].is_null()
                            {
                                message["reasoning_content"] = json!("");
                            }
                        }
                    }
                    let second = ask(wire, model, &next, false);
                    let said = whole(&second, wire);
                    assert!(
                        said.contains("The tools said: sunny | sunny"),
                        "{wire:?} {model}: {said}"
                    );
                    request = next;
                    if model.contains("mistral")
                        || matches!(wire, Format::Gemini | Format::GeminiInteractions)
                    {
                        break;
                    }
                    let words = json!({"role": "user", "content": words});
                    request[if wire == Format::OpenaiResponses { "input" } else { "messages" }]
                        .as_array_mut()
                        .expect("a list")
                        .push(words);
                }
            }
        }
    }
}

/// What is changed, and what is said to that.
type Row<'a> = (&'a dyn Fn(&mut Value), &'a str);

#[test]
fn thinking_is_bound_to_its_past() {
    let first = request(Format::Anthropic, "scripted", "think and use tools", false);
    let reply: Value =
        serde_json::from_slice(&say(Format::Anthropic, "think and use tools", false).body())
            .expect("JSON");
    let next = go_on(Format::Anthropic, &first, &reply);
    let told = |change: &dyn Fn(&mut Value)| {
        let mut changed = next.clone();
        change(&mut changed);
        let play = ask(Format::Anthropic, "scripted", &changed, false);
        let body: Value = serde_json::from_slice(&play.body()).expect("JSON");
        body["error"]["message"].as_str().unwrap_or("taken").to_owned()
    };
    let wrong = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let table: [Row<'_>; 7] = [
        (&|_| {}, "taken"),
        // Cache marks move, and a string is as good as a block.
        (
            &|body| {
                body["messages"][0]["content"] = json!([{"type": "text", "text": "think and use tools", "cache_control": {"type": "ephemeral"}}]);
            },
            "taken",
        ),
        (&|body| body["messages"][1]["content"][0]["thinking"] = json!("Something else"), wrong),
        (
            &|body| body["messages"][0]["content"] = json!("think and use tools!"),
            "bound to a different conversation",
        ),
        (&|body| body["system"] = json!("Be brief."), "bound to a different conversation"),
        (
            &|body| {
                body["messages"][1]["content"].as_array_mut().expect("a list").remove(0);
                body["system"] = json!("Be brief.");
            },
            "taken",
        ),
        (
            &|body| {
                body["system"] = json!("Be brief.");
                body["model"] = json!("claude-sonnet-4-5");
            },
            "taken",
        ),
    ];
    for (change, expected) in table {
        let told = told(change);
        assert!(told.contains(expected), "{told}\nnot {expected}");
    }
}

#[test]
fn faults_come_on_demand() {
    for wire in WIRES {
        let with = |faults: &str, stream: bool| {
            let model = format!("scripted?{faults}");
            let body = request(wire, &model, "one two three four five", stream);
            ask(wire, &model, &body, stream)
        };
        let all = with("", true).chunks.len();
        let cut = with("cut=3&pace=5&delay=7", true);
        assert_eq!((cut.chunks.len(), cut.end), (3, ResponseEnding::Cut));
        let waits: Vec<u64> = cut
            .chunks
            .iter()
            .map(|piece| u64::try_from(piece.delay.as_millis()).unwrap_or(0))
            .collect();
        assert_eq!(waits, [7, 5, 5]);
        assert_eq!(with("hang=2", true).end, ResponseEnding::Hang);
        assert_eq!(with("hang=0", false).end, ResponseEnding::Hang);
        assert_eq!(with("malformed", true).chunks.len(), all + 1);
        assert_eq!(with("html", true).header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!((with("empty", true).status, with("empty", true).body()), (200, Vec::new()));
        let long = with("long-line=200000", true);
        assert!(long.chunks.iter().map(|piece| piece.bytes.len()).sum::<usize>() > 200_000);
        for status in [400, 401, 403, 404, 413, 429, 500, 502, 503, 529] {
            let play = with(&format!("status={status}&retry-after=3"), true);
            assert_eq!((play.status, play.header("retry-after")), (status, Some("3")));
            let body: Value = serde_json::from_slice(&play.body()).expect("JSON");
            assert!(body["error"]["message"].is_string(), "{body}");
        }
        assert_eq!(with("nonsense", false).status, 400);
        // Interactions have no status for a refusal.
        let end = if wire == Format::GeminiInteractions { "end" } else { "refusal" };
        assert!(whole(&with("refuse", false), wire).ends_with(end), "{wire:?}");
        assert!(streamed(&with("refuse", true), wire).ends_with(end), "{wire:?}");
        assert_eq!(
            with("", true).chunks.iter().map(|piece| piece.delay).sum::<Duration>(),
            Duration::ZERO
        );
    }
    let broken = json!({"model": "scripted?strict=off", "messages": [{"role": "tool", "tool_call_id": "x", "content": "late"}]});
    assert_eq!(
        whole(&ask(Format::OpenaiChat, "", &broken, false), Format::OpenaiChat),
        r#""The tool said: late" end"#
    );
}

#[test]
fn lists_counts_and_other_paths() {
    let play = |wire, path: &str, body: &str| {
        let play =
            respond(&ScriptedRequest { format: wire, path, headers: &[], body: body.as_bytes() });
        let body: Value = serde_json::from_slice(&play.body()).expect("JSON");
        (play.status, body)
    };
    let (status, models) = play(Format::OpenaiChat, "/v1/models", "");
    assert_eq!((status, &models["data"][0]["id"]), (200, &json!("scripted")));
    let (_, models) = play(Format::Gemini, "/v1beta/models?pageSize=5", "");
    assert_eq!(models["models"][0]["name"], "models/scripted");
    let counted = r#"{"model":"scripted","messages":[{"role":"user","content":"hello"}]}"#;
    assert_eq!(
        play(Format::Anthropic, "/v1/messages/count_tokens", counted),
        (200, json!({"input_tokens": 17}))
    );
    let (status, body) = play(Format::Anthropic, "/v1/messages", counted);
    assert_eq!((status, &body["error"]["message"]), (400, &json!("max_tokens: Field required")));
    assert_eq!(play(Format::OpenaiChat, "/v1/embeddings", "{}").0, 404);
}

#[test]
fn a_reply_may_be_cut_by_its_limit() {
    for wire in WIRES {
        let mut body = request(wire, "scripted", "hello", false);
        match wire {
            Format::OpenaiResponses => body["max_output_tokens"] = json!(1),
            Format::Gemini => body["generationConfig"] = json!({"maxOutputTokens": 1}),
            Format::GeminiInteractions => {
                body["generation_config"] = json!({"max_output_tokens": 1});
            }
            Format::OpenaiChat | Format::Anthropic | Format::Bedrock => {
                body["max_tokens"] = json!(1)
            }
        }
        assert_eq!(
            whole(&ask(wire, "scripted", &body, false), wire),
            r#""You" length"#,
            "{wire:?}"
        );
    }
}
