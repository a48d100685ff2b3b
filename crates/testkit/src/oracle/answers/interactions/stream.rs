//! Writes a stream of named events: the interaction is created, its steps follow, it completes.

use serde_json::{Value, json};

use super::{WIRE, step, stops, usage};
use crate::{
    oracle::answers::{GeneratedFrame, OracleReply, ReasoningSeal, ReplyBlock, pen::FrameWriter},
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let mut writer = FrameWriter::sse(random);
    let interaction = |status: &str| json!({"id": answer.id, "object": "interaction", "model": answer.model, "status": status});
    let created = json!({
        "event_type": "interaction.created", "interaction": interaction("in_progress"),
    });
    send(&mut writer, created);
    for (at, one) in answer.blocks.iter().enumerate() {
        let (begun, deltas) = told(&mut writer, one);
        send(&mut writer, json!({"event_type": "step.start", "index": at, "step": begun}));
        for delta in deltas {
            send(&mut writer, json!({"event_type": "step.delta", "index": at, "delta": delta}));
        }
        send(&mut writer, json!({"event_type": "step.stop", "index": at}));
    }
    if let Some(stop) = &answer.stop {
        let mut interaction = interaction(&stops::word(WIRE, stop));
        interaction["usage"] = usage(&answer.usage);
        let completed = json!({"event_type": "interaction.completed", "interaction": interaction});
        send(&mut writer, completed);
        if writer.random.chance(50) {
            writer.done("[DONE]");
        }
    }
    writer.frames
}

/// The start of a step, and its deltas.
fn told(writer: &mut FrameWriter<'_>, one: &ReplyBlock) -> (Value, Vec<Value>) {
    let mut begun = step(one);
    // Some servers send known content with the start of a step.
    if writer.random.chance(5) {
        return (begun, Vec::new());
    }
    let mut deltas = Vec::new();
    match one {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => {
            begun["content"] = json!([]);
            let texts = writer.pieces(text);
            deltas.extend(texts.iter().map(|text| json!({"type": "text", "text": text})));
        }
        ReplyBlock::Reasoning(text, seal) => {
            begun = json!({"type": "thought"});
            let texts = writer.pieces(text);
            deltas.extend(texts.iter().map(
                |text| json!({"type": "thought_summary", "content": {"type": "text", "text": text}}),
            ));
            if let ReasoningSeal::Signed(signature) = seal {
                deltas.push(json!({"type": "thought_signature", "signature": signature}));
            }
        }
        ReplyBlock::Call(call) => {
            begun["arguments"] = json!({});
            let text = call.input.object().to_string();
            // A call without arguments has no delta, or an empty one.
            let text = if text == "{}" && writer.random.chance(70) { String::new() } else { text };
            if !text.is_empty() || writer.random.chance(50) {
                let texts = writer.pieces(&text);
                deltas.extend(
                    texts.iter().map(|text| json!({"type": "arguments_delta", "arguments": text})),
                );
            }
        }
    }
    (begun, deltas)
}

fn send(writer: &mut FrameWriter<'_>, event: Value) {
    if !writer.frames.is_empty() {
        let update = json!({
            "event_type": "interaction.status_update", "interaction_id": "x",
            "status": "in_progress",
        });
        writer.noise(Some("interaction.status_update"), &update);
        writer.unknown(Some("weather"), &json!({"event_type": "weather", "rain": true}));
    }
    let name = event["event_type"].as_str().unwrap_or_default().to_owned();
    writer.event(Some(&name), &event);
}
