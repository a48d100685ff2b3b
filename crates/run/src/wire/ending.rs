//! Parses the end of a run, its token usage and its errors.

use super::object::{self, EventObject};
use crate::{Outcome, RunEnd, RunProblem, RunUsage};

const ERROR: [&str; 1] = ["error"];
const USAGE: [&str; 2] = ["tokenUsage", "usage"];

pub(super) fn read_end(object: &EventObject<'_>) -> RunEnd {
    RunEnd {
        outcome: read_outcome(object),
        text: object.text(&["finalContent", "text", "result"]),
        problem: object.raw(&ERROR).map(|raw| {
            let inner = object.parse_nested(raw);
            match inner.filter(|inner| inner.raw(&["message"]).is_some()) {
                Some(inner) => read_problem(&inner, true),
                None => RunProblem { message: object::text(raw), code: None, fatal: true },
            }
        }),
        usage: read_nested_usage(object),
    }
}

/// The outcome of the run. An unknown outcome counts as a failure.
fn read_outcome(object: &EventObject<'_>) -> Option<Outcome> {
    let name = object.word(&["reason", "outcome", "terminalReason"])?;
    let outcome = Outcome::from_name(&name);
    if outcome.is_none() {
        object.note_unknown(&name);
    }
    Some(outcome.unwrap_or(Outcome::Failed))
}

/// An error: in the object itself, or in its `error`. All fields are optional.
pub(super) fn read_problem(object: &EventObject<'_>, fatal: bool) -> RunProblem {
    let inner = object.object(&ERROR);
    let inner_message = inner.as_ref().and_then(|inner| inner.text(&["message", "error"]));
    let message = object
        .text(&["message"])
        .or(inner_message)
        .or_else(|| object.text(&["error", "errorText"]));
    if message.is_none() {
        object.note_unknown("error without message");
    }
    let code = |object: &EventObject<'_>| object.id(&["code"]);
    RunProblem {
        message: message.unwrap_or_default(),
        code: code(object).or_else(|| inner.as_ref().and_then(code)),
        fatal: object.flag(&["fatal"]).unwrap_or(fatal),
    }
}

/// Token usage in a nested object.
pub(super) fn read_nested_usage(object: &EventObject<'_>) -> Option<RunUsage> {
    let raw = object.raw(&USAGE)?;
    let found = object.parse_nested(raw).as_ref().and_then(read_usage);
    if found.is_none() {
        object.note_unknown("usage without tokens");
    }
    found
}

/// Token usage, under the field names of any provider; `None` if there is no count at all.
pub(super) fn read_usage(object: &EventObject<'_>) -> Option<RunUsage> {
    const INPUT: [&str; 4] = ["input", "inputTokens", "promptTokens", "promptTokenCount"];
    const OUTPUT: [&str; 4] =
        ["output", "outputTokens", "completionTokens", "candidatesTokenCount"];
    const CACHED: [&str; 6] = [
        "cached",
        "cachedTokens",
        "cachedInputTokens",
        "cacheReadInputTokens",
        "cacheReadTokens",
        "cachedContentTokenCount",
    ];
    const REASONING: [&str; 4] =
        ["reasoning", "reasoningTokens", "reasoningOutputTokens", "thoughtsTokenCount"];
    let read_details = object.object(&["inputTokensDetails", "promptTokensDetails"]);
    let written_details = object.object(&["outputTokensDetails", "completionTokensDetails"]);
    let count = |names: &[&str], details: Option<&EventObject<'_>>| {
        let source = if object.raw(names).is_some() { Some(object) } else { details };
        source.and_then(|source| source.raw(names).map(|_| source.number(names).unwrap_or(0)))
    };
    let counts = [
        count(&INPUT, None),
        count(&OUTPUT, None),
        count(&CACHED, read_details.as_ref()),
        count(&REASONING, written_details.as_ref()),
    ];
    let [input, output, cached, reasoning] = counts.map(Option::unwrap_or_default);
    let has_count = counts.iter().any(Option::is_some);
    has_count.then_some(RunUsage { input, output, cached, reasoning })
}
