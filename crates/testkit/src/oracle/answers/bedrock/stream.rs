//! Amazon's events, in binary messages or as a recording of one on each line.

use serde_json::{Value, json};

use super::{stopped, usage};
use crate::{
    oracle::answers::{
        Answer, Block, Frame, Seal,
        pen::{Framing, Pen},
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &Answer) -> Vec<Frame> {
    let framing = if random.chance(85) { Framing::Binary } else { Framing::Lines };
    let mut pen = Pen::new(random, framing);
    send(&mut pen, "messageStart", json!({"role": "assistant"}));
    for (at, block) in answer.blocks.iter().enumerate() {
        if let Block::Call(call) = block {
            let start = json!({"toolUse": {"toolUseId": call.id, "name": call.name}});
            let start = json!({"contentBlockIndex": at, "start": start});
            send(&mut pen, "contentBlockStart", start);
        }
        for delta in told(&mut pen, block) {
            send(&mut pen, "contentBlockDelta", json!({"contentBlockIndex": at, "delta": delta}));
        }
        send(&mut pen, "contentBlockStop", json!({"contentBlockIndex": at}));
    }
    if let Some(stop) = &answer.stop {
        send(&mut pen, "messageStop", stopped(Some(stop)));
        let figures = json!({"usage": usage(&answer.usage), "metrics": {"latencyMs": 1}});
        send(&mut pen, "metadata", figures);
    }
    pen.frames
}

/// The pieces of a block.
fn told(pen: &mut Pen<'_>, block: &Block) -> Vec<Value> {
    match block {
        Block::Text(text) | Block::Refusal(text) => {
            pen.pieces(text).into_iter().map(|piece| json!({ "text": piece })).collect()
        }
        Block::Reasoning(_, Seal::Redacted(data)) => {
            vec![json!({"reasoningContent": {"redactedContent": data}})]
        }
        Block::Reasoning(text, seal) => {
            let mut deltas: Vec<Value> = pen
                .pieces(text)
                .into_iter()
                .map(|piece| json!({"reasoningContent": {"text": piece}}))
                .collect();
            if let Seal::Signed(signature) = seal {
                deltas.push(json!({"reasoningContent": {"signature": signature}}));
            }
            deltas
        }
        Block::Call(call) => {
            let text = call.input.object().to_string();
            // A call without arguments has no pieces, or an empty one.
            if text == "{}" && pen.random.chance(50) {
                return Vec::new();
            }
            let pieces = pen.pieces(&text).into_iter();
            pieces.map(|piece| json!({"toolUse": {"input": piece}})).collect()
        }
    }
}

fn send(pen: &mut Pen<'_>, name: &str, mut event: Value) {
    if !pen.frames.is_empty() {
        pen.unknown(Some("weatherEvent"), &json!({"rain": true}));
    }
    // Messages are filled up, so that their lengths tell nothing.
    if pen.framing == Framing::Binary {
        event["p"] = json!("abcdefgh".get(..pen.random.below(8)));
    }
    pen.event(Some(name), &event);
}
