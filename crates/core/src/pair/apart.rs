//! Answers that do not stand behind their call: apart from it, before it, or once too often.

use std::collections::HashMap;

use super::{Fate, Key, PairedAnswer, Pairing, answer_key, call_key, join, says_nothing_new};
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
struct Newest {
    group: usize,
    calls: Vec<usize>,
    looked: usize,
}

impl Newest {
    fn open(&mut self, pairing: &Pairing) -> Option<usize> {
        while let Some(&call) = self.calls.get(self.looked) {
            if pairing.calls[call].answer.is_none() {
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
        open.iter().filter_map(|&answer| answer_key(draft, pairing.answers[answer].part)),
    );
    let mut seen = 0;
    let mut early = Vec::new();
    for answer in open {
        let PairedAnswer { message, part, .. } = pairing.answers[answer];
        while let Some(call) = pairing.calls.get(seen).filter(|call| call.message < message) {
            if let Some(key) = call_key(draft, call.part).filter(|key| wanted.may_hold(key)) {
                let entry = newest.entry(key).or_insert_with(|| Newest {
                    group: call.group,
                    calls: Vec::new(),
                    looked: 0,
                });
                if entry.group != call.group {
                    *entry = Newest { group: call.group, calls: Vec::new(), looked: 0 };
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
                    pairing.answers[answer].fate = Fate::Duplicate(of);
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

/// Matches answers that stand before their call with the first such call nobody answered. Where
/// the user spoke in between, the id was used anew: what stood before is of another call.
pub(super) fn look_ahead(draft: &Draft<'_>, pairing: &mut Pairing, early: Vec<usize>) {
    if early.is_empty() {
        return;
    }
    let mut later: HashMap<Key<'_>, Newest> = HashMap::new();
    for (index, call) in pairing.calls.iter().enumerate() {
        if let (None, Some(key)) = (call.answer, call_key(draft, call.part)) {
            let fresh = || Newest { group: 0, calls: Vec::new(), looked: 0 };
            later.entry(key).or_insert_with(fresh).calls.push(index);
        }
    }
    let turns = Turns::of(draft);
    for answer in early {
        let key = answer_key(draft, pairing.answers[answer].part);
        let entry = key.and_then(|key| later.get_mut(&key));
        let at = pairing.answers[answer].message;
        let call = entry.and_then(|entry| {
            while let Some(call) = entry.open(pairing) {
                if pairing.calls[call].message >= at {
                    return Some(call);
                }
                entry.looked += 1;
            }
            None
        });
        if let Some(call) = call.filter(|&call| turns.between(at, pairing.calls[call].message) == 0)
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
