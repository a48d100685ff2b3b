//! Writes Amazon's events, as binary messages or as a recording with one event per line.

use serde_json::{Value, json};

use super::{stopped, usage};
use crate::{
    oracle::answers::{
        GeneratedFrame, OracleReply, ReasoningSeal, ReplyBlock,
        pen::{FrameStyle, FrameWriter},
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let framing = if random.chance(85) { FrameStyle::Binary } else { FrameStyle::Lines };
    let mut writer = FrameWriter::new(random, framing);
    send(&mut writer, "messageStart", json!({"role": "assistant"}));
    for (at, block) in answer.blocks.iter().enumerate() {
        if let ReplyBlock::Call(call) = block {
            let start = json!({"toolUse": {"toolUseId": call.id, "name": call.name}});
            let start = json!({"contentBlockIndex": at, "start": start});
            send(&mut writer, "contentBlockStart", start);
        }
        for delta in told(&mut writer, block) {
            send(
                &mut writer,
                "contentBlockDelta",
                json!({"contentBlockIndex": at, "delta": delta}),
            );
        }
        send(&mut writer, "contentBlockStop", json!({"contentBlockIndex": at}));
    }
    if let Some(stop) = &answer.stop {
        send(&mut writer, "messageStop", stopped(Some(stop)));
        let figures = json!({"usage": usage(&answer.usage), "metrics": {"latencyMs": 1}});
        send(&mut writer, "metadata", figures);
    }
    writer.frames
}

/// The deltas of a block.
fn told(writer: &mut FrameWriter<'_>, block: &ReplyBlock) -> Vec<Value> {
    match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => {
            writer.pieces(text).into_iter().map(|delta| json!({ "text": delta })).collect()
        }
        ReplyBlock::Reasoning(_, ReasoningSeal::Redacted(data)) => {
            vec![json!({"reasoningContent": {"redactedContent": data}})]
        }
        ReplyBlock::Reasoning(text, seal) => {
            let mut deltas: Vec<Value> = writer
                .pieces(text)
                .into_iter()
                .map(|delta| json!({"reasoningContent": {"text": delta}}))
                .collect();
            if let ReasoningSeal::Signed(signature) = seal {
                deltas.push(json!({"reasoningContent": {"signature": signature}}));
            }
            deltas
        }
        ReplyBlock::Call(call) => {
            let text = call.input.object().to_string();
            // A call without arguments has no delta, or an empty one.
            if text == "{}" && writer.random.chance(50) {
                return Vec::new();
            }
            let deltas = writer.pieces(&text).into_iter();
            deltas.map(|delta| json!({"toolUse": {"input": delta}})).collect()
        }
    }
}

fn send(writer: &mut FrameWriter<'_>, name: &str, mut event: Value) {
    if !writer.frames.is_empty() {
        writer.unknown(Some("weatherEvent"), &json!({"rain": true}));
    }
    // Amazon pads messages so that their lengths reveal nothing.
    if writer.framing == FrameStyle::Binary {
        event["p"] = json!("abcdefgh".get(..writer.random.below(8)));
    }
    writer.event(Some(name), &event);
}
