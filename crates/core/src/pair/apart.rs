//! Answers that do not stand behind their call: apart from it, before it, or once too often.

use std::collections::HashMap;

use super::{Fate, Key, Pairing, answer_key, call_key, is_hollow, join, says_nothing_new};
use crate::draft::{Draft, Kind, Part, Role};

/// Which ids may be asked for: most calls of a long history are not, and need not be remembered.
struct Hints([u64; 16]);

impl Hints {
    fn of<'d>(keys: impl Iterator<Item = Key<'d>>) -> Hints {
        let mut hints = Hints([0; 16]);
        for key in keys {
            let (word, bit) = Hints::place(&key);
            hints.0[word] |= bit;
        }
        hints
    }

    fn may_hold(&self, key: &Key<'_>) -> bool {
        let (word, bit) = Hints::place(key);
        self.0[word] & bit != 0
    }

    fn place((_, id): &Key<'_>) -> (usize, u64) {
        let tail = id
            .bytes()
            .rev()
            .take(4)
            .fold(id.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        (tail / 64 % 16, 1 << (tail % 64))
    }
}

/// The calls of one id in the newest turn that used it, with how many of them were looked at.
#[derive(Default)]
struct Newest {
    group: usize,
    calls: Vec<usize>,
    looked: usize,
    /// The calls of older turns.
    older: Vec<usize>,
}

impl Newest {
    /// A newer turn uses the id.
    fn renew(&mut self, group: usize) {
        self.older.append(&mut self.calls);
        self.group = group;
        self.looked = 0;
    }

    /// The newest open call of the older turns.
    fn older(&mut self, pairing: &Pairing) -> Option<usize> {
        while let Some(call) = self.older.pop() {
            if pairing.calls[call].answer().is_none() {
                return Some(call);
            }
        }
        None
    }

    fn open(&mut self, pairing: &Pairing) -> Option<usize> {
        while let Some(&call) = self.calls.get(self.looked) {
            if pairing.calls[call].answer().is_none() {
                return Some(call);
            }
            self.looked += 1;
        }
        None
    }
}

/// Matches answers that found no open call at home with the newest earlier turn of that id.
/// Returns those whose id no earlier call has.
pub(super) fn look_back(draft: &Draft<'_>, pairing: &mut Pairing, open: Vec<usize>) -> Vec<usize> {
    let mut newest: HashMap<Key<'_>, Newest> = HashMap::new();
    let wanted = Hints::of(
        open.iter().filter_map(|&answer| answer_key(draft, pairing.answers[answer].part())),
    );
    let mut seen = 0;
    let mut early = Vec::new();
    for answer in open {
        let (message, part) = (pairing.answers[answer].message(), pairing.answers[answer].part());
        while let Some(call) = pairing.calls.get(seen).filter(|call| call.message() < message) {
            if let Some(key) = call_key(draft, call.part()).filter(|key| wanted.may_hold(key)) {
                let entry = newest.entry(key).or_default();
                if entry.group != call.group() {
                    entry.renew(call.group());
                }
                entry.calls.push(seen);
            }
            seen += 1;
        }
        let Some(key) = answer_key(draft, part) else { continue };
        match newest.get_mut(&key) {
            Some(entry) => match entry.open(pairing) {
                Some(call) => join(draft, pairing, call, answer),
                None => {
                    let of = entry.calls.last().copied().unwrap_or(0);
                    if let Some(older) = entry.older(pairing) {
                        hand_down(draft, pairing, [older, of], answer);
                        continue;
                    }
                    pairing.answers[answer].set_fate(Fate::Duplicate(of));
                    // A second, different answer may belong to the next call of that id.
                    if !says_nothing_new(draft, pairing, part, of) {
                        early.push(answer);
                    }
                }
            },
            None => early.push(answer),
        }
    }
    early
}

/// An older call of the same id is open, and the newer one has two answers: the first of them
/// answers the older call, unless the second one says nothing.
pub(super) fn hand_down(
    draft: &Draft<'_>,
    pairing: &mut Pairing,
    [older, newer]: [usize; 2],
    answer: usize,
) {
    let says = !is_hollow(draft, pairing.answers[answer].part());
    let first = pairing.calls[newer].answer().filter(|&first| {
        let behind = pairing.answers[first].message() > pairing.calls[newer].message();
        says && first < answer && behind
    });
    match first {
        Some(first) => {
            join(draft, pairing, older, first);
            join(draft, pairing, newer, answer);
        }
        None => join(draft, pairing, older, answer),
    }
}

/// Matches answers that stand before their call with the first such call nobody answered. Where
/// the user spoke in between, the id was used anew: what stood before is of another call.
pub(super) fn look_ahead(draft: &Draft<'_>, pairing: &mut Pairing, early: Vec<usize>) {
    if early.is_empty() {
        return;
    }
    let mut later: HashMap<Key<'_>, Newest> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        if let (None, Some(key)) = (call.answer(), call_key(draft, call.part())) {
            later.entry(key).or_default().calls.push(index);
        }
    }
    let turns = Turns::of(draft);
    for answer in early {
        let key = answer_key(draft, pairing.answers[answer].part());
        let entry = key.and_then(|key| later.get_mut(&key));
        let at = pairing.answers[answer].message();
        let call = entry.and_then(|entry| {
            while let Some(call) = entry.open(pairing) {
                if pairing.calls[call].message() >= at {
                    return Some(call);
                }
                entry.looked += 1;
            }
            None
        });
        if let Some(call) =
            call.filter(|&call| turns.between(at, pairing.calls[call].message()) == 0)
        {
            join(draft, pairing, call, answer);
        }
    }
}

/// How often someone else had begun to speak, up to each message: user words, or another turn of
/// the model.
struct Turns(Vec<u32>);

impl Turns {
    fn of(draft: &Draft<'_>) -> Turns {
        let mut count = 0;
        let mut before = Role::User;
        let mut counts = Vec::with_capacity(draft.messages.len());
        for message in &draft.messages {
            let words = |part: &Part<'_>| !matches!(part.kind, Kind::Answer(_));
            let said = message.role.is_user() && draft.parts_of(message).iter().any(words);
            let turn = message.role.is_assistant() && !before.is_assistant();
            count += u32::from(said) + u32::from(turn);
            before = message.role;
            counts.push(count);
        }
        Turns(counts)
    }

    /// Turns that begin behind one message and before the turn that another belongs to.
    fn between(&self, one: usize, other: usize) -> u32 {
        let upto = |at: usize| self.0.get(at).copied().unwrap_or(0);
        upto(other).saturating_sub(upto(one)).saturating_sub(1)
    }
}
