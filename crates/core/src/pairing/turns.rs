//! Which of the neighbouring messages that call are one turn.

use std::ops::Range;

use super::{CallPairing, ResultMatch, Turn};
use crate::draft::{Draft, MessageLayout};

/// Parts what is not one turn. Neighbouring messages that call are one turn if their answers stand
/// behind the last of them. The first ones, as long as none of their calls has its answer there, are
/// turns of their own: what is answered late or never was not called together with the rest.
pub(super) fn split_turns(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let whole = |group: &Turn| group.messages().len() < 2;
    if draft.layout() == MessageLayout::Items || pairing.turns.iter().all(whole) {
        return;
    }
    let mut groups = Vec::with_capacity(pairing.turns.len());
    for group in std::mem::take(&mut pairing.turns) {
        let mut calls = group.calls();
        let mut first = group.messages().start;
        while first + 1 < group.messages().end {
            let own = calls.clone().take_while(|&call| pairing.calls[call].message() == first);
            let own = calls.start..calls.start + own.count();
            if own.clone().any(|call| is_answered_in_place(pairing, call)) {
                break;
            }
            calls.start = own.end;
            first += 1;
            let home = first..first;
            groups.push(Turn::new(first - 1..first, home.clone(), home, own));
        }
        groups.push(Turn::new(first..group.messages().end, group.home(), group.spill(), calls));
    }
    for (index, group) in groups.iter().enumerate() {
        for call in &mut pairing.calls[group.calls()] {
            call.set_turn(index);
        }
    }
    pairing.turns = groups;
}

fn is_answered_in_place(pairing: &CallPairing, call: usize) -> bool {
    let answer = pairing.calls[call].answer().map(|answer| pairing.answers[answer].result_match());
    matches!(answer, Some(ResultMatch::InPlace(_) | ResultMatch::Split(_)))
}

/// The last messages that call, with nothing between them (indices into [`Pairing::groups`]): the
/// calls of the last turn, and of those directly before it.
pub(crate) fn last_turn(pairing: &CallPairing) -> Range<usize> {
    let mut first = pairing.turns.len();
    while let Some(before) = first.checked_sub(1).and_then(|at| pairing.turns.get(at)) {
        let next = pairing.turns.get(first);
        if next.is_some_and(|next| before.messages().end != next.messages().start) {
            break;
        }
        first -= 1;
    }
    first..pairing.turns.len()
}
