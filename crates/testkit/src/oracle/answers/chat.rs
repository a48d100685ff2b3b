//! OpenAI Chat: a message with one text, one refusal, one reasoning text and a list of calls.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReplyBlock, ReplyCall, ReplyCallInput, ReplyUsage, SUM,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, is_text, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::OpenaiChat;

pub(super) fn body(answer: &OracleReply) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let mut calls = Vec::new();
    for block in &answer.blocks {
        match block {
            ReplyBlock::Text(text) => message["content"] = json!(text),
            ReplyBlock::Refusal(text) => message["refusal"] = json!(text),
            ReplyBlock::Reasoning(text, _) => message["reasoning_content"] = json!(text),
            ReplyBlock::Call(one) => calls.push(call(one, one.input.text())),
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

/// A call with this part of its arguments.
fn call(call: &ReplyCall, arguments: String) -> Value {
    let google = call.signature.as_ref().map(|it| json!({"google": {"thought_signature": it}}));
    tidy(match call.input {
        ReplyCallInput::Free(_) => json!({
            "id": call.id, "type": "custom", "custom": {"name": call.name, "input": arguments},
            "extra_content": google,
        }),
        ReplyCallInput::Json(_) | ReplyCallInput::Broken(_) => json!({
            "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": arguments}, "extra_content": google,
        }),
    })
}

fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached, "cache_write_tokens": usage.stored,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
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
        ("reasoning_content", DraftBlockKind::Reasoning),
        ("content", DraftBlockKind::Text),
        ("refusal", DraftBlockKind::Refusal),
    ] {
        if message[key].is_string() {
            parts.push(DraftBlock { text: text(message, key), ..DraftBlock::new(kind) });
        }
    }
    for one in list(message, "tool_calls") {
        parts.push(read_call(one)?);
    }
    let stop = said(choice, "finish_reason").map(|reason| stops::meaning(WIRE, &reason));
    let usage = read_usage(&body["usage"])?;
    Ok(answer(said(body, "id"), said(body, "model"), parts, stop, usage))
}

fn read_call(call: &Value) -> Result<DraftBlock, String> {
    let (kind, tool, key) = match call["type"].as_str() {
        Some("function") => (DraftBlockKind::Function, &call["function"], "arguments"),
        Some("custom") => (DraftBlockKind::Custom, &call["custom"], "input"),
        _ => return Err(format!("a call of what type: {call}")),
    };
    if !is_text(&tool[key]) || said(tool, "name").is_none() {
        return Err(format!("not a whole call: {call}"));
    }
    Ok(DraftBlock {
        text: text(tool, key),
        id: said(call, "id"),
        name: text(tool, "name"),
        signature: said(&call["extra_content"]["google"], "thought_signature"),
        ..DraftBlock::new(kind)
    })
}

fn read_usage(usage: &Value) -> Result<ReplyUsage, String> {
    let read = ReplyUsage {
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
