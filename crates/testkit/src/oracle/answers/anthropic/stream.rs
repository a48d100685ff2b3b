//! Named events: a message begins, its blocks come one after the other, it ends.

use serde_json::{Value, json};

use super::{block, stopped, usage};
use crate::{
    oracle::answers::{Answer, Block, Frame, Seal, Usage, pen::Pen},
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &Answer) -> Vec<Frame> {
    let mut pen = Pen::sse(random);
    let first = Usage { output: 1, reasoning: 0, ..answer.usage };
    let message = json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(&first),
    });
    send(&mut pen, json!({"type": "message_start", "message": message}));
    for (at, one) in answer.blocks.iter().enumerate() {
        let (begun, deltas) = told(&mut pen, one);
        send(&mut pen, json!({"type": "content_block_start", "index": at, "content_block": begun}));
        for delta in deltas {
            send(&mut pen, json!({"type": "content_block_delta", "index": at, "delta": delta}));
        }
        send(&mut pen, json!({"type": "content_block_stop", "index": at}));
    }
    if answer.stop.is_some() {
        finish(&mut pen, answer);
        send(&mut pen, json!({"type": "message_stop"}));
    }
    pen.frames
}

/// How a block begins, and the pieces it comes in.
fn told(pen: &mut Pen<'_>, one: &Block) -> (Value, Vec<Value>) {
    let mut begun = block(one);
    let mut deltas = Vec::new();
    let (key, kind, field, text) = match one {
        Block::Text(text) | Block::Refusal(text) => ("text", "text_delta", "text", text.clone()),
        Block::Reasoning(_, Seal::Redacted(_)) => return (begun, deltas),
        Block::Reasoning(text, _) => ("thinking", "thinking_delta", "thinking", text.clone()),
        Block::Call(call) => {
            let text = call.input.object().to_string();
            // A call without arguments has no pieces, or an empty one.
            let text = if text == "{}" && pen.random.chance(70) { String::new() } else { text };
            ("input", "input_json_delta", "partial_json", text)
        }
    };
    // Some servers send what is known at once with the beginning.
    if pen.random.chance(5) {
        return (begun, deltas);
    }
    begun[key] = if key == "input" { json!({}) } else { json!("") };
    if !text.is_empty() || pen.random.chance(50) {
        for piece in pen.pieces(&text) {
            deltas.push(json!({"type": kind, field: piece}));
        }
    }
    if let Block::Reasoning(_, seal) = one {
        begun["signature"] = json!("");
        if let Seal::Signed(signature) = seal {
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
    }
    (begun, deltas)
}

fn finish(pen: &mut Pen<'_>, answer: &Answer) {
    let (reason, sequence) = stopped(answer.stop.as_ref());
    let mut figures = usage(&answer.usage);
    let keys: &[&str] = match pen.random.below(3) {
        // Only what was written is told at the end,
        0 => &["cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens"],
        // or what was read, without what came from a cache,
        1 => &["cache_creation_input_tokens", "cache_read_input_tokens"],
        // or everything.
        _ => &[],
    };
    if let Value::Object(figures) = &mut figures {
        figures.retain(|key, _| !keys.contains(&key.as_str()));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": sequence});
    send(pen, json!({"type": "message_delta", "delta": delta, "usage": figures}));
}

fn send(pen: &mut Pen<'_>, event: Value) {
    if !pen.frames.is_empty() {
        pen.noise(Some("ping"), &json!({"type": "ping"}));
        pen.unknown(Some("weather"), &json!({"type": "weather", "rain": true}));
    }
    let name = event["type"].as_str().unwrap_or_default().to_owned();
    pen.event(Some(&name), &event);
}
