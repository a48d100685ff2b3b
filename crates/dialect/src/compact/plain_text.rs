//! A stretch of a conversation told as plain text, for somebody who shall summarize it. Calls and
//! answers become words, so that no summarizer can be refused for a call without an answer.

use std::fmt::Write;

use super::shortened_text::result_text;
use crate::model::{ContentPart, ModelHistory, ModelMessage, ModelRole};

/// So many bytes of an answer are told; a summary of more would not be about the conversation.
const MAX_RESULT_BYTES: usize = 2_000;

/// Tells what was said.
pub(super) fn render_history(history: &ModelHistory<'_>) -> String {
    let mut out = String::new();
    for said in &history.messages {
        write_message(&mut out, said);
    }
    out
}

fn write_message(out: &mut String, said: &ModelMessage<'_>) {
    let speaker = match said.role {
        ModelRole::System | ModelRole::Developer => "Instructions",
        ModelRole::User => "User",
        ModelRole::Assistant => "Assistant",
    };
    for part in &said.parts {
        // Writing into a string cannot fail.
        let _ = match part.content() {
            ContentPart::Text(text) if text.trim().is_empty() => Ok(()),
            ContentPart::Text(text) => writeln!(out, "{speaker}: {}\n", text.trim()),
            ContentPart::Media(media) => writeln!(out, "{speaker}: [{}]\n", media.kind.name()),
            ContentPart::ToolCall(call) => {
                writeln!(out, "Call: {} {}\n", call.name, shorten(&call.arguments))
            }
            ContentPart::ToolResult(answer) => {
                let failed = if answer.error { " (failed)" } else { "" };
                writeln!(out, "Answer{failed}: {}\n", shorten(&result_text(answer)))
            }
            ContentPart::Reasoning(_) | ContentPart::Unknown(_) => Ok(()),
        };
    }
}

/// The beginning of a long text.
pub(super) fn shorten(text: &str) -> String {
    truncate(text, MAX_RESULT_BYTES)
}

/// The first bytes of a text, and a sign that there was more.
pub(super) fn truncate(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or(""))
}
