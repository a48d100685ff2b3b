//! A history in turns: neighbours joined where the format wants it, answers behind their calls.

use foxwedge_core::Format;

use super::{history_encoder::HistoryEncoder, system};
use crate::model::{
    ContentPart, ModelMessage, ModelPart, ModelRole, PartIndex, PartOrigin, PartPlacement,
    call_id_map::part_at,
};

/// What becomes one message; in chat, a run of answers and one message.
pub(super) struct EncodedTurn<'h, 'a> {
    pub(super) role: ModelRole,
    pub(super) parts: Vec<(PartIndex, &'h ModelPart<'a>)>,
    /// The messages it was made of, first and last.
    messages: (usize, usize),
}

impl<'h, 'a> EncodedTurn<'h, 'a> {
    /// The message it stands for, if that is one of this format.
    pub(super) fn origin(&self, page: &HistoryEncoder<'h, 'a>) -> Option<&'h ModelMessage<'a>> {
        let (first, last) = self.messages;
        let said = page.history.messages.get(first).filter(|_| first == last)?;
        (said.wire() == Some(page.wire)).then_some(said)
    }

    /// The one part of it that is a message as a whole.
    pub(super) fn whole_message(&self, page: &HistoryEncoder<'h, 'a>) -> Option<PartOrigin<'a>> {
        let (at, part) = self.parts.first()?;
        page.reusable_origin(*at, part).filter(|raw| raw.placement == PartPlacement::Message)
    }
}

/// Takes a history apart into turns.
pub(super) fn split_turns<'h, 'a>(page: &mut HistoryEncoder<'h, 'a>) -> Vec<EncodedTurn<'h, 'a>> {
    let mut work = TurnAssembler { turns: Vec::new(), calls: Vec::new() };
    let history = page.history;
    for (index, said) in history.messages.iter().enumerate() {
        page.record_field_losses(index, said);
        if system::is_top_level(page, index, said) {
            continue;
        }
        let role = system::effective_role(page, index, said);
        let mut parts = Vec::with_capacity(said.parts.len());
        for (part, one) in said.parts.iter().enumerate() {
            let at = PartIndex { message: index, part };
            // An answer with a call stands behind that call.
            let home = matches!(one.content(), ContentPart::ToolResult(_))
                && page.call_ids.pairs.partner(at).is_some();
            if home {
                page.record_note_losses(at, one);
            } else if page.accepts_part(at, role, one) {
                parts.push((at, one));
            }
        }
        if role != ModelRole::Assistant {
            work.place_results(page);
        }
        let answers = said.parts.len() > parts.len();
        if !parts.is_empty() || !answers && !said.members(page.wire).is_empty() {
            work.add(page, index, role, parts);
        }
    }
    work.place_results(page);
    work.turns
}

struct TurnAssembler<'h, 'a> {
    turns: Vec<EncodedTurn<'h, 'a>>,
    /// Calls whose answers were not written yet.
    calls: Vec<PartIndex>,
}

impl<'h, 'a> TurnAssembler<'h, 'a> {
    fn add(
        &mut self,
        page: &HistoryEncoder<'h, 'a>,
        index: usize,
        role: ModelRole,
        parts: Vec<(PartIndex, &'h ModelPart<'a>)>,
    ) {
        let joins = self.turns.last().is_some_and(|turn| joins_turn(page, turn, index, role));
        if !joins {
            self.place_results(page);
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

    /// Puts the answers of the calls so far behind them, in the order of the calls.
    fn place_results(&mut self, page: &HistoryEncoder<'h, 'a>) {
        let calls = self.calls.drain(..);
        let mut answers: Vec<PartIndex> =
            calls.filter_map(|at| page.call_ids.pairs.partner(at)).collect();
        let own = |at: &PartIndex| {
            page.history.messages.get(at.message).and_then(ModelMessage::wire) == Some(page.wire)
        };
        // What the format itself had in another order stays.
        if answers.iter().all(own) {
            answers.sort_unstable();
        }
        let (Some(first), Some(last)) = (answers.iter().min(), answers.iter().max()) else {
            return;
        };
        let messages = (first.message, last.message);
        let parts = answers.into_iter().filter_map(|at| Some((at, part_at(page.history, at)?)));
        self.turns.push(EncodedTurn { role: ModelRole::User, parts: parts.collect(), messages });
    }
}

/// Whether a message belongs to the turn before it.
fn joins_turn(
    page: &HistoryEncoder<'_, '_>,
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
    // What the format itself kept apart stays apart, and a whole message is no part of another.
    let said = |index: usize| page.history.messages.get(index);
    let own = |index: usize| said(index).and_then(ModelMessage::wire) == Some(page.wire);
    let whole = |index: usize| {
        let part = said(index).and_then(|said| said.parts.first());
        let raw = part.and_then(|part| part.origin_in(page.wire));
        raw.is_some_and(|raw| raw.placement == PartPlacement::Message)
    };
    let apart = own(last) && own(index) || whole(last) || whole(index);
    let user = role == ModelRole::User && page.wire == Format::OpenaiChat;
    !apart && !user
}
