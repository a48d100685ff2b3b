//! What is found in the messages of traces.

use foxwedge_core::{CheckOptions, Profile, check};
use serde_json::{Value, json};

use super::{OtelHistory, is_judged, outline_format, outline_otel_messages};

#[test]
fn pairs_are_judged_under_the_profile_of_the_provider() {
    use Profile::{Anthropic, Bedrock, Deepseek, Gemini, Mistral, OpenaiChat, OpenaiResponses};
    const ALL: [Profile; 7] =
        [OpenaiChat, OpenaiResponses, Anthropic, Gemini, Bedrock, Mistral, Deepseek];
    // u = user, s = system, a[..] = assistant with calls, t[..] = results in the role of the tool,
    // r[..] = results in the role of the user
    let table: [(&str, &[Profile], &str); 17] = [
        ("u", &ALL, ""),
        ("s u a[xxxxxxxx1] t[xxxxxxxx1] a", &ALL, ""),
        ("u a[xxxxxxxx1 xxxxxxxx2] t[xxxxxxxx2] t[xxxxxxxx1] u", &ALL, ""),
        ("u a[xxxxxxxx1 xxxxxxxx2] t[xxxxxxxx2 xxxxxxxx1] u", &ALL, ""),
        ("u a[xxxxxxxx1] r[xxxxxxxx1] u", &ALL, ""),
        ("u a[xxxxxxxx1] a[xxxxxxxx2] t[xxxxxxxx1 xxxxxxxx2]", &ALL, ""),
        ("u a a u u", &ALL, ""),
        ("a", &ALL, ""),
        ("u a[xxxxxxxx1] u", &ALL, "FW101 1"),
        ("u a[xxxxxxxx1]", &ALL, "FW101 1"),
        ("u a[xxxxxxxx1 xxxxxxxx2] t[xxxxxxxx1] t[xxxxxxxx9]", &[OpenaiChat], "FW101 1, FW102 3"),
        ("u t[xxxxxxxx1] a", &ALL, "FW102 1"),
        ("u a[xxxxxxxx1] t[xxxxxxxx1] t[xxxxxxxx1]", &ALL, "FW104 3"),
        ("u a[xxxxxxxx1] u a t[xxxxxxxx1]", &[OpenaiChat, Anthropic, Mistral], "FW103 4"),
        ("u a[xxxxxxxx1] u a t[xxxxxxxx1]", &[OpenaiResponses], ""),
        ("u a[xxxxxxxx1 xxxxxxxx1] t[xxxxxxxx1 xxxxxxxx1]", &[Anthropic], "FW201 1"),
        ("u a[x.1] t[x.1]", &[Anthropic], "FW203 1"),
    ];
    for (shape, profiles, expected) in table {
        for &profile in profiles {
            let text = messages(shape).to_string();
            assert_eq!(findings(&text, profile), expected, "{shape} under {}", profile.name());
        }
    }
}

#[test]
fn turns_with_parts_that_are_not_understood_are_not_judged() {
    let call = json!({"type": "tool_call", "id": "call00001", "name": "f"});
    let table = [
        ("an unknown type", json!({"type": "quantum_call", "id": "q"})),
        ("no type", json!({"id": "q"})),
        ("no object", json!(7)),
        ("a call without an id", json!({"type": "tool_call", "name": "g"})),
    ];
    for (what, part) in table {
        let text = json!([
            {"role": "user", "parts": [{"type": "text", "content": "go"}]},
            {"role": "assistant", "parts": [call, part]},
            {"role": "user", "parts": [{"type": "text", "content": "on"}]},
        ]);
        for profile in [Profile::OpenaiChat, Profile::Anthropic, Profile::Bedrock] {
            assert_eq!(findings(&text.to_string(), profile), "", "{what}");
        }
    }
    // Results that name no call.
    for parts in [
        json!([{"type": "text", "content": "done"}]),
        json!([{"type": "tool_call_response", "response": "done"}]),
        json!("done"),
    ] {
        let text = json!([
            {"role": "assistant", "parts": [call]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "other0001", "result": 1}]},
            {"role": "tool", "parts": parts},
        ]);
        for profile in [Profile::OpenaiChat, Profile::Anthropic] {
            assert_eq!(findings(&text.to_string(), profile), "", "{parts}");
        }
    }
}

