//! Bedrock Converse: blocks that are identified by their only key.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyStop, ReplyUsage, SUM,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, is_text, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::Bedrock;

pub(super) fn body(answer: &OracleReply) -> Value {
    let blocks: Vec<Value> = answer.blocks.iter().map(block).collect();
    let mut body = stopped(answer.stop.as_ref());
    body["output"] = json!({"message": {"role": "assistant", "content": blocks}});
    body["usage"] = usage(&answer.usage);
    body["metrics"] = json!({"latencyMs": 1});
    body
}

/// The stop reason, and the stop sequence that Bedrock passes through from the model.
fn stopped(stop: Option<&ReplyStop>) -> Value {
    let fields = match stop {
        Some(ReplyStop::Sequence(Some(text))) => json!({ "stop_sequence": text }),
        _ => Value::Null,
    };
    let reason = stop.map(|stop| stops::word(WIRE, stop));
    tidy(json!({"stopReason": reason, "additionalModelResponseFields": fields}))
}

fn read_stop(event: &Value) -> Option<ReplyStop> {
    Some(match stops::meaning(WIRE, &said(event, "stopReason")?) {
        ReplyStop::Sequence(_) => {
            ReplyStop::Sequence(said(&event["additionalModelResponseFields"], "stop_sequence"))
        }
        stop => stop,
    })
}

fn block(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => json!({ "text": text }),
        ReplyBlock::Reasoning(_, ReasoningSeal::Redacted(data)) => {
            json!({"reasoningContent": {"redactedContent": data}})
        }
        ReplyBlock::Reasoning(text, seal) => {
            let signature =
                if let ReasoningSeal::Signed(signature) = seal { Some(signature) } else { None };
            let inside = tidy(json!({"text": text, "signature": signature}));
            json!({"reasoningContent": {"reasoningText": inside}})
        }
        ReplyBlock::Call(call) => json!({"toolUse": {
            "toolUseId": call.id, "name": call.name, "input": call.input.object(),
        }}),
    }
}

/// Bedrock does not count tokens read from or written to a cache as input.
fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "inputTokens": usage.input - usage.cached - usage.stored, "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output, "cacheReadInputTokens": usage.cached,
        "cacheWriteInputTokens": usage.stored,
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
    let message = &body["output"]["message"];
    let sound = message["role"] == "assistant"
        && message["content"].is_array()
        && is_text(&body["stopReason"])
        && body["usage"]["inputTokens"].is_u64()
        && body["usage"]["outputTokens"].is_u64()
        && body["metrics"]["latencyMs"].is_u64();
    if !sound {
        return Err("not an output".to_owned());
    }
    let mut parts = Vec::new();
    for block in list(message, "content") {
        parts.push(read_block(block)?);
    }
    Ok(answer(None, None, parts, read_stop(body), read_usage(&body["usage"])?))
}

fn read_block(block: &Value) -> Result<DraftBlock, String> {
    if block.as_object().is_none_or(|block| block.len() != 1) {
        return Err(format!("not a block of one kind: {block}"));
    }
    let reasoning = &block["reasoningContent"];
    if is_text(&block["text"]) {
        return Ok(DraftBlock {
            text: text(block, "text"),
            ..DraftBlock::new(DraftBlockKind::Text)
        });
    }
    if let Some(data) = said(reasoning, "redactedContent") {
        return Ok(DraftBlock {
            seal: ReasoningSeal::Redacted(data),
            ..DraftBlock::new(DraftBlockKind::Reasoning)
        });
    }
    if is_text(&reasoning["reasoningText"]["text"]) {
        let inside = &reasoning["reasoningText"];
        let seal = said(inside, "signature").map_or(ReasoningSeal::Open, ReasoningSeal::Signed);
        return Ok(DraftBlock {
            text: text(inside, "text"),
            seal,
            ..DraftBlock::new(DraftBlockKind::Reasoning)
        });
    }
    let call = &block["toolUse"];
    if call["input"].is_object() && said(call, "toolUseId").is_some() && is_text(&call["name"]) {
        return Ok(DraftBlock {
            text: call["input"].to_string(),
            id: said(call, "toolUseId"),
            name: text(call, "name"),
            ..DraftBlock::new(DraftBlockKind::Function)
        });
    }
    Err(format!("not a block: {block}"))
}

fn read_usage(usage: &Value) -> Result<ReplyUsage, String> {
    let cached = count(usage, "cacheReadInputTokens");
    let stored = count(usage, "cacheWriteInputTokens");
    let read = ReplyUsage {
        input: count(usage, "inputTokens") + cached + stored,
        output: count(usage, "outputTokens"),
        cached,
        stored,
        reasoning: 0,
    };
    match usage.is_null() || count(usage, "totalTokens") == read.input + read.output {
        true => Ok(read),
        false => Err(format!("{SUM}: {usage}")),
    }
}
