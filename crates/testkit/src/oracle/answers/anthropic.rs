//! Anthropic Messages: blocks behind each other.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    Answer, Block, Seal, Stop, Usage,
    draft::{Kind, Part, answer},
    fields::{count, is_text, list, said, text},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::Anthropic;

pub(super) fn body(answer: &Answer) -> Value {
    let blocks: Vec<Value> = answer.blocks.iter().map(block).collect();
    let (reason, sequence) = stopped(answer.stop.as_ref());
    json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": blocks, "stop_reason": reason, "stop_sequence": sequence,
        "usage": usage(&answer.usage),
    })
}

fn stopped(stop: Option<&Stop>) -> (Option<String>, Option<String>) {
    let sequence = match stop {
        Some(Stop::Sequence(text)) => text.clone(),
        _ => None,
    };
    (stop.map(|stop| stops::word(WIRE, stop)), sequence)
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) | Block::Refusal(text) => json!({"type": "text", "text": text}),
        Block::Reasoning(_, Seal::Redacted(data)) => {
            json!({"type": "redacted_thinking", "data": data})
        }
        Block::Reasoning(text, seal) => {
            let signature = if let Seal::Signed(signature) = seal { signature } else { "" };
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.input.object(),
        }),
    }
}

/// What is read from a cache or written into one is not input here.
fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input - usage.cached - usage.stored,
        "cache_creation_input_tokens": usage.stored, "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output, "output_tokens_details": {"thinking_tokens": usage.reasoning},
    })
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let sound = body["type"] == "message"
        && body["role"] == "assistant"
        && is_text(&body["id"])
        && is_text(&body["model"])
        && body["content"].is_array()
        && body.get("stop_sequence").is_some()
        && body["usage"]["input_tokens"].is_u64()
        && body["usage"]["output_tokens"].is_u64();
    if !sound {
        return Err("not a message".to_owned());
    }
    let mut parts = Vec::new();
    for block in list(body, "content") {
        parts.push(read_block(block)?);
    }
    let stop = read_stop(body);
    Ok(answer(said(body, "id"), said(body, "model"), parts, stop, read_usage(&body["usage"])))
}

fn read_stop(delta: &Value) -> Option<Stop> {
    match stops::meaning(WIRE, &said(delta, "stop_reason")?) {
        Stop::Sequence(_) => Some(Stop::Sequence(said(delta, "stop_sequence"))),
        stop => Some(stop),
    }
}

fn read_block(block: &Value) -> Result<Part, String> {
    Ok(match block["type"].as_str() {
        Some("text") if is_text(&block["text"]) => {
            Part { text: text(block, "text"), ..Part::new(Kind::Text) }
        }
        Some("thinking") if is_text(&block["thinking"]) && is_text(&block["signature"]) => {
            let seal = said(block, "signature").map_or(Seal::Open, Seal::Signed);
            Part { text: text(block, "thinking"), seal, ..Part::new(Kind::Reasoning) }
        }
        Some("redacted_thinking") if is_text(&block["data"]) => {
            let seal = Seal::Redacted(text(block, "data"));
            Part { seal, ..Part::new(Kind::Reasoning) }
        }
        Some("tool_use") if block["input"].is_object() && said(block, "id").is_some() => Part {
            text: block["input"].to_string(),
            id: said(block, "id"),
            name: text(block, "name"),
            ..Part::new(Kind::Function)
        },
        _ => return Err(format!("not a block: {block}")),
    })
}

fn read_usage(usage: &Value) -> Usage {
    let cached = count(usage, "cache_read_input_tokens");
    let stored = count(usage, "cache_creation_input_tokens");
    Usage {
        input: count(usage, "input_tokens") + cached + stored,
        output: count(usage, "output_tokens"),
        cached,
        stored,
        reasoning: count(&usage["output_tokens_details"], "thinking_tokens"),
    }
}