#[test]
fn ids_are_optional_for_gemini() {
    let message = |role: &str, parts: Value| json!({"role": role, "parts": parts});
    let calls = json!([{"type": "tool_call", "name": "f"}, {"type": "tool_call", "name": "g"}]);
    let result = json!({"type": "tool_call_response", "response": {"t": 1}});
    let whole = json!([message("model", calls.clone()), message("tool", json!([result, result]))]);
    assert_eq!(findings(&whole.to_string(), Profile::Gemini), "");
    let short = json!([message("model", calls), message("tool", json!([result]))]);
    assert_eq!(findings(&short.to_string(), Profile::Gemini), "FW101 0");
}

#[test]
fn known_parts_take_no_part_in_pairing() {
    let parts = json!([
        {"type": "reasoning", "content": "hm"},
        {"type": "blob", "modality": "image", "content": "AA=="},
        {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
        {"type": "file", "modality": "document", "file_id": "f"},
        {"type": "compaction", "id": "c"},
        {"type": "server_tool_call", "id": "s", "name": "web_search"},
        {"type": "tool_call", "id": "call00001", "name": "f", "arguments": "{\"a\":1}"},
        // A tool that the provider ran, with its outcome in the same message.
        {"type": "tool_call", "id": "call00002", "name": "g", "arguments": {}},
        {"type": "tool_call_response", "id": "call00002", "response": [1]},
        "plain text",
    ]);
    let text = json!([
        {"role": "assistant", "name": "fox", "parts": parts, "finish_reason": "tool_call"},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call00001", "response": null}]},
        {"parts": null, "role": "user"},
    ]);
    for profile in Profile::ALL {
        if profile != Profile::Strict {
            assert_eq!(findings(&text.to_string(), profile), "", "{}", profile.name());
        }
    }
}

#[test]
fn what_is_not_a_list_of_messages_is_an_error_with_its_place() {
    let table = [
        ("", "unexpected end of text, expected a value"),
        ("hello", "unexpected `h`, expected a value"),
        ("{}", "not a list of messages"),
        ("[1]", "messages[0]: a message is not an object"),
        (
            r#"[{"parts":[]},{"role":"user","content":"hi"}]"#,
            "messages[1]: a message has no `parts`",
        ),
        (r#"[{"parts":{}}]"#, "messages[0]: `parts` is not a list"),
        (r#"[{"parts":[{"type":"te"#, "messages[0]: an unterminated string"),
        ("[] []", "unexpected `[`, expected the end"),
    ];
    for (text, expected) in table {
        let error = outline(text, Profile::OpenaiChat).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let many = format!("[{}]", [r#"{"parts":[]}"#; 9].join(","));
    assert!(outline_otel_messages(&many, foxwedge_core::Format::OpenaiChat, 8).is_err());
}

#[test]
fn no_text_panics_however_it_is_cut() {
    let text = messages("s u a[xxxxxxxx1 xxxxxxxx2] t[xxxxxxxx2] t[xxxxxxxx1] u").to_string();
    for (end, _) in text.char_indices() {
        assert!(outline(&text[..end], Profile::Anthropic).is_err(), "{end}");
    }
}

#[test]
fn requests_of_every_format_are_written_as_valid_messages() {
    use foxwedge_core::Format;
    let table = [
        (
            Format::OpenaiChat,
            json!({"model": "m", "messages": [
                {"role": "system", "content": "Be \"brief\"."},
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                ]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call00001", "type": "function",
                     "function": {"name": "f", "arguments": "{\"a\": 1}"}},
                    {"id": "call00002", "type": "function",
                     "function": {"name": "g", "arguments": "torn {"}},
                ]},
                {"role": "tool", "tool_call_id": "call00001", "content": "one\ntwo"},
                {"role": "tool", "tool_call_id": "call00002", "content": "x"},
            ]}),
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be \"brief\"."}]},
                {"role": "user", "parts": [
                    {"type": "text", "content": "look"},
                    {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
                ]},
                {"role": "assistant", "parts": [
                    {"type": "tool_call", "id": "call00001", "name": "f", "arguments": {"a": 1}},
                    {"type": "tool_call", "id": "call00002", "name": "g", "arguments": "torn {"},
                ]},
                {"role": "tool", "parts": [
                    {"type": "tool_call_response", "id": "call00001", "response": "one\ntwo"},
                ]},
                {"role": "tool", "parts": [
                    {"type": "tool_call_response", "id": "call00002", "response": "x"},
                ]},
            ]),
        ),
        (
            Format::Anthropic,
            json!({"model": "m", "system": "Be.", "messages": [
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1]}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                        {"type": "text", "text": "a"}, {"type": "image", "source":
                            {"type": "base64", "media_type": "image/png", "data": "SECRET"}},
                    ]},
                    {"type": "text", "text": "go"},
                ]},
            ]}),
            json!([
                {"role": "system", "parts": [{"type": "text", "content": "Be."}]},
                {"role": "assistant", "parts": [
                    {"type": "reasoning", "content": "hm"},
                    {"type": "tool_call", "id": "toolu_1", "name": "f", "arguments": {"a": [1]}},
                ]},
                {"role": "user", "parts": [
                    {"type": "tool_call_response", "id": "toolu_1", "response": [
                        {"type": "text", "content": "a"},
                        {"type": "blob", "mime_type": "image/png", "modality": "image", "content": ""},
                    ]},
                    {"type": "text", "content": "go"},
                ]},
            ]),
        ),
    ];
    for (format, request, expected) in table {
        let source = request.to_string();
        let history = crate::model::decode(&source, format).expect("a request");
        let written = super::write_input_messages(&history);
        let value: Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(value, expected, "{}", format.name());
        assert_eq!(findings(&written, Profile::for_format(format)), "", "{written}");
    }
}

