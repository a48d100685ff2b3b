//! Random provider responses, with content that is easy to get wrong.

use foxwedge_core::Format;
use serde_json::{Map, Value, json};

use crate::{
    oracle::answers::{
        OracleReply, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop, ReplyUsage,
        shades,
    },
    random::Random,
};

/// A response that the format can hold.
pub fn answer(random: &mut Random, format: Format) -> OracleReply {
    let named = format != Format::Bedrock;
    let says = |random: &mut Random| match format {
        Format::Gemini => named && random.chance(70),
        _ => named,
    };
    let id = says(random).then(|| format!("{}{}", prefix(format), random.below(1_000_000)));
    let model = says(random).then(|| "model-\u{e9}\"1\"".to_owned());
    let mut blocks = match format {
        Format::OpenaiChat => in_chat(random),
        Format::OpenaiResponses
        | Format::Anthropic
        | Format::Gemini
        | Format::Bedrock
        | Format::GeminiInteractions => in_any_order(random, format),
    };
    again(random, &mut blocks);
    let stop = Some(stop(random, format, &mut blocks));
    let usage = if random.chance(85) { usage(random, format) } else { ReplyUsage::default() };
    OracleReply { id, model, blocks, stop, usage }
}

fn prefix(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat => "chatcmpl-",
        Format::OpenaiResponses => "resp_",
        Format::Anthropic => "msg_",
        Format::Gemini | Format::Bedrock | Format::GeminiInteractions => "",
    }
}

/// Reasoning, text, a refusal, and then calls.
fn in_chat(random: &mut Random) -> Vec<ReplyBlock> {
    let mut blocks = Vec::new();
    if random.chance(40) {
        blocks.push(ReplyBlock::Reasoning(text(random, false), ReasoningSeal::Open));
    }
    if random.chance(75) {
        blocks.push(ReplyBlock::Text(text(random, true)));
    }
    if random.chance(10) {
        blocks.push(ReplyBlock::Refusal(text(random, false)));
    }
    for _ in 0..calls(random) {
        blocks.push(ReplyBlock::Call(call(random, Format::OpenaiChat)));
    }
    blocks
}

fn in_any_order(random: &mut Random, format: Format) -> Vec<ReplyBlock> {
    let mut blocks: Vec<ReplyBlock> = Vec::new();
    for _ in 0..random.below(4) {
        let block = match random.below(6) {
            0..3 => ReplyBlock::Text(text(random, true)),
            3 if format == Format::OpenaiResponses => ReplyBlock::Refusal(text(random, false)),
            _ => reasoning(random, format),
        };
        blocks.push(block);
    }
    // Usually models reason first, then write text, then call tools.
    if random.chance(70) {
        blocks.sort_by_key(|block| !matches!(block, ReplyBlock::Reasoning(..)));
    }
    for _ in 0..calls(random) {
        let at = if random.chance(80) { blocks.len() } else { random.below(blocks.len() + 1) };
        blocks.insert(at, ReplyBlock::Call(call(random, format)));
    }
    if format == Format::Gemini {
        apart(&mut blocks);
    }
    blocks
}

/// In a Gemini stream, two consecutive texts would be one.
fn apart(blocks: &mut Vec<ReplyBlock>) {
    blocks.dedup_by(|next, before| {
        matches!(
            (next, before),
            (ReplyBlock::Text(_), ReplyBlock::Text(_))
                | (ReplyBlock::Reasoning(..), ReplyBlock::Reasoning(..))
        )
    });
    // An empty text does not separate others.
    blocks.retain(|block| !matches!(block, ReplyBlock::Text(text) if text.is_empty()));
    blocks.dedup_by(|next, before| {
        matches!((next, before), (ReplyBlock::Reasoning(..), ReplyBlock::Reasoning(..)))
    });
}

fn reasoning(random: &mut Random, format: Format) -> ReplyBlock {
    let seal = match (format, random.below(4)) {
        (_, 0) => ReasoningSeal::Open,
        (Format::Anthropic | Format::Bedrock, 1) => {
            return ReplyBlock::Reasoning(String::new(), ReasoningSeal::Redacted(data(random)));
        }
        (Format::OpenaiResponses, _) => ReasoningSeal::Encrypted(data(random)),
        _ => ReasoningSeal::Signed(data(random)),
    };
    let silent = seal != ReasoningSeal::Open && random.chance(20);
    let text = if silent { String::new() } else { text(random, false) };
    ReplyBlock::Reasoning(text, seal)
}

