//! A stretch of a conversation told as plain text, for somebody who shall summarize it. Calls and
//! answers become words, so that no summarizer can be refused for a call without an answer.

use std::fmt::Write;

use super::words::text;
use crate::canon::{Bit, History, Said, Speaker};

/// So many bytes of an answer are told; a summary of more would not be about the conversation.
const MOST: usize = 2_000;

/// Tells what was said.
pub(super) fn tell(history: &History<'_>) -> String {
    let mut out = String::new();
    for said in &history.messages {
        message(&mut out, said);
    }
    out
}

fn message(out: &mut String, said: &Said<'_>) {
    let speaker = match said.role {
        Speaker::System | Speaker::Developer => "Instructions",
        Speaker::User => "User",
        Speaker::Assistant => "Assistant",
    };
    for part in &said.parts {
        // Writing into a string cannot fail.
        let _ = match part.bit() {
            Bit::Text(text) if text.trim().is_empty() => Ok(()),
            Bit::Text(text) => writeln!(out, "{speaker}: {}\n", text.trim()),
            Bit::Media(media) => writeln!(out, "{speaker}: [{}]\n", media.kind.name()),
            Bit::Call(call) => {
                writeln!(out, "Call: {} {}\n", call.name, short(&call.arguments))
            }
            Bit::Answer(answer) => {
                let failed = if answer.error { " (failed)" } else { "" };
                writeln!(out, "Answer{failed}: {}\n", short(&text(answer)))
            }
            Bit::Reasoning(_) | Bit::Other(_) => Ok(()),
        };
    }
}

/// The beginning of a long text.
pub(super) fn short(text: &str) -> String {
    cut(text, MOST)
}

/// The first bytes of a text, and a sign that there was more.
pub(super) fn cut(text: &str, most: usize) -> String {
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
