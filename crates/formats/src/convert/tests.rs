//! Requests in hand-written documents. The property tests are elsewhere, on generated documents.

mod compose;
mod incomplete_calls;
mod losses;
mod servers;
mod single_objects;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::*;
use crate::{
    model::{CallPairs, ContentPart, LossKind, ModelResponse, PartIndex, decode_reply},
    stream::{StreamConverter, StreamOptions, collect, write_stream},
};

fn converted(source: &Value, from: Format, to: Format) -> (Value, ConvertedRequest) {
    let done =
        request(&source.to_string(), from, to, &ConversionOptions::default()).expect("readable");
    (serde_json::from_str(&done.body).expect("JSON"), done)
}

#[test]
fn a_request_is_converted_with_all_its_settings() {
    let source = json!({
        "model": "m",
        "max_tokens": 100,
        "system": "Be kind.",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}],
    });
    let (body, done) = converted(&source, Format::Anthropic, Format::OpenaiChat);
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "toolu_1", "type": "function",
                 "function": {"name": "f", "arguments": "{\"x\":1}"}}]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "ok"}])
    );
    assert_eq!((&body["model"], done.losses.len(), done.remaining.len()), (&json!("m"), 0, 0));
    let (back, _) = converted(&body, Format::OpenaiChat, Format::Anthropic);
    assert_eq!(back["system"], json!([{"type": "text", "text": "Be kind."}]));
    assert_eq!(back["messages"], source["messages"]);
}

#[test]
fn a_bare_list_stays_a_list_unless_it_has_instructions() {
    let hi = json!({"role": "user", "content": "hi"});
    let (body, _) = converted(&json!([hi]), Format::OpenaiChat, Format::Anthropic);
    assert_eq!(body, json!([hi]));
    let system = json!({"role": "system", "content": "kind"});
    let (body, done) = converted(&json!([system, hi]), Format::OpenaiChat, Format::Gemini);
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "kind"}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    });
    assert_eq!((body, done.losses.len()), (expected, 0));
}

#[test]
fn broken_histories_are_repaired_before_conversion() {
    let call = |id: &str| {
        json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    };
    let source = json!([
        {"role": "user", "content": "go"},
        call("a"),
        {"role": "user", "content": "stop"},
        {"role": "tool", "tool_call_id": "z", "content": "lost words"},
        {"role": "user", "content": "on"}]);
    for to in Format::ALL.into_iter().filter(|to| *to != Format::OpenaiChat) {
        let (body, done) = converted(&source, Format::OpenaiChat, to);
        assert_eq!(done.remaining.len(), 0, "{body}");
        assert!(body.to_string().contains("lost words"), "{body}");
        assert_eq!(done.source_edits.iter().map(|edit| edit.code).collect::<Vec<_>>(), [102, 101]);
    }
}

#[test]
fn replaced_ids_are_restored() {
    let call = |id: &str| {
        json!({"id": id, "type": "function",
        "function": {"name": "get", "arguments": "{}"}})
    };
    let source = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "x", "tool_calls": [call("functions.get:0"), call("functions.get:1")]},
        {"role": "tool", "tool_call_id": "functions.get:0", "content": "a"},
        {"role": "tool", "tool_call_id": "functions.get:1", "content": "b"}]);
    let (body, done) = converted(&source, Format::OpenaiChat, Format::Anthropic);
    assert_eq!(done.renamed.len(), 2);
    let options = ConversionOptions { restored_ids: done.renamed, ..ConversionOptions::default() };
    let back = request(&body.to_string(), Format::Anthropic, Format::OpenaiChat, &options)
        .expect("readable");
    assert_eq!(serde_json::from_str::<Value>(&back.body).expect("JSON"), source);
}

#[test]
fn media_after_tool_results_is_restored() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png",
        "data": "aGk="}});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "shot", "input": {}});
    let source = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [image, {"type": "text", "text": "one"}, image]},
            {"type": "tool_result", "tool_use_id": "b", "content": "two"},
            {"type": "text", "text": "and?"}]}]);
    for through in [Format::OpenaiChat, Format::Gemini] {
        let (there, done) = converted(&source, Format::Anthropic, through);
        assert_eq!(done.losses.len(), 0, "{there}");
        let (back, done) = converted(&there, through, Format::Anthropic);
        assert_eq!(done.losses.len(), 0, "{there}");
        if through == Format::OpenaiChat {
            assert_eq!(back, source, "{there}");
        } else {
            assert_eq!(back.to_string().matches("aGk=").count(), 2, "{there}");
        }
    }
}

