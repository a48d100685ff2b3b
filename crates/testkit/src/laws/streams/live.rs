//! The law of liveness: each frame is forwarded as far as possible at once.

use foxwedge_core::Format;
use foxwedge_formats::stream::StreamConverter;

use super::{
    StreamBreach, convert::options, cuts::is_whole, exchange::StreamExchange, judge::shown,
};
use crate::answers::{self, OracleReply, OracleStream, ReplyBlock, ReplyCallInput};

/// After each frame, the target has every text, reasoning and argument that has arrived, up to the
/// first incomplete block.
pub(super) fn live(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "live";
    let StreamExchange { from, to, .. } = *exchange;
    let mut converter = StreamConverter::new(from, to, options());
    let (mut received, mut out) = (Vec::new(), Vec::new());
    let frames = exchange.frames();
    // Each check reads everything from the start, so long streams are checked only at some frames.
    let step = 1 + frames.len() / 40;
    for (at, frame) in frames.iter().enumerate() {
        received.extend_from_slice(&frame.bytes);
        let pushed = converter.push(&frame.bytes, &mut out);
        pushed.map_err(|error| (LAW, error.to_string()))?;
        if at % step != exchange.seed as usize % step {
            continue;
        }
        let source = tellable(from, answers::hear(from, &received));
        let target = answers::hear(to, &out).answer;
        if let Some(what) = untold(to, &source, &target) {
            return Err((LAW, format!("after frame {at} {what}\n{}", shown(&out))));
        }
    }
    Ok(())
}

/// The part of a response that can be forwarded: blocks are sequential, so nothing after an open
/// block can.
fn tellable(from: Format, parsed: OracleStream) -> OracleReply {
    // In these formats, a text is complete when another block begins.
    let implied = matches!(from, Format::OpenaiChat | Format::Gemini);
    let parsed = OracleStream { whole: parsed.done.clone(), ..parsed };
    let open = parsed.answer.blocks.iter().enumerate().position(|(at, block)| match block {
        ReplyBlock::Call(call) => !is_whole(&parsed, at, call),
        ReplyBlock::Text(_) | ReplyBlock::Refusal(_) | ReplyBlock::Reasoning(..) => {
            !implied && !parsed.whole[at]
        }
    });
    let mut answer = parsed.answer;
    answer.blocks.truncate(open.map_or(usize::MAX, |open| open + 1));
    answer
}

fn untold(to: Format, source: &OracleReply, target: &OracleReply) -> Option<String> {
    let refused = source.blocks.iter().any(|block| matches!(block, ReplyBlock::Refusal(_)));
    let both = [(source.text(), target.text()), (source.thoughts(), target.thoughts())];
    for (source, target) in both {
        // In Chat a refusal follows all text, regardless of when it arrived.
        let same = if refused { source.len() == target.len() } else { source == target };
        if !same {
            return Some(format!("{source:?} was said, but {target:?} is told"));
        }
    }
    // Gemini sends complete calls only.
    if to == Format::Gemini {
        return None;
    }
    let (source, target): (Vec<_>, Vec<_>) = (source.calls().collect(), target.calls().collect());
    let same = source.len() == target.len()
        && source.iter().zip(&target).all(|(source, target)| {
            // Other formats put free text into an object, and its end is not known yet.
            let free = matches!(source.input, ReplyCallInput::Free(_));
            source.name == target.name && (free || source.input == target.input)
        });
    (!same).then(|| format!("{source:?} was said, but {target:?} is told"))
}
