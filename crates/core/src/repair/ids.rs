//! Creates missing ids and makes ids unique and valid, always on both halves of a pair.
//!
//! The same history gets the same ids in any process: new ids are hashes of what they replace. Ids
//! are assigned in document order, so that appending to a history never renames its beginning.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_json::field_text;

use super::state::RepairState;
use crate::{
    check::display_id,
    draft::{CallFamily, Draft, Format, MessageFlags, OptionalText, PartKind},
    pairing::{CallPairing, call_at, to_u32},
    profile::{IdRule, may_take_any_id},
    report::Strategy,
    rules::RuleSet,
};

/// Renames ids that violate FW201, FW202, FW203 or FW204.
pub(super) fn rename_ids(state: &mut RepairState<'_, '_>, _: RuleSet) {
    let (unique_in_turn, unique_in_history) = (state.is_enabled(201), state.is_enabled(202));
    let missing = state.is_enabled(204) && state.input.format != Format::Gemini;
    let (draft, pairing) = state.draft_with_pairing();
    let any_id = may_take_any_id(state.options.profile, &draft);
    let illegal = state.is_enabled(203) && (state.policy().allow_unsafe || !any_id);
    let rule = state.options.profile.id_rule();
    let mut assigner = IdAssigner::new(state.input.format, rule);
    // The turn that uses an id first, and how often it was used so far.
    let mut in_history: HashMap<(CallFamily, &str), (usize, u32)> = HashMap::new();
    // Calls with their new ids; none where the answer takes the id of its call.
    let mut renamed: Vec<(u32, u16, OptionalText<'static>)> = Vec::new();
    for (turn_index, turn) in pairing.turns.iter().enumerate() {
        let mut in_turn: HashMap<(CallFamily, &str), u32> = HashMap::new();
        for index in turn.calls() {
            let Some(call) = call_at(&draft, pairing.calls[index].part()) else { continue };
            // Where an id may occur only once in a history, no other family may use it in a later
            // turn either.
            let family = if unique_in_history { CallFamily::Function } else { call.family };
            let Some(old) = call.id.as_deref() else {
                if missing {
                    let name = call.name.as_deref().unwrap_or("");
                    let id = assigner.create_id(family, &format!("missing {index} {name}"));
                    renamed.push((to_u32(index), 204, id));
                }
                continue;
            };
            let uses = in_turn.entry((call.family, old)).or_insert(0);
            let turn_count = *uses;
            *uses += 1;
            let occurrence = if unique_in_history {
                let (first_turn, uses) = in_history.entry((family, old)).or_insert((turn_index, 0));
                *uses += 1;
                if *first_turn == turn_index && turn_count == 0 { 0 } else { *uses - 1 }
            } else if unique_in_turn {
                turn_count
            } else {
                0
            };
            let legal = !illegal || rule.allows(old);
            // Where an id may occur only once in a history, no occurrence is assigned twice.
            if let Some(new) = assigner.assign((family, old), occurrence, legal, !unique_in_history)
            {
                let code = match (legal, turn_count) {
                    (false, _) => 203,
                    (true, 0) => 202,
                    (true, _) => 201,
                };
                renamed.push((to_u32(index), code, new));
            }
        }
    }
    if missing {
        // The calls so far are in order.
        let done = renamed.len();
        for index in answers_without_id(&draft, &pairing) {
            let call = call_at(&draft, pairing.calls[index].part());
            let is_renamed =
                || renamed[..done].binary_search_by_key(&to_u32(index), |it| it.0).is_ok();
            if call.is_some_and(|call| call.id.is_some()) && !is_renamed() {
                renamed.push((to_u32(index), 204, OptionalText::NONE));
            }
        }
    }
    drop((assigner, in_history));
    // Where the ids are. After that, neither the outline nor the pairing is needed.
    let place = |message: usize, part: usize| {
        let first = draft.messages[message].first as usize;
        IdPlace { message: to_u32(message), part: to_u32(part - first) }
    };
    let renames: Vec<IdRename> = renamed
        .into_iter()
        .map(|(index, code, id)| {
            let call = pairing.calls[index as usize];
            let answer = call.answer().map(|answer| pairing.answers[answer]);
            // Where ids are optional, a missing one stays missing.
            let has_id = |part: usize| match &draft.parts[part].kind {
                PartKind::Answer(answer) => answer.id.is_some(),
                _ => false,
            };
            let answer = answer.filter(|answer| missing || has_id(answer.part()));
            let answer = answer.map(|answer| place(answer.message(), answer.part()));
            let call = place(call.message(), call.part());
            IdRename { id, call, answer: answer.unwrap_or(IdPlace::NONE), code }
        })
        .collect();
    drop((draft, pairing));
    let has_copies = renames.iter().any(|rename| rename.code == 201);
    let copies = if has_copies { copied_items(state.input) } else { HashSet::new() };
    for IdRename { id: new, call, answer, code } in renames {
        let outline = state.load_message(call.message as usize).parts.get(call.part as usize);
        let old = outline.and_then(|part| part.part.kind.id()).map(str::to_owned);
        let new = if new.is_some() { new } else { old.clone().map(Cow::Owned).into() };
        let Some(id) = new.as_deref() else { continue };
        set_id(state, call, &new);
        if answer != IdPlace::NONE {
            set_id(state, answer, &new);
        }
        // Copies of an item share its own id as well.
        let at = call.message as usize;
        let origin = state.messages[at].origin();
        if code == 201 && origin.is_some_and(|origin| copies.contains(&origin)) {
            let message = state.mark_message(at);
            message.flags =
                message.flags.without(MessageFlags::BAD_ITEM_ID).without(MessageFlags::ITEM_ID);
            message.mark_lost_id();
        }
        let old = old.as_deref();
        let note = match old {
            Some(old) if old == id => {
                format!("the result of {} gets its id", display_id(Some(old)))
            }
            Some(old) => format!("id {} becomes `{id}` on call and result", display_id(Some(old))),
            None => format!("the missing id becomes `{id}` on call and result"),
        };
        let ids = old
            .filter(|old| *old != id)
            .map(str::to_owned)
            .into_iter()
            .chain([id.to_owned()])
            .collect();
        state.note_edit(code, Strategy::Rename, call.message as usize, ids, note);
    }
}

/// A new id for a call and its answer; none where the answer takes the id of its call.
struct IdRename {
    id: OptionalText<'static>,
    call: IdPlace,
    answer: IdPlace,
    code: u16,
}

/// A part of a message.
#[derive(Clone, Copy, PartialEq)]
struct IdPlace {
    message: u32,
    part: u32,
}

impl IdPlace {
    const NONE: IdPlace = IdPlace { message: u32::MAX, part: u32::MAX };
}

/// Items with the id of an earlier item.
fn copied_items(draft: &Draft<'_>) -> HashSet<usize> {
    let mut ids = HashSet::new();
    let items = draft.messages.iter().enumerate();
    items
        .filter(|(_, item)| item.flags.has(MessageFlags::ITEM_ID))
        .filter(|(_, item)| {
            field_text(draft.source, item.span, "id").is_some_and(|id| !ids.insert(id))
        })
        .map(|(at, _)| at)
        .collect()
}

/// Calls with an id whose answer has none.
fn answers_without_id(draft: &Draft<'_>, pairing: &CallPairing) -> Vec<usize> {
    let answers = pairing.answers.iter();
    let without_id = answers.filter(|answer| match &draft.parts[answer.part()].kind {
        PartKind::Answer(outline) => outline.id.is_none(),
        _ => false,
    });
    without_id.filter_map(|answer| answer.result_match().call()).collect()
}

fn set_id(state: &mut RepairState<'_, '_>, place: IdPlace, id: &OptionalText<'static>) {
    let message = state.edit_message(place.message as usize);
    let Some(part) = message.parts.get_mut(place.part as usize) else { return };
    if let Some(call) = part.part.kind.call_mut() {
        call.id = id.clone();
    } else if let Some(answer) = part.part.kind.answer_mut() {
        answer.id = id.clone();
    } else {
        return;
    }
    part.patch.id = true;
}

/// The ids in use. Kept ids are borrowed; new ids are stored once.
struct IdAssigner<'d> {
    format: Format,
    rule: IdRule,
    kept_ids: HashSet<(CallFamily, &'d str)>,
    new_ids: HashSet<(CallFamily, OptionalText<'static>)>,
    assigned: HashMap<(CallFamily, u32, &'d str), OptionalText<'static>>,
}

impl<'d> IdAssigner<'d> {
    fn new(format: Format, rule: IdRule) -> IdAssigner<'d> {
        IdAssigner {
            format,
            rule,
            kept_ids: HashSet::new(),
            new_ids: HashSet::new(),
            assigned: HashMap::new(),
        }
    }

    /// The new id for an occurrence of an old one; `None` where the old one may stay. `again` is
    /// true if the same occurrence may be assigned once more.
    fn assign(
        &mut self,
        (family, old): (CallFamily, &'d str),
        occurrence: u32,
        legal: bool,
        again: bool,
    ) -> Option<OptionalText<'static>> {
        let first = legal && occurrence == 0;
        if first && self.kept_ids.contains(&(family, old)) {
            return None;
        }
        if let Some(assigned) = self.assigned.get(&(family, occurrence, old)) {
            return Some(assigned.clone());
        }
        let taken =
            !self.new_ids.is_empty() && self.new_ids.contains(&(family, old.to_owned().into()));
        if first && !taken {
            self.kept_ids.insert((family, old));
            return None;
        }
        let new = self.create_id(family, &format!("again {occurrence} {old}"));
        if again {
            self.assigned.insert((family, occurrence, old), new.clone());
        }
        Some(new)
    }

    /// A new id, computed from `seed`.
    fn create_id(&mut self, family: CallFamily, seed: &str) -> OptionalText<'static> {
        for salt in 0_u32.. {
            let id = format_id(self.format, self.rule, hash(seed, salt));
            let free = !self.kept_ids.contains(&(family, id.as_str()));
            let id = OptionalText::from(id);
            if free && self.new_ids.insert((family, id.clone())) {
                return id;
            }
        }
        OptionalText::NONE
    }
}

/// An id that a rule allows, computed only from a seed: stable across machines and versions.
pub fn fresh_id(format: Format, rule: IdRule, seed: &str) -> String {
    format_id(format, rule, hash(seed, 0))
}

/// Formats a number as an id that the rule allows.
fn format_id(format: Format, rule: IdRule, mut number: u128) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (prefix, length) = if rule.max_length == 9 {
        ("", 9)
    } else {
        match format {
            Format::Anthropic => ("toolu_", 22),
            Format::Bedrock => ("tooluse_", 22),
            Format::OpenaiChat
            | Format::OpenaiResponses
            | Format::Gemini
            | Format::GeminiInteractions => ("call_", 22),
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

/// FNV-1a over 128 bits, finished by two rounds of mixing: stable across machines and versions.
/// Crafted collisions do no harm, as an id in use is never assigned again.
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
        let mut assigner = IdAssigner::new(Format::OpenaiChat, rule);
        let mut new = |old| assigner.assign((CallFamily::Function, old), 0, false, true);
        let (one, two) = (new("call_abcdefghi_1"), new("call_abcdefghi_2"));
        assert_ne!(one, two);
        let allowed = |id: &OptionalText<'_>| id.as_deref().is_some_and(|id| rule.allows(id));
        assert!([&one, &two].into_iter().flatten().all(allowed));
        assert_eq!(one, new("call_abcdefghi_1"));
    }

    #[test]
    fn an_id_that_was_given_out_is_not_kept_by_another_call() {
        let rule = IdRule { min_length: 9, max_length: 9, extra_chars: Some("") };
        let mut assigner = IdAssigner::new(Format::OpenaiChat, rule);
        let new_id = assigner.assign((CallFamily::Function, "functions.get:0"), 0, false, true);
        let new_id = new_id.expect("an illegal id is replaced");
        let given_out = new_id.as_deref().expect("a new id is not empty").to_owned();
        let again = assigner.assign((CallFamily::Function, &given_out), 0, true, true);
        assert_ne!(again, Some(new_id));
        assert!(again.is_some());
    }
}
