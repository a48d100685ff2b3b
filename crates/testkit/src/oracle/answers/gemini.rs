//! Gemini: a content with parts. A stream is many of them, and texts in a row are one text.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    Answer, Block, SUM, Seal, Stop, Usage,
    draft::{Kind, Part, answer},
    fields::{count, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::Gemini;

pub(super) fn body(answer: &Answer) -> Value {
    let parts: Vec<Value> = answer.blocks.iter().map(part).collect();
    let reason = answer.stop.as_ref().map(|stop| stops::word(WIRE, stop));
    let mut body = chunk(answer, parts, reason);
    body["usageMetadata"] = usage(&answer.usage);
    body
}

fn chunk(answer: &Answer, parts: Vec<Value>, reason: Option<String>) -> Value {
    let content = json!({"role": "model", "parts": parts});
    let candidate = tidy(json!({"content": content, "finishReason": reason, "index": 0}));
    tidy(json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id,
    }))
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text(text) | Block::Refusal(text) => json!({ "text": text }),
        Block::Reasoning(text, seal) => {
            let signature = if let Seal::Signed(signature) = seal { Some(signature) } else { None };
            let thought = (!text.is_empty()).then_some(true);
            tidy(json!({"text": text, "thought": thought, "thoughtSignature": signature}))
        }
        Block::Call(call) => {
            let function =
                tidy(json!({"id": call.id, "name": call.name, "args": call.input.object()}));
            tidy(json!({"functionCall": function, "thoughtSignature": call.signature}))
        }
    }
}

/// Reasoning is not counted as said here.
fn usage(usage: &Usage) -> Value {
    json!({
        "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning, "totalTokenCount": usage.input + usage.output,
    })
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let [candidate] = list(body, "candidates") else { return Err("not one candidate".to_owned()) };
    let content = &candidate["content"];
    if content["role"] != "model" || !content["parts"].is_array() {
        return Err("not a content of a model".to_owned());
    }
    let mut parts = Vec::new();
    for part in list(content, "parts") {
        parts.push(read_part(part)?);
    }
    let stop = read_stop(candidate, parts.iter().any(|part| part.kind == Kind::Function));
    let usage = read_usage(&body["usageMetadata"])?;
    Ok(answer(said(body, "responseId"), said(body, "modelVersion"), parts, stop, usage))
}

fn read_stop(candidate: &Value, has_calls: bool) -> Option<Stop> {
    match stops::meaning(WIRE, &said(candidate, "finishReason")?) {
        Stop::End if has_calls => Some(Stop::Calls),
        stop => Some(stop),
    }
}

fn read_part(part: &Value) -> Result<Part, String> {
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
            let seal = signature.clone().map_or(Seal::Open, Seal::Signed);
            Ok(match thought {
                true => Part { text: said.to_owned(), seal, ..Part::new(Kind::Reasoning) },
                false => Part { text: said.to_owned(), signature, ..Part::new(Kind::Text) },
            })
        }
        (None, Some(call)) if is_call(call) => {
            let arguments = call.get("args").map(Value::to_string);
            Ok(Part {
                text: arguments.unwrap_or_default(),
                id: said(call, "id"),
                name: text(call, "name"),
                signature,
                ..Part::new(Kind::Function)
            })
        }
        _ => Err(format!("not a part: {part}")),
    }
}

fn is_call(call: &Value) -> bool {
    call.get("args").is_none_or(Value::is_object) && said(call, "name").is_some()
}

fn read_usage(usage: &Value) -> Result<Usage, String> {
    let reasoning = count(usage, "thoughtsTokenCount");
    let read = Usage {
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
