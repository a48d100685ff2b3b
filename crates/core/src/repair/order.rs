//! The order of blocks inside one message, and messages that hold too much.

use super::{RepairedMessage, RepairedPart, content::messages_with, state::RepairState, turns};
use crate::{
    draft::{ContentShape, Draft, MessageLayout, PartKind, Role},
    pairing::{Turn, call_at},
    report::Strategy,
    rules::{RuleSet, too_many_calls::MAX_CALLS},
};

/// Answers first (FW305), calls last (FW306), answers alone (FW310), at most 128 calls (FW108).
pub(super) fn order_parts(work: &mut RepairState<'_, '_>, found: RuleSet) {
    if found.has(305) {
        let draft = work.draft();
        for at in messages_with(work, &draft, 305) {
            answers_first(work.edit_message(at));
            let ids = work.messages[at].ids();
            work.note_edit(305, Strategy::Reorder, at, ids, "answers come first".to_owned());
        }
    }
    if found.has(306) {
        let draft = work.draft();
        for at in messages_with(work, &draft, 306) {
            text_first(work.edit_message(at));
            let ids = work.messages[at].ids();
            work.note_edit(
                306,
                Strategy::Reorder,
                at,
                ids,
                "text moves before the calls".to_owned(),
            );
        }
    }
    if found.has(310) {
        separate_answers(work);
    }
    if found.has(108) {
        split_rounds(work);
    }
}

fn answers_first(slot: &mut RepairedMessage<'_>) {
    let (answers, rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut slot.parts).into_iter().partition(RepairedPart::is_answer);
    slot.parts = without_slack(answers.into_iter().chain(rest).collect());
}

fn text_first(slot: &mut RepairedMessage<'_>) {
    let Some(call) = slot.parts.iter().position(RepairedPart::is_call) else { return };
    let behind = slot.parts.split_off(call);
    let is_text = |piece: &RepairedPart<'_>| matches!(piece.part.kind, PartKind::Text(_));
    let (texts, rest): (Vec<_>, Vec<_>) = behind.into_iter().partition(is_text);
    slot.parts.extend(texts);
    slot.parts.extend(rest);
    slot.parts.shrink_to_fit();
}

