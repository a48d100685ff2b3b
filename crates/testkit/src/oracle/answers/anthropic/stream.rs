//! Writes a stream of named events: the message starts, its blocks follow, it stops.

use serde_json::{Value, json};

use super::{block, stopped, usage};
use crate::{
    oracle::answers::{
        GeneratedFrame, OracleReply, ReasoningSeal, ReplyBlock, ReplyUsage, pen::FrameWriter,
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let mut writer = FrameWriter::sse(random);
    let first = ReplyUsage { output: 1, reasoning: 0, ..answer.usage };
    let message = json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(&first),
    });
    send(&mut writer, json!({"type": "message_start", "message": message}));
    for (at, one) in answer.blocks.iter().enumerate() {
        let (begun, deltas) = told(&mut writer, one);
        send(
            &mut writer,
            json!({"type": "content_block_start", "index": at, "content_block": begun}),
        );
        for delta in deltas {
            send(&mut writer, json!({"type": "content_block_delta", "index": at, "delta": delta}));
        }
        send(&mut writer, json!({"type": "content_block_stop", "index": at}));
    }
    if answer.stop.is_some() {
        finish(&mut writer, answer);
        send(&mut writer, json!({"type": "message_stop"}));
    }
    writer.frames
}

/// The start of a block, and its deltas.
fn told(writer: &mut FrameWriter<'_>, one: &ReplyBlock) -> (Value, Vec<Value>) {
    let mut begun = block(one);
    let mut deltas = Vec::new();
    let (key, kind, field, text) = match one {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => {
            ("text", "text_delta", "text", text.clone())
        }
        ReplyBlock::Reasoning(_, ReasoningSeal::Redacted(_)) => return (begun, deltas),
        ReplyBlock::Reasoning(text, _) => ("thinking", "thinking_delta", "thinking", text.clone()),
        ReplyBlock::Call(call) => {
            let text = call.input.object().to_string();
            // A call without arguments has no delta, or an empty one.
            let text = if text == "{}" && writer.random.chance(70) { String::new() } else { text };
            ("input", "input_json_delta", "partial_json", text)
        }
    };
    // Some servers send known content with the start of a block.
    if writer.random.chance(5) {
        return (begun, deltas);
    }
    begun[key] = if key == "input" { json!({}) } else { json!("") };
    if !text.is_empty() || writer.random.chance(50) {
        for delta in writer.pieces(&text) {
            deltas.push(json!({"type": kind, field: delta}));
        }
    }
    if let ReplyBlock::Reasoning(_, seal) = one {
        begun["signature"] = json!("");
        if let ReasoningSeal::Signed(signature) = seal {
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
    }
    (begun, deltas)
}

fn finish(writer: &mut FrameWriter<'_>, answer: &OracleReply) {
    let (reason, sequence) = stopped(answer.stop.as_ref());
    let mut figures = usage(&answer.usage);
    let keys: &[&str] = match writer.random.below(3) {
        // The end has only the output tokens,
        0 => &["cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens"],
        // or also the input tokens, without the cache counts,
        1 => &["cache_creation_input_tokens", "cache_read_input_tokens"],
        // or everything.
        _ => &[],
    };
    if let Value::Object(figures) = &mut figures {
        figures.retain(|key, _| !keys.contains(&key.as_str()));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": sequence});
    send(writer, json!({"type": "message_delta", "delta": delta, "usage": figures}));
}

fn send(writer: &mut FrameWriter<'_>, event: Value) {
    if !writer.frames.is_empty() {
        writer.noise(Some("ping"), &json!({"type": "ping"}));
        writer.unknown(Some("weather"), &json!({"type": "weather", "rain": true}));
    }
    let name = event["type"].as_str().unwrap_or_default().to_owned();
    writer.event(Some(&name), &event);
}
