//! What to say about something that is no conversation.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use crate::outcome::TargetFailure;
use foxwedge_formats::TextPosition;
use foxwedge_sessions::SessionAgent;

/// Lines that are looked at.
const MAX_INSPECTED_LINES: usize = 40;

/// Why a text holds no conversation, as plainly as we can say it.
pub(super) fn explain(text: &str, lines: bool) -> TargetFailure {
    if text.trim().is_empty() {
        return TargetFailure::new("there is nothing in it");
    }
    let first = if lines { text.trim_start().lines().next().unwrap_or("") } else { text };
    if let Err(error) = serde_json::from_str::<IgnoredAny>(first) {
        let position = TextPosition { line: error.line(), column: error.column().max(1) };
        let failure = TargetFailure::new(format!("not JSON: {}", error_without_position(&error)))
            .at(position);
        return with_help(failure, text);
    }
    let seen = object_keys(text);
    let has = |key: &str| seen.iter().any(|keys| keys.contains_key(key));
    if has("parentUuid") || has("sessionId") || has("leafUuid") || has("type") && has("payload") {
        let agents: Vec<&str> = SessionAgent::ALL.iter().map(|agent| agent.name()).collect();
        return TargetFailure::new(
            "this looks like the session file of an agent, but of none we know",
        )
        .help(format!("if it is one of {}, name it with --format", agents.join(", ")));
    }
    if lines && has("role") {
        return TargetFailure::new("each line is one message, not one conversation")
            .help("make a list of them first: `jq -s . FILE | foxwedge check -`");
    }
    TargetFailure::new("no conversation: there is no list of messages in it").help(
        "a conversation is a list of messages, or a request with `messages`, `input` or \
         `contents`; if it is one, name its format with --format",
    )
}

/// Adds what can be done about text that breaks off.
pub(super) fn with_help(failure: TargetFailure, text: &str) -> TargetFailure {
    let torn = serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof());
    if torn {
        failure.help("the text ends too early: it was cut off or is still being written")
    } else {
        failure
    }
}

/// The keys of the first objects.
fn object_keys(text: &str) -> Vec<BTreeMap<String, IgnoredAny>> {
    let objects = text.lines().take(MAX_INSPECTED_LINES).map(serde_json::from_str);
    let whole = std::iter::once_with(|| serde_json::from_str(text));
    objects.chain(whole).filter_map(Result::ok).collect()
}

/// An error without its place, which is said apart.
fn error_without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}
