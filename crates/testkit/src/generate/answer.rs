//! Random answers of providers: what a format can say, with contents that are easy to get wrong.

use foxwedge_core::Format;
use serde_json::{Map, Value, json};

use crate::{
    oracle::answers::{Answer, Block, Call, Input, Seal, Stop, Usage, shades},
    random::Random,
};

/// An answer that the format can hold.
pub fn answer(random: &mut Random, wire: Format) -> Answer {
    let named = wire != Format::Bedrock;
    let says = |random: &mut Random| match wire {
        Format::Gemini => named && random.chance(70),
        _ => named,
    };
    let id = says(random).then(|| format!("{}{}", prefix(wire), random.below(1_000_000)));
    let model = says(random).then(|| "model-\u{e9}\"1\"".to_owned());
    let mut blocks = match wire {
        Format::OpenaiChat => in_chat(random),
        Format::OpenaiResponses | Format::Anthropic | Format::Gemini | Format::Bedrock => {
            in_any_order(random, wire)
        }
    };
    again(random, &mut blocks);
    let stop = Some(stop(random, wire, &mut blocks));
    let usage = if random.chance(85) { usage(random, wire) } else { Usage::default() };
    Answer { id, model, blocks, stop, usage }
}

fn prefix(wire: Format) -> &'static str {
    match wire {
        Format::OpenaiChat => "chatcmpl-",
        Format::OpenaiResponses => "resp_",
        Format::Anthropic => "msg_",
        Format::Gemini | Format::Bedrock => "",
    }
}

/// Reasoning, text, a refusal, and then calls.
fn in_chat(random: &mut Random) -> Vec<Block> {
    let mut blocks = Vec::new();
    if random.chance(40) {
        blocks.push(Block::Reasoning(text(random, false), Seal::Open));
    }
    if random.chance(75) {
        blocks.push(Block::Text(text(random, true)));
    }
    if random.chance(10) {
        blocks.push(Block::Refusal(text(random, false)));
    }
    for _ in 0..calls(random) {
        blocks.push(Block::Call(call(random, Format::OpenaiChat)));
    }
    blocks
}

fn in_any_order(random: &mut Random, wire: Format) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for _ in 0..random.below(4) {
        let block = match random.below(6) {
            0..3 => Block::Text(text(random, true)),
            3 if wire == Format::OpenaiResponses => Block::Refusal(text(random, false)),
            _ => reasoning(random, wire),
        };
        blocks.push(block);
    }
    // As a rule, models reason, then speak, then call.
    if random.chance(70) {
        blocks.sort_by_key(|block| !matches!(block, Block::Reasoning(..)));
    }
    for _ in 0..calls(random) {
        let at = if random.chance(80) { blocks.len() } else { random.below(blocks.len() + 1) };
        blocks.insert(at, Block::Call(call(random, wire)));
    }
    if wire == Format::Gemini {
        apart(&mut blocks);
    }
    blocks
}

/// In a stream of Gemini, two texts in a row would be one.
fn apart(blocks: &mut Vec<Block>) {
    blocks.dedup_by(|next, before| {
        matches!(
            (next, before),
            (Block::Text(_), Block::Text(_)) | (Block::Reasoning(..), Block::Reasoning(..))
        )
    });
    // An empty text in between is none.
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.is_empty()));
    blocks.dedup_by(|next, before| {
        matches!((next, before), (Block::Reasoning(..), Block::Reasoning(..)))
    });
}

fn reasoning(random: &mut Random, wire: Format) -> Block {
    let seal = match (wire, random.below(4)) {
        (_, 0) => Seal::Open,
        (Format::Anthropic | Format::Bedrock, 1) => {
            return Block::Reasoning(String::new(), Seal::Redacted(data(random)));
        }
        (Format::OpenaiResponses, _) => Seal::Encrypted(data(random)),
        _ => Seal::Signed(data(random)),
    };
    let silent = seal != Seal::Open && random.chance(20);
    let text = if silent { String::new() } else { text(random, false) };
    Block::Reasoning(text, seal)
}

fn calls(random: &mut Random) -> usize {
    if random.chance(35) { 0 } else { random.below(6) }
}

fn call(random: &mut Random, wire: Format) -> Call {
    let openai = matches!(wire, Format::OpenaiChat | Format::OpenaiResponses);
    let nameless = match wire {
        Format::Gemini => random.chance(50),
        Format::OpenaiChat => random.chance(4),
        Format::OpenaiResponses | Format::Anthropic | Format::Bedrock => false,
    };
    let mut id = (!nameless).then(|| id(random));
    // What a provider sends is what it takes back, as a rule.
    if !openai && wire != Format::Gemini && random.chance(80) {
        id = id.map(|id| id.replace(|it: char| !it.is_ascii_alphanumeric(), "_"));
    }
    let input = match random.below(20) {
        0..3 if openai => Input::Free(text(random, true)),
        3 => Input::Json(json!({})),
        _ => Input::Json(object(random, 0)),
    };
    let signed = matches!(wire, Format::Gemini | Format::OpenaiChat) && random.chance(20);
    let signature = signed.then(|| data(random));
    Call { id, name: name(random), input, signature }
}

