//! Instructions: in the list, in a separate field, or as user messages.
//!
//! Formats of blocks and Interactions have a separate field for instructions. Instructions at the start of the
//! history go there. Instructions in the middle apply from that point on, so they stay in place as
//! user text.

use foxwedge_core::{Format, MessageLayout};

use super::history_encoder::HistoryEncoder;
use crate::conversation::{LossKind, ModelMessage, ModelRole};

/// Whether a message belongs to the instructions at the start of a foreign history.
pub(crate) fn is_top_level(
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
pub(crate) fn effective_role(
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
pub(crate) fn is_foreign(encoder: &HistoryEncoder<'_, '_>, message: &ModelMessage<'_>) -> bool {
    matches!(message.role, ModelRole::System | ModelRole::Developer)
        && (encoder.wire.layout() == MessageLayout::Blocks
            || encoder.wire == Format::GeminiInteractions)
        && message.wire() != Some(encoder.wire)
}