fn calls(random: &mut Random) -> usize {
    if random.chance(35) { 0 } else { random.below(6) }
}

fn call(random: &mut Random, format: Format) -> ReplyCall {
    let openai = matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
    let nameless = match format {
        Format::Gemini => random.chance(50),
        Format::OpenaiChat => random.chance(4),
        Format::OpenaiResponses
        | Format::Anthropic
        | Format::Bedrock
        | Format::GeminiInteractions => false,
    };
    let mut id = (!nameless).then(|| id(random));
    // Usually a provider accepts the ids that it sends.
    if !openai && format != Format::Gemini && random.chance(80) {
        id = id.map(|id| id.replace(|it: char| !it.is_ascii_alphanumeric(), "_"));
    }
    let input = match random.below(20) {
        0..3 if openai => ReplyCallInput::Free(text(random, true)),
        3 => ReplyCallInput::Json(json!({})),
        _ => ReplyCallInput::Json(object(random, 0)),
    };
    let signed = matches!(format, Format::Gemini | Format::OpenaiChat) && random.chance(20);
    let signature = signed.then(|| data(random));
    ReplyCall { id, name: name(random), input, signature }
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

/// Some servers give two calls the same id.
fn again(random: &mut Random, blocks: &mut [ReplyBlock]) {
    if !random.chance(8) {
        return;
    }
    let mut first = None;
    for block in blocks {
        if let ReplyBlock::Call(call) = block {
            match &first {
                None => first = call.id.clone(),
                Some(id) => call.id = Some(id.clone()),
            }
        }
    }
}

/// The stop reason. A truncated response may end within the arguments of the last call, also under a
/// reason of its own.
fn stop(random: &mut Random, format: Format, blocks: &mut [ReplyBlock]) -> ReplyStop {
    let has_calls = blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
    if random.chance(70) {
        return if has_calls { ReplyStop::Calls } else { ReplyStop::End };
    }
    let mut stops = vec![ReplyStop::End, ReplyStop::Length, ReplyStop::Length];
    if format != Format::GeminiInteractions {
        stops.push(ReplyStop::Refusal);
    }
    stops.extend(shades(format).iter().map(|value| ReplyStop::Other((*value).to_owned())));
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => {}
        Format::Anthropic => {
            let sequence = ReplyStop::Sequence(Some(text(random, false)));
            stops.extend([ReplyStop::ContextFull, sequence, ReplyStop::Pause]);
        }
        Format::Gemini => stops.push(ReplyStop::Malformed),
        Format::GeminiInteractions => stops.push(ReplyStop::Pause),
        Format::Bedrock => {
            let sequence = random.chance(50).then(|| text(random, false));
            stops.extend([
                ReplyStop::ContextFull,
                ReplyStop::Sequence(sequence),
                ReplyStop::Malformed,
            ]);
        }
    }
    let stop = random.pick(&stops).clone();
    if matches!(stop, ReplyStop::Length | ReplyStop::Other(_))
        && matches!(format, Format::OpenaiChat | Format::OpenaiResponses)
        && random.chance(50)
        && let Some(ReplyBlock::Call(call)) = blocks.last_mut()
        && let ReplyCallInput::Json(value) = &call.input
    {
        let mut text = value.to_string();
        text.pop();
        call.input = ReplyCallInput::said(&text);
    }
    match stop {
        // These formats have one value for both.
        ReplyStop::End
            if has_calls && matches!(format, Format::OpenaiResponses | Format::Gemini) =>
        {
            ReplyStop::Calls
        }
        stop => stop,
    }
}

fn usage(random: &mut Random, format: Format) -> ReplyUsage {
    let input = random.below(100_000) as u64;
    let output = random.below(10_000) as u64;
    let cached = if random.chance(50) { input / 3 } else { 0 };
    let google = matches!(format, Format::Gemini | Format::GeminiInteractions);
    let stores = !google && random.chance(30);
    let reasons = format != Format::Bedrock && random.chance(50);
    ReplyUsage {
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
    "\u{2028}\u{2029}\u{85}\u{feff}",
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

/// Base64 data.
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
