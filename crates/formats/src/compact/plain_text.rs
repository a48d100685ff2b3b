//! Renders a range of a conversation as plain text for a summarizer. Tool calls and tool results
//! become text, so that no provider can reject the request for a call without a result.

use std::fmt::Write;

use super::shortened_text::result_text;
use crate::model::{ContentPart, ModelHistory, ModelMessage, ModelRole};

/// Maximum number of bytes of a tool result. A summary of more would not be about the conversation.
const MAX_RESULT_BYTES: usize = 2_000;

/// Renders a history as plain text.
pub(super) fn render_history(history: &ModelHistory<'_>) -> String {
    let mut out = String::new();
    for message in &history.messages {
        write_message(&mut out, message);
    }
    out
}

fn write_message(out: &mut String, message: &ModelMessage<'_>) {
    let speaker = match message.role {
        ModelRole::System | ModelRole::Developer => "Instructions",
        ModelRole::User => "User",
        ModelRole::Assistant => "Assistant",
    };
    for part in &message.parts {
        // Writing into a string cannot fail.
        let _ = match part.content() {
            ContentPart::Text(text) if text.trim().is_empty() => Ok(()),
            ContentPart::Text(text) => writeln!(out, "{speaker}: {}\n", text.trim()),
            ContentPart::Media(media) => writeln!(out, "{speaker}: [{}]\n", media.kind.name()),
            ContentPart::ToolCall(call) => {
                writeln!(out, "Call: {} {}\n", call.name, shorten(&call.arguments))
            }
            ContentPart::ToolResult(result) => {
                let failed = if result.error { " (failed)" } else { "" };
                writeln!(out, "Answer{failed}: {}\n", shorten(&result_text(result)))
            }
            ContentPart::Reasoning(_) | ContentPart::Unknown(_) => Ok(()),
        };
    }
}

/// The start of a long text.
pub(super) fn shorten(text: &str) -> String {
    truncate(text, MAX_RESULT_BYTES)
}

/// The first bytes of a text, with a marker if it was longer.
pub(super) fn truncate(text: &str, max_bytes: usize) -> String {
    let text = text.trim();
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text.get(..end).unwrap_or(""))
}
