//! Fixes the order of blocks inside one message, and messages with too many calls.

use super::{RepairedMessage, RepairedPart, content::found_messages, state::RepairState, turns};
use crate::{
    draft::{ContentShape, Draft, MessageLayout, PartKind, Role},
    pairing::{CallPairing, PairedAnswer, Turn, call_at},
    report::Strategy,
    rules::{RuleSet, too_many_calls::MAX_CALLS},
};

/// Answers first (FW305), calls last (FW306), answers alone (FW310), at most 128 calls (FW108).
pub(super) fn order_parts(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    if rules.has(305) {
        for at in found_messages(state, 305) {
            answers_first(state.edit_message(at));
            let ids = state.messages[at].ids();
            state.note_edit(
                305,
                Strategy::Reorder,
                at,
                ids,
                "the results are moved to the front of their message".to_owned(),
            );
        }
    }
    if rules.has(306) {
        for at in found_messages(state, 306) {
            text_first(state.edit_message(at));
            let ids = state.messages[at].ids();
            state.note_edit(
                306,
                Strategy::Reorder,
                at,
                ids,
                "the text is moved before the calls".to_owned(),
            );
        }
    }
    if rules.has(310) {
        separate_answers(state);
    }
    if rules.has(108) {
        split_rounds(state);
    }
}

fn answers_first(message: &mut RepairedMessage<'_>) {
    // The sort is stable: answers keep their order, and so does the rest.
    message.parts.sort_by_key(|part| !part.is_answer());
}

fn text_first(message: &mut RepairedMessage<'_>) {
    let Some(call) = message.parts.iter().position(RepairedPart::is_call) else { return };
    // The sort is stable: texts keep their order, and so does the rest.
    let is_text = |part: &RepairedPart<'_>| matches!(part.part.kind, PartKind::Text(_));
    message.parts[call..].sort_by_key(|part| !is_text(part));
}

/// Moves answers and other content into separate messages; the role repair inserts the message
/// between them.
fn separate_answers(state: &mut RepairState<'_, '_>) {
    let shared = found_messages(state, 310);
    let new = Vec::with_capacity(state.messages.len() + shared.len());
    let mut shared = shared.into_iter().peekable();
    let old = std::mem::replace(&mut state.messages, new);
    for (index, mut message) in old.into_iter().enumerate() {
        if shared.next_if_eq(&index).is_none() {
            state.messages.push(message);
            continue;
        }
        message.load_parts(state.input);
        let (answers, rest): (Vec<_>, Vec<_>) =
            message.parts.take().into_iter().partition(RepairedPart::is_answer);
        message.parts = answers.into();
        message.touch();
        let ids = message.ids();
        state.messages.push(message);
        let at = state.messages.len() - 1;
        state.note_edit(
            310,
            Strategy::Split,
            at,
            ids,
            "the results get a message of their own".to_owned(),
        );
        state.messages.push(RepairedMessage::new(Role::User, ContentShape::List, rest));
    }
}

/// Splits a turn with too many calls into several rounds, each with its own answers.
fn split_rounds(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    // A turn of several messages is joined (or split) first.
    let too_many = |turn: &Turn| turn.messages().len() > 1 && turn.calls().len() > MAX_CALLS;
    if pairing.turns.iter().any(too_many) {
        return turns::join_turns(state);
    }
    let chat = draft.layout() == MessageLayout::Chat;
    let mut old: Vec<Option<RepairedMessage<'_>>> =
        std::mem::take(&mut state.messages).into_iter().map(Some).collect();
    let mut turn_index = 0;
    let mut at = 0;
    while at < old.len() {
        while pairing.turns.get(turn_index).is_some_and(|turn| turn.messages().start < at) {
            turn_index += 1;
        }
        let turn = pairing.turns.get(turn_index).filter(|turn| {
            turn.messages().start == at
                && turn.messages().len() == 1
                && turn.calls().len() > MAX_CALLS
        });
        let Some(turn) = turn else {
            state.messages.extend(old[at].take());
            at += 1;
            continue;
        };
        let Some(mut first_message) = old[at].take() else { continue };
        first_message.load_parts(state.input);
        let (calls, rest): (Vec<_>, Vec<_>) =
            first_message.parts.take().into_iter().partition(RepairedPart::is_call);
        first_message.parts = rest.into();
        first_message.touch();
        let position = state.messages.len();
        let home = turn.home().start..end_of_answers(&draft, &pairing, turn);
        let mut answers = TurnAnswers::take(state.input, &mut old, home.clone(), chat);
        let mut calls = calls.into_iter();
        let mut index = turn.calls().start;
        let mut round = Some(first_message);
        loop {
            let round_calls: Vec<_> = calls.by_ref().take(MAX_CALLS).collect();
            if round_calls.is_empty() {
                break;
            }
            let round_indices: Vec<usize> = (index..index + round_calls.len()).collect();
            index += round_calls.len();
            let mut message = round.take().unwrap_or_else(|| {
                let mut new_message =
                    RepairedMessage::new(Role::Assistant, ContentShape::Text, Vec::new());
                if chat {
                    new_message.parts = vec![RepairedPart::from_text("")].into();
                } else {
                    new_message.set_content(ContentShape::List);
                }
                new_message
            });
            message.parts.append(round_calls);
            state.messages.push(message);
            let round_answers: Vec<PairedAnswer> = round_indices
                .iter()
                .filter_map(|&call| pairing.calls[call].answer())
                .map(|answer| pairing.answers[answer])
                .collect();
            state.messages.extend(answers.take_round(&draft, &round_answers));
        }
        let count = turn.calls().len();
        let first = call_at(&draft, pairing.calls[turn.calls().start].part());
        let round_indices =
            first.and_then(|call| call.id.as_deref().map(str::to_owned)).into_iter().collect();
        state.messages.extend(answers.into_remaining(state.input));
        state.note_edit(
            108,
            Strategy::Split,
            position,
            round_indices,
            format!("{count} calls are split into rounds of at most {MAX_CALLS}"),
        );
        at = home.end.max(at + 1);
    }
}

