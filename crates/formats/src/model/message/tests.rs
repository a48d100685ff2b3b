use std::borrow::Cow;

use foxwedge_core::{CallFamily, CheckOptions, Profile, check};
use serde_json::{Value, json};

use super::*;
use crate::{
    conversation::{ReasoningPart, ToolCallPart},
    model::{ModelResponse, PartNotes, StopReason},
    outline_options, read,
    stream::{StreamOptions, collect, write_stream},
};

fn text(content: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(content.into()))
}

fn thought(text: &'static str, signature: ReasoningSignature<'static>) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Reasoning(ReasoningPart { text: text.into(), signature }))
}

fn call(id: &'static str, arguments: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::ToolCall(ToolCallPart {
        id: Some(Cow::Borrowed(id)),
        name: Cow::Borrowed("look"),
        family: CallFamily::Function,
        arguments: arguments.into(),
        signature: None,
    }))
}

fn reply(parts: Vec<ModelPart<'static>>) -> ModelReply<'static> {
    ModelReply { parts, stop: Some(StopReason::ToolCalls), ..ModelReply::default() }
}

fn turn(parts: Vec<ModelPart<'static>>, format: Format) -> Option<Value> {
    encode_turn(&reply(parts), format).map(|turn| serde_json::from_str(&turn).expect("JSON"))
}

#[test]
fn a_turn_includes_what_its_provider_requires() {
    let parts_with = |signature: ReasoningSignature<'static>| {
        vec![thought("Hm.\n", signature), text("Let me \"look\"."), call("call_1", "{\"n\": 1}")]
    };
    assert_eq!(
        turn(parts_with(ReasoningSignature::Unsigned), Format::OpenaiChat),
        Some(
            json!({"role": "assistant", "content": "Let me \"look\".", "reasoning_content": "Hm.\n",
            "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "look", "arguments": "{\"n\": 1}"}}]})
        )
    );
    assert_eq!(
        turn(parts_with(ReasoningSignature::Encrypted("b3A=".into())), Format::OpenaiResponses),
        Some(json!([
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm.\n"}],
             "encrypted_content": "b3A="},
            {"type": "message", "role": "assistant",
             "content": "Let me \"look\"."},
            {"type": "function_call", "call_id": "call_1", "name": "look",
             "arguments": "{\"n\": 1}"}]))
    );
    let mut claude = parts_with(ReasoningSignature::Signed("c2ln".into()));
    claude.insert(1, thought("", ReasoningSignature::Redacted("aGk=".into())));
    assert_eq!(
        turn(claude, Format::Anthropic),
        Some(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.\n", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "aGk="},
            {"type": "text", "text": "Let me \"look\"."},
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {"n": 1}}]}))
    );
    let signed = ModelPart::new(match call("call_1", "{}").into_content() {
        ContentPart::ToolCall(call) => {
            ContentPart::ToolCall(ToolCallPart { signature: Some("Z2Vt".into()), ..call })
        }
        content => content,
    });
    let last = thought("", ReasoningSignature::Signed("ZW5k".into()));
    assert_eq!(
        turn(vec![thought("Hm.", ReasoningSignature::Unsigned), signed, last], Format::Gemini),
        Some(json!({"role": "model", "parts": [
            {"text": "Hm.", "thought": true},
            {"functionCall": {"id": "call_1", "name": "look", "args": {}},
             "thoughtSignature": "Z2Vt"},
            {"text": "", "thoughtSignature": "ZW5k"}]}))
    );
}

