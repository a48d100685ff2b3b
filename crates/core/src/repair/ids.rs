//! Ids: minted, made unique, made legal; always on both halves.
//!
//! The same history gets the same ids in any process: they are hashes of what they replace. Ids
//! are given out in document order, so that appending to a history never renames its beginning.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::work::Work;
use crate::{
    check::shown,
    draft::{Draft, Family, Kind, Wire},
    pair::{Pairing, call_at},
    profile::{IdRule, may_take_any_id},
    report::Strategy,
    rules::RuleSet,
};

/// Renames what FW201, FW202, FW203 and FW204 object to.
pub(super) fn rename(work: &mut Work<'_, '_>, _: RuleSet) {
    let (twice, reused) = (work.wants(201), work.wants(202));
    let missing = work.wants(204) && work.input.wire != Wire::Gemini;
    let (draft, pairing) = work.paired();
    let unsure = may_take_any_id(work.question.profile, &draft);
    let illegal = work.wants(203) && (work.policy().bold || !unsure);
    let rule = work.question.profile.ids();
    let mut book = Book::new(work.input.wire, rule);
    let mut in_history: HashMap<(Family, &str), usize> = HashMap::new();
    let mut renamed = Vec::new();
    for group in &pairing.groups {
        let mut in_turn: HashMap<(Family, &str), usize> = HashMap::new();
        for index in group.calls.clone() {
            let Some(call) = call_at(&draft, pairing.calls[index].part) else { continue };
            // Where an id may stand once in a history, no other family may have it either.
            let family = if reused { Family::Function } else { call.family };
            let Some(old) = call.id.as_deref() else {
                if missing {
                    let name = call.name.as_deref().unwrap_or("");
                    let id = book.mint(family, &format!("missing {index} {name}"));
                    renamed.push((index, 204, id));
                }
                continue;
            };
            let count = |table: &mut HashMap<_, usize>| {
                let seen = table.entry((family, old)).or_insert(0);
                *seen += 1;
                *seen - 1
            };
            let (turn, history) = (count(&mut in_turn), count(&mut in_history));
            let occurrence = if reused {
                history
            } else if twice {
                turn
            } else {
                0
            };
            let legal = !illegal || rule.allows(old);
            let new = book.assign(family, old, occurrence, legal);
            if new != old {
                let code = match (legal, turn) {
                    (false, _) => 203,
                    (true, 0) => 202,
                    (true, _) => 201,
                };
                renamed.push((index, code, new));
            }
        }
    }
    if missing {
        let done: HashSet<usize> = renamed.iter().map(|(index, ..)| *index).collect();
        for index in nameless_answers(&draft, &pairing) {
            let id = call_at(&draft, pairing.calls[index].part).and_then(|call| call.id.clone());
            if let (Some(id), false) = (id, done.contains(&index)) {
                renamed.push((index, 204, id.into_owned()));
            }
        }
    }
    for (index, code, id) in renamed {
        let call = pairing.calls[index];
        set(work, call.message, call.part - draft.messages[call.message].first as usize, &id);
        let answer = call.answer.map(|answer| pairing.answers[answer]);
        // Where ids may be missing, one that is missing stays so.
        let named = |part: usize| match &draft.parts[part].kind {
            Kind::Answer(answer) => answer.id.is_some(),
            _ => false,
        };
        if let Some(answer) = answer.filter(|answer| missing || named(answer.part)) {
            set(
                work,
                answer.message,
                answer.part - draft.messages[answer.message].first as usize,
                &id,
            );
        }
        let old = call_at(&draft, call.part).and_then(|call| call.id.as_deref());
        let note = match old {
            Some(old) if old == id => format!("the answer to {} takes its id", shown(Some(old))),
            Some(old) => format!("id {} becomes `{id}` on call and answer", shown(Some(old))),
            None => format!("the missing id becomes `{id}` on call and answer"),
        };
        let ids = old
            .filter(|old| *old != id)
            .map(str::to_owned)
            .into_iter()
            .chain([id.clone()])
            .collect();
        work.note(code, Strategy::Rename, call.message, ids, note);
    }
}

