//! Anthropic Messages: a sequence of blocks.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyStop, ReplyUsage,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, is_text, list, said, text},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::Anthropic;

pub(super) fn body(answer: &OracleReply) -> Value {
    let blocks: Vec<Value> = answer.blocks.iter().map(block).collect();
    let (reason, sequence) = stopped(answer.stop.as_ref());
    json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": blocks, "stop_reason": reason, "stop_sequence": sequence,
        "usage": usage(&answer.usage),
    })
}

fn stopped(stop: Option<&ReplyStop>) -> (Option<String>, Option<String>) {
    let sequence = match stop {
        Some(ReplyStop::Sequence(text)) => text.clone(),
        _ => None,
    };
    (stop.map(|stop| stops::word(WIRE, stop)), sequence)
}

fn block(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => json!({"type": "text", "text": text}),
        ReplyBlock::Reasoning(_, ReasoningSeal::Redacted(data)) => {
            json!({"type": "redacted_thinking", "data": data})
        }
        ReplyBlock::Reasoning(text, seal) => {
            let signature =
                if let ReasoningSeal::Signed(signature) = seal { signature } else { "" };
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        ReplyBlock::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.input.object(),
        }),
    }
}

/// Anthropic does not count tokens read from or written to a cache as input.
fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "input_tokens": usage.input - usage.cached - usage.stored,
        "cache_creation_input_tokens": usage.stored, "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output, "output_tokens_details": {"thinking_tokens": usage.reasoning},
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
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

fn read_stop(delta: &Value) -> Option<ReplyStop> {
    match stops::meaning(WIRE, &said(delta, "stop_reason")?) {
        ReplyStop::Sequence(_) => Some(ReplyStop::Sequence(said(delta, "stop_sequence"))),
        stop => Some(stop),
    }
}

fn read_block(block: &Value) -> Result<DraftBlock, String> {
    Ok(match block["type"].as_str() {
        Some("text") if is_text(&block["text"]) => {
            DraftBlock { text: text(block, "text"), ..DraftBlock::new(DraftBlockKind::Text) }
        }
        Some("thinking") if is_text(&block["thinking"]) && is_text(&block["signature"]) => {
            let seal = said(block, "signature").map_or(ReasoningSeal::Open, ReasoningSeal::Signed);
            DraftBlock {
                text: text(block, "thinking"),
                seal,
                ..DraftBlock::new(DraftBlockKind::Reasoning)
            }
        }
        Some("redacted_thinking") if is_text(&block["data"]) => {
            let seal = ReasoningSeal::Redacted(text(block, "data"));
            DraftBlock { seal, ..DraftBlock::new(DraftBlockKind::Reasoning) }
        }
        Some("tool_use") if block["input"].is_object() && said(block, "id").is_some() => {
            DraftBlock {
                text: block["input"].to_string(),
                id: said(block, "id"),
                name: text(block, "name"),
                ..DraftBlock::new(DraftBlockKind::Function)
            }
        }
        _ => return Err(format!("not a block: {block}")),
    })
}

fn read_usage(usage: &Value) -> ReplyUsage {
    let cached = count(usage, "cache_read_input_tokens");
    let stored = count(usage, "cache_creation_input_tokens");
    ReplyUsage {
        input: count(usage, "input_tokens") + cached + stored,
        output: count(usage, "output_tokens"),
        cached,
        stored,
        reasoning: count(&usage["output_tokens_details"], "thinking_tokens"),
    }
}
