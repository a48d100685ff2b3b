//! Instructions: in the list, beside it, or told by the user.
//!
//! Formats of blocks want instructions beside the list. What stands at the beginning goes there;
//! instructions in the middle of a conversation were meant for that moment, so they stay where they
//! are, as words of the user.

use foxwedge_core::{Format, MessageLayout};

use super::{
    LossKind,
    history_encoder::HistoryEncoder,
    json_writer::{write_comma, write_compact},
};
use crate::model::{ContentPart, JsonText, ModelHistory, ModelMessage, ModelRole, PartIndex};

/// Whether a message is part of the instructions at the beginning of a foreign history.
pub(super) fn is_top_level(
    page: &mut HistoryEncoder<'_, '_>,
    index: usize,
    said: &ModelMessage<'_>,
) -> bool {
    if !is_foreign(page, said) || index >= page.leading_instructions {
        return false;
    }
    if !page.target.separate_instructions {
        let note = "the list of messages has no place for instructions";
        page.record_loss(index, LossKind::Instructions, note);
    }
    true
}

/// Who speaks a message in this format.
pub(super) fn effective_role(
    page: &mut HistoryEncoder<'_, '_>,
    index: usize,
    said: &ModelMessage<'_>,
) -> ModelRole {
    if !is_foreign(page, said) {
        return said.role;
    }
    let note = "instructions in the middle of the conversation are told by the user";
    page.record_loss(index, LossKind::Instructions, note);
    ModelRole::User
}

/// Instructions that this format did not write into its list itself.
fn is_foreign(page: &HistoryEncoder<'_, '_>, said: &ModelMessage<'_>) -> bool {
    matches!(said.role, ModelRole::System | ModelRole::Developer)
        && page.wire.layout() == MessageLayout::Blocks
        && said.wire() != Some(page.wire)
}

/// How many messages at the beginning are instructions.
pub(super) fn count_leading_instructions(history: &ModelHistory<'_>) -> usize {
    let instructs =
        |said: &&ModelMessage<'_>| matches!(said.role, ModelRole::System | ModelRole::Developer);
    history.messages.iter().take_while(instructs).count()
}

/// The value of the field for instructions, if the format has one and there are any.
pub(super) fn encode_instructions(page: &mut HistoryEncoder<'_, '_>) -> Option<String> {
    if !page.target.separate_instructions || page.wire.layout() != MessageLayout::Blocks {
        return None;
    }
    let history = page.history;
    let mut out = String::from("[");
    for (index, said) in history.messages.iter().enumerate().take(page.leading_instructions) {
        if !is_foreign(page, said) {
            break;
        }
        for (part, one) in said.parts.iter().enumerate() {
            let at = PartIndex { message: index, part };
            let cache = one.notes().is_some_and(|notes| notes.cache_mark.is_some());
            match (one.content(), page.reusable_origin(at, one)) {
                (_, Some(raw)) => {
                    write_comma(&mut out);
                    write_compact(&mut out, raw.json);
                }
                (ContentPart::Text(words), None) => {
                    if words.trim().is_empty() || !page.accepts_part(at, ModelRole::System, one) {
                        continue;
                    }
                    write_comma(&mut out);
                    write_text(&mut out, page.wire, words, cache);
                }
                _ => {
                    let note = "instructions can only be text in this format";
                    page.record_loss(index, LossKind::Instructions, note);
                    continue;
                }
            }
            if cache && page.wire == Format::Bedrock {
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
        Format::Gemini => format!("{{\"parts\":{out}}}"),
        _ => out,
    })
}

fn write_text(out: &mut String, wire: Format, words: &JsonText<'_>, cache: bool) {
    out.push_str(match wire {
        Format::Anthropic => "{\"type\":\"text\",\"text\":",
        _ => "{\"text\":",
    });
    words.write(out);
    out.push_str(if cache && wire == Format::Anthropic { super::anthropic::CACHE } else { "" });
    out.push('}');
}
