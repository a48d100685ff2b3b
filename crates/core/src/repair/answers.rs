//! Moves answers that are messages of their own (chat messages, Responses items).

use super::{
    RepairedMessage, RepairedPart,
    pairs::{AnswerAction, PairingDecisions, placeholder_part, quoted_part},
    state::RepairState,
};
use crate::{
    draft::{ContentShape, Draft, Message, MessageLayout, PartKind, Role},
    pairing::{CallPairing, ResultMatch, call_at},
};

/// Puts every answer where it was decided. Answers keep their bytes; quotes follow the run of
/// answers they stood in, so that the run stays whole. Where answers are chat messages, a turn that
/// receives one is told as several: each calling message, directly followed by its own answers.
pub(super) fn move_answers<'a>(
    work: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    let mut old: Vec<Option<RepairedMessage<'a>>> =
        std::mem::take(&mut work.messages).into_iter().map(Some).collect();
    // What calls receive: (call, answer).
    let mut receives: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
    // The old slots that are quotes now.
    let mut quotes = vec![false; old.len()];
    for (answer, &verdict) in pairing.answers.iter().zip(&decisions.actions) {
        if verdict == AnswerAction::Stay || quotes[answer.message()] {
            continue;
        }
        let Some(slot) = old[answer.message()].take() else { continue };
        match verdict {
            AnswerAction::Stay | AnswerAction::Remove => {}
            AnswerAction::Move(call) => receives.push((call, slot)),
            AnswerAction::Quote => {
                old[answer.message()] = Some(quote_message(work, slot, answer.result_match()));
                quotes[answer.message()] = true;
            }
        }
    }
    for &call in &decisions.placeholders {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part()) {
            let slot = RepairedMessage::new(
                Role::Answer,
                ContentShape::Text,
                vec![placeholder_part(work, outline)],
            );
            receives.push((call, slot));
        }
    }
    let mut slots = Vec::with_capacity(old.len() + decisions.placeholders.len());
    // Calls are numbered in the order of their turns.
    if !receives.is_sorted_by_key(|(call, _)| *call) {
        receives.sort_by_key(|(call, _)| *call);
    }
    let mut receives = receives.into_iter().peekable();
    let running = decisions.running.map_or(usize::MAX, |at| turn_start(draft, at));
    let late = old.iter_mut().zip(&quotes).skip(running).filter(|(_, quote)| **quote);
    let early: Vec<RepairedMessage<'a>> = late.filter_map(|(slot, _)| slot.take()).collect();
    let mut early = Some(early);
    let mut waiting = Vec::new();
    let mut group = 0;
    let mut at = 0;
    while at < old.len() {
        if quotes[at] {
            waiting.extend(old[at].take());
        }
        if at == running {
            waiting.extend(early.take().into_iter().flatten());
        }
        if let Some(slot) = old[at].take() {
            if slot.role != Role::Answer {
                slots.append(&mut waiting);
            }
            slots.push(slot);
        }
        at += 1;
        // The end of a turn: here its answers belong. Those that are there keep their order.
        while pairing.turns.get(group).is_some_and(|turn| turn.messages().end == at) {
            let turn = &pairing.turns[group];
            group += 1;
            let mut received =
                std::iter::from_fn(|| receives.next_if(|(call, _)| *call < turn.calls().end));
            let Some(first) = received.next() else { continue };
            let mut home: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
            for index in turn.home() {
                match old[index].take() {
                    Some(quote) if quotes[index] => waiting.push(quote),
                    Some(slot) => home.push((answered_call(pairing, index), slot)),
                    None => {}
                }
            }
            let mut there = std::mem::take(&mut home).into_iter().peekable();
            for (call, slot) in std::iter::once(first).chain(received) {
                home.extend(std::iter::from_fn(|| there.next_if(|(other, _)| *other <= call)));
                home.push((call, slot));
            }
            home.extend(there);
            // Each message of the turn is followed by its own answers.
            if draft.layout() == MessageLayout::Chat {
                home.sort_by_key(|(call, _)| {
                    pairing.calls.get(*call).map_or(usize::MAX, |it| it.message())
                });
            }
            let mut home = home.into_iter().peekable();
            if draft.layout() == MessageLayout::Chat {
                let messages = slots.split_off(slots.len().saturating_sub(turn.messages().len()));
                for (message, slot) in turn.messages().zip(messages) {
                    slots.push(slot);
                    let own = |call: usize| pairing.calls.get(call).map(|call| call.message());
                    while let Some((_, answer)) =
                        home.next_if(|(call, _)| own(*call) == Some(message))
                    {
                        slots.push(answer);
                    }
                }
            }
            slots.extend(home.map(|(_, slot)| slot));
            at = at.max(turn.home().end);
        }
    }
    slots.append(&mut waiting);
    work.messages = slots;
}

/// The call that the answer in a message answers; none is behind all of them.
fn answered_call(pairing: &CallPairing, message: usize) -> usize {
    let behind = pairing.answers.partition_point(|answer| answer.message() <= message);
    let last = behind.checked_sub(1).and_then(|last| pairing.answers.get(last));
    let own = last.filter(|answer| answer.message() == message);
    own.and_then(|answer| answer.result_match().call()).unwrap_or(usize::MAX)
}

/// Where a turn begins: reasoning that is an item of its own belongs to the call behind it.
fn turn_start(draft: &Draft<'_>, turn: usize) -> usize {
    let reasons = |message: &Message| {
        let parts = draft.parts_of(message);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Reasoning(_)))
    };
    let before = draft.messages.get(..turn).unwrap_or(&[]).iter().rev();
    turn - before.take_while(|message| reasons(message)).count()
}

fn quote_message<'a>(
    work: &RepairState<'_, 'a>,
    mut slot: RepairedMessage<'a>,
    fate: ResultMatch,
) -> RepairedMessage<'a> {
    slot.load_parts(work.input);
    let pieces: Vec<RepairedPart<'a>> = slot
        .parts
        .into_iter()
        .filter(RepairedPart::is_answer)
        .map(|piece| quoted_part(work, piece, fate))
        .collect();
    RepairedMessage::new(Role::User, ContentShape::List, pieces)
}
