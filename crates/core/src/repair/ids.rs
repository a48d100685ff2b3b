//! Ids: minted, made unique, made legal; always on both halves.
//!
//! The same history gets the same ids in any process: they are hashes of what they replace. Ids
//! are given out in document order, so that appending to a history never renames its beginning.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::state::RepairState;
use crate::{
    check::display_id,
    draft::{CallFamily, Draft, Format, OptionalText, PartKind},
    pairing::{CallPairing, call_at},
    profile::{IdRule, may_take_any_id},
    report::Strategy,
    rules::RuleSet,
};

/// Renames what FW201, FW202, FW203 and FW204 object to.
pub(super) fn rename_ids(work: &mut RepairState<'_, '_>, _: RuleSet) {
    let (twice, reused) = (work.is_enabled(201), work.is_enabled(202));
    let missing = work.is_enabled(204) && work.input.format != Format::Gemini;
    let (draft, pairing) = work.draft_with_pairing();
    let unsure = may_take_any_id(work.options.profile, &draft);
    let illegal = work.is_enabled(203) && (work.policy().allow_unsafe || !unsure);
    let rule = work.options.profile.id_rule();
    let mut book = IdAssigner::new(work.input.format, rule);
    let mut in_history: HashMap<(CallFamily, &str), usize> = HashMap::new();
    // Calls with their new ids; with none where the answer takes that of its call.
    let mut renamed: Vec<(usize, u16, Option<Arc<str>>)> = Vec::new();
    for group in &pairing.turns {
        let mut in_turn: HashMap<(CallFamily, &str), usize> = HashMap::new();
        for index in group.calls() {
            let Some(call) = call_at(&draft, pairing.calls[index].part()) else { continue };
            // Where an id may stand once in a history, no other family may have it either.
            let family = if reused { CallFamily::Function } else { call.family };
            let Some(old) = call.id.as_deref() else {
                if missing {
                    let name = call.name.as_deref().unwrap_or("");
                    let id = book.create_id(family, &format!("missing {index} {name}"));
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
        for index in answers_without_id(&draft, &pairing) {
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
        set_id(
            work,
            call.message(),
            call.part() - draft.messages[call.message()].first as usize,
            &shared,
        );
        let answer = call.answer().map(|answer| pairing.answers[answer]);
        // Where ids may be missing, one that is missing stays so.
        let named = |part: usize| match &draft.parts[part].kind {
            PartKind::Answer(answer) => answer.id.is_some(),
            _ => false,
        };
        if let Some(answer) = answer.filter(|answer| missing || named(answer.part())) {
            set_id(
                work,
                answer.message(),
                answer.part() - draft.messages[answer.message()].first as usize,
                &shared,
            );
        }
        let old = call_at(&draft, call.part()).and_then(|call| call.id.as_deref());
        let note = match old {
            Some(old) if old == id => {
                format!("the answer to {} takes its id", display_id(Some(old)))
            }
            Some(old) => format!("id {} becomes `{id}` on call and answer", display_id(Some(old))),
            None => format!("the missing id becomes `{id}` on call and answer"),
        };
        let ids = old
            .filter(|old| *old != id)
            .map(str::to_owned)
            .into_iter()
            .chain([id.clone()])
            .collect();
        work.note_edit(code, Strategy::Rename, call.message(), ids, note);
    }
}

/// Calls with an id whose answer has none.
fn answers_without_id(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<usize> {
    let answers = pairing.answers.iter();
    let nameless = answers.filter(|answer| match &draft.parts[answer.part()].kind {
        PartKind::Answer(outline) => outline.id.is_none(),
        _ => false,
    });
    nameless.filter_map(|answer| answer.result_match().call()).collect()
}

fn set_id(work: &mut RepairState<'_, '_>, slot: usize, piece: usize, id: &OptionalText<'static>) {
    let slot = work.edit_message(slot);
    let Some(piece) = slot.parts.get_mut(piece) else { return };
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
struct IdAssigner<'d> {
    format: Format,
    rule: IdRule,
    kept_ids: HashSet<(CallFamily, &'d str)>,
    new_ids: HashSet<(CallFamily, Arc<str>)>,
    assigned: HashMap<(CallFamily, &'d str, usize), Arc<str>>,
}

impl<'d> IdAssigner<'d> {
    fn new(wire: Format, rule: IdRule) -> IdAssigner<'d> {
        IdAssigner {
            format: wire,
            rule,
            kept_ids: HashSet::new(),
            new_ids: HashSet::new(),
            assigned: HashMap::new(),
        }
    }

    /// The new id for an occurrence of an old one; none where the old one may stay. `again` says
    /// whether the same occurrence may be asked for once more.
    fn assign(
        &mut self,
        (family, old): (CallFamily, &'d str),
        occurrence: usize,
        legal: bool,
        again: bool,
    ) -> Option<Arc<str>> {
        let first = legal && occurrence == 0;
        if first && self.kept_ids.contains(&(family, old)) {
            return None;
        }
        if let Some(given) = self.assigned.get(&(family, old, occurrence)) {
            return Some(given.clone());
        }
        let taken = !self.new_ids.is_empty() && self.new_ids.contains(&(family, Arc::from(old)));
        if first && !taken {
            self.kept_ids.insert((family, old));
            return None;
        }
        let new = self.create_id(family, &format!("again {occurrence} {old}"));
        if again {
            self.assigned.insert((family, old, occurrence), new.clone());
        }
        Some(new)
    }

    /// A fresh id, computed from `seed`.
    fn create_id(&mut self, family: CallFamily, seed: &str) -> Arc<str> {
        for salt in 0_u32.. {
            let id: Arc<str> = format_id(self.format, self.rule, hash(seed, salt)).into();
            let free = !self.kept_ids.contains(&(family, &*id));
            if free && self.new_ids.insert((family, id.clone())) {
                return id;
            }
        }
        Arc::default()
    }
}

/// An id that a rule allows, computed from a seed alone: the same on every machine, for ever.
pub fn fresh_id(wire: Format, rule: IdRule, seed: &str) -> String {
    format_id(wire, rule, hash(seed, 0))
}

/// Spells a number as an id the rule allows.
fn format_id(wire: Format, rule: IdRule, mut number: u128) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (prefix, length) = if rule.max_length == 9 {
        ("", 9)
    } else {
        match wire {
            Format::Anthropic => ("toolu_", 22),
            Format::Bedrock => ("tooluse_", 22),
            Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => ("call_", 22),
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
        let rule = IdRule { min_length: 9, max_length: 9, extra_chars: Some("") };
        let mut book = IdAssigner::new(Format::OpenaiChat, rule);
        let mut new = |old| book.assign((CallFamily::Function, old), 0, false, true);
        let (one, two) = (new("call_abcdefghi_1"), new("call_abcdefghi_2"));
        assert_ne!(one, two);
        assert!([&one, &two].into_iter().flatten().all(|id| rule.allows(id)));
        assert_eq!(one, new("call_abcdefghi_1"));
    }

    #[test]
    fn an_id_that_was_given_out_is_not_kept_by_another_call() {
        let rule = IdRule { min_length: 9, max_length: 9, extra_chars: Some("") };
        let mut book = IdAssigner::new(Format::OpenaiChat, rule);
        let minted = book.assign((CallFamily::Function, "functions.get:0"), 0, false, true);
        let minted = minted.expect("an illegal id is replaced");
        let again = book.assign((CallFamily::Function, &minted), 0, true, true);
        assert_ne!(again, Some(minted.clone()));
        assert!(again.is_some());
    }
}
