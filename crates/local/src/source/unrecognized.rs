//! Explains why an input is not a conversation.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use crate::outcome::TargetFailure;
use foxwedge_formats::{TextPosition, foreign_list};
use foxwedge_sessions::SessionAgent;

/// Lines that are inspected.
const MAX_INSPECTED_LINES: usize = 40;

/// Why a text has no conversation.
pub(super) fn explain(text: &str, is_per_line: bool) -> TargetFailure {
    if text.trim().is_empty() {
        return TargetFailure::new("the input is empty");
    }
    let first = if is_per_line { text.trim_start().lines().next().unwrap_or("") } else { text };
    if let Err(error) = serde_json::from_str::<IgnoredAny>(first) {
        let position = TextPosition { line: error.line(), column: error.column().max(1) };
        let failure = TargetFailure::new(format!("not JSON: {}", error_without_position(&error)))
            .at(position);
        return with_help(failure, text);
    }
    let objects = object_keys(text);
    let has = |key: &str| objects.iter().any(|keys| keys.contains_key(key));
    if has("parentUuid") || has("sessionId") || has("leafUuid") || has("type") && has("payload") {
        let agents = SessionAgent::on_machine().filter(|agent| agent.read_only_reason().is_none());
        let agents: Vec<&str> = agents.map(|agent| agent.name()).collect();
        return TargetFailure::new("this looks like a session file, but of an unknown agent")
            .help(format!("if it is one of {}, pass it with --format", agents.join(", ")));
    }
    if has("resourceSpans") || has("resource_spans") {
        return TargetFailure::new("this is an exported trace, which only `foxwedge check` reads")
            .help("`foxwedge check FILE` finds the broken requests in it");
    }
    if is_per_line && has("role") {
        return TargetFailure::new("each line is one message, not one conversation")
            .help("join them into a list first: `jq -s . FILE | foxwedge check -`");
    }
    if let Some(list) = foreign_list(first) {
        let failure = TargetFailure::new(list.describe());
        return match list.advice() {
            Some(advice) => failure.help(advice),
            None => failure,
        };
    }
    TargetFailure::new("no conversation: it contains no list of messages").help(
        "a conversation is a list of messages, or a request with `messages`, `input` or \
         `contents`; if it is one, set its format with --format",
    )
}

/// Adds help if the text is truncated.
pub(super) fn with_help(failure: TargetFailure, text: &str) -> TargetFailure {
    let is_truncated = serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof());
    if is_truncated {
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

/// A JSON error without its position, which is reported separately.
fn error_without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text.get(..end).unwrap_or(&text).to_owned(),
        None => text,
    }
}
