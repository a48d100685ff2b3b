//! The order of blocks inside one message, and messages that hold too much.

use super::{Piece, Slot, content::places, turns, work::Work};
use crate::{
    draft::{Content, Draft, Kind, Layout, Role},
    pair::{Group, call_at},
    report::Strategy,
    rules::{RuleSet, too_many_calls::MOST},
};

/// Answers first (FW305), calls last (FW306), answers alone (FW310), at most 128 calls (FW108).
pub(super) fn arrange(work: &mut Work<'_, '_>, found: RuleSet) {
    if found.has(305) {
        let draft = work.draft();
        for at in places(work, &draft, 305) {
            answers_first(work.touch(at));
            let ids = work.slots[at].ids();
            work.note(305, Strategy::Reorder, at, ids, "answers come first".to_owned());
        }
    }
    if found.has(306) {
        let draft = work.draft();
        for at in places(work, &draft, 306) {
            text_first(work.touch(at));
            let ids = work.slots[at].ids();
            work.note(306, Strategy::Reorder, at, ids, "text moves before the calls".to_owned());
        }
    }
    if found.has(310) {
        part_answers(work);
    }
    if found.has(108) {
        split_rounds(work);
    }
}

fn answers_first(slot: &mut Slot<'_>) {
    let (answers, rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut slot.pieces).into_iter().partition(Piece::is_answer);
    slot.pieces = without_slack(answers.into_iter().chain(rest).collect());
}

fn text_first(slot: &mut Slot<'_>) {
    let Some(call) = slot.pieces.iter().position(Piece::is_call) else { return };
    let behind = slot.pieces.split_off(call);
    let is_text = |piece: &Piece<'_>| matches!(piece.part.kind, Kind::Text(_));
    let (texts, rest): (Vec<_>, Vec<_>) = behind.into_iter().partition(is_text);
    slot.pieces.extend(texts);
    slot.pieces.extend(rest);
    slot.pieces.shrink_to_fit();
}

/// Pieces without room for more: there may be as many lists of them as messages.
fn without_slack(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    pieces.shrink_to_fit();
    pieces
}

/// Answers and other content part ways; the bridge between them is put in with the roles.
fn part_answers(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let mut shared = places(work, &draft, 310).into_iter().peekable();
    let old = std::mem::take(&mut work.slots);
    for (index, mut slot) in old.into_iter().enumerate() {
        if shared.next_if_eq(&index).is_none() {
            work.slots.push(slot);
            continue;
        }
        slot.open(work.input);
        let (answers, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.pieces).into_iter().partition(Piece::is_answer);
        slot.pieces = without_slack(answers);
        slot.touched = true;
        let ids = slot.ids();
        work.slots.push(slot);
        let at = work.slots.len() - 1;
        work.note(310, Strategy::Split, at, ids, "answers stand alone in their message".to_owned());
        work.slots.push(Slot::new(Role::User, Content::List, without_slack(rest)));
    }
}

