//! Law of streams that break off: wherever the bytes end, nothing is made whole that was not.

use super::{Broken, Effort, convert::streamed, exchange::Exchange, judge::shown};
use crate::answers::{self, Answer, Block, Call, Heard, Input};

const LAW: &str = "cut-off";

/// The bytes end anywhere.
pub(super) fn cut_off(exchange: &Exchange, effort: Effort) -> Result<(), Broken> {
    let bytes = exchange.bytes();
    let ends: Vec<usize> =
        answers::cut(exchange.from, &bytes).into_iter().map(|cut| cut.range.end).collect();
    let mut random = exchange.random(4);
    let some: Vec<usize> = match effort {
        Effort::All => (0..=bytes.len()).collect(),
        Effort::Some => (0..12).map(|_| random.below(bytes.len() + 1)).collect(),
    };
    let mut before = None;
    for at in some {
        let prefix = &bytes[..at];
        let cut = |what: String| (LAW, format!("cut at byte {at}: {what}"));
        let streamed = streamed(exchange.from, exchange.to, [prefix]);
        // Inside of a frame nothing new is said: once is enough.
        let inside = !ends.iter().any(|end| at.abs_diff(*end) < 4);
        if inside && before.as_ref() == Some(&streamed) {
            continue;
        }
        before = Some(streamed.clone());
        let source = answers::hear(exchange.from, prefix);
        let told = answers::hear(exchange.to, &streamed.out);
        let out = || shown(&streamed.out);
        let end = streamed.end.as_ref().map_err(|error| cut(error.to_string()))?;
        if end.complete != source.stopped || end.failed {
            return Err(cut(format!("the model stopped: {}, but {end:?}", source.stopped)));
        }
        if told.ended != source.stopped || told.error.is_some() == source.stopped {
            let (ended, error) = (told.ended, &told.error);
            return Err(cut(format!("the end is told: {ended}, a failure: {error:?}\n{}", out())));
        }
        if !told.faults.is_empty() {
            return Err(cut(format!("{:?}\n{}", told.faults, out())));
        }
        none_made_up(&source, &told).map_err(|what| cut(format!("{what}\n{}", out())))?;
    }
    Ok(())
}

/// No call is whole in the target that was not whole in the source, and no text is there that was
/// not said.
pub(super) fn none_made_up(source: &Heard, told: &Heard) -> Result<(), String> {
    let whole: Vec<&Call> = calls(&source.answer)
        .filter(|(at, call)| is_whole(source, *at, call))
        .map(|(_, call)| call)
        .collect();
    for (at, call) in calls(&told.answer).filter(|(at, _)| told.whole[*at]) {
        let same =
            |other: &&Call| other.name == call.name && other.input.object() == call.input.object();
        if !whole.iter().any(same) {
            return Err(format!("the call in block {at} is whole, but was not: {call:?}"));
        }
    }
    // A refusal of Chat stands behind its text.
    let refused = source.answer.blocks.iter().any(|block| matches!(block, Block::Refusal(_)));
    let (said, told) = (source.answer.text(), told.answer.text());
    if !refused && !said.starts_with(&told) {
        return Err(format!("said {said:?}, but told {told:?}"));
    }
    Ok(())
}

fn calls(answer: &Answer) -> impl Iterator<Item = (usize, &Call)> {
    answer.blocks.iter().enumerate().filter_map(|(at, block)| match block {
        Block::Call(call) => Some((at, call)),
        Block::Text(_) | Block::Refusal(_) | Block::Reasoning(..) => None,
    })
}

/// A call is whole if its format says so; and if its arguments are a whole object and something
/// else has begun behind it, since then there is nothing left to come.
pub(super) fn is_whole(heard: &Heard, at: usize, call: &Call) -> bool {
    let behind = at + 1 < heard.answer.blocks.len();
    let object = matches!(call.input, Input::Json(_)) && !heard.raw[at].trim().is_empty();
    heard.whole[at] || behind && object
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Format;

    use super::*;

    #[test]
    fn a_call_that_is_made_whole_by_accident_is_noticed() {
        for from in
            [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Bedrock]
        {
            for to in Format::ALL {
                let mut seeds = (0..).map(|seed| Exchange::between(seed, from, to));
                let exchange = seeds.find(|exchange| {
                    let mut calls = exchange.answer.calls();
                    calls.next().is_some_and(|call| call.input.text().len() > 30)
                        && calls.next().is_none()
                });
                let Some(exchange) = exchange else { continue };
                let bytes = exchange.bytes();
                // Cut where the call has begun and is not whole.
                let ends = answers::cut(from, &bytes).into_iter().map(|cut| cut.range.end);
                let mut cuts = ends.map(|at| answers::hear(from, &bytes[..at]));
                let source = cuts.find(|heard| heard.answer.calls().next().is_some());
                let source = source.expect("the call begins somewhere");
                let whole = answers::hear(to, &streamed(from, to, [bytes.as_slice()]).out);
                assert!(none_made_up(&source, &whole).is_err(), "{} {}", from.name(), to.name());
            }
        }
    }
}
