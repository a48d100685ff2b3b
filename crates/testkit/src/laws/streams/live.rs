//! Law of liveness: with every frame that comes, everything is told that can be.

use foxwedge_core::Format;
use foxwedge_dialect::stream::StreamConverter;

use super::{Broken, convert::options, cuts::is_whole, exchange::Exchange, judge::shown};
use crate::answers::{self, Answer, Block, Heard, Input};

/// After each frame, the other side has heard every text, every thought and every argument that
/// came, up to the first block that is not whole.
pub(super) fn live(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "live";
    let Exchange { from, to, .. } = *exchange;
    let mut converter = StreamConverter::new(from, to, options());
    let (mut came, mut out) = (Vec::new(), Vec::new());
    let frames = exchange.frames();
    // Everything is read from its beginning each time: of a long stream some places are enough.
    let step = 1 + frames.len() / 40;
    for (at, frame) in frames.iter().enumerate() {
        came.extend_from_slice(&frame.bytes);
        let pushed = converter.push(&frame.bytes, &mut out);
        pushed.map_err(|error| (LAW, error.to_string()))?;
        if at % step != exchange.seed as usize % step {
            continue;
        }
        let said = tellable(from, answers::hear(from, &came));
        let told = answers::hear(to, &out).answer;
        if let Some(what) = untold(to, &said, &told) {
            return Err((LAW, format!("after frame {at} {what}\n{}", shown(&out))));
        }
    }
    Ok(())
}

/// What can be told of a beginning: blocks stand one behind the other, so that nothing behind an
/// open block can.
fn tellable(from: Format, heard: Heard) -> Answer {
    // A text that is not said to be whole is so when something else begins.
    let implied = matches!(from, Format::OpenaiChat | Format::Gemini);
    let heard = Heard { whole: heard.done.clone(), ..heard };
    let open = heard.answer.blocks.iter().enumerate().position(|(at, block)| match block {
        Block::Call(call) => !is_whole(&heard, at, call),
        Block::Text(_) | Block::Refusal(_) | Block::Reasoning(..) => !implied && !heard.whole[at],
    });
    let mut answer = heard.answer;
    answer.blocks.truncate(open.map_or(usize::MAX, |open| open + 1));
    answer
}

fn untold(to: Format, said: &Answer, told: &Answer) -> Option<String> {
    let refused = said.blocks.iter().any(|block| matches!(block, Block::Refusal(_)));
    let both = [(said.text(), told.text()), (said.thoughts(), told.thoughts())];
    for (said, told) in both {
        // A refusal stands behind all text in Chat, whenever it was said.
        let same = if refused { said.len() == told.len() } else { said == told };
        if !same {
            return Some(format!("{said:?} was said, but {told:?} is told"));
        }
    }
    // Gemini's calls come whole.
    if to == Format::Gemini {
        return None;
    }
    let (said, told): (Vec<_>, Vec<_>) = (said.calls().collect(), told.calls().collect());
    let same = said.len() == told.len()
        && said.iter().zip(&told).all(|(said, told)| {
            // Free text stands in an object elsewhere, and its end is not known yet.
            let free = matches!(said.input, Input::Free(_));
            said.name == told.name && (free || said.input == told.input)
        });
    (!same).then(|| format!("{said:?} was said, but {told:?} is told"))
}