/// Calls with an id whose answer has none.
fn nameless_answers(draft: &Draft<'_>, pairing: &Pairing) -> Vec<usize> {
    let answers = pairing.answers.iter();
    let nameless = answers.filter(|answer| match &draft.parts[answer.part].kind {
        Kind::Answer(outline) => outline.id.is_none(),
        _ => false,
    });
    nameless.filter_map(|answer| answer.fate.call()).collect()
}

fn set(work: &mut Work<'_, '_>, slot: usize, piece: usize, id: &str) {
    let slot = work.touch(slot);
    let Some(piece) = slot.pieces.get_mut(piece) else { return };
    let owned: Option<Cow<'_, str>> = Some(Cow::Owned(id.to_owned()));
    match &mut piece.part.kind {
        Kind::Call(call) => call.id = owned,
        Kind::Answer(answer) => answer.id = owned,
        _ => return,
    }
    piece.patch.id = Some(id.to_owned());
}

/// Which ids were given out.
struct Book {
    wire: Wire,
    rule: IdRule,
    used: HashSet<(Family, String)>,
    given: HashMap<(Family, String, usize), String>,
}

impl Book {
    fn new(wire: Wire, rule: IdRule) -> Book {
        Book { wire, rule, used: HashSet::new(), given: HashMap::new() }
    }

    /// The id for an occurrence of an old id: the old one where it may stay, else a new one.
    fn assign(&mut self, family: Family, old: &str, occurrence: usize, legal: bool) -> String {
        let key = (family, old.to_owned(), occurrence);
        if let Some(given) = self.given.get(&key) {
            return given.clone();
        }
        let may_stay = legal && occurrence == 0 && !self.used.contains(&(family, old.to_owned()));
        let new = if may_stay {
            self.used.insert((family, old.to_owned()));
            old.to_owned()
        } else {
            self.mint(family, &format!("again {occurrence} {old}"))
        };
        self.given.insert(key, new.clone());
        new
    }

    /// A fresh id, computed from `seed`.
    fn mint(&mut self, family: Family, seed: &str) -> String {
        for salt in 0_u32.. {
            let id = spell(self.wire, self.rule, hash(seed, salt));
            if self.used.insert((family, id.clone())) {
                return id;
            }
        }
        String::new()
    }
}

/// An id that a rule allows, computed from a seed alone: the same on every machine, for ever.
pub fn fresh_id(wire: Wire, rule: IdRule, seed: &str) -> String {
    spell(wire, rule, hash(seed, 0))
}

/// Spells a number as an id the rule allows.
fn spell(wire: Wire, rule: IdRule, mut number: u128) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (prefix, length) = if rule.most == 9 {
        ("", 9)
    } else {
        match wire {
            Wire::Anthropic => ("toolu_", 22),
            Wire::Bedrock => ("tooluse_", 22),
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => ("call_", 22),
        }
    };
    let mut id = prefix.to_owned();
    for _ in 0..length {
        let digit = usize::try_from(number % 62).unwrap_or(0);
        id.push(char::from(DIGITS[digit]));
        number /= 62;
    }
    id
}

/// FNV-1a over 128 bits, finished by two rounds of mixing: the same on every machine, for ever.
/// Crafted collisions do no harm, as a taken id is never given out twice.
pub(super) fn hash(seed: &str, salt: u32) -> u128 {
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in seed.bytes().chain(salt.to_le_bytes()) {
        state = (state ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    for _ in 0..2 {
        state ^= state >> 61;
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    }
    state ^ (state >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_character_ids_of_similar_ids_differ() {
        let rule = IdRule { least: 9, most: 9, extra: Some("") };
        let mut book = Book::new(Wire::OpenaiChat, rule);
        let one = book.assign(Family::Function, "call_abcdefghi_1", 0, false);
        let two = book.assign(Family::Function, "call_abcdefghi_2", 0, false);
        assert_ne!(one, two);
        assert!(rule.allows(&one) && rule.allows(&two));
        assert_eq!(one, book.assign(Family::Function, "call_abcdefghi_1", 0, false));
    }

    #[test]
    fn an_id_that_was_given_out_is_not_kept_by_another_call() {
        let rule = IdRule { least: 9, most: 9, extra: Some("") };
        let mut book = Book::new(Wire::OpenaiChat, rule);
        let minted = book.assign(Family::Function, "functions.get:0", 0, false);
        assert_ne!(book.assign(Family::Function, &minted, 0, true), minted);
    }
}
