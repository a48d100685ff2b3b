//! Gemini: a content with parts. A stream is a sequence of contents, and consecutive texts are one
//! text.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyStop, ReplyUsage, SUM,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::Gemini;

pub(super) fn body(answer: &OracleReply) -> Value {
    let parts: Vec<Value> = answer.blocks.iter().map(part).collect();
    let reason = answer.stop.as_ref().map(|stop| stops::word(WIRE, stop));
    let mut body = chunk(answer, parts, reason);
    body["usageMetadata"] = usage(&answer.usage);
    body
}

fn chunk(answer: &OracleReply, parts: Vec<Value>, reason: Option<String>) -> Value {
    let content = json!({"role": "model", "parts": parts});
    let candidate = tidy(json!({"content": content, "finishReason": reason, "index": 0}));
    tidy(json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id,
    }))
}

fn part(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => json!({ "text": text }),
        ReplyBlock::Reasoning(text, seal) => {
            let signature =
                if let ReasoningSeal::Signed(signature) = seal { Some(signature) } else { None };
            let thought = (!text.is_empty()).then_some(true);
            tidy(json!({"text": text, "thought": thought, "thoughtSignature": signature}))
        }
        ReplyBlock::Call(call) => {
            let function =
                tidy(json!({"id": call.id, "name": call.name, "args": call.input.object()}));
            tidy(json!({"functionCall": function, "thoughtSignature": call.signature}))
        }
    }
}

/// Gemini does not count reasoning as output.
fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning, "totalTokenCount": usage.input + usage.output,
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
    let [candidate] = list(body, "candidates") else { return Err("not one candidate".to_owned()) };
    let content = &candidate["content"];
    if content["role"] != "model" || !content["parts"].is_array() {
        return Err("not a content of a model".to_owned());
    }
    let mut parts = Vec::new();
    for part in list(content, "parts") {
        parts.push(read_part(part)?);
    }
    let stop = read_stop(candidate, parts.iter().any(|part| part.kind == DraftBlockKind::Function));
    let usage = read_usage(&body["usageMetadata"])?;
    Ok(answer(said(body, "responseId"), said(body, "modelVersion"), parts, stop, usage))
}

fn read_stop(candidate: &Value, has_calls: bool) -> Option<ReplyStop> {
    match stops::meaning(WIRE, &said(candidate, "finishReason")?) {
        ReplyStop::End if has_calls => Some(ReplyStop::Calls),
        stop => Some(stop),
    }
}

fn read_part(part: &Value) -> Result<DraftBlock, String> {
    let signature = said(part, "thoughtSignature");
    let known = ["text", "thought", "thoughtSignature", "functionCall"];
    let strange = part
        .as_object()
        .and_then(|part| part.keys().find(|key| !known.contains(&key.as_str())).cloned());
    if let Some(key) = strange {
        return Err(format!("a part with `{key}`"));
    }
    match (part["text"].as_str(), part.get("functionCall")) {
        (Some(said), None) => {
            let thought = part["thought"] == true || said.is_empty() && signature.is_some();
            let seal = signature.clone().map_or(ReasoningSeal::Open, ReasoningSeal::Signed);
            Ok(match thought {
                true => DraftBlock {
                    text: said.to_owned(),
                    seal,
                    ..DraftBlock::new(DraftBlockKind::Reasoning)
                },
                false => DraftBlock {
                    text: said.to_owned(),
                    signature,
                    ..DraftBlock::new(DraftBlockKind::Text)
                },
            })
        }
        (None, Some(call)) if is_call(call) => {
            let arguments = call.get("args").map(Value::to_string);
            Ok(DraftBlock {
                text: arguments.unwrap_or_default(),
                id: said(call, "id"),
                name: text(call, "name"),
                signature,
                ..DraftBlock::new(DraftBlockKind::Function)
            })
        }
        _ => Err(format!("not a part: {part}")),
    }
}

fn is_call(call: &Value) -> bool {
    call.get("args").is_none_or(Value::is_object) && said(call, "name").is_some()
}

fn read_usage(usage: &Value) -> Result<ReplyUsage, String> {
    let reasoning = count(usage, "thoughtsTokenCount");
    let read = ReplyUsage {
        input: count(usage, "promptTokenCount"),
        output: count(usage, "candidatesTokenCount") + reasoning,
        cached: count(usage, "cachedContentTokenCount"),
        stored: 0,
        reasoning,
    };
    match usage.is_null() || count(usage, "totalTokenCount") == read.input + read.output {
        true => Ok(read),
        false => Err(format!("{SUM}: {usage}")),
    }
}