#[test]
fn content_that_the_provider_rejects_is_omitted() {
    let thinking = || thought("Hm.", ReasoningSignature::Unsigned);
    let signed = || thought("Hm.", ReasoningSignature::Signed("c2ln".into()));
    for wire in Format::ALL {
        // An empty response.
        assert_eq!(turn(vec![], wire), None, "{wire:?}");
        assert_eq!(turn(vec![text("")], wire), None, "{wire:?}");
        assert_eq!(turn(vec![signed(), thinking()], wire), None, "{wire:?}");
    }
    // Cut off before the signature, or before any content followed.
    let table = [
        (vec![thinking(), text("a")], json!([{"type": "text", "text": "a"}])),
        (vec![text("a"), signed()], json!([{"type": "text", "text": "a"}])),
        (vec![text(" \n"), text("a")], json!([{"type": "text", "text": "a"}])),
    ];
    for (parts, content) in table {
        let expected = json!({"role": "assistant", "content": content});
        assert_eq!(turn(parts, Format::Anthropic), Some(expected));
    }
    let refusal = text("No.").with_notes(PartNotes { refusal: true, ..PartNotes::default() });
    assert_eq!(
        turn(vec![refusal], Format::OpenaiChat),
        Some(json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}))
    );
}

#[test]
fn broken_arguments_stay_unchanged_in_formats_with_string_arguments() {
    let cut = || vec![call("call_1", "{\"n\": [1, 2")];
    let chat = turn(cut(), Format::OpenaiChat).expect("a message");
    assert_eq!(chat["tool_calls"][0]["function"]["arguments"], "{\"n\": [1, 2");
    for wire in Format::ALL {
        let turn = encode_turn(&reply(cut()), wire).expect("a message");
        assert_eq!(decode_turn(&turn, wire).expect("readable").len(), 1, "{wire:?}");
    }
    let none = turn(vec![call("call_1", "")], Format::OpenaiChat).expect("a message");
    assert_eq!(none["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn a_collected_turn_is_valid_in_the_next_request() {
    let user = |wire| match wire {
        Format::Gemini => json!({"role": "user", "parts": [{"text": "go"}]}),
        Format::Bedrock => json!({"role": "user", "content": [{"text": "go"}]}),
        Format::GeminiInteractions => {
            json!({"type": "user_input", "content": [{"type": "text", "text": "go"}]})
        }
        _ => json!({"role": "user", "content": "go"}),
    };
    let answer = |wire| match wire {
        Format::OpenaiChat => json!({"role": "tool", "tool_call_id": "call_1", "content": "ok"}),
        Format::OpenaiResponses => {
            json!({"type": "function_call_output", "call_id": "call_1", "output": "ok"})
        }
        Format::GeminiInteractions => {
            json!({"type": "function_result", "call_id": "call_1", "result": "ok"})
        }
        Format::Anthropic => json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}]}),
        Format::Gemini => json!({"role": "user", "parts": [{"functionResponse":
            {"id": "call_1", "name": "look", "response": {"output": "ok"}}}]}),
        Format::Bedrock => json!({"role": "user", "content": [{"toolResult":
            {"toolUseId": "call_1", "content": [{"text": "ok"}]}}]}),
    };
    for wire in Format::ALL {
        let parts = vec![text("Grüße 𝄞"), call("call_1", "{\"city\":\"Köln\"}")];
        let bytes =
            write_stream(&ModelResponse::Reply(reply(parts)), wire, StreamOptions::default()).0;
        let collected = collect(wire, &bytes).expect("a stream").reply;
        let turn = encode_turn(&collected, wire).expect("a message");
        let turn: Value = serde_json::from_str(&turn).expect("JSON");
        let mut list = vec![user(wire)];
        match turn {
            Value::Array(items) => list.extend(items),
            message => list.push(message),
        }
        list.push(answer(wire));
        let source = Value::Array(list).to_string();
        let profile = Profile::for_format(wire);
        let reading = read(&source, wire, outline_options(profile)).expect("readable");
        let report = check(&reading.draft, &CheckOptions::for_profile(profile));
        assert!(report.is_clean(), "{wire:?} {report:?} {source}");
        assert!(source.contains("Grüße 𝄞") && source.contains("Köln"), "{source}");
    }
}
