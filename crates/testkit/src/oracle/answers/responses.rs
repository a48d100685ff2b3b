//! OpenAI Responses: a list of items. Adjacent texts and refusals are the parts of one message.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop, ReplyUsage, SUM,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, is_text, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::OpenaiResponses;

pub(super) fn body(answer: &OracleReply) -> Value {
    let items = items(&answer.blocks);
    response(answer, answer.stop.as_ref(), items, Some(&answer.usage))
}

/// The response object, in any state.
fn response(
    answer: &OracleReply,
    stop: Option<&ReplyStop>,
    output: Vec<Value>,
    figures: Option<&ReplyUsage>,
) -> Value {
    let reason = stop.map(|stop| stops::word(WIRE, stop));
    let (status, details) = match reason.as_deref() {
        None => ("in_progress", Value::Null),
        Some("completed") => ("completed", Value::Null),
        Some(reason) => ("incomplete", json!({ "reason": reason })),
    };
    json!({
        "id": answer.id, "object": "response", "created_at": 1_700_000_000, "status": status,
        "error": null, "incomplete_details": details, "model": answer.model, "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "usage": figures.map(usage),
    })
}

/// The items of these blocks.
fn items(blocks: &[ReplyBlock]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for block in blocks {
        let at = items.len();
        let part = match block {
            ReplyBlock::Text(text) => {
                json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
            }
            ReplyBlock::Refusal(text) => json!({"type": "refusal", "refusal": text}),
            ReplyBlock::Reasoning(text, seal) => {
                items.push(reasoning(at, text, seal));
                continue;
            }
            ReplyBlock::Call(call) => {
                items.push(self::call(at, call));
                continue;
            }
        };
        match items.last_mut().filter(|item| item["type"] == "message") {
            Some(message) => {
                if let Value::Array(content) = &mut message["content"] {
                    content.push(part);
                }
            }
            None => items.push(json!({
                "id": format!("msg_{at}"), "type": "message", "role": "assistant",
                "status": "completed", "content": [part],
            })),
        }
    }
    items
}

fn reasoning(at: usize, text: &str, seal: &ReasoningSeal) -> Value {
    let mut item = json!({"id": format!("rs_{at}"), "type": "reasoning", "summary": []});
    match seal {
        // Models with open reasoning return it unchanged, not as a summary.
        ReasoningSeal::Open if text.len().is_multiple_of(2) => {
            item["content"] = json!([{"type": "reasoning_text", "text": text}]);
        }
        _ if text.is_empty() => {}
        _ => {
            let parts =
                text.split("\n\n").map(|text| json!({"type": "summary_text", "text": text}));
            item["summary"] = parts.collect();
        }
    }
    if let ReasoningSeal::Encrypted(data) = seal {
        item["encrypted_content"] = json!(data);
    }
    item
}

fn call(at: usize, call: &ReplyCall) -> Value {
    tidy(match &call.input {
        ReplyCallInput::Free(text) => json!({
            "id": format!("ctc_{at}"), "type": "custom_tool_call", "status": "completed",
            "call_id": call.id, "name": call.name, "input": text,
        }),
        ReplyCallInput::Json(_) | ReplyCallInput::Broken(_) => json!({
            "id": format!("fc_{at}"), "type": "function_call", "status": "completed",
            "call_id": call.id, "name": call.name, "arguments": call.input.text(),
        }),
    })
}

fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "input_tokens_details": {
            "cached_tokens": usage.cached, "cache_write_tokens": usage.stored,
        },
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
    let sound = body["object"] == "response"
        && body["created_at"].is_number()
        && is_text(&body["id"])
        && is_text(&body["model"])
        && body["output"].is_array()
        && body["error"].is_null();
    if !sound {
        return Err("not a response".to_owned());
    }
    let reason = body["incomplete_details"]["reason"].as_str();
    let stop = match (body["status"].as_str(), reason) {
        (Some("completed"), None) => Some("completed"),
        (Some("incomplete"), Some(reason)) => Some(reason),
        (Some("incomplete" | "in_progress"), None) => None,
        _ => return Err("`status` and `incomplete_details` do not fit".to_owned()),
    };
    let mut parts = Vec::new();
    for item in list(body, "output") {
        if said(item, "id").is_none() {
            return Err(format!("an item without an id: {item}"));
        }
        parts.extend(read_item(item)?);
    }
    let has_calls =
        parts.iter().any(|it| matches!(it.kind, DraftBlockKind::Function | DraftBlockKind::Custom));
    let stop = match stop.map(|reason| stops::meaning(WIRE, reason)) {
        Some(ReplyStop::End) if has_calls => Some(ReplyStop::Calls),
        stop => stop,
    };
    Ok(answer(said(body, "id"), said(body, "model"), parts, stop, read_usage(&body["usage"])?))
}

fn read_item(item: &Value) -> Result<Vec<DraftBlock>, String> {
    let called = |kind, key: &str| DraftBlock {
        text: text(item, key),
        id: said(item, "call_id"),
        name: text(item, "name"),
        ..DraftBlock::new(kind)
    };
    Ok(match item["type"].as_str() {
        Some("function_call") if is_text(&item["arguments"]) => {
            vec![called(DraftBlockKind::Function, "arguments")]
        }
        Some("custom_tool_call") if is_text(&item["input"]) => {
            vec![called(DraftBlockKind::Custom, "input")]
        }
        Some("reasoning") if item["summary"].is_array() => {
            let texts = list(item, "summary").iter().chain(list(item, "content"));
            let texts: Vec<String> = texts.map(|part| text(part, "text")).collect();
            let seal = said(item, "encrypted_content")
                .map_or(ReasoningSeal::Open, ReasoningSeal::Encrypted);
            vec![DraftBlock {
                text: texts.join("\n\n"),
                seal,
                ..DraftBlock::new(DraftBlockKind::Reasoning)
            }]
        }
        Some("message") if item["role"] == "assistant" => {
            let mut parts = Vec::new();
            for part in list(item, "content") {
                parts.push(match part["type"].as_str() {
                    Some("output_text") if part["annotations"].is_array() => DraftBlock {
                        text: text(part, "text"),
                        ..DraftBlock::new(DraftBlockKind::Text)
                    },
                    Some("refusal") => DraftBlock {
                        text: text(part, "refusal"),
                        ..DraftBlock::new(DraftBlockKind::Refusal)
                    },
                    _ => return Err(format!("not a part of a message: {part}")),
                });
            }
            parts
        }
        _ => return Err(format!("not an item: {item}")),
    })
}

fn read_usage(usage: &Value) -> Result<ReplyUsage, String> {
    let read = ReplyUsage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cached: count(&usage["input_tokens_details"], "cached_tokens"),
        stored: count(&usage["input_tokens_details"], "cache_write_tokens"),
        reasoning: count(&usage["output_tokens_details"], "reasoning_tokens"),
    };
    match usage.is_null() || count(usage, "total_tokens") == read.input + read.output {
        true => Ok(read),
        false => Err(format!("{SUM}: {usage}")),
    }
}