/// A function call and a custom call may have the same id; the type of a result tells them apart.
#[test]
fn results_of_calls_with_one_id_do_not_cross() {
    let source = json!([
        {"type": "message", "role": "user", "content": "go"},
        {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "text"},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "of read"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "of patch"}]);
    for to in [Format::OpenaiChat, Format::Anthropic, Format::GeminiInteractions] {
        let (body, _) = converted(&source, Format::OpenaiResponses, to);
        let text = body.to_string();
        let calls = crate::model::decode(&text, to).expect("readable");
        let pairs = CallPairs::of(&calls);
        let parts = calls.messages.iter().enumerate().flat_map(|(message, whole)| {
            let parts = whole.parts.iter().enumerate();
            parts.map(move |(part, whole)| (PartIndex { message, part }, whole.content()))
        });
        let mut found = 0;
        for (at, content) in parts {
            let ContentPart::ToolCall(call) = content else { continue };
            let result = pairs.partner(at).expect("every call has its result");
            let result = &calls.messages[result.message].parts[result.part];
            let expected = format!("of {}", call.name);
            assert!(format!("{:?}", result.content()).contains(&expected), "{to:?}: {body}");
            found += 1;
        }
        assert_eq!(found, 2, "{body}");
    }
}

/// Something unknown keeps a repair from touching the role; the text is converted all the same.
#[test]
fn content_without_a_role_is_kept() {
    let source = json!([
        {"content": [{"type": "hologram", "x": 1}, {"type": "text", "text": "What now?"}]}]);
    let (body, done) = converted(&source, Format::Anthropic, Format::OpenaiChat);
    assert!(body.to_string().contains("What now?"), "{body}");
    assert_eq!(done.losses.len(), 1, "the block is lost: {:?}", done.losses);
}

#[test]
fn renamed_tools_stay_consistent() {
    let source = json!({
        "contents": [{"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "files.read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "files.read",
                "response": {"output": "ok"}}}]}],
        "tools": [{"functionDeclarations": [{"name": "files.read"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["files.read"]}},
    });
    let (body, done) = converted(&source, Format::Gemini, Format::OpenaiChat);
    let name = &body["tools"][0]["function"]["name"];
    assert_ne!(name, "files.read");
    assert_eq!(&body["messages"][1]["tool_calls"][0]["function"]["name"], name);
    assert_eq!(&body["tool_choice"]["function"]["name"], name, "{body}");
    assert_eq!(
        done.renamed_tools,
        [IdentifierReplacement {
            old: "files.read".into(),
            new: name.as_str().unwrap_or("").into()
        }]
    );
    let reply = json!({"id": "r", "object": "chat.completion", "model": "m", "choices": [{"index": 0,
        "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
        "tool_calls": [{"id": "b", "type": "function", "function": {"name": name, "arguments": "{}"}}]}}]});
    let options =
        ConversionOptions { renamed_tools: done.renamed_tools, ..ConversionOptions::default() };
    let back = response(&reply.to_string(), Format::OpenaiChat, Format::Gemini, &options);
    assert!(back.expect("readable").body.contains("\"files.read\""));
}

#[test]
fn chunks_of_a_streamed_turn_become_one_message() {
    let call = |id: &str, city: &str| {
        json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "wx",
            "args": {"city": city}}}]})
    };
    let result = |city: &str| json!({"functionResponse": {"name": "wx", "response": {"output": format!("in {city}")}}});
    let source = json!([
        {"role": "user", "parts": [{"text": "q"}]},
        call("k1", "Ulm"),
        call("k2", "Rom"),
        {"role": "model", "parts": [{"text": ""}]},
        {"role": "user", "parts": [result("Ulm"), result("Rom")]},
    ]);
    let (body, done) = converted(&source, Format::Gemini, Format::OpenaiChat);
    assert!(done.source_edits.is_empty() && done.target_edits.is_empty());
    let calls = body[1]["tool_calls"].as_array().expect("calls");
    assert_eq!((body.as_array().map(Vec::len), calls.len()), (Some(4), 2), "{body}");
    for (at, (call, city)) in calls.iter().zip(["Ulm", "Rom"]).enumerate() {
        assert!(call["function"]["arguments"].as_str().is_some_and(|it| it.contains(city)));
        assert_eq!(call["id"], body[2 + at]["tool_call_id"]);
        assert!(body[2 + at]["content"].as_str().is_some_and(|it| it.contains(city)), "{body}");
    }
    let (body, _) = converted(&source, Format::Gemini, Format::Anthropic);
    assert_eq!(body.as_array().map(Vec::len), Some(3), "{body}");
}

#[test]
fn calls_of_tools_with_free_text_have_it_back() {
    let source = json!({"model": "m", "input": "x", "tools": [{"type": "custom", "name": "sh"},
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]});
    let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}, "content": [
            {"type": "tool_use", "id": "t1", "name": "sh", "input": {"input": "ls \"-l\"\n"}},
            {"type": "tool_use", "id": "t2", "name": "f", "input": {"input": "ls"}},
            {"type": "tool_use", "id": "t3", "name": "sh", "input": {"other": 1}}]});
    let (_, done) = converted(&source, Format::OpenaiResponses, Format::Anthropic);
    assert_eq!(done.free_text_tools, ["sh"]);
    let options =
        ConversionOptions { free_text_tools: done.free_text_tools, ..ConversionOptions::default() };
    let (from, to) = (Format::Anthropic, Format::OpenaiResponses);
    let back = response(&reply.to_string(), from, to, &options).expect("readable").body;
    let back: Value = serde_json::from_str(&back).expect("JSON");
    let output = back["output"].as_array().expect("items");
    let types: Vec<&str> = output.iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(types, ["custom_tool_call", "function_call", "custom_tool_call"], "{back}");
    assert_eq!(output[0]["input"], "ls \"-l\"\n");
    assert_eq!(output[2]["input"], r#"{"other":1}"#);
    // The same reply as a stream.
    let options =
        StreamOptions { free_text_tools: options.free_text_tools, ..StreamOptions::default() };
    let reply = reply.to_string();
    let outcome = decode_reply(&reply, from).expect("readable");
    let (bytes, _) = write_stream(&outcome.outcome, to, options);
    let text = String::from_utf8(bytes).expect("text");
    assert_eq!(text.matches("response.custom_tool_call_input.done").count(), 4, "{text}");
    assert_eq!(text.matches("response.function_call_arguments.done").count(), 2, "{text}");
}

