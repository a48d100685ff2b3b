//! Chunks, each of them a whole response with a little of the answer.

use serde_json::{Value, json};

use super::{chunk, part, usage};
use crate::{
    oracle::answers::{
        Answer, Block, Frame, Usage,
        pen::Sort,
        pen::{Framing, Pen},
        stops,
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &Answer) -> Vec<Frame> {
    let mut pen =
        if random.chance(30) { Pen::new(random, Framing::List) } else { Pen::sse(random) };
    let counting = pen.random.chance(60);
    let mut parts: Vec<Value> = Vec::new();
    for block in &answer.blocks {
        parts.extend(told(&mut pen, block));
    }
    // The last chunk may say something, nothing, or an empty text.
    let last = match pen.random.below(3) {
        0 => parts.pop().into_iter().collect(),
        1 => vec![json!({"text": ""})],
        _ => Vec::new(),
    };
    while !parts.is_empty() {
        let count = if pen.random.chance(20) { 2.min(parts.len()) } else { 1 };
        let some: Vec<Value> = parts.drain(..count).collect();
        let mut said = chunk(answer, some, None);
        if counting {
            let so_far = Usage { output: 0, reasoning: 0, ..answer.usage };
            said["usageMetadata"] = usage(&so_far);
        }
        send(&mut pen, answer, &said);
    }
    if let Some(stop) = &answer.stop {
        let mut said = chunk(answer, last, Some(stops::word(super::WIRE, stop)));
        said["usageMetadata"] = usage(&answer.usage);
        send(&mut pen, answer, &said);
    }
    if pen.framing == Framing::List {
        pen.raw(Sort::Done, b"\r\n]".to_vec());
    }
    pen.frames
}

/// The parts that a block comes in.
fn told(pen: &mut Pen<'_>, block: &Block) -> Vec<Value> {
    let text = match block {
        Block::Text(text) | Block::Refusal(text) | Block::Reasoning(text, _) => text,
        Block::Call(call) => {
            let mut one = part(block);
            // A call without arguments may not mention them.
            if call.input.text() == "{}"
                && pen.random.chance(50)
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
    let pieces = pen.pieces(text);
    let count = pieces.len();
    let mut parts = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        let mut one = part(block);
        one["text"] = json!(piece);
        // A signature stands at the end of what it is under.
        if at + 1 < count
            && let Value::Object(one) = &mut one
        {
            one.remove("thoughtSignature");
        }
        parts.push(one);
    }
    parts
}

fn send(pen: &mut Pen<'_>, answer: &Answer, said: &Value) {
    if !pen.frames.is_empty() {
        let silent = chunk(answer, Vec::new(), None);
        pen.noise(None, &silent);
        pen.unknown(None, &chunk(answer, vec![json!({"weather": {"rain": true}})], None));
    }
    pen.event(None, said);
}
