//! Prefers real answers to placeholders.

use std::collections::HashMap;

use super::{
    CallPairing, PairedAnswer, PairingKey, ResultMatch, answer_key, call_key, is_empty_answer,
    join_answer, replaces,
};
use crate::{draft::Draft, sorting::sort_by_key};

/// Prefers real answers: one that `may_replace` accepts replaces a placeholder or an empty answer,
/// wherever it is. Returns the answers (indices in order) that match another way now.
pub(crate) fn prefer_real_answers(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    may_replace: impl Fn(&PairedAnswer) -> bool,
) -> Vec<usize> {
    let mut waiting: Option<HashMap<PairingKey<'_>, PlaceholderCalls>> = None;
    let mut changed = Vec::new();
    for second in 0..pairing.answers.len() {
        let new = pairing.answers[second];
        let call = match new.result_match() {
            ResultMatch::Duplicate(call) => Some(call),
            ResultMatch::Orphan => None,
            _ => continue,
        };
        if !may_replace(&new) {
            continue;
        }
        let first = call.and_then(|call| Some((call, pairing.calls[call].answer()?)));
        if let Some((call, first)) = first
            && replaces(draft, pairing.answers[first].part(), new.part())
        {
            pairing.answers[first].set_result_match(ResultMatch::Duplicate(call));
            join_answer(draft, pairing, call, second);
            changed.extend([first, second]);
            continue;
        }
        if is_empty_answer(draft, new.part()) {
            continue;
        }
        // Another call of the id may have only a placeholder.
        let waiting = waiting.get_or_insert_with(|| placeholder_calls(draft, pairing));
        let key = answer_key(draft, new.part());
        let Some(calls) = key.and_then(|key| waiting.get_mut(&key)) else { continue };
        if let Some(empty_call) = calls.nearest(pairing, new.message()) {
            let last = call.unwrap_or(empty_call);
            replace_answer(draft, pairing, empty_call, last, second, &mut changed);
        }
    }
    sort_by_key(&mut changed, |answer| *answer);
    changed.dedup();
    changed
}

/// Calls of one key whose answer is a placeholder or empty.
#[derive(Default)]
struct PlaceholderCalls {
    calls: Vec<usize>,
    /// How many of `calls` were visited.
    passed: usize,
    /// Visited calls that got no other answer.
    open: Vec<usize>,
}

impl PlaceholderCalls {
    /// Takes the last call before a message. Messages must come in order.
    fn nearest(&mut self, pairing: &CallPairing, message: usize) -> Option<usize> {
        let rest = self.calls.get(self.passed..).unwrap_or(&[]);
        // A misplaced answer is in the message of its call.
        let before = rest.iter().take_while(|&&call| pairing.calls[call].message() <= message);
        let count = before.count();
        self.open.extend(rest.iter().take(count));
        self.passed += count;
        self.open.pop()
    }
}

/// Calls whose answer is a placeholder or empty, by key.
fn placeholder_calls<'d>(
    draft: &'d Draft<'_>,
    pairing: &CallPairing,
) -> HashMap<PairingKey<'d>, PlaceholderCalls> {
    let mut calls: HashMap<PairingKey<'d>, PlaceholderCalls> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        let answer = call.answer().map(|answer| pairing.answers[answer].part());
        let key = call_key(draft, call.part());
        if let (Some(_), Some(key)) = (answer.filter(|&part| is_empty_answer(draft, part)), key) {
            calls.entry(key).or_default().calls.push(index);
        }
    }
    calls
}

/// Replaces an empty answer by a real one. Inside one turn, the real answers of the id keep the
/// order of its calls.
fn replace_answer(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    empty_call: usize,
    last: usize,
    answer: usize,
    changed: &mut Vec<usize>,
) {
    // Calls of a turn that are considered.
    const CALLS: usize = 64;
    let Some(first) = pairing.calls[empty_call].answer() else { return };
    pairing.answers[first].set_result_match(ResultMatch::Duplicate(empty_call));
    changed.extend([first, answer]);
    let mut call = empty_call;
    if pairing.calls[empty_call].turn() == pairing.calls[last].turn() {
        let key = call_key(draft, pairing.calls[empty_call].part());
        for next in (empty_call + 1..=last).take(CALLS) {
            let same = call_key(draft, pairing.calls[next].part()) == key;
            if let Some(moved) = pairing.calls[next].answer().filter(|_| same) {
                join_answer(draft, pairing, call, moved);
                changed.push(moved);
                call = next;
            }
        }
    }
    join_answer(draft, pairing, call, answer);
}
