//! Writes chunks, each a complete response with a part of the content.

use serde_json::{Value, json};

use super::{chunk, part, usage};
use crate::{
    oracle::answers::{
        GeneratedFrame, OracleReply, ReplyBlock, ReplyUsage,
        pen::GeneratedFrameKind,
        pen::{FrameStyle, FrameWriter},
        stops,
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let mut writer = if random.chance(30) {
        FrameWriter::new(random, FrameStyle::List)
    } else {
        FrameWriter::sse(random)
    };
    let counting = writer.random.chance(60);
    let mut parts: Vec<Value> = Vec::new();
    for block in &answer.blocks {
        parts.extend(told(&mut writer, block));
    }
    // The last chunk may have text, an empty text, or none.
    let last = match writer.random.below(3) {
        0 => parts.pop().into_iter().collect(),
        1 => vec![json!({"text": ""})],
        _ => Vec::new(),
    };
    while !parts.is_empty() {
        let count = if writer.random.chance(20) { 2.min(parts.len()) } else { 1 };
        let some: Vec<Value> = parts.drain(..count).collect();
        let mut response = chunk(answer, some, None);
        if counting {
            let so_far = ReplyUsage { output: 0, reasoning: 0, ..answer.usage };
            response["usageMetadata"] = usage(&so_far);
        }
        send(&mut writer, answer, &response);
    }
    if let Some(stop) = &answer.stop {
        let mut response = chunk(answer, last, Some(stops::word(super::WIRE, stop)));
        response["usageMetadata"] = usage(&answer.usage);
        send(&mut writer, answer, &response);
    }
    if writer.framing == FrameStyle::List {
        writer.raw(GeneratedFrameKind::Done, b"\r\n]".to_vec());
    }
    writer.frames
}

/// The parts of a block.
fn told(writer: &mut FrameWriter<'_>, block: &ReplyBlock) -> Vec<Value> {
    let text = match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) | ReplyBlock::Reasoning(text, _) => text,
        ReplyBlock::Call(call) => {
            let mut one = part(block);
            // A call without arguments may omit them.
            if call.input.text() == "{}"
                && writer.random.chance(50)
                && let Value::Object(call) = &mut one["functionCall"]
            {
                call.remove("args");
            }
            return vec![one];
        }
    };
    if text.is_empty() {
        return vec![part(block)];
    }
    let deltas = writer.pieces(text);
    let count = deltas.len();
    let mut parts = Vec::new();
    for (at, delta) in deltas.into_iter().enumerate() {
        let mut one = part(block);
        one["text"] = json!(delta);
        // A signature is on the last part of its block.
        if at + 1 < count
            && let Value::Object(one) = &mut one
        {
            one.remove("thoughtSignature");
        }
        parts.push(one);
    }
    parts
}

fn send(writer: &mut FrameWriter<'_>, answer: &OracleReply, response: &Value) {
    if !writer.frames.is_empty() {
        let silent = chunk(answer, Vec::new(), None);
        writer.noise(None, &silent);
        writer.unknown(None, &chunk(answer, vec![json!({"weather": {"rain": true}})], None));
    }
    writer.event(None, response);
}
