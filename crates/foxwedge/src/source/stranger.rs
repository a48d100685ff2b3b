//! What to say about something that is no conversation.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use crate::outcome::Failure;
use foxwedge_dialect::{Position, session::Agent};

/// Lines that are looked at.
const LOOK: usize = 40;

/// Why a text holds no conversation, as plainly as we can say it.
pub(super) fn explain(text: &str, lines: bool) -> Failure {
    if text.trim().is_empty() {
        return Failure::new("there is nothing in it");
    }
    let first = if lines { text.trim_start().lines().next().unwrap_or("") } else { text };
    if let Err(error) = serde_json::from_str::<IgnoredAny>(first) {
        let position = Position { line: error.line(), column: error.column().max(1) };
        let failure = Failure::new(format!("not JSON: {}", bare(&error))).at(position);
        return with_help(failure, text);
    }
    let seen = keys(text);
    let has = |key: &str| seen.iter().any(|keys| keys.contains_key(key));
    if has("parentUuid") || has("sessionId") || has("leafUuid") || has("type") && has("payload") {
        let agents: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        return Failure::new("this looks like the session file of an agent, but of none we know")
            .help(format!("if it is one of {}, name it with --format", agents.join(", ")));
    }
    if lines && has("role") {
        return Failure::new("each line is one message, not one conversation")
            .help("make a list of them first: `jq -s . FILE | foxwedge check -`");
    }
    Failure::new("no conversation: there is no list of messages in it").help(
        "a conversation is a list of messages, or a request with `messages`, `input` or \
         `contents`; if it is one, name its format with --format",
    )
}

/// Adds what can be done about text that breaks off.
pub(super) fn with_help(failure: Failure, text: &str) -> Failure {
    let torn = serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof());
    if torn {
        failure.help("the text ends too early: it was cut off or is still being written")
    } else {
        failure
    }
}

/// The keys of the first objects.
fn keys(text: &str) -> Vec<BTreeMap<String, IgnoredAny>> {
    let objects = text.lines().take(LOOK).map(serde_json::from_str);
    let whole = std::iter::once_with(|| serde_json::from_str(text));
    objects.chain(whole).filter_map(Result::ok).collect()
}

/// An error without its place, which is said apart.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}