/// The end of the user messages directly behind a turn that hold its answers.
fn end_of_answers(draft: &Draft<'_>, pairing: &CallPairing, turn: &Turn) -> usize {
    let calls = &pairing.calls[turn.calls().clone()];
    let answers = calls.iter().filter_map(|call| call.answer());
    let last = answers.map(|answer| pairing.answers[answer].message()).max().unwrap_or(0);
    let home = turn.home();
    let is_user = |at: &usize| draft.messages[*at].role.is_user();
    let users = (home.end..draft.messages.len()).take_while(|at| *at <= last && is_user(at));
    home.end + users.count()
}

/// The answers after a turn, handed out round by round.
struct TurnAnswers<'a> {
    chat: bool,
    /// The messages, and their parts unless they are chat messages.
    messages: Vec<Option<(RepairedMessage<'a>, Vec<Option<RepairedPart<'a>>>)>>,
    first: usize,
}

impl<'a> TurnAnswers<'a> {
    fn take(
        input: &Draft<'a>,
        old: &mut [Option<RepairedMessage<'a>>],
        home: std::ops::Range<usize>,
        chat: bool,
    ) -> TurnAnswers<'a> {
        let first = home.start;
        let open = |mut message: RepairedMessage<'a>| {
            if chat {
                return (message, Vec::new());
            }
            message.load_parts(input);
            let parts = message.parts.take().into_iter().map(Some).collect();
            (message, parts)
        };
        let messages = old[home].iter_mut().map(|message| message.take().map(open)).collect();
        TurnAnswers { chat, messages, first }
    }

    /// The messages that answer one round.
    fn take_round(
        &mut self,
        draft: &Draft<'a>,
        answers: &[PairedAnswer],
    ) -> Vec<RepairedMessage<'a>> {
        let first = self.first;
        let position = |answer: &PairedAnswer| answer.message().checked_sub(first);
        if self.chat {
            let messages =
                answers.iter().filter_map(|it| self.messages.get_mut(position(it)?)?.take());
            return messages.map(|(message, _)| message).collect();
        }
        let mut take_part = |answer: &PairedAnswer| {
            let (_, parts) = self.messages.get_mut(position(answer)?)?.as_mut()?;
            let first_part = draft.messages[answer.message()].first as usize;
            parts.get_mut(answer.part().checked_sub(first_part)?)?.take()
        };
        let parts: Vec<RepairedPart<'a>> = answers.iter().filter_map(&mut take_part).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        vec![RepairedMessage::new(Role::User, ContentShape::List, parts)]
    }

    /// The messages that no round took, with the parts that are left.
    fn into_remaining(self, input: &Draft<'a>) -> Vec<RepairedMessage<'a>> {
        let mut remaining = Vec::new();
        for (mut message, parts) in self.messages.into_iter().flatten() {
            let count = parts.len();
            if count > 0 {
                let left: Vec<RepairedPart<'a>> = parts.into_iter().flatten().collect();
                if left.is_empty() {
                    continue;
                }
                if left.len() < count {
                    message.touch();
                }
                message.parts = left.into();
                message.restore_original(input);
            }
            remaining.push(message);
        }
        remaining
    }
}