#[test]
fn a_reply_is_written_as_one_message() {
    let source = json!({"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}})
    .to_string();
    let decoded = crate::model::decode_reply(&source, foxwedge_core::Format::Anthropic);
    let crate::model::ModelResponse::Reply(reply) = decoded.expect("a reply").outcome else {
        panic!("{source}")
    };
    let written = super::write_output_messages(&reply, Some("tool_calls"));
    let value: Value = serde_json::from_str(&written).expect("JSON");
    let parts = json!([{"type": "text", "content": "hi"},
        {"type": "tool_call", "id": "t", "name": "f", "arguments": {}}]);
    let message = json!({"role": "assistant", "parts": parts, "finish_reason": "tool_calls"});
    assert_eq!(value, json!([message]));
}

fn outline(text: &str, profile: Profile) -> Result<OtelHistory<'_>, crate::ReadError> {
    outline_otel_messages(text, outline_format(profile), usize::MAX)
}

/// The rules with the messages of their findings.
fn findings(text: &str, profile: Profile) -> String {
    let history = outline(text, profile).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut options = CheckOptions::for_profile(profile);
    for rule in foxwedge_core::rules::ALL {
        if !is_judged(profile, rule.code) {
            options.rules.remove(rule.code);
        }
    }
    let report = check(&history.draft, &options);
    let places = report.findings.iter().map(|finding| {
        format!("{} {}", finding.rule.label(), history.message_index(finding.location.span))
    });
    places.collect::<Vec<_>>().join(", ")
}

fn messages(shape: &str) -> Value {
    let mut list = Vec::new();
    let mut words = shape.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut word = word.to_owned();
        while word.contains('[') && !word.ends_with(']') {
            word = format!("{word} {}", words.next().expect("the end of a list"));
        }
        let (kind, ids) = word.split_once('[').unwrap_or((&word, ""));
        let ids = ids.trim_end_matches(']').split(' ').filter(|id| !id.is_empty());
        let call = |id| json!({"type": "tool_call", "id": id, "name": "f", "arguments": {"a": 1}});
        let result = |id| json!({"type": "tool_call_response", "id": id, "response": "done"});
        let text = json!({"type": "text", "content": "words"});
        list.push(match kind {
            "u" => json!({"role": "user", "parts": [text]}),
            "s" => json!({"role": "system", "parts": [text]}),
            "a" => {
                let parts: Vec<Value> = [text].into_iter().chain(ids.map(call)).collect();
                json!({"role": "assistant", "parts": parts})
            }
            "t" => json!({"role": "tool", "parts": ids.map(result).collect::<Vec<_>>()}),
            "r" => json!({"role": "user", "parts": ids.map(result).collect::<Vec<_>>()}),
            _ => panic!("`{word}` is no message"),
        });
    }
    Value::Array(list)
}
