//! Matches answers that are not directly after their call: further down, before it, or duplicates.

use std::collections::HashMap;

use super::{
    CallPairing, PairedCall, PairingKey, ResultMatch, adds_nothing, answer_key, call_key,
    index::to_u32, is_empty_answer, join_answer,
};
use crate::draft::{Draft, Part, PartKind, Role};

/// A Bloom filter of the ids that are looked up. Most calls of a long history never are and need no
/// table entry.
struct IdFilter([u64; 16]);

impl IdFilter {
    fn of<'d>(keys: impl Iterator<Item = PairingKey<'d>>) -> IdFilter {
        let mut filter = IdFilter([0; 16]);
        for key in keys {
            let (word, bit) = IdFilter::bit_position(&key);
            filter.0[word] |= bit;
        }
        filter
    }

    fn may_hold(&self, key: &PairingKey<'_>) -> bool {
        let (word, bit) = IdFilter::bit_position(key);
        self.0[word] & bit != 0
    }

    fn bit_position((_, id): &PairingKey<'_>) -> (usize, u64) {
        let tail = id
            .bytes()
            .rev()
            .take(4)
            .fold(id.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        (tail / 64 % 16, 1 << (tail % 64))
    }
}

/// Linked lists of the calls of one id, by call index. There may be as many ids as calls, and a
/// list for each would take more memory than the calls.
struct SameIdLinks {
    next: Vec<u32>,
    before: Vec<u32>,
}

/// Marks the end of a list.
const NO_CALL: u32 = u32::MAX;

/// The calls of one id: those of the newest turn that used it, and those of older turns.
#[derive(Clone, Copy)]
struct NewestCalls {
    turn: u32,
    first: u32,
    last: u32,
    /// The first call of the newest turn that may be open.
    first_open: u32,
    /// The newest call of the older turns that may be open.
    newest_older: u32,
}

impl Default for NewestCalls {
    fn default() -> NewestCalls {
        NewestCalls {
            turn: NO_CALL,
            first: NO_CALL,
            last: NO_CALL,
            first_open: NO_CALL,
            newest_older: NO_CALL,
        }
    }
}

impl SameIdLinks {
    fn of(pairing: &CallPairing) -> SameIdLinks {
        let none = || vec![NO_CALL; pairing.calls.len()];
        SameIdLinks { next: none(), before: none() }
    }

    /// Adds another call of the id, after all known ones.
    fn add(&mut self, id: &mut NewestCalls, turn: usize, call: usize) {
        let (turn, call) = (to_u32(turn), to_u32(call));
        if id.first == NO_CALL || id.turn != turn {
            // A newer turn reuses the id.
            if id.first != NO_CALL {
                self.before[id.first as usize] = id.newest_older;
                id.newest_older = id.last;
            }
            (id.turn, id.first, id.first_open) = (turn, call, call);
        } else {
            self.next[id.last as usize] = call;
            self.before[call as usize] = id.last;
            if id.first_open == NO_CALL {
                id.first_open = call;
            }
        }
        id.last = call;
    }

    /// The newest open call of the older turns.
    fn older(&self, id: &mut NewestCalls, pairing: &CallPairing) -> Option<usize> {
        while id.newest_older != NO_CALL {
            let call = id.newest_older as usize;
            id.newest_older = self.before[call];
            if pairing.calls[call].answer().is_none() {
                return Some(call);
            }
        }
        None
    }

    /// The first open call of the newest turn.
    fn open(&self, id: &mut NewestCalls, pairing: &CallPairing) -> Option<usize> {
        while id.first_open != NO_CALL {
            let call = id.first_open as usize;
            if pairing.calls[call].answer().is_none() {
                return Some(call);
            }
            id.first_open = self.next[call];
        }
        None
    }
}

