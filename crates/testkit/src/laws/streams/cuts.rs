//! The law of truncated streams: wherever the bytes end, nothing incomplete becomes complete.

use super::{StreamBreach, TestEffort, convert::streamed, exchange::StreamExchange, judge::shown};
use crate::answers::{self, OracleReply, OracleStream, ReplyBlock, ReplyCall, ReplyCallInput};

const LAW: &str = "cut-off";

/// Checks streams that end at any byte.
pub(super) fn cut_off(exchange: &StreamExchange, effort: TestEffort) -> Result<(), StreamBreach> {
    let bytes = exchange.bytes();
    let ends: Vec<usize> =
        answers::cut(exchange.from, &bytes).into_iter().map(|cut| cut.range.end).collect();
    let mut random = exchange.random(4);
    let some: Vec<usize> = match effort {
        TestEffort::All => (0..=bytes.len()).collect(),
        TestEffort::Some => (0..12).map(|_| random.below(bytes.len() + 1)).collect(),
    };
    let mut before = None;
    for at in some {
        let prefix = &bytes[..at];
        let cut = |what: String| (LAW, format!("cut at byte {at}: {what}"));
        let streamed = streamed(exchange.from, exchange.to, [prefix]);
        // Within a frame nothing changes, so one position is enough.
        let inside = !ends.iter().any(|end| at.abs_diff(*end) < 4);
        if inside && before.as_ref() == Some(&streamed) {
            continue;
        }
        before = Some(streamed.clone());
        let source = answers::hear(exchange.from, prefix);
        let target = answers::hear(exchange.to, &streamed.out);
        let out = || shown(&streamed.out);
        let end = streamed.end.as_ref().map_err(|error| cut(error.to_string()))?;
        if end.complete != source.stopped || end.failed {
            return Err(cut(format!("the model stopped: {}, but {end:?}", source.stopped)));
        }
        if target.ended != source.stopped || target.error.is_some() == source.stopped {
            let (ended, error) = (target.ended, &target.error);
            return Err(cut(format!("the end is told: {ended}, a failure: {error:?}\n{}", out())));
        }
        if !target.faults.is_empty() {
            return Err(cut(format!("{:?}\n{}", target.faults, out())));
        }
        none_made_up(&source, &target).map_err(|what| cut(format!("{what}\n{}", out())))?;
    }
    Ok(())
}

/// No call is complete in the target that was incomplete in the source, and the target has no
/// additional text.
pub(super) fn none_made_up(source: &OracleStream, target: &OracleStream) -> Result<(), String> {
    let whole: Vec<&ReplyCall> = calls(&source.answer)
        .filter(|(at, call)| is_whole(source, *at, call))
        .map(|(_, call)| call)
        .collect();
    for (at, call) in calls(&target.answer).filter(|(at, _)| target.whole[*at]) {
        let same = |other: &&ReplyCall| {
            other.name == call.name && other.input.object() == call.input.object()
        };
        if !whole.iter().any(same) {
            return Err(format!("the call in block {at} is whole, but was not: {call:?}"));
        }
    }
    // In Chat a refusal follows all text.
    let refused = source.answer.blocks.iter().any(|block| matches!(block, ReplyBlock::Refusal(_)));
    let (source_text, target) = (source.answer.text(), target.answer.text());
    if !refused && !source_text.starts_with(&target) {
        return Err(format!("said {source_text:?}, but told {target:?}"));
    }
    Ok(())
}

fn calls(answer: &OracleReply) -> impl Iterator<Item = (usize, &ReplyCall)> {
    answer.blocks.iter().enumerate().filter_map(|(at, block)| match block {
        ReplyBlock::Call(call) => Some((at, call)),
        ReplyBlock::Text(_) | ReplyBlock::Refusal(_) | ReplyBlock::Reasoning(..) => None,
    })
}

/// A call is complete if its format marks it so, or if its arguments are a complete object and
/// another block has begun.
pub(super) fn is_whole(stream: &OracleStream, at: usize, call: &ReplyCall) -> bool {
    let behind = at + 1 < stream.answer.blocks.len();
    let object = matches!(call.input, ReplyCallInput::Json(_)) && !stream.raw[at].trim().is_empty();
    stream.whole[at] || behind && object
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Format;

    use super::*;

    #[test]
    fn an_incomplete_call_that_becomes_complete_is_detected() {
        for from in
            [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Bedrock]
        {
            for to in Format::ALL {
                let mut seeds = (0..).map(|seed| StreamExchange::between(seed, from, to));
                let exchange = seeds.find(|exchange| {
                    let mut calls = exchange.answer.calls();
                    calls.next().is_some_and(|call| call.input.text().len() > 30)
                        && calls.next().is_none()
                });
                let Some(exchange) = exchange else { continue };
                let bytes = exchange.bytes();
                // Cut where the call has begun and is not complete.
                let ends = answers::cut(from, &bytes).into_iter().map(|cut| cut.range.end);
                let mut cuts = ends.map(|at| answers::hear(from, &bytes[..at]));
                let source = cuts.find(|stream| stream.answer.calls().next().is_some());
                let source = source.expect("the call begins somewhere");
                let whole = answers::hear(to, &streamed(from, to, [bytes.as_slice()]).out);
                assert!(none_made_up(&source, &whole).is_err(), "{} {}", from.name(), to.name());
            }
        }
    }
}
