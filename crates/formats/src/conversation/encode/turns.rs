//! Splits a history into turns: merges adjacent messages where the format requires it, and puts
//! tool results after their calls.

use foxwedge_core::Format;
use foxwedge_core::sorting::sort_by_key;

use super::{history_encoder::HistoryEncoder, system};
use crate::conversation::{
    ContentPart, ModelMessage, ModelPart, ModelRole, PartIndex, PartOrigin, PartPlacement,
    call_id_map::part_at,
};

/// A turn that becomes one message; in Chat, a run of tool results and one message.
pub(crate) struct EncodedTurn<'h, 'a> {
    pub(crate) role: ModelRole,
    pub(crate) parts: Vec<(PartIndex, &'h ModelPart<'a>)>,
    /// Indexes of the first and the last message it was made of.
    messages: (usize, usize),
}

impl<'h, 'a> EncodedTurn<'h, 'a> {
    /// The source message, if the turn is a single message of this format.
    pub(crate) fn origin(&self, encoder: &HistoryEncoder<'h, 'a>) -> Option<&'h ModelMessage<'a>> {
        let (first, last) = self.messages;
        let message = encoder.history.messages.get(first).filter(|_| first == last)?;
        (message.wire() == Some(encoder.wire)).then_some(message)
    }

    /// The part of the turn that is a message as a whole.
    pub(crate) fn whole_message(&self, encoder: &HistoryEncoder<'h, 'a>) -> Option<PartOrigin<'a>> {
        let (at, part) = self.parts.first()?;
        encoder
            .reusable_origin(*at, part)
            .filter(|origin| origin.placement == PartPlacement::Message)
    }
}

/// Splits a history into turns.
pub(crate) fn split_turns<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
) -> Vec<EncodedTurn<'h, 'a>> {
    let mut assembler = TurnAssembler { turns: Vec::new(), calls: Vec::new() };
    let history = encoder.history;
    for (index, message) in history.messages.iter().enumerate() {
        encoder.record_field_losses(index, message);
        if system::is_top_level(encoder, index, message) {
            continue;
        }
        let role = system::effective_role(encoder, index, message);
        let mut parts = Vec::with_capacity(message.parts.len());
        for (part_index, part) in message.parts.iter().enumerate() {
            let at = PartIndex { message: index, part: part_index };
            if part.is_inside_another(encoder.wire) {
                continue;
            }
            // A result that has a call follows that call.
            let follows_call = matches!(part.content(), ContentPart::ToolResult(_))
                && encoder.call_ids.pairs.partner(at).is_some();
            if follows_call {
                encoder.record_note_losses(at, part);
            } else if encoder.accepts_part(at, role, part) {
                parts.push((at, part));
            }
        }
        if role != ModelRole::Assistant {
            assembler.place_results(encoder);
        }
        let has_results = message.parts.len() > parts.len();
        if !parts.is_empty() || !has_results && !message.members(encoder.wire).is_empty() {
            assembler.add(encoder, index, role, parts);
        }
    }
    assembler.place_results(encoder);
    assembler.turns
}

struct TurnAssembler<'h, 'a> {
    turns: Vec<EncodedTurn<'h, 'a>>,
    /// Calls whose results are still to be placed.
    calls: Vec<PartIndex>,
}

impl<'h, 'a> TurnAssembler<'h, 'a> {
    fn add(
        &mut self,
        encoder: &mut HistoryEncoder<'h, 'a>,
        index: usize,
        role: ModelRole,
        parts: Vec<(PartIndex, &'h ModelPart<'a>)>,
    ) {
        let joins = self.turns.last().is_some_and(|turn| joins_turn(encoder, turn, index, role));
        if !joins {
            self.place_results(encoder);
        }
        let calls =
            parts.iter().filter(|(_, part)| matches!(part.content(), ContentPart::ToolCall(_)));
        self.calls.extend(calls.map(|(at, _)| *at));
        match self.turns.last_mut().filter(|_| joins) {
            Some(turn) => {
                turn.parts.extend(parts);
                turn.messages.1 = index;
            }
            None => self.turns.push(EncodedTurn { role, parts, messages: (index, index) }),
        }
    }

    /// Puts the results of the calls so far after them, in the order of the calls.
    fn place_results(&mut self, encoder: &mut HistoryEncoder<'h, 'a>) {
        let end = self.turns.last().map_or(0, |turn| turn.messages.1 + 1);
        let calls = self.calls.drain(..);
        let mut results: Vec<PartIndex> =
            calls.filter_map(|at| encoder.call_ids.pairs.partner(at)).collect();
        let is_original = |at: &PartIndex| {
            encoder.history.messages.get(at.message).and_then(ModelMessage::wire)
                == Some(encoder.wire)
        };
        // Results from this format keep their order.
        if results.iter().all(is_original) {
            sort_by_key(&mut results, |place| *place);
        }
        let (Some(first), Some(last)) = (results.iter().min(), results.iter().max()) else {
            return;
        };
        let messages = (first.message, last.message);
        encoder.record_late_results(&results, end);
        let parts = results.into_iter().filter_map(|at| Some((at, part_at(encoder.history, at)?)));
        self.turns.push(EncodedTurn { role: ModelRole::User, parts: parts.collect(), messages });
    }
}

/// Whether a message belongs to the turn before it.
fn joins_turn(
    encoder: &HistoryEncoder<'_, '_>,
    turn: &EncodedTurn<'_, '_>,
    index: usize,
    role: ModelRole,
) -> bool {
    if turn.role != role || matches!(role, ModelRole::System | ModelRole::Developer) {
        return false;
    }
    let (first, last) = turn.messages;
    if first == index && last == index {
        return true;
    }
    // Messages that were separate in this format stay separate; a whole message cannot be merged.
    let message = |index: usize| encoder.history.messages.get(index);
    let is_original =
        |index: usize| message(index).and_then(ModelMessage::wire) == Some(encoder.wire);
    let is_whole = |index: usize| {
        let part = message(index).and_then(|message| message.parts.first());
        let origin = part.and_then(|part| part.origin_in(encoder.wire));
        origin.is_some_and(|origin| origin.placement == PartPlacement::Message)
    };
    let separate = is_original(last) && is_original(index) || is_whole(last) || is_whole(index);
    let is_chat_user = role == ModelRole::User && encoder.wire == Format::OpenaiChat;
    !separate && !is_chat_user
}
