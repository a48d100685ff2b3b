use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    OutlineOptions,
    model::{
        ContentPart, JsonText, ModelPart, ModelResponse, ReasoningPart, ReasoningSignature,
        StopReason, ToolCallPart, decode_reply, encode_reply,
    },
    read,
    stream::{StreamConverter, StreamLimits, StreamOptions, StreamWatcher, collect, write_stream},
};

const CHAT: Format = Format::OpenaiChat;
const ITEMS: Format = Format::OpenaiResponses;
const BLOCKS: Format = Format::Anthropic;
const SCOPE: u128 = 7;

/// The value after the last message.
fn value(format: Format, list: &str) -> u128 {
    let document = read(list, format, OutlineOptions::default())
        .unwrap_or_else(|error| panic!("{list}: {error}"));
    let values = history(&document.draft, SCOPE);
    assert_eq!(values.len(), document.draft.messages.len());
    assert_eq!(values, document.message_digests(SCOPE), "{list}");
    values.last().copied().unwrap_or(SCOPE)
}

/// Different encodings of the same conversation.
const SAME: &[(&str, &[(Format, &str)])] = &[
    (
        "arguments behind the name, behind the id, at the beginning, with a name elsewhere",
        &[
            (
                CHAT,
                r#"[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":\"y\"}"}}]}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":\"y\"}","name":"f"},"id":"a","type":"function"}]}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":\"y\"}","strict":true,"name":"f"},"id":"a","type":"function"}]}]"#,
            ),
            (
                ITEMS,
                r#"[{"arguments":"{\"x\":\"y\"}","name":"f","call_id":"a","type":"function_call"}]"#,
            ),
            (
                ITEMS,
                r#"[{"arguments":"{\"x\":\"y\"}","call_id":"a","name":"f","type":"function_call"}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":"y"}}]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"id":"a","input":{"x":"y"},"name":"f","type":"tool_use"}]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"input":{"x":"y"},"id":"a","name":"f","type":"tool_use"}]}]"#,
            ),
        ],
    ),
    (
        "text as a string, as one block, as several, in several messages",
        &[
            (CHAT, r#"[{"role":"user","content":"Grüße, \"you\"\n/"}]"#),
            (
                CHAT,
                r#"[{"content":"Gr\u00fc\u00DFe, \u0022you\u0022\u000a\/","role":"user","name":"n"}]"#,
            ),
            (CHAT, r#"[{"role":"user","content":[{"type":"text","text":"Grüße, \"you\"\n/"}]}]"#),
            (
                CHAT,
                r#"[{"role":"user","content":[{"type":"text","text":"Grüße, "},{"text":"\"you\"\n/","type":"text"}]}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"system","content":"Be kind."},{"role":"user","content":"Grüße, \"you\"\n/"}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"user","content":"Grüße, "},{"role":"user","content":"\"you\"\n/"}]"#,
            ),
            (ITEMS, r#"[{"role":"user","content":"Grüße, \"you\"\n/"}]"#),
            (
                ITEMS,
                r#"[{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"Grüße, \"you\"\n/"}]}]"#,
            ),
            (BLOCKS, r#"[{"role":"user","content":"Grüße, \"you\"\n/"}]"#),
            (
                BLOCKS,
                r#"{"system":"x","messages":[{"role":"user","content":[{"type":"text","text":"Grüße, \"you\"\n/","cache_control":{"type":"ephemeral"}}]}]}"#,
            ),
            (
                Format::Gemini,
                r#"[{"role":"user","parts":[{"text":"Grüße, "},{"text":"\"you\"\n/"}]}]"#,
            ),
            (Format::Bedrock, r#"[{"role":"user","content":[{"text":"Grüße, \"you\"\n/"}]}]"#),
        ],
    ),
    (
        "calls and answers",
        &[
            (
                CHAT,
                r#"[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":[true,\"x/é\"]}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":""}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"arguments":"{ \"b\" : [true, \"x\\/\\u00e9\"],\n \"a\":1.0 }","name":"f"},"index":0},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"on"},{"type":"text","text":"e"}]},{"role":"tool","tool_call_id":"c2","content":null}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"user","content":"q"},{"role":"assistant","content":"","refusal":null,"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"b\":[true,\"x/é\"],\"a\":1e0}"}},{"id":"c2","type":"function","function":{"name":"g"}}]},{"role":"tool","name":"f","tool_call_id":"c1","content":"one"},{"role":"tool","tool_call_id":"c2","content":[]}]"#,
            ),
            (
                ITEMS,
                r#"[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1,\"b\":[true,\"x/é\"]}","status":"completed"},{"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"one"},{"type":"function_call_output","call_id":"c2","output":""}]"#,
            ),
            (
                ITEMS,
                r#"[{"role":"user","content":"q"},{"type":"message","role":"assistant","content":[]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"b\":[true,\"x/é\"],\"a\":1}"},{"type":"function_call","call_id":"c2","name":"g","arguments":" "},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"}]},{"type":"function_call_output","call_id":"c2","output":[]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"c1","name":"f","input":{"b":[true,"x/é"],"a":1}},{"type":"tool_use","id":"c2","name":"g","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2"}]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":""},{"input":{"a":1,"b":[true,"x\/\u00e9"]},"name":"f","id":"c1","type":"tool_use","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"g","input":null}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}],"is_error":false}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":[]}]}]"#,
            ),
        ],
    ),
    (
        "what stands between what",
        &[
            (
                CHAT,
                r#"[{"role":"assistant","content":"ab","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}},{"id":"c2","function":{"name":"f","arguments":"{}"}}]}]"#,
            ),
            (
                CHAT,
                r#"[{"role":"assistant","content":"a","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},{"role":"assistant","content":"b","tool_calls":[{"id":"c2","function":{"name":"f","arguments":"{}"}}]}]"#,
            ),
            (
                ITEMS,
                r#"[{"role":"assistant","content":"a"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"assistant","content":[{"type":"output_text","text":"b"}]},{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"f","input":{}},{"type":"text","text":"b"},{"type":"tool_use","id":"c2","name":"f","input":{}}]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"text","text":"b"},{"type":"tool_use","id":"c1","name":"f","input":{}},{"type":"tool_use","id":"c2","name":"f","input":{}}]}]"#,
            ),
        ],
    ),
    (
        "images",
        &[
            (
                CHAT,
                r#"[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}}]}]"#,
            ),
            (
                ITEMS,
                r#"[{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"},"cache_control":{"type":"ephemeral"}}]}]"#,
            ),
        ],
    ),
    (
        "a refusal is what the model says",
        &[
            (CHAT, r#"[{"role":"assistant","content":null,"refusal":"No."}]"#),
            (CHAT, r#"[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]"#),
            (ITEMS, r#"[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]"#),
            (BLOCKS, r#"[{"role":"assistant","content":"No."}]"#),
        ],
    ),
    (
        "free-text tools",
        &[
            (
                CHAT,
                r#"[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"p","input":"{ \"a\": 1 }\/"}}]}]"#,
            ),
            (
                ITEMS,
                r#"[{"type":"custom_tool_call","call_id":"c","name":"p","input":"{ \"a\": 1 }/"}]"#,
            ),
            (
                BLOCKS,
                r#"[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"p","input":{"input":"{ \"a\": 1 }/"}}]}]"#,
            ),
        ],
    ),
];

#[test]
fn the_same_conversation_has_the_same_value_in_every_encoding() {
    for (what, encodings) in SAME {
        let values: Vec<u128> =
            encodings.iter().map(|(format, list)| value(*format, list)).collect();
        for (index, one) in values.iter().enumerate() {
            assert_eq!(*one, values[0], "{what}: {}", encodings[index].1);
        }
    }
}

#[test]
fn relevant_differences_change_the_value() {
    let call = |id: &str, name: &str, arguments: Json| {
        json!([
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "t", "tool_calls": [
                {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}},
            ]},
            {"role": "tool", "tool_call_id": id, "content": "r"},
        ])
    };
    let call_with = |arguments: &str| call("c", "f", json!(arguments));
    let text_of = |role: &str, text: &str| json!([{"role": role, "content": text}]);
    let parts = |content: Json| json!([{"role": "user", "content": content}]);
    let image = |url: &str| parts(json!([{"type": "image_url", "image_url": {"url": url}}]));
    let conversations = [
        json!([]),
        text_of("user", "a"),
        text_of("assistant", "a"),
        text_of("user", "A"),
        text_of("user", "a "),
        text_of("user", "\\u0061"),
        text_of("user", "é"),
        text_of("user", "e\u{301}"),
        call_with("{}"),
        call_with(r#"{"a":1}"#),
        call_with(r#"{"a":"1"}"#),
        call_with(r#"{"a":1.5}"#),
        call_with(r#"{"a":-1}"#),
        call_with(r#"{"a":12345678901234567890}"#),
        call_with(r#"{"a":12345678901234567891}"#),
        call_with(r#"{"a":null}"#),
        call_with(r#"{"a":"null"}"#),
        call_with(r#"{"a":true}"#),
        call_with(r#"{"a":[1,2]}"#),
        call_with(r#"{"a":[2,1]}"#),
        call_with(r#"{"a":[[1],2]}"#),
        call_with(r#"{"a":[[1,2]]}"#),
        call_with(r#"{"a":{"b":1}}"#),
        call_with(r#"{"a":{},"b":1}"#),
        call_with(r#"{"b":1}"#),
        call_with(r#"{"a":"b","c":"d"}"#),
        call_with(r#"{"a":"d","c":"b"}"#),
        call_with("[]"),
        call_with(r#"{"a":1"#),
        call_with("text"),
        call("d", "f", json!("{}")),
        call("c", "g", json!("{}")),
        call("f", "c", json!("{}")),
        json!([{"role": "tool", "tool_call_id": "c", "content": "r"}]),
        json!([{"role": "tool", "tool_call_id": "d", "content": "r"}]),
        json!([{"role": "tool", "tool_call_id": "c", "content": "s"}]),
        json!([{"role": "tool", "content": "r"}]),
        json!([{"role": "function", "name": "f", "content": "q"}]),
        image("https://a.b/1.png"),
        image("https://a.b/2.png"),
        image("data:image/png;base64,AAAA"),
        image("data:image/png;base64,AAAB"),
        parts(json!([{"type": "new", "x": 1}])),
        parts(json!([{"type": "new", "x": 2}])),
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
        json!([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]),
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"}]),
        json!([{"role": "user", "content": "ab"}, {"role": "assistant", "content": "c"}]),
    ];
    let mut values: Vec<(u128, String)> = conversations
        .iter()
        .map(|list| (value(CHAT, &list.to_string()), list.to_string()))
        .collect();
    values.sort();
    for pair in values.windows(2) {
        assert_ne!(pair[0].0, pair[1].0, "{}\n{}", pair[0].1, pair[1].1);
    }
    // Free text is not JSON, and different clients never share a value.
    let free = r#"[{"type":"custom_tool_call","call_id":"c","name":"p","input":"{}"}]"#;
    let function = r#"[{"type":"function_call","call_id":"c","name":"p","arguments":"{}"}]"#;
    assert_ne!(value(ITEMS, free), value(ITEMS, function));
    let document = read(free, ITEMS, OutlineOptions::default()).expect("a list");
    assert_ne!(history(&document.draft, 1), history(&document.draft, 2));
}

#[test]
fn a_prefix_has_the_same_values_as_the_whole() {
    for (_, encodings) in SAME {
        for (format, list) in *encodings {
            let Ok(Json::Array(whole)) = serde_json::from_str(list) else { continue };
            let document = read(list, *format, OutlineOptions::default()).expect("a list");
            let values = history(&document.draft, SCOPE);
            for length in 1..=whole.len() {
                let part = Json::from(&whole[..length]).to_string();
                assert_eq!(value(*format, &part), values[length - 1], "{part}");
            }
        }
    }
}

#[test]
fn a_string_input_equals_its_message() {
    let string = r#"{"model":"m","input":"say \u0022hi\u0022"}"#;
    let list = r#"{"model":"m","input":[{"role":"user","content":"say \"hi\""}]}"#;
    let chain = |source| {
        read(source, ITEMS, OutlineOptions::default()).expect("a request").message_digests(SCOPE)
    };
    assert_eq!(chain(string), chain(list));
    assert_eq!(chain(string).len(), 1);
}

fn text(content: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(content.into()))
}

fn thought() -> ModelPart<'static> {
    let (text, signature) = (JsonText::from("Hm."), ReasoningSignature::Unsigned);
    ModelPart::new(ContentPart::Reasoning(ReasoningPart { text, signature }))
}

fn call(id: &'static str, arguments: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::ToolCall(ToolCallPart {
        id: Some(Cow::Borrowed(id)),
        name: Cow::Borrowed("look\"up"),
        family: CallFamily::Function,
        arguments: arguments.into(),
        signature: None,
    }))
}

fn replies() -> Vec<Vec<ModelPart<'static>>> {
    let first = || call("call_1", r#"{ "city": "K\u00f6ln\n", "days": [1, 2.50] }"#);
    let second = || call("call_2", "{}");
    vec![
        vec![text("Grüße,\n\"you\" \\ 𝄞\u{1}")],
        vec![first()],
        vec![first(), second()],
        vec![text("I look."), first(), second()],
        vec![thought(), first()],
        vec![thought(), text("So:\n"), first(), second()],
        vec![text("One."), first(), text("Two."), second(), text("Three.")],
        vec![text("One."), text("Two.")],
    ]
}

/// The messages with which a client repeats a complete response body.
fn repeated(format: Format, body: &str) -> Vec<Json> {
    let body: Json = serde_json::from_str(body).expect("JSON");
    match format {
        Format::OpenaiResponses => body["output"].as_array().expect("items").clone(),
        Format::Anthropic => vec![json!({"role": "assistant", "content": body["content"]})],
        _ => vec![body["choices"][0]["message"].clone()],
    }
}

#[test]
fn a_reply_has_the_value_of_its_repeated_messages() {
    let question = json!({"role": "user", "content": "q"});
    for wire in [CHAT, ITEMS, BLOCKS] {
        let after = value(wire, &json!([question]).to_string());
        for parts in replies() {
            let made = ModelReply {
                wire: Some(wire),
                id: Some("r".into()),
                model: Some("m".into()),
                parts,
                stop: Some(StopReason::End),
                ..ModelReply::default()
            };
            let outcome = ModelResponse::Reply(made.clone());
            let whole = encode_reply(&outcome, wire, "").body;
            let mut messages = vec![question.clone()];
            messages.extend(repeated(wire, &whole));
            let expected = value(wire, &Json::from(messages.clone()).to_string());
            assert_eq!(reply(&made, after), expected, "{wire:?} {made:?}");
            let decoded = decode_reply(&whole, wire).expect("a reply");
            let ModelResponse::Reply(decoded) = decoded.outcome else { panic!("{whole}") };
            assert_eq!(reply(&decoded, after), expected, "{wire:?} {whole}");
            let (bytes, _) = write_stream(&outcome, wire, StreamOptions::default());
            let collected = collect(wire, &bytes).expect("a stream").reply;
            assert_eq!(reply(&collected, after), expected, "{wire:?} {collected:?}");
            let mut watcher = StreamWatcher::new(wire, StreamLimits::default());
            watcher.push(&bytes, &mut |_| {});
            let watched = watcher.finish(&mut |_| {}).collection.reply;
            assert_eq!(reply(&watched, after), expected, "{wire:?} {watched:?}");
            // The same holds for a response of another provider, as converted for the client.
            for from in Format::ALL {
                let options = StreamOptions { seed: "s".to_owned(), ..StreamOptions::default() };
                let (bytes, _) = write_stream(&outcome, from, options.clone());
                let mut converter = StreamConverter::with_collection(from, wire, options);
                let mut out = Vec::new();
                converter.push(&bytes, &mut out).expect("a stream");
                converter.finish(&mut out).expect("a stream");
                let decoded = converter.take_collection().expect("kept").reply;
                let client = collect(wire, &out).expect("a stream").reply;
                assert_eq!(reply(&decoded, after), reply(&client, after), "{from:?} {wire:?}");
            }
            // The next request continues from there.
            messages.push(question.clone());
            let list = Json::from(messages).to_string();
            let reading = read(&list, wire, OutlineOptions::default()).expect("a list");
            let values = history(&reading.draft, SCOPE);
            assert_eq!(values[values.len() - 2], expected, "{list}");
        }
    }
}

#[test]
fn a_reply_continues_a_prefilled_turn() {
    let list = r#"[{"role":"user","content":"q"},{"role":"assistant","content":"I"}]"#;
    let document = read(list, BLOCKS, OutlineOptions::default()).expect("a list");
    let mut digest = ConversationDigest::new(SCOPE);
    (0..2).for_each(|index| digest.add_message(&document.draft, index));
    let made = ModelReply { parts: vec![text(" look.")], ..ModelReply::default() };
    let whole = r#"[{"role":"user","content":"q"},{"role":"assistant","content":"I look."}]"#;
    assert_eq!(digest.value_after_reply(&made), value(BLOCKS, whole));
}

#[test]
fn malformed_arguments_have_a_value() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let table =
        ["{", "\"", "\u{0}", "{\"a\":1}}", "nul", &deep, "{\"a\":1,\"a\":2}", "1e999", "-0"];
    for arguments in table {
        let list = json!([{"role": "assistant", "tool_calls": [
            {"id": "c", "function": {"name": "f", "arguments": arguments}},
        ]}]);
        let made = ModelReply {
            parts: vec![ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                id: Some("c".into()),
                name: "f".into(),
                family: CallFamily::Function,
                arguments: arguments.to_owned().into(),
                signature: None,
            }))],
            ..ModelReply::default()
        };
        assert_eq!(reply(&made, SCOPE), value(CHAT, &list.to_string()), "{arguments}");
    }
}
