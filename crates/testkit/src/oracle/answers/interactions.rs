//! Gemini Interactions: a sequence of steps with a status.

mod hear;
mod stream;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyUsage, SUM,
    draft::{DraftBlock, DraftBlockKind, answer},
    fields::{count, is_text, list, said, text, tidy},
    stops,
};

pub(super) use hear::hear;
pub(super) use stream::stream;

const WIRE: Format = Format::GeminiInteractions;

pub(super) fn body(answer: &OracleReply) -> Value {
    let steps: Vec<Value> = answer.blocks.iter().map(step).collect();
    json!({
        "id": answer.id, "object": "interaction", "model": answer.model, "steps": steps,
        "status": answer.stop.as_ref().map(|stop| stops::word(WIRE, stop)),
        "usage": usage(&answer.usage),
    })
}

fn step(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => {
            json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
        }
        ReplyBlock::Reasoning(text, seal) => {
            let signature = match seal {
                ReasoningSeal::Signed(signature) => Some(signature),
                _ => None,
            };
            let summary = match text.is_empty() {
                true => json!([]),
                false => json!([{"type": "text", "text": text}]),
            };
            tidy(json!({"type": "thought", "signature": signature, "summary": summary}))
        }
        ReplyBlock::Call(call) => json!({
            "type": "function_call", "id": call.id, "name": call.name,
            "arguments": call.input.object(),
        }),
    }
}

/// Thoughts are counted beside the output.
fn usage(usage: &ReplyUsage) -> Value {
    json!({
        "total_input_tokens": usage.input, "total_cached_tokens": usage.cached,
        "total_output_tokens": usage.output - usage.reasoning,
        "total_thought_tokens": usage.reasoning, "total_tool_use_tokens": 0,
        "total_tokens": usage.input + usage.output,
    })
}

pub(super) fn read(body: &Value) -> Result<OracleReply, String> {
    let sound = is_text(&body["id"]) && is_text(&body["status"]) && body["steps"].is_array();
    if !sound || body["object"] != "interaction" {
        return Err("not an interaction".to_owned());
    }
    let mut parts = Vec::new();
    for step in list(body, "steps") {
        parts.extend(read_step(step)?);
    }
    let usage = read_usage(&body["usage"])?;
    let stop = Some(stops::meaning(WIRE, &text(body, "status")));
    Ok(answer(said(body, "id"), said(body, "model"), parts, stop, usage))
}

/// The blocks of a step: one for each text of an output.
fn read_step(step: &Value) -> Result<Vec<DraftBlock>, String> {
    Ok(match step["type"].as_str() {
        Some("model_output") => {
            let mut parts = Vec::new();
            for content in list(step, "content") {
                if content["type"] != "text" || !is_text(&content["text"]) {
                    return Err(format!("not a text: {content}"));
                }
                let text = text(content, "text");
                parts.push(DraftBlock { text, ..DraftBlock::new(DraftBlockKind::Text) });
            }
            parts
        }
        Some("thought") => {
            let texts: Vec<String> =
                list(step, "summary").iter().map(|content| text(content, "text")).collect();
            let seal = said(step, "signature").map_or(ReasoningSeal::Open, ReasoningSeal::Signed);
            let text = texts.join("\n\n");
            vec![DraftBlock { text, seal, ..DraftBlock::new(DraftBlockKind::Reasoning) }]
        }
        Some("function_call") if step["arguments"].is_object() && said(step, "id").is_some() => {
            vec![DraftBlock {
                text: step["arguments"].to_string(),
                id: said(step, "id"),
                name: text(step, "name"),
                ..DraftBlock::new(DraftBlockKind::Function)
            }]
        }
        _ => return Err(format!("not a step: {step}")),
    })
}

fn read_usage(usage: &Value) -> Result<ReplyUsage, String> {
    let reasoning = count(usage, "total_thought_tokens");
    let (input, said) = (count(usage, "total_input_tokens"), count(usage, "total_output_tokens"));
    let total = count(usage, "total_tokens");
    if total != input + said + reasoning {
        return Err(format!("{SUM}: {usage}"));
    }
    let cached = count(usage, "total_cached_tokens");
    Ok(ReplyUsage { input, output: said + reasoning, cached, stored: 0, reasoning })
}