fn id(random: &mut Random) -> String {
    let number = random.below(100_000);
    match random.below(10) {
        0 => format!("functions.get:{number}"),
        1 => format!("toolu_{number}"),
        2 => format!("call {number} \u{e9}\u{1f600}\"\\"),
        3 => format!("call_{}{number}", "x".repeat(45)),
        4 => format!("call_{}{number}", "y".repeat(70)),
        _ => format!("call_{number}"),
    }
}

fn name(random: &mut Random) -> String {
    let names = ["get_weather", "read-file", "mcp__notes__find", "f", "functions.get"];
    match random.below(12) {
        0 => "n".repeat(64),
        _ => (*random.pick(&names)).to_owned(),
    }
}

/// Some servers give two calls one id.
fn again(random: &mut Random, blocks: &mut [Block]) {
    if !random.chance(8) {
        return;
    }
    let mut first = None;
    for block in blocks {
        if let Block::Call(call) = block {
            match &first {
                None => first = call.id.clone(),
                Some(id) => call.id = Some(id.clone()),
            }
        }
    }
}

/// Why it stopped. What was cut short may have been cut in the arguments of the last call.
fn stop(random: &mut Random, wire: Format, blocks: &mut [Block]) -> Stop {
    let has_calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    if random.chance(70) {
        return if has_calls { Stop::Calls } else { Stop::End };
    }
    let mut stops = vec![Stop::End, Stop::Length, Stop::Length, Stop::Refusal];
    stops.extend(shades(wire).iter().map(|word| Stop::Other((*word).to_owned())));
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => {}
        Format::Anthropic => {
            let sequence = Stop::Sequence(Some(text(random, false)));
            stops.extend([Stop::ContextFull, sequence, Stop::Pause]);
        }
        Format::Gemini => stops.push(Stop::Malformed),
        Format::Bedrock => {
            let sequence = random.chance(50).then(|| text(random, false));
            stops.extend([Stop::ContextFull, Stop::Sequence(sequence), Stop::Malformed]);
        }
    }
    let stop = random.pick(&stops).clone();
    if stop == Stop::Length
        && matches!(wire, Format::OpenaiChat | Format::OpenaiResponses)
        && random.chance(50)
        && let Some(Block::Call(call)) = blocks.last_mut()
        && let Input::Json(value) = &call.input
    {
        let mut text = value.to_string();
        text.pop();
        call.input = Input::said(&text);
    }
    match stop {
        // These formats have one word for both.
        Stop::End if has_calls && matches!(wire, Format::OpenaiResponses | Format::Gemini) => {
            Stop::Calls
        }
        stop => stop,
    }
}

fn usage(random: &mut Random, wire: Format) -> Usage {
    let input = random.below(100_000) as u64;
    let output = random.below(10_000) as u64;
    let cached = if random.chance(50) { input / 3 } else { 0 };
    let stores = wire != Format::Gemini && random.chance(30);
    let reasons = wire != Format::Bedrock && random.chance(50);
    Usage {
        input,
        output,
        cached,
        stored: if stores { input / 4 } else { 0 },
        reasoning: if reasons { output / 2 } else { 0 },
    }
}

/// Text that is easy to get wrong.
fn text(random: &mut Random, may_be_empty: bool) -> String {
    if may_be_empty && random.chance(6) {
        return String::new();
    }
    let mut text = String::new();
    for _ in 0..1 + random.below(4) {
        text.push_str(random.pick::<&str>(&AWKWARD));
    }
    text
}

const AWKWARD: [&str; 24] = [
    "plain words, ",
    "a little more of them. ",
    "\"quoted\"",
    "back\\slash\\\\",
    "line\nbreak\r\n\ttab",
    "two\n\nparagraphs",
    "\u{e9}\u{fc}\u{f1} \u{4f60}\u{597d}",
    "\u{1f600}\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}\u{1d11e}",
    "\u{0}\u{1}\u{1f}\u{7f}",
    "\u{2028}\u{2029}\u{feff}",
    "</script><!--",
    "data: {\"x\":1}\n\n",
    "data: [DONE]\n\n",
    "event: message_stop\ndata: {}\n\n",
    "{\"a\":",
    "\\u0041\\n\\",
    "[1,2]}",
    "  ",
    "\u{10ffff}\u{ffff}",
    "%s {} $1",
    "/",
    "e\u{301}",
    "'single'",
    "\u{80}\u{9f}",
];

fn object(random: &mut Random, depth: usize) -> Value {
    let mut object = Map::new();
    for at in 0..random.below(4) {
        let key = if random.chance(80) { format!("key_{at}") } else { text(random, true) };
        object.insert(key, value(random, depth + 1));
    }
    Value::Object(object)
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < 3 { 10 } else { 8 }) {
        0..3 => json!(text(random, true)),
        3 => json!(random.below(1000)),
        4 => random.pick(&[json!(u64::MAX), json!(i64::MIN), json!(-1), json!(0.1)]).clone(),
        5 => random.pick(&[json!(1.5e300), json!(1e-7), json!(-0.5)]).clone(),
        6 => json!(random.chance(50)),
        7 => Value::Null,
        8 => (0..random.below(4)).map(|_| value(random, depth + 1)).collect(),
        _ => object(random, depth + 1),
    }
}

/// Bytes, as they are told in text.
fn data(random: &mut Random) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = 1 + random.below(6);
    let mut data: String = (0..4 * groups).map(|_| char::from(*random.pick(letters))).collect();
    if random.chance(30) {
        data.truncate(data.len() - 2);
        data.pop();
        data.push_str("A==");
    }
    data
}