/// A turn of too many calls becomes several rounds, each with its own answers.
fn split_rounds(work: &mut Work<'_, '_>) {
    let (draft, pairing) = work.paired();
    // A turn of several messages is put together (or apart) first.
    let many = |group: &Group| group.messages().len() > 1 && group.calls().len() > MOST;
    if pairing.groups.iter().any(many) {
        return turns::join_turns(work);
    }
    let chat = draft.layout() == Layout::Chat;
    let mut old: Vec<Option<Slot<'_>>> =
        std::mem::take(&mut work.slots).into_iter().map(Some).collect();
    let mut group = 0;
    let mut at = 0;
    while at < old.len() {
        while pairing.groups.get(group).is_some_and(|turn| turn.messages().start < at) {
            group += 1;
        }
        let turn = pairing.groups.get(group).filter(|turn| {
            turn.messages().start == at && turn.messages().len() == 1 && turn.calls().len() > MOST
        });
        let Some(turn) = turn else {
            work.slots.extend(old[at].take());
            at += 1;
            continue;
        };
        let Some(mut slot) = old[at].take() else { continue };
        slot.open(work.input);
        let (calls, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut slot.pieces).into_iter().partition(Piece::is_call);
        slot.pieces = without_slack(rest);
        slot.touched = true;
        let place = work.slots.len();
        let mut answers = Answers::take(work.input, &mut old, turn.home(), chat);
        let mut calls = calls.into_iter();
        let mut index = turn.calls().start;
        let mut round = Some(slot);
        loop {
            let some: Vec<_> = calls.by_ref().take(MOST).collect();
            if some.is_empty() {
                break;
            }
            let ids: Vec<usize> = (index..index + some.len()).collect();
            index += some.len();
            let mut message = round.take().unwrap_or_else(|| {
                let mut fresh = Slot::new(Role::Assistant, Content::Text, Vec::new());
                if chat {
                    fresh.pieces.push(Piece::words(""));
                } else {
                    fresh.content = Content::List;
                }
                fresh
            });
            message.pieces.reserve_exact(some.len());
            message.pieces.extend(some);
            work.slots.push(message);
            let parts: Vec<usize> = ids
                .iter()
                .filter_map(|&call| pairing.calls[call].answer())
                .map(|answer| pairing.answers[answer].part())
                .collect();
            work.slots.extend(answers.round(&draft, &parts));
        }
        let count = turn.calls().len();
        let first = call_at(&draft, pairing.calls[turn.calls().start].part());
        let ids =
            first.and_then(|call| call.id.as_deref().map(str::to_owned)).into_iter().collect();
        work.slots.extend(answers.rest());
        work.note(
            108,
            Strategy::Split,
            place,
            ids,
            format!("{count} calls are split into rounds of at most {MOST}"),
        );
        at = turn.home().end.max(at + 1);
    }
}

/// The answers behind a turn, to be given out round by round.
struct Answers<'a> {
    chat: bool,
    slots: Vec<(usize, Option<Slot<'a>>)>,
    user: Option<Slot<'a>>,
    pieces: Vec<Option<Piece<'a>>>,
    first: usize,
}

impl<'a> Answers<'a> {
    fn take(
        input: &Draft<'a>,
        old: &mut [Option<Slot<'a>>],
        home: std::ops::Range<usize>,
        chat: bool,
    ) -> Answers<'a> {
        let mut answers =
            Answers { chat, slots: Vec::new(), user: None, pieces: Vec::new(), first: home.start };
        for index in home {
            if chat {
                answers.slots.push((index, old[index].take()));
            } else if let Some(mut slot) = old[index].take() {
                slot.open(input);
                answers.pieces = std::mem::take(&mut slot.pieces).into_iter().map(Some).collect();
                answers.user = Some(slot);
            }
        }
        answers
    }

    /// The messages that answer one round; `parts` are indices into the draft.
    fn round(&mut self, draft: &Draft<'a>, parts: &[usize]) -> Vec<Slot<'a>> {
        if self.chat {
            let first = self.first;
            let message = |part: usize| draft.messages.partition_point(|m| m.last as usize <= part);
            let wanted: Vec<usize> = parts.iter().map(|&part| message(part) - first).collect();
            return wanted.iter().filter_map(|&at| self.slots.get_mut(at)?.1.take()).collect();
        }
        let first = draft.messages[self.first].first as usize;
        let pieces: Vec<Piece<'a>> = parts
            .iter()
            .filter_map(|&part| self.pieces.get_mut(part.checked_sub(first)?)?.take())
            .collect();
        vec![Slot::new(Role::User, Content::List, without_slack(pieces))]
    }

    /// What no round asked for.
    fn rest(self) -> Vec<Slot<'a>> {
        let mut slots: Vec<Slot<'a>> =
            self.slots.into_iter().filter_map(|(_, slot)| slot).collect();
        let pieces: Vec<Piece<'a>> = self.pieces.into_iter().flatten().collect();
        if let Some(mut user) = self.user.filter(|_| !pieces.is_empty()) {
            user.pieces = pieces;
            user.touched = true;
            slots.push(user);
        }
        slots
    }
}
