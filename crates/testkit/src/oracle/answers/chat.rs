//! OpenAI Chat: a message with one text, one refusal, one reasoning and a list of calls.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    Answer, Block, Call, Input, SUM, Usage,
    draft::{Kind, Part, answer},
    fields::{count, is_text, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::OpenaiChat;

pub(super) fn body(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let mut calls = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text(text) => message["content"] = json!(text),
            Block::Refusal(text) => message["refusal"] = json!(text),
            Block::Reasoning(text, _) => message["reasoning_content"] = json!(text),
            Block::Call(one) => calls.push(call(one, one.input.text())),
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let reason = answer.stop.as_ref().map(|stop| stops::word(WIRE, stop));
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason});
    json!({
        "id": answer.id, "object": "chat.completion", "created": 1_700_000_000, "model": answer.model,
        "choices": [choice], "usage": usage(&answer.usage), "system_fingerprint": "fp_1",
    })
}

/// A call with so much of its arguments.
fn call(call: &Call, arguments: String) -> Value {
    let google = call.signature.as_ref().map(|it| json!({"google": {"thought_signature": it}}));
    tidy(match call.input {
        Input::Free(_) => json!({
            "id": call.id, "type": "custom", "custom": {"name": call.name, "input": arguments},
            "extra_content": google,
        }),
        Input::Json(_) | Input::Broken(_) => json!({
            "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": arguments}, "extra_content": google,
        }),
    })
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached, "cache_write_tokens": usage.stored,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let [choice] = list(body, "choices") else { return Err("not one choice".to_owned()) };
    let message = &choice["message"];
    let lists_calls = message
        .get("tool_calls")
        .is_none_or(|calls| calls.as_array().is_some_and(|calls| !calls.is_empty()));
    let sound = [
        (body["object"] == "chat.completion", "`object`"),
        (body["created"].is_u64(), "`created`"),
        (is_text(&body["id"]) && is_text(&body["model"]), "`id` and `model`"),
        (choice["index"] == 0 && message["role"] == "assistant", "`index` and `role`"),
        (message["content"].is_null() || is_text(&message["content"]), "`content`"),
        (is_text(&choice["finish_reason"]), "`finish_reason`"),
        (lists_calls, "an empty list of calls"),
    ];
    if let Some((_, what)) = sound.iter().find(|(sound, _)| !sound) {
        return Err(format!("{what} is wrong"));
    }
    let mut parts = Vec::new();
    for (key, kind) in [
        ("reasoning_content", Kind::Reasoning),
        ("content", Kind::Text),
        ("refusal", Kind::Refusal),
    ] {
        if message[key].is_string() {
            parts.push(Part { text: text(message, key), ..Part::new(kind) });
        }
    }
    for one in list(message, "tool_calls") {
        parts.push(read_call(one)?);
    }
    let stop = said(choice, "finish_reason").map(|word| stops::meaning(WIRE, &word));
    let usage = read_usage(&body["usage"])?;
    Ok(answer(said(body, "id"), said(body, "model"), parts, stop, usage))
}

fn read_call(call: &Value) -> Result<Part, String> {
    let (kind, tool, key) = match call["type"].as_str() {
        Some("function") => (Kind::Function, &call["function"], "arguments"),
        Some("custom") => (Kind::Custom, &call["custom"], "input"),
        _ => return Err(format!("a call of what type: {call}")),
    };
    if !is_text(&tool[key]) || said(tool, "name").is_none() {
        return Err(format!("not a whole call: {call}"));
    }
    Ok(Part {
        text: text(tool, key),
        id: said(call, "id"),
        name: text(tool, "name"),
        signature: said(&call["extra_content"]["google"], "thought_signature"),
        ..Part::new(kind)
    })
}

fn read_usage(usage: &Value) -> Result<Usage, String> {
    let read = Usage {
        input: count(usage, "prompt_tokens"),
        output: count(usage, "completion_tokens"),
        cached: count(&usage["prompt_tokens_details"], "cached_tokens"),
        stored: count(&usage["prompt_tokens_details"], "cache_write_tokens"),
        reasoning: count(&usage["completion_tokens_details"], "reasoning_tokens"),
    };
    match usage.is_null() || count(usage, "total_tokens") == read.input + read.output {
        true => Ok(read),
        false => Err(format!("{SUM}: {usage}")),
    }
}
