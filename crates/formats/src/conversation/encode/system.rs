//! Instructions: in the list, in a separate field, or as user messages.
//!
//! Formats of blocks have a separate field for instructions. Instructions at the start of the
//! history go there. Instructions in the middle apply from that point on, so they stay in place as
//! user text.

use foxwedge_core::{Format, MessageLayout};

use super::{
    LossKind,
    history_encoder::HistoryEncoder,
    json_writer::{write_comma, write_compact},
};
use crate::model::{ContentPart, JsonText, ModelHistory, ModelMessage, ModelRole, PartIndex};

/// Whether a message belongs to the instructions at the start of a foreign history.
pub(super) fn is_top_level(
    encoder: &mut HistoryEncoder<'_, '_>,
    index: usize,
    message: &ModelMessage<'_>,
) -> bool {
    if !is_foreign(encoder, message) || index >= encoder.leading_instructions {
        return false;
    }
    if !encoder.target.separate_instructions {
        let note = "the message list cannot hold instructions";
        encoder.record_loss(index, LossKind::Instructions, note);
    }
    true
}

/// The role of a message in this format.
pub(super) fn effective_role(
    encoder: &mut HistoryEncoder<'_, '_>,
    index: usize,
    message: &ModelMessage<'_>,
) -> ModelRole {
    if !is_foreign(encoder, message) {
        return message.role;
    }
    let note = "instructions in the middle of the conversation become user messages";
    encoder.record_loss(index, LossKind::Instructions, note);
    ModelRole::User
}

/// Whether a message holds instructions that are not from this format's own list.
fn is_foreign(encoder: &HistoryEncoder<'_, '_>, message: &ModelMessage<'_>) -> bool {
    matches!(message.role, ModelRole::System | ModelRole::Developer)
        && encoder.wire.layout() == MessageLayout::Blocks
        && message.wire() != Some(encoder.wire)
}

/// Number of instruction messages at the start.
pub(super) fn count_leading_instructions(history: &ModelHistory<'_>) -> usize {
    let is_instructions = |message: &&ModelMessage<'_>| {
        matches!(message.role, ModelRole::System | ModelRole::Developer)
    };
    history.messages.iter().take_while(is_instructions).count()
}

/// The value of the instructions field, if the format has one and there are instructions.
pub(super) fn encode_instructions(encoder: &mut HistoryEncoder<'_, '_>) -> Option<String> {
    if !encoder.target.separate_instructions || encoder.wire.layout() != MessageLayout::Blocks {
        return None;
    }
    let history = encoder.history;
    let mut out = String::from("[");
    for (index, message) in history.messages.iter().enumerate().take(encoder.leading_instructions) {
        if !is_foreign(encoder, message) {
            break;
        }
        for (part_index, part) in message.parts.iter().enumerate() {
            let at = PartIndex { message: index, part: part_index };
            let cache = part.notes().is_some_and(|notes| notes.cache_mark.is_some());
            match (part.content(), encoder.reusable_origin(at, part)) {
                (_, Some(original)) => {
                    write_comma(&mut out);
                    write_compact(&mut out, original.json);
                }
                (ContentPart::Text(text), None) => {
                    if text.trim().is_empty() || !encoder.accepts_part(at, ModelRole::System, part)
                    {
                        continue;
                    }
                    write_comma(&mut out);
                    write_text(&mut out, encoder.wire, text, cache);
                }
                _ => {
                    let note = "instructions must be text in this format";
                    encoder.record_loss(index, LossKind::Instructions, note);
                    continue;
                }
            }
            if cache && encoder.wire == Format::Bedrock {
                out.push(',');
                out.push_str(super::bedrock::CACHE);
            }
        }
    }
    if out == "[" {
        return None;
    }
    out.push(']');
    Some(match encoder.wire {
        Format::Gemini => format!("{{\"parts\":{out}}}"),
        _ => out,
    })
}

fn write_text(out: &mut String, format: Format, text: &JsonText<'_>, cache: bool) {
    out.push_str(match format {
        Format::Anthropic => "{\"type\":\"text\",\"text\":",
        _ => "{\"text\":",
    });
    text.write(out);
    out.push_str(if cache && format == Format::Anthropic { super::anthropic::CACHE } else { "" });
    out.push('}');
}