/// Matches answers that found no open call in their turn with the newest earlier turn of that id.
/// Returns those whose id no earlier call has.
pub(super) fn match_earlier_calls(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    open: Vec<usize>,
) -> Vec<usize> {
    let mut newest: HashMap<PairingKey<'_>, NewestCalls> = HashMap::new();
    let mut calls = SameIdLinks::of(pairing);
    let answer_ids = IdFilter::of(
        open.iter().filter_map(|&answer| answer_key(draft, pairing.answers[answer].part())),
    );
    let mut seen = 0;
    let mut early = Vec::new();
    for answer in open {
        let (message, part) = (pairing.answers[answer].message(), pairing.answers[answer].part());
        // A misplaced answer may stand in the message of its call, behind it.
        let is_before = |call: &&PairedCall| (call.message(), call.part()) < (message, part);
        while let Some(call) = pairing.calls.get(seen).filter(is_before) {
            if let Some(key) = call_key(draft, call.part()).filter(|key| answer_ids.may_hold(key)) {
                calls.add(newest.entry(key).or_default(), call.turn(), seen);
            }
            seen += 1;
        }
        let Some(key) = answer_key(draft, part) else { continue };
        match newest.get_mut(&key) {
            Some(entry) => match calls.open(entry, pairing) {
                Some(call) => join_answer(draft, pairing, call, answer),
                None => {
                    let newer = entry.last as usize;
                    if let Some(older) = calls.older(entry, pairing) {
                        pass_to_older_call(draft, pairing, [older, newer], answer);
                        continue;
                    }
                    pairing.answers[answer].set_result_match(ResultMatch::Duplicate(newer));
                    // A second, different answer may belong to the next call of that id.
                    if !adds_nothing(draft, pairing, part, newer) {
                        early.push(answer);
                    }
                }
            },
            None => early.push(answer),
        }
    }
    early
}

/// Handles two answers to a call while an older call of the same id is open: the first answers the
/// older call, unless the second one is empty. An answer that is in its place stays there if the
/// second one is not.
pub(super) fn pass_to_older_call(
    draft: &Draft<'_>,
    pairing: &mut CallPairing,
    [older, newer]: [usize; 2],
    answer: usize,
) {
    let has_content = !is_empty_answer(draft, pairing.answers[answer].part());
    let first = pairing.calls[newer].answer().filter(|&first| {
        let (first_at, at) = (pairing.answers[first].message(), pairing.answers[answer].message());
        let home = pairing.turns[pairing.calls[newer].turn()].home();
        let one_moves = !home.contains(&first_at) || home.contains(&at);
        has_content && first < answer && first_at > pairing.calls[newer].message() && one_moves
    });
    match first {
        Some(first) => {
            join_answer(draft, pairing, older, first);
            join_answer(draft, pairing, newer, answer);
        }
        None => join_answer(draft, pairing, older, answer),
    }
}

/// Matches answers that are before their call with the first later call that has no answer. If the
/// user wrote in between, the id was reused and the answer belongs to another call.
pub(super) fn match_later_calls(draft: &Draft<'_>, pairing: &mut CallPairing, early: Vec<usize>) {
    if early.is_empty() {
        return;
    }
    let mut later: HashMap<PairingKey<'_>, NewestCalls> = HashMap::new();
    let mut calls = SameIdLinks::of(pairing);
    for (index, call) in pairing.calls.iter().enumerate() {
        if let (None, Some(key)) = (call.answer(), call_key(draft, call.part())) {
            calls.add(later.entry(key).or_default(), 0, index);
        }
    }
    let turns = TurnCounts::of(draft);
    for answer in early {
        let key = answer_key(draft, pairing.answers[answer].part());
        let entry = key.and_then(|key| later.get_mut(&key));
        let at = pairing.answers[answer].message();
        let call = entry.and_then(|entry| {
            while let Some(call) = calls.open(entry, pairing) {
                if pairing.calls[call].message() >= at {
                    return Some(call);
                }
                entry.first_open = calls.next[call];
            }
            None
        });
        if let Some(call) =
            call.filter(|&call| turns.between(at, pairing.calls[call].message()) == 0)
        {
            join_answer(draft, pairing, call, answer);
        }
    }
}

/// The number of changes of speaker up to each message: user content, or a new turn of the model.
struct TurnCounts(Vec<u32>);

impl TurnCounts {
    fn of(draft: &Draft<'_>) -> TurnCounts {
        let mut count = 0;
        let mut before = Role::User;
        let mut counts = Vec::with_capacity(draft.messages.len());
        for message in &draft.messages {
            let not_answer = |part: &Part<'_>| !matches!(part.kind, PartKind::Answer(_));
            let user_content =
                message.role.is_user() && draft.parts_of(message).iter().any(not_answer);
            let new_turn = message.role.is_assistant() && !before.is_assistant();
            count += u32::from(user_content) + u32::from(new_turn);
            before = message.role;
            counts.push(count);
        }
        TurnCounts(counts)
    }

    /// The number of changes after one message and before the turn of another.
    fn between(&self, one: usize, other: usize) -> u32 {
        let count_at = |at: usize| self.0.get(at).copied().unwrap_or(0);
        count_at(other).saturating_sub(count_at(one)).saturating_sub(1)
    }
}
