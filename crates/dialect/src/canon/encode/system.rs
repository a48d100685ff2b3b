//! Instructions: in the list, beside it, or told by the user.
//!
//! Formats of blocks want instructions beside the list. What stands at the beginning goes there;
//! instructions in the middle of a conversation were meant for that moment, so they stay where they
//! are, as words of the user.

use foxwedge_core::{Layout, Wire};

use super::{
    Lost,
    page::Page,
    pen::{next, tight_into},
};
use crate::canon::{At, Bit, History, Said, Speaker, Words};

/// Whether a message is part of the instructions at the beginning of a foreign history.
pub(super) fn is_beside(page: &mut Page<'_, '_>, index: usize, said: &Said<'_>) -> bool {
    if !is_foreign(page, said) || index >= page.lead {
        return false;
    }
    if !page.target.beside {
        let note = "the list of messages has no place for instructions";
        page.lose(index, Lost::Instructions, note);
    }
    true
}

/// Who speaks a message in this format.
pub(super) fn role(page: &mut Page<'_, '_>, index: usize, said: &Said<'_>) -> Speaker {
    if !is_foreign(page, said) {
        return said.role;
    }
    let note = "instructions in the middle of the conversation are told by the user";
    page.lose(index, Lost::Instructions, note);
    Speaker::User
}

/// Instructions that this format did not write into its list itself.
fn is_foreign(page: &Page<'_, '_>, said: &Said<'_>) -> bool {
    matches!(said.role, Speaker::System | Speaker::Developer)
        && page.wire.layout() == Layout::Blocks
        && said.wire() != Some(page.wire)
}

/// How many messages at the beginning are instructions.
pub(super) fn lead(history: &History<'_>) -> usize {
    let instructs = |said: &&Said<'_>| matches!(said.role, Speaker::System | Speaker::Developer);
    history.messages.iter().take_while(instructs).count()
}

/// The value of the field for instructions, if the format has one and there are any.
pub(super) fn beside(page: &mut Page<'_, '_>) -> Option<String> {
    if !page.target.beside || page.wire.layout() != Layout::Blocks {
        return None;
    }
    let history = page.history;
    let mut out = String::from("[");
    for (index, said) in history.messages.iter().enumerate().take(page.lead) {
        if !is_foreign(page, said) {
            break;
        }
        for (part, one) in said.parts.iter().enumerate() {
            let at = At { message: index, part };
            let cache = one.notes().is_some_and(|notes| notes.cache.is_some());
            match (one.bit(), page.spelled(at, one)) {
                (_, Some(raw)) => {
                    next(&mut out);
                    tight_into(&mut out, raw.json);
                }
                (Bit::Text(words), None) => {
                    if words.trim().is_empty() || !page.takes(at, Speaker::System, one) {
                        continue;
                    }
                    next(&mut out);
                    text(&mut out, page.wire, words, cache);
                }
                _ => {
                    let note = "instructions can only be text in this format";
                    page.lose(index, Lost::Instructions, note);
                    continue;
                }
            }
            if cache && page.wire == Wire::Bedrock {
                out.push(',');
                out.push_str(super::bedrock::CACHE);
            }
        }
    }
    if out == "[" {
        return None;
    }
    out.push(']');
    Some(match page.wire {
        Wire::Gemini => format!("{{\"parts\":{out}}}"),
        _ => out,
    })
}

fn text(out: &mut String, wire: Wire, words: &Words<'_>, cache: bool) {
    out.push_str(match wire {
        Wire::Anthropic => "{\"type\":\"text\",\"text\":",
        _ => "{\"text\":",
    });
    words.write(out);
    out.push_str(if cache && wire == Wire::Anthropic { super::anthropic::CACHE } else { "" });
    out.push('}');
}
