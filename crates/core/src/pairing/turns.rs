//! Decides which adjacent messages with calls form one turn.

use std::ops::Range;

use super::{CallPairing, ResultMatch, Turn};
use crate::draft::{Draft, MessageLayout};

/// Splits messages that are not one turn. Adjacent messages with calls are one turn if their
/// answers are after the last of them. Leading messages without any answer there become separate
/// turns: calls that are answered late or never were not made together with the rest.
pub(super) fn split_turns(draft: &Draft<'_>, pairing: &mut CallPairing) {
    let is_single = |turn: &Turn| turn.messages().len() < 2;
    if draft.layout() == MessageLayout::Items || pairing.turns.iter().all(is_single) {
        return;
    }
    let mut turns = Vec::with_capacity(pairing.turns.len());
    for turn in std::mem::take(&mut pairing.turns) {
        let mut calls = turn.calls();
        let mut first = turn.messages().start;
        while first + 1 < turn.messages().end {
            let turn_calls =
                calls.clone().take_while(|&call| pairing.calls[call].message() == first);
            let turn_calls = calls.start..calls.start + turn_calls.count();
            if turn_calls.clone().any(|call| is_answered_in_place(pairing, call)) {
                break;
            }
            calls.start = turn_calls.end;
            first += 1;
            let home = first..first;
            if !turn_calls.is_empty() {
                turns.push(Turn::new(first - 1..first, home.clone(), home, turn_calls));
            }
        }
        if !calls.is_empty() {
            turns.push(Turn::new(first..turn.messages().end, turn.home(), turn.spill(), calls));
        }
    }
    for (index, turn) in turns.iter().enumerate() {
        for call in &mut pairing.calls[turn.calls()] {
            call.set_turn(index);
        }
    }
    pairing.turns = turns;
}

fn is_answered_in_place(pairing: &CallPairing, call: usize) -> bool {
    let answer = pairing.calls[call].answer().map(|answer| pairing.answers[answer].result_match());
    matches!(answer, Some(ResultMatch::InPlace(_) | ResultMatch::Split(_)))
}

/// The last adjacent messages with calls (indices into [`CallPairing::turns`]): the last turn, and
/// those directly before it.
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
