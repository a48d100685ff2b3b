//! Ids: minted, made unique, made legal; always on both halves.
//!
//! The same history gets the same ids in any process: they are hashes of what they replace. Ids
//! are given out in document order, so that appending to a history never renames its beginning.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::work::Work;
use crate::{
    check::shown,
    draft::{Draft, Family, Kind, OptionalText, Wire},
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
    // Calls with their new ids; with none where the answer takes that of its call.
    let mut renamed: Vec<(usize, u16, Option<Arc<str>>)> = Vec::new();
    for group in &pairing.groups {
        let mut in_turn: HashMap<(Family, &str), usize> = HashMap::new();
        for index in group.calls() {
            let Some(call) = call_at(&draft, pairing.calls[index].part()) else { continue };
            // Where an id may stand once in a history, no other family may have it either.
            let family = if reused { Family::Function } else { call.family };
            let Some(old) = call.id.as_deref() else {
                if missing {
                    let name = call.name.as_deref().unwrap_or("");
                    let id = book.mint(family, &format!("missing {index} {name}"));
                    renamed.push((index, 204, Some(id)));
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
            // Where an id may stand once in a history, nothing asks for an occurrence again.
            if let Some(new) = book.assign((family, old), occurrence, legal, !reused) {
                let code = match (legal, turn) {
                    (false, _) => 203,
                    (true, 0) => 202,
                    (true, _) => 201,
                };
                renamed.push((index, code, Some(new)));
            }
        }
    }
    if missing {
        let done: HashSet<usize> = renamed.iter().map(|(index, ..)| *index).collect();
        for index in nameless_answers(&draft, &pairing) {
            let call = call_at(&draft, pairing.calls[index].part());
            if call.is_some_and(|call| call.id.is_some()) && !done.contains(&index) {
                renamed.push((index, 204, None));
            }
        }
    }
    drop((book, in_history));
    renamed.shrink_to_fit();
    for (index, code, new) in renamed {
        let call = pairing.calls[index];
        let own = call_at(&draft, call.part()).and_then(|call| call.id.as_deref());
        let Some(id) = new.as_deref().or(own).map(str::to_owned) else { continue };
        let shared = OptionalText::from(id.clone());
        set(
            work,
            call.message(),
            call.part() - draft.messages[call.message()].first as usize,
            &shared,
        );
        let answer = call.answer().map(|answer| pairing.answers[answer]);
        // Where ids may be missing, one that is missing stays so.
        let named = |part: usize| match &draft.parts[part].kind {
            Kind::Answer(answer) => answer.id.is_some(),
            _ => false,
        };
        if let Some(answer) = answer.filter(|answer| missing || named(answer.part())) {
            set(
                work,
                answer.message(),
                answer.part() - draft.messages[answer.message()].first as usize,
                &shared,
            );
        }
        let old = call_at(&draft, call.part()).and_then(|call| call.id.as_deref());
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
        work.note(code, Strategy::Rename, call.message(), ids, note);
    }
}

/// Calls with an id whose answer has none.
fn nameless_answers(draft: &Draft<'_>, pairing: &Pairing) -> Vec<usize> {
    let answers = pairing.answers.iter();
    let nameless = answers.filter(|answer| match &draft.parts[answer.part()].kind {
        Kind::Answer(outline) => outline.id.is_none(),
        _ => false,
    });
    nameless.filter_map(|answer| answer.fate().call()).collect()
}

fn set(work: &mut Work<'_, '_>, slot: usize, piece: usize, id: &OptionalText<'static>) {
    let slot = work.touch(slot);
    let Some(piece) = slot.pieces.get_mut(piece) else { return };
    if let Some(call) = piece.part.kind.call_mut() {
        call.id = id.clone();
    } else if let Some(answer) = piece.part.kind.answer_mut() {
        answer.id = id.clone();
    } else {
        return;
    }
    piece.patch.id = true;
}

/// Which ids were given out. Those that stay are not copied, those that are new are kept once.
struct Book<'d> {
    wire: Wire,
    rule: IdRule,
    kept: HashSet<(Family, &'d str)>,
    minted: HashSet<(Family, Arc<str>)>,
    given: HashMap<(Family, &'d str, usize), Arc<str>>,
}

impl<'d> Book<'d> {
    fn new(wire: Wire, rule: IdRule) -> Book<'d> {
        Book { wire, rule, kept: HashSet::new(), minted: HashSet::new(), given: HashMap::new() }
    }

    /// The new id for an occurrence of an old one; none where the old one may stay. `again` says
    /// whether the same occurrence may be asked for once more.
    fn assign(
        &mut self,
        (family, old): (Family, &'d str),
        occurrence: usize,
        legal: bool,
        again: bool,
    ) -> Option<Arc<str>> {
        let first = legal && occurrence == 0;
        if first && self.kept.contains(&(family, old)) {
            return None;
        }
        if let Some(given) = self.given.get(&(family, old, occurrence)) {
            return Some(given.clone());
        }
        let taken = !self.minted.is_empty() && self.minted.contains(&(family, Arc::from(old)));
        if first && !taken {
            self.kept.insert((family, old));
            return None;
        }
        let new = self.mint(family, &format!("again {occurrence} {old}"));
        if again {
            self.given.insert((family, old, occurrence), new.clone());
        }
        Some(new)
    }

    /// A fresh id, computed from `seed`.
    fn mint(&mut self, family: Family, seed: &str) -> Arc<str> {
        for salt in 0_u32.. {
            let id: Arc<str> = spell(self.wire, self.rule, hash(seed, salt)).into();
            let free = !self.kept.contains(&(family, &*id));
            if free && self.minted.insert((family, id.clone())) {
                return id;
            }
        }
        Arc::default()
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
        let mut new = |old| book.assign((Family::Function, old), 0, false, true);
        let (one, two) = (new("call_abcdefghi_1"), new("call_abcdefghi_2"));
        assert_ne!(one, two);
        assert!([&one, &two].into_iter().flatten().all(|id| rule.allows(id)));
        assert_eq!(one, new("call_abcdefghi_1"));
    }

    #[test]
    fn an_id_that_was_given_out_is_not_kept_by_another_call() {
        let rule = IdRule { least: 9, most: 9, extra: Some("") };
        let mut book = Book::new(Wire::OpenaiChat, rule);
        let minted = book.assign((Family::Function, "functions.get:0"), 0, false, true);
        let minted = minted.expect("an illegal id is replaced");
        let again = book.assign((Family::Function, &minted), 0, true, true);
        assert_ne!(again, Some(minted.clone()));
        assert!(again.is_some());
    }
}