#[test]
fn a_schema_of_another_maker_is_closed_for_claude() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    let source = json!({"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "q"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}});
    let (body, done) = converted(&source, Format::OpenaiChat, Format::Anthropic);
    let closed = json!({"type": "object", "properties": {"n": {"type": "integer",
        "description": "minimum: 1"}}, "additionalProperties": false});
    assert_eq!(body["output_config"]["format"]["schema"], closed, "{body}");
    assert!(done.losses.iter().any(|loss| loss.note.contains("`minimum`")), "{:?}", done.losses);
    let (body, _) = converted(&source, Format::OpenaiChat, Format::Bedrock);
    assert!(body.to_string().contains("additionalProperties"), "{body}");
}

#[test]
fn the_least_limits_of_a_format_are_kept() {
    let ask = |model: &str, off: bool| {
        let mut ask = json!({"model": model, "max_tokens": 1,
            "messages": [{"role": "user", "content": "q"}]});
        if off {
            ask["thinking"] = json!({"type": "disabled"});
        }
        ask
    };
    let (body, done) = converted(&ask("gpt-5", false), Format::Anthropic, Format::OpenaiResponses);
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(done.losses.len(), 1, "{:?}", done.losses);
    let table = [
        ("gemini-2.5-pro", json!({"thinkingBudget": 128}), 1),
        ("gemini-2.5-flash", json!({"thinkingBudget": 0}), 0),
        ("gemini-3-pro-preview", json!({"thinkingLevel": "LOW"}), 1),
        ("gemini-3-flash-preview", json!({"thinkingLevel": "MINIMAL"}), 1),
    ];
    for (model, expected, losses) in table {
        let (body, done) = converted(&ask(model, true), Format::Anthropic, Format::Gemini);
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{body}");
        assert_eq!(done.losses.len(), losses, "{:?}", done.losses);
    }
}

#[test]
fn tools_as_text_leave_no_call_and_no_result() {
    let source = json!({"model": "m", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "get", "arguments": "{\"x\":1}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "found"}],
        "tools": [{"type": "function", "function": {"name": "get", "description": "Gets.",
            "parameters": {"type": "object"}}}]});
    let options = ConversionOptions { tools: ToolNotation::Text, ..ConversionOptions::default() };
    for to in Format::ALL {
        let done =
            request(&source.to_string(), Format::OpenaiChat, to, &options).expect("readable");
        for word in ["tool_use", "tool_calls", "functionCall", "function_call\"", "toolUse"] {
            assert!(!done.body.contains(word), "{}", done.body);
        }
        for word in ["<tool_call name=", "found", "Gets."] {
            assert!(done.body.contains(&word.replace('"', "\\\"")), "{word}: {}", done.body);
        }
    }
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_place() {
    let table = [
        (
            "[{\"role\":\"user\",\"content\":5}]",
            "messages[0]: `content` is neither text nor a list",
        ),
        (
            "[{\"role\":\"user\",\"role\":\"user\",\"content\":\"\"}]",
            "messages[0]: duplicate field `role`",
        ),
        ("[{\"role\":\"assistant\",\"tool_calls\":{}}]", "messages[0]: `tool_calls` is not a list"),
        (
            r#"[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":[]}]}]"#,
            "messages[1]: `text` is not a string",
        ),
        ("{", "unexpected end of text, expected a string"),
        ("{\"model\":\"m\"}", "the document has no `messages`"),
    ];
    for (source, expected) in table {
        let error =
            request(source, Format::OpenaiChat, Format::Anthropic, &ConversionOptions::default());
        assert_eq!(error.expect_err(source).to_string(), expected, "{source}");
    }
}

#[test]
fn calls_under_another_formats_model_role_are_assistant_calls() {
    let source = json!([
        {"role": "user", "content": "go"},
        {"role": "model", "content": "", "tool_calls": [{"id": "a", "type": "function",
            "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "x"}]);
    for to in Format::ALL {
        let (body, done) = converted(&source, Format::OpenaiChat, to);
        assert_eq!(done.remaining.len(), 0, "{body}");
        assert!(!body.to_string().contains("foxwedge"), "{body}");
    }
}
