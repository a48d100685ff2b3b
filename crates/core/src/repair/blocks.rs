//! Moves answers that are blocks inside messages.

use super::{
    RepairedMessage, RepairedPart,
    pairs::{AnswerAction, PairingDecisions, placeholder_part, quoted_part},
    state::RepairState,
};
use crate::{
    draft::{ContentShape, Draft, Role},
    pairing::{CallPairing, call_at},
};

/// Puts every answer where it was decided: behind its turn, in one user message.
pub(super) fn move_answers<'a>(
    work: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
) {
    // What the calls of each turn receive: (call, answer).
    let mut receives: Vec<(usize, RepairedPart<'a>)> = Vec::new();
    // Quotes of answers that stood in an assistant message go behind its run.
    let mut quotes: Vec<(usize, RepairedPart<'a>)> = Vec::new();
    let mut emptied = vec![false; work.messages.len()];
    // The homes that receive something, and the messages that give something away, are opened.
    let mut opened = vec![false; work.messages.len()];
    for (answer, verdict) in pairing.answers.iter().zip(&decisions.actions) {
        if *verdict != AnswerAction::Stay {
            opened[answer.message()] = true;
        }
        if let AnswerAction::Move(call) = verdict {
            opened[find_home(pairing, *call).unwrap_or(answer.message())] = true;
        }
    }
    for &call in &decisions.placeholders {
        if let Some(home) = find_home(pairing, call) {
            opened[home] = true;
        }
    }
    for answer in pairing.answers.iter().filter(|answer| opened[answer.message()]) {
        work.load_message(answer.message());
    }
    drop(opened);
    take_answers(work, draft, pairing, decisions, &mut receives, &mut quotes, &mut emptied);
    for &call in &decisions.placeholders {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part()) {
            receives.push((call, placeholder_part(work, outline)));
        }
    }
    // New user messages: (index of the slot they follow, slot).
    let mut fresh: Vec<(usize, RepairedMessage<'a>)> = Vec::new();
    // Calls are numbered in the order of their turns.
    if !receives.is_sorted_by_key(|(call, _)| *call) {
        receives.sort_by_key(|(call, _)| *call);
    }
    let mut receives = receives.into_iter().peekable();
    while let Some(&(call, _)) = receives.peek() {
        let turn = &pairing.turns[pairing.calls[call].turn()];
        let own = std::iter::from_fn(|| receives.next_if(|(call, _)| turn.calls().contains(call)));
        if turn.home().is_empty() {
            let mut pieces: Vec<RepairedPart<'a>> = own.map(|(_, piece)| piece).collect();
            pieces.shrink_to_fit();
            fresh.push((
                turn.messages().end - 1,
                RepairedMessage::new(Role::User, ContentShape::List, pieces),
            ));
        } else {
            let home = turn.home().start;
            let known = staying_calls(pairing, decisions, home);
            insert_answers(work.load_message(home), known, own);
            emptied[home] = false;
        }
    }
    let mut opening = Vec::new();
    for (at, piece) in quotes {
        if let Some(turn) = decisions.running.filter(|&turn| at >= turn) {
            let slot = RepairedMessage::new(Role::User, ContentShape::List, vec![piece]);
            match turn.checked_sub(1) {
                Some(before) => fresh.push((before, slot)),
                None => opening.push(slot),
            }
            continue;
        }
        let run = draft.messages[at..].iter().take_while(|m| m.role.is_assistant()).count();
        let next = at + run;
        match work.messages.get(next).filter(|slot| slot.role.is_user()) {
            Some(_) => {
                // It was said before what the user says there.
                let slot = work.edit_message(next);
                let answers = slot.parts.iter().take_while(|piece| piece.is_answer()).count();
                slot.parts.insert(answers, piece);
                emptied[next] = false;
            }
            None => fresh.push((
                next - 1,
                RepairedMessage::new(Role::User, ContentShape::List, vec![piece]),
            )),
        }
    }
    insert_messages(work, opening, fresh, &emptied);
}

/// The message the answer of a call belongs into.
fn find_home(pairing: &CallPairing, call: usize) -> Option<usize> {
    let home = &pairing.turns[pairing.calls[call].turn()].home();
    (!home.is_empty()).then_some(home.start)
}

/// Takes moved, quoted and removed answers out of their messages.
fn take_answers<'a>(
    work: &mut RepairState<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &CallPairing,
    decisions: &PairingDecisions,
    receives: &mut Vec<(usize, RepairedPart<'a>)>,
    quotes: &mut Vec<(usize, RepairedPart<'a>)>,
    emptied: &mut [bool],
) {
    let decided = pairing.answers.iter().zip(&decisions.actions);
    let moving: Vec<_> = decided.filter(|(_, verdict)| **verdict != AnswerAction::Stay).collect();
    for of_message in moving.chunk_by(|one, other| one.0.message() == other.0.message()) {
        let at = of_message[0].0.message();
        let first = draft.messages[at].first as usize;
        let old = std::mem::take(&mut work.messages[at].parts);
        let assistant = work.messages[at].role.is_assistant();
        let mut kept = Vec::with_capacity(old.len());
        let mut next = of_message.iter().peekable();
        for (index, piece) in old.into_iter().enumerate() {
            let Some((answer, verdict)) =
                next.next_if(|(answer, _)| answer.part() == first + index)
            else {
                kept.push(piece);
                continue;
            };
            match verdict {
                AnswerAction::Stay => kept.push(piece),
                AnswerAction::Remove => {}
                AnswerAction::Move(call) => receives.push((*call, piece)),
                AnswerAction::Quote
                    if assistant || decisions.running.is_some_and(|turn| at >= turn) =>
                {
                    quotes.push((at, quoted_part(work, piece, answer.result_match())));
                }
                AnswerAction::Quote => kept.push(quoted_part(work, piece, answer.result_match())),
            }
        }
        let slot = &mut work.messages[at];
        kept.shrink_to_fit();
        slot.parts = kept;
        slot.touched = true;
        emptied[at] = slot.parts.is_empty();
    }
}

/// Puts answers into their home, between the ones that are there, in the order of the calls. What
/// is there keeps its order; answers come first where others have to be.
fn insert_answers<'a>(
    slot: &mut RepairedMessage<'a>,
    mut known: impl Iterator<Item = usize>,
    received: impl Iterator<Item = (usize, RepairedPart<'a>)>,
) {
    let there = std::mem::take(&mut slot.parts);
    let mut left = there.iter().filter(|piece| piece.is_answer()).count();
    let mut received = received.peekable();
    let mut pieces = Vec::with_capacity(there.len() + 1);
    for piece in there {
        if left == 0 {
            pieces.extend(received.by_ref().map(|(_, piece)| piece));
        } else if piece.is_answer() {
            let call = known.next().unwrap_or(usize::MAX);
            let before = std::iter::from_fn(|| received.next_if(|(new, _)| *new < call));
            pieces.extend(before.map(|(_, piece)| piece));
            left -= 1;
        }
        pieces.push(piece);
    }
    pieces.extend(received.map(|(_, piece)| piece));
    pieces.shrink_to_fit();
    slot.parts = pieces;
    slot.touched = true;
}

/// The calls of the answers that stay in a message, in order.
fn staying_calls(
    pairing: &CallPairing,
    decisions: &PairingDecisions,
    message: usize,
) -> impl Iterator<Item = usize> {
    let first = pairing.answers.partition_point(|answer| answer.message() < message);
    let here = pairing.answers.iter().zip(&decisions.actions).skip(first);
    here.take_while(move |(answer, _)| answer.message() == message)
        .filter(|(_, verdict)| **verdict == AnswerAction::Stay)
        .map(|(answer, _)| answer.result_match().call().unwrap_or(usize::MAX))
}

/// Inserts new slots behind the ones they follow, and leaves out those that are empty now.
fn insert_messages<'a>(
    work: &mut RepairState<'_, 'a>,
    opening: Vec<RepairedMessage<'a>>,
    mut fresh: Vec<(usize, RepairedMessage<'a>)>,
    emptied: &[bool],
) {
    fresh.sort_by_key(|(at, _)| *at);
    let mut fresh = fresh.into_iter().peekable();
    let old = std::mem::replace(&mut work.messages, opening);
    for (at, slot) in old.into_iter().enumerate() {
        if !emptied.get(at).copied().unwrap_or(false) {
            work.messages.push(slot);
        }
        while let Some((_, slot)) = fresh.next_if(|(after, _)| *after == at) {
            work.messages.push(slot);
        }
    }
}
