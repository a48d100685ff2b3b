//! The end of a run, what it cost and what went wrong.

use super::object::{self, Object};
use crate::{Ended, Outcome, Problem, Usage};

const ERROR: [&str; 1] = ["error"];
const USAGE: [&str; 2] = ["tokenUsage", "usage"];

pub(super) fn ended(object: &Object<'_>) -> Ended {
    Ended {
        outcome: outcome(object),
        text: object.text(&["finalContent", "text", "result"]),
        problem: object.raw(&ERROR).map(|raw| {
            let inner = object.inside(raw);
            match inner.filter(|inner| inner.raw(&["message"]).is_some()) {
                Some(inner) => problem(&inner, true),
                None => Problem { message: object::text(raw), code: None, fatal: true },
            }
        }),
        usage: usage_of(object),
    }
}

/// How the run ended. A word that nobody knows is an end, and not a good one.
fn outcome(object: &Object<'_>) -> Option<Outcome> {
    let word = object.word(&["reason", "outcome", "terminalReason"])?;
    let outcome = Outcome::from_name(&word);
    if outcome.is_none() {
        object.note(&word);
    }
    Some(outcome.unwrap_or(Outcome::Failed))
}

/// What went wrong: in the object itself, or in its `error`. That something did is all it takes.
pub(super) fn problem(object: &Object<'_>, fatal: bool) -> Problem {
    let inner = object.object(&ERROR);
    let told = inner.as_ref().and_then(|inner| inner.text(&["message", "error"]));
    let message =
        object.text(&["message"]).or(told).or_else(|| object.text(&["error", "errorText"]));
    if message.is_none() {
        object.note("error without message");
    }
    let code = |object: &Object<'_>| object.id(&["code"]);
    Problem {
        message: message.unwrap_or_default(),
        code: code(object).or_else(|| inner.as_ref().and_then(code)),
        fatal: object.flag(&["fatal"]).unwrap_or(fatal),
    }
}

/// The costs inside of an event.
pub(super) fn usage_of(object: &Object<'_>) -> Option<Usage> {
    let raw = object.raw(&USAGE)?;
    let found = object.inside(raw).as_ref().and_then(usage);
    if found.is_none() {
        object.note("usage without tokens");
    }
    found
}

/// Costs, in the words of whoever counted them; `None` if there is no count at all.
pub(super) fn usage(object: &Object<'_>) -> Option<Usage> {
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
    let count = |names: &[&str], details: Option<&Object<'_>>| {
        let place = if object.raw(names).is_some() { Some(object) } else { details };
        place.and_then(|place| place.raw(names).map(|_| place.number(names).unwrap_or(0)))
    };
    let counts = [
        count(&INPUT, None),
        count(&OUTPUT, None),
        count(&CACHED, read_details.as_ref()),
        count(&REASONING, written_details.as_ref()),
    ];
    let [input, output, cached, reasoning] = counts.map(Option::unwrap_or_default);
    let is_any = counts.iter().any(Option::is_some);
    is_any.then_some(Usage { input, output, cached, reasoning })
}