/// Pieces without room for more: there may be as many lists of them as messages.
fn without_slack(mut pieces: Vec<RepairedPart<'_>>) -> Vec<RepairedPart<'_>> {
    pieces.shrink_to_fit();
    pieces
}

/// Answers and other content part ways; the bridge between them is put in with the roles.
fn separate_answers(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let mut shared = messages_with(work, &draft, 310).into_iter().peekable();
    let old = std::mem::take(&mut work.messages);
    for (index, mut slot) in old.into_iter().enumerate() {
        if shared.next_if_eq(&index).is_none() {
            work.messages.push(slot);
            continue;
        }
        slot.load_parts(work.input);
        let (answers, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.parts).into_iter().partition(RepairedPart::is_answer);
        slot.parts = without_slack(answers);
        slot.touched = true;
        let ids = slot.ids();
        work.messages.push(slot);
        let at = work.messages.len() - 1;
        work.note_edit(
            310,
            Strategy::Split,
            at,
            ids,
            "answers stand alone in their message".to_owned(),
        );
        work.messages.push(RepairedMessage::new(
            Role::User,
            ContentShape::List,
            without_slack(rest),
        ));
    }
}

/// A turn of too many calls becomes several rounds, each with its own answers.
fn split_rounds(work: &mut RepairState<'_, '_>) {
    let (draft, pairing) = work.draft_with_pairing();
    // A turn of several messages is put together (or apart) first.
    let many = |group: &Turn| group.messages().len() > 1 && group.calls().len() > MAX_CALLS;
    if pairing.turns.iter().any(many) {
        return turns::join_turns(work);
    }
    let chat = draft.layout() == MessageLayout::Chat;
    let mut old: Vec<Option<RepairedMessage<'_>>> =
        std::mem::take(&mut work.messages).into_iter().map(Some).collect();
    let mut group = 0;
    let mut at = 0;
    while at < old.len() {
        while pairing.turns.get(group).is_some_and(|turn| turn.messages().start < at) {
            group += 1;
        }
        let turn = pairing.turns.get(group).filter(|turn| {
            turn.messages().start == at
                && turn.messages().len() == 1
                && turn.calls().len() > MAX_CALLS
        });
        let Some(turn) = turn else {
            work.messages.extend(old[at].take());
            at += 1;
            continue;
        };
        let Some(mut slot) = old[at].take() else { continue };
        slot.load_parts(work.input);
        let (calls, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.parts).into_iter().partition(RepairedPart::is_call);
        slot.parts = without_slack(rest);
        slot.touched = true;
        let place = work.messages.len();
        let mut answers = TurnAnswers::take(work.input, &mut old, turn.home(), chat);
        let mut calls = calls.into_iter();
        let mut index = turn.calls().start;
        let mut round = Some(slot);
        loop {
            let some: Vec<_> = calls.by_ref().take(MAX_CALLS).collect();
            if some.is_empty() {
                break;
            }
            let ids: Vec<usize> = (index..index + some.len()).collect();
            index += some.len();
            let mut message = round.take().unwrap_or_else(|| {
                let mut fresh =
                    RepairedMessage::new(Role::Assistant, ContentShape::Text, Vec::new());
                if chat {
                    fresh.parts.push(RepairedPart::from_text(""));
                } else {
                    fresh.content = ContentShape::List;
                }
                fresh
            });
            message.parts.reserve_exact(some.len());
            message.parts.extend(some);
            work.messages.push(message);
            let parts: Vec<usize> = ids
                .iter()
                .filter_map(|&call| pairing.calls[call].answer())
                .map(|answer| pairing.answers[answer].part())
                .collect();
            work.messages.extend(answers.take_round(&draft, &parts));
        }
        let count = turn.calls().len();
        let first = call_at(&draft, pairing.calls[turn.calls().start].part());
        let ids =
            first.and_then(|call| call.id.as_deref().map(str::to_owned)).into_iter().collect();
        work.messages.extend(answers.into_remaining());
        work.note_edit(
            108,
            Strategy::Split,
            place,
            ids,
            format!("{count} calls are split into rounds of at most {MAX_CALLS}"),
        );
        at = turn.home().end.max(at + 1);
    }
}

/// The answers behind a turn, to be given out round by round.
struct TurnAnswers<'a> {
    chat: bool,
    messages: Vec<(usize, Option<RepairedMessage<'a>>)>,
    user: Option<RepairedMessage<'a>>,
    parts: Vec<Option<RepairedPart<'a>>>,
    first: usize,
}

impl<'a> TurnAnswers<'a> {
    fn take(
        input: &Draft<'a>,
        old: &mut [Option<RepairedMessage<'a>>],
        home: std::ops::Range<usize>,
        chat: bool,
    ) -> TurnAnswers<'a> {
        let mut answers = TurnAnswers {
            chat,
            messages: Vec::new(),
            user: None,
            parts: Vec::new(),
            first: home.start,
        };
        for index in home {
            if chat {
                answers.messages.push((index, old[index].take()));
            } else if let Some(mut slot) = old[index].take() {
                slot.load_parts(input);
                answers.parts = std::mem::take(&mut slot.parts).into_iter().map(Some).collect();
                answers.user = Some(slot);
            }
        }
        answers
    }

    /// The messages that answer one round; `parts` are indices into the draft.
    fn take_round(&mut self, draft: &Draft<'a>, parts: &[usize]) -> Vec<RepairedMessage<'a>> {
        if self.chat {
            let first = self.first;
            let message = |part: usize| draft.messages.partition_point(|m| m.last as usize <= part);
            let wanted: Vec<usize> = parts.iter().map(|&part| message(part) - first).collect();
            return wanted.iter().filter_map(|&at| self.messages.get_mut(at)?.1.take()).collect();
        }
        let first = draft.messages[self.first].first as usize;
        let pieces: Vec<RepairedPart<'a>> = parts
            .iter()
            .filter_map(|&part| self.parts.get_mut(part.checked_sub(first)?)?.take())
            .collect();
        vec![RepairedMessage::new(Role::User, ContentShape::List, without_slack(pieces))]
    }

    /// What no round asked for.
    fn into_remaining(self) -> Vec<RepairedMessage<'a>> {
        let mut slots: Vec<RepairedMessage<'a>> =
            self.messages.into_iter().filter_map(|(_, slot)| slot).collect();
        let pieces: Vec<RepairedPart<'a>> = self.parts.into_iter().flatten().collect();
        if let Some(mut user) = self.user.filter(|_| !pieces.is_empty()) {
            user.parts = pieces;
            user.touched = true;
            slots.push(user);
        }
        slots
    }
}
