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
    let mut receives: Vec<Vec<(usize, Piece<'a>)>> = vec![Vec::new(); pairing.groups.len()];
    // Quotes of answers that stood in an assistant message go behind its run.
    let mut quotes: Vec<(usize, Piece<'a>)> = Vec::new();
    let mut emptied = vec![false; work.slots.len()];
    // The homes that receive something, and the messages that give something away, are opened.
    let mut opened = vec![false; work.slots.len()];
    for (answer, verdict) in pairing.answers.iter().zip(&decisions.verdicts) {
        if *verdict != Verdict::Stay {
            opened[answer.message] = true;
        }
        if let Verdict::Move(call) = verdict {
            opened[home_of(pairing, *call).unwrap_or(answer.message)] = true;
        }
    }
    for &call in &decisions.invent {
        if let Some(home) = home_of(pairing, call) {
            opened[home] = true;
        }
    }
    for answer in pairing.answers.iter().filter(|answer| opened[answer.message]) {
        work.open(answer.message);
        let index = answer.part - draft.messages[answer.message].first as usize;
        work.slots[answer.message].pieces[index].call = answer.fate.call().unwrap_or(usize::MAX);
    }
    take(work, draft, pairing, decisions, &mut receives, &mut quotes, &mut emptied);
    for &call in &decisions.invent {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part) {
            receives[paired.group].push((call, invented(work, outline)));
        }
    }
    // New user messages: (index of the slot they follow, slot).
    let mut fresh: Vec<(usize, Slot<'a>)> = Vec::new();
    for (group, received) in receives.into_iter().enumerate() {
        if received.is_empty() {
            continue;
        }
        let turn = &pairing.groups[group];
        if turn.home.is_empty() {
            let mut received = received;
            received.sort_by_key(|(call, _)| *call);
            let pieces = received.into_iter().map(|(_, piece)| piece).collect();
            fresh.push((turn.messages.end - 1, Slot::new(Role::User, Content::List, pieces)));
        } else {
            receive(work.open(turn.home.start), received);
            emptied[turn.home.start] = false;
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
    let home = &pairing.groups[pairing.calls[call].group].home;
    (!home.is_empty()).then_some(home.start)
}

/// Takes moved, quoted and removed answers out of their messages.
fn take<'a>(
    work: &mut Work<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &Pairing,
    decisions: &Decisions,
    receives: &mut [Vec<(usize, Piece<'a>)>],
    quotes: &mut Vec<(usize, Piece<'a>)>,
    emptied: &mut [bool],
) {
    let decided = pairing.answers.iter().zip(&decisions.verdicts);
    let moving: Vec<_> = decided.filter(|(_, verdict)| **verdict != Verdict::Stay).collect();
    for of_message in moving.chunk_by(|one, other| one.0.message == other.0.message) {
        let at = of_message[0].0.message;
        let first = draft.messages[at].first as usize;
        let old = std::mem::take(&mut work.slots[at].pieces);
        let assistant = work.slots[at].role.is_assistant();
        let mut kept = Vec::with_capacity(old.len());
        let mut next = of_message.iter().peekable();
        for (index, piece) in old.into_iter().enumerate() {
            let Some((answer, verdict)) = next.next_if(|(answer, _)| answer.part == first + index)
            else {
                kept.push(piece);
                continue;
            };
            match verdict {
                Verdict::Stay => kept.push(piece),
                Verdict::Remove => {}
                Verdict::Move(call) => receives[pairing.calls[*call].group].push((*call, piece)),
                Verdict::Quote if assistant || decisions.running.is_some_and(|turn| at >= turn) => {
                    quotes.push((at, quoted(work, piece, answer.fate)));
                }
                Verdict::Quote => kept.push(quoted(work, piece, answer.fate)),
            }
        }
        let slot = &mut work.slots[at];
        slot.pieces = kept;
        slot.touched = true;
        emptied[at] = slot.pieces.is_empty();
    }
}

/// Puts answers into their home, between the ones that are there, in the order of the calls. What
/// is there keeps its order; answers come first where others have to be.
fn receive<'a>(slot: &mut Slot<'a>, mut received: Vec<(usize, Piece<'a>)>) {
    received.sort_by_key(|(call, _)| *call);
    for (call, mut piece) in received {
        let before = slot.pieces.iter().position(|other| other.is_answer() && other.call > call);
        let behind = || slot.pieces.iter().rposition(Piece::is_answer).map_or(0, |last| last + 1);
        let at = before.unwrap_or_else(behind);
        piece.call = call;
        slot.pieces.insert(at, piece);
    }
    slot.touched = true;
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
