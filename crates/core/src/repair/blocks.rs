//! Moves answers that are blocks inside messages.

use super::{
    Piece, Slot,
    pairs::{Decisions, Verdict, invented, quoted},
    work::Work,
};
use crate::{
    draft::{Content, Draft, Role},
    pair::{Pairing, call_at},
};

/// Puts every answer where it was decided: behind its turn, in one user message.
pub(super) fn relocate<'a>(
    work: &mut Work<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &Pairing,
    decisions: &Decisions,
) {
    // What the calls of each turn receive: (call, answer).
    let mut receives: Vec<(usize, Piece<'a>)> = Vec::new();
    // Quotes of answers that stood in an assistant message go behind its run.
    let mut quotes: Vec<(usize, Piece<'a>)> = Vec::new();
    let mut emptied = vec![false; work.slots.len()];
    // The homes that receive something, and the messages that give something away, are opened.
    let mut opened = vec![false; work.slots.len()];
    for (answer, verdict) in pairing.answers.iter().zip(&decisions.verdicts) {
        if *verdict != Verdict::Stay {
            opened[answer.message()] = true;
        }
        if let Verdict::Move(call) = verdict {
            opened[home_of(pairing, *call).unwrap_or(answer.message())] = true;
        }
    }
    for &call in &decisions.invent {
        if let Some(home) = home_of(pairing, call) {
            opened[home] = true;
        }
    }
    for answer in pairing.answers.iter().filter(|answer| opened[answer.message()]) {
        work.open(answer.message());
    }
    drop(opened);
    take(work, draft, pairing, decisions, &mut receives, &mut quotes, &mut emptied);
    for &call in &decisions.invent {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part()) {
            receives.push((call, invented(work, outline)));
        }
    }
    // New user messages: (index of the slot they follow, slot).
    let mut fresh: Vec<(usize, Slot<'a>)> = Vec::new();
    // Calls are numbered in the order of their turns.
    if !receives.is_sorted_by_key(|(call, _)| *call) {
        receives.sort_by_key(|(call, _)| *call);
    }
    let mut receives = receives.into_iter().peekable();
    while let Some(&(call, _)) = receives.peek() {
        let turn = &pairing.groups[pairing.calls[call].group()];
        let own = std::iter::from_fn(|| receives.next_if(|(call, _)| turn.calls().contains(call)));
        if turn.home().is_empty() {
            let mut pieces: Vec<Piece<'a>> = own.map(|(_, piece)| piece).collect();
            pieces.shrink_to_fit();
            fresh.push((turn.messages().end - 1, Slot::new(Role::User, Content::List, pieces)));
        } else {
            let home = turn.home().start;
            let known = staying(pairing, decisions, home);
            receive(work.open(home), known, own);
            emptied[home] = false;
        }
    }
    let mut opening = Vec::new();
    for (at, piece) in quotes {
        if let Some(turn) = decisions.running.filter(|&turn| at >= turn) {
            let slot = Slot::new(Role::User, Content::List, vec![piece]);
            match turn.checked_sub(1) {
                Some(before) => fresh.push((before, slot)),
                None => opening.push(slot),
            }
            continue;
        }
        let run = draft.messages[at..].iter().take_while(|m| m.role.is_assistant()).count();
        let next = at + run;
        match work.slots.get(next).filter(|slot| slot.role.is_user()) {
            Some(_) => {
                // It was said before what the user says there.
                let slot = work.touch(next);
                let answers = slot.pieces.iter().take_while(|piece| piece.is_answer()).count();
                slot.pieces.insert(answers, piece);
                emptied[next] = false;
            }
            None => fresh.push((next - 1, Slot::new(Role::User, Content::List, vec![piece]))),
        }
    }
    insert(work, opening, fresh, &emptied);
}

/// The message the answer of a call belongs into.
fn home_of(pairing: &Pairing, call: usize) -> Option<usize> {
    let home = &pairing.groups[pairing.calls[call].group()].home();
    (!home.is_empty()).then_some(home.start)
}

/// Takes moved, quoted and removed answers out of their messages.
fn take<'a>(
    work: &mut Work<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &Pairing,
    decisions: &Decisions,
    receives: &mut Vec<(usize, Piece<'a>)>,
    quotes: &mut Vec<(usize, Piece<'a>)>,
    emptied: &mut [bool],
) {
    let decided = pairing.answers.iter().zip(&decisions.verdicts);
    let moving: Vec<_> = decided.filter(|(_, verdict)| **verdict != Verdict::Stay).collect();
    for of_message in moving.chunk_by(|one, other| one.0.message() == other.0.message()) {
        let at = of_message[0].0.message();
        let first = draft.messages[at].first as usize;
        let old = std::mem::take(&mut work.slots[at].pieces);
        let assistant = work.slots[at].role.is_assistant();
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
                Verdict::Stay => kept.push(piece),
                Verdict::Remove => {}
                Verdict::Move(call) => receives.push((*call, piece)),
                Verdict::Quote if assistant || decisions.running.is_some_and(|turn| at >= turn) => {
                    quotes.push((at, quoted(work, piece, answer.fate())));
                }
                Verdict::Quote => kept.push(quoted(work, piece, answer.fate())),
            }
        }
        let slot = &mut work.slots[at];
        kept.shrink_to_fit();
        slot.pieces = kept;
        slot.touched = true;
        emptied[at] = slot.pieces.is_empty();
    }
}

/// Puts answers into their home, between the ones that are there, in the order of the calls. What
/// is there keeps its order; answers come first where others have to be.
fn receive<'a>(
    slot: &mut Slot<'a>,
    mut known: impl Iterator<Item = usize>,
    received: impl Iterator<Item = (usize, Piece<'a>)>,
) {
    let there = std::mem::take(&mut slot.pieces);
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
    slot.pieces = pieces;
    slot.touched = true;
}

/// The calls of the answers that stay in a message, in order.
fn staying(
    pairing: &Pairing,
    decisions: &Decisions,
    message: usize,
) -> impl Iterator<Item = usize> {
    let first = pairing.answers.partition_point(|answer| answer.message() < message);
    let here = pairing.answers.iter().zip(&decisions.verdicts).skip(first);
    here.take_while(move |(answer, _)| answer.message() == message)
        .filter(|(_, verdict)| **verdict == Verdict::Stay)
        .map(|(answer, _)| answer.fate().call().unwrap_or(usize::MAX))
}

/// Inserts new slots behind the ones they follow, and leaves out those that are empty now.
fn insert<'a>(
    work: &mut Work<'_, 'a>,
    opening: Vec<Slot<'a>>,
    mut fresh: Vec<(usize, Slot<'a>)>,
    emptied: &[bool],
) {
    fresh.sort_by_key(|(at, _)| *at);
    let mut fresh = fresh.into_iter().peekable();
    let old = std::mem::replace(&mut work.slots, opening);
    for (at, slot) in old.into_iter().enumerate() {
        if !emptied.get(at).copied().unwrap_or(false) {
            work.slots.push(slot);
        }
        while let Some((_, slot)) = fresh.next_if(|(after, _)| *after == at) {
            work.slots.push(slot);
        }
    }
}
