//! Every field of every format, with a value of every other type in its place.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A document with every field that the reader of a format looks at.
fn templates() -> Vec<(&'static str, Value)> {
    vec![
        (
            "openai-chat",
            json!({
            "model": "m", "thinking": {"type": "enabled"}, "store": false, "previous_response_id": "r",
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "s"}]},
                {"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u"}}]},
                {"role": "assistant", "content": "x", "refusal": "no", "reasoning_content": "r", "prefix": true,
                 "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "name": "f", "content": [{"type": "text", "text": "done"}]},
            ]}),
        ),
        (
            "openai-responses",
            json!({
            "model": "m", "store": false, "conversation": "c",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "t"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
                {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "x"},
                {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
            ]}),
        ),
        (
            "anthropic",
            json!({
            "model": "claude-opus-4-6", "system": "s", "thinking": {"type": "enabled", "budget_tokens": 9},
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "t"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "h", "signature": "s"},
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": false,
                    "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {"type": "url", "url": "u"}}]}]},
            ]}),
        ),
        (
            "gemini",
            json!({
            "contents": [
                {"role": "user", "parts": [{"text": "t"}, {"inlineData": {"mimeType": "m", "data": "d"}}]},
                {"role": "model", "parts": [{"text": "h", "thought": true},
                    {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "s"}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": {"r": 1}}}]},
            ]}),
        ),
        (
            "bedrock",
            json!({
            "modelId": "m", "toolConfig": {"tools": []},
            "messages": [
                {"role": "user", "content": [{"text": "t"}]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"reasoningText": {"text": "h", "signature": "s"}}},
                    {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "x"}]}}]},
            ]}),
        ),
    ]
}

/// Values of every type, some of them hollow.
fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-1.5),
        json!(""),
        json!("\u{0}\u{202e}x"),
        json!([]),
        json!([[]]),
        json!([null, 1, "x"]),
        json!({}),
        json!({"role": {"type": []}}),
    ]
}

/// The document with one place after the other replaced or taken out.
fn variants(template: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut next = 0;
    while let Some(place) = places.get(next).cloned() {
        match template.pointer(&place) {
            Some(Value::Object(fields)) => {
                places.extend(fields.keys().map(|key| format!("{place}/{key}")));
            }
            Some(Value::Array(list)) => {
                places.extend((0..list.len()).map(|at| format!("{place}/{at}")))
            }
            _ => {}
        }
        next += 1;
    }
    let mut variants = vec![template.to_string()];
    for place in places {
        for value in values() {
            let mut document = template.clone();
            *document.pointer_mut(&place).unwrap() = value;
            variants.push(document.to_string());
        }
        let Some((parent, key)) = place.rsplit_once('/') else { continue };
        let mut document = template.clone();
        match document.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.remove(key)),
            Some(Value::Array(list)) => drop(list.remove(key.parse().unwrap())),
            _ => {}
        }
        variants.push(document.to_string());
    }
    variants
}

#[test]
fn every_field_of_every_format_may_have_a_wrong_type() {
    for (format, template) in templates() {
        let lines = variants(&template);
        let sandbox = Sandbox::with("all.jsonl", lines.join("\n"));
        for profile in [format, "strict", "mistral"] {
            let flags = ["all.jsonl", "--format", format, "--profile", profile];
            for output in ["full", "json"] {
                let ran =
                    sandbox.run(&[&["check", "--output-format", output], &flags[..]].concat());
                assert_eq!(
                    ran.code, 2,
                    "{format} {profile}: some lines cannot be read: {}",
                    ran.err
                );
            }
            let piped = [&["fix", "--unsafe-fixes", "-"], &flags[1..]].concat();
            let ran = sandbox.pipe(&piped, lines.join("\n"));
            assert!(!ran.err.contains("failed verification"), "{format} {profile}: {}", ran.err);
            assert_eq!(ran.out.lines().count(), lines.len(), "{format} {profile}");
        }
        // Without being told the format, each is guessed or refused.
        sandbox.run(&["check", "all.jsonl"]);
    }
}
