//! Damage to ids of calls and results, tool names and signatures.

use serde_json::{Value, json};

use super::DraftAccident;
use super::draft::{FAMILIES, GeneratedDraft, GeneratedPart};
use super::sound::DraftStyle;
use crate::dialect::TestFormat;
use crate::random::Random;

pub(super) const ACCIDENTS: &[DraftAccident] = &[
    reuse_id,
    reuse_id,
    repeat_id_in_turn,
    rename_call_only,
    lose_ids_on_both_sides,
    lose_id_of_call,
    lose_id_of_answer,
    lose_all_ids,
    illegal_characters,
    long_id,
    common_beginning,
    number_calls_per_turn,
    cross_families,
    wrong_item_id,
    mismatch_name,
    illegal_name,
    toggle_signature,
    unseal_thinking,
];

type CallIdValue = Option<Value>;

/// The ids of all calls, in order.
fn ids(draft: &mut GeneratedDraft) -> Vec<CallIdValue> {
    draft.calls_mut().map(|call| call.id.clone()).collect()
}

/// Changes the id of the call at `index`, and of the first result with the old id.
fn rename(draft: &mut GeneratedDraft, index: usize, id: CallIdValue) {
    let Some(call) = draft.calls_mut().nth(index) else { return };
    let old = std::mem::replace(&mut call.id, id.clone());
    if let Some(answer) = draft.answers_mut().find(|answer| answer.id == old) {
        answer.id = id;
    }
}

fn missing(random: &mut Random) -> CallIdValue {
    random
        .pick(&[None, Some(Value::Null), Some(json!("")), Some(json!(7)), Some(json!({}))])
        .clone()
}

fn reuse_id(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let ids = ids(draft);
    if ids.len() > 1 {
        let later = 1 + random.below(ids.len() - 1);
        rename(draft, later, ids[random.below(later)].clone());
    }
}

fn repeat_id_in_turn(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let several = |turn: &&mut super::draft::GeneratedTurn| {
        turn.parts.iter().filter(|part| part.is_call()).count() > 1
    };
    let Some(turn) = draft.turns.iter_mut().find(several) else { return };
    let mut calls = turn.parts.iter_mut().filter_map(|part| match part {
        GeneratedPart::Call(call) => Some(call),
        _ => None,
    });
    let (Some(first), Some(second)) = (calls.next(), calls.next()) else { return };
    let old = std::mem::replace(&mut second.id, first.id.clone());
    let (id, family) = (first.id.clone(), first.family);
    second.family = family;
    if random.chance(70)
        && let Some(answer) = draft.answers_mut().find(|answer| answer.id == old)
    {
        answer.id = id;
        answer.family = family;
    }
}

fn rename_call_only(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let number = draft.number();
    let count = ids(draft).len();
    if let Some(call) = draft.calls_mut().nth(random.below(count)) {
        call.id = Some(json!(format!("renamed{number}")));
    }
}

fn lose_ids_on_both_sides(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let (count, id) = (ids(draft).len(), missing(random));
    rename(draft, random.below(count), id);
}

fn lose_id_of_call(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let (count, id) = (ids(draft).len(), missing(random));
    if let Some(call) = draft.calls_mut().nth(random.below(count)) {
        call.id = id;
    }
}

fn lose_id_of_answer(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let (count, id) = (draft.answers_mut().count(), missing(random));
    if let Some(answer) = draft.answers_mut().nth(random.below(count)) {
        answer.id = id;
    }
}

fn lose_all_ids(random: &mut Random, style: &DraftStyle, draft: &mut GeneratedDraft) {
    if style.format == TestFormat::Gemini || random.chance(20) {
        draft.calls_mut().for_each(|call| call.id = None);
        draft.answers_mut().for_each(|answer| answer.id = None);
    }
}

fn illegal_characters(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let number = draft.number();
    let bad = random.pick(&["functions.get:", "käse", "a b", "x\"y\\", "雪", "tool/use#"]);
    let count = ids(draft).len();
    rename(draft, random.below(count), Some(json!(format!("{bad}{number}"))));
}

fn long_id(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let number = draft.number();
    let long = "call_".repeat(1 + random.below(30));
    let count = ids(draft).len();
    rename(draft, random.below(count), Some(json!(format!("{long}{number}"))));
}

fn common_beginning(_: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    for index in 0..ids(draft).len() {
        let number = draft.number();
        rename(draft, index, Some(json!(format!("chatcmpl9_{number}"))));
    }
}

/// As some models do: `list_dir:0` in every turn.
fn number_calls_per_turn(_: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let counts: Vec<usize> = draft
        .turns
        .iter()
        .map(|turn| turn.parts.iter().filter(|part| part.is_call()).count())
        .collect();
    let mut index = 0;
    for count in counts {
        for place in 0..count {
            rename(draft, index, Some(json!(format!("list_dir:{place}"))));
            index += 1;
        }
    }
}

/// Often the two types that programs write for each other.
fn cross_families(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let crossed = [&FAMILIES[..], &FAMILIES[..2], &FAMILIES[..2], &FAMILIES[..2]].concat();
    let (count, family) = (draft.answers_mut().count(), *random.pick(&crossed));
    if let Some(answer) = draft.answers_mut().nth(random.below(count)) {
        answer.family = family;
    }
}

fn wrong_item_id(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let number = draft.number();
    let count = ids(draft).len();
    if let Some(call) = draft.calls_mut().nth(random.below(count)) {
        call.item = Some(format!("call_{number}"));
    }
}

fn mismatch_name(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = draft.answers_mut().count();
    if let Some(answer) = draft.answers_mut().nth(random.below(count)) {
        answer.name = (*random.pick(&["", "other_tool", "bash"])).to_owned();
    }
}

fn illegal_name(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = ids(draft).len();
    let long = "n".repeat(60 + random.below(80));
    let names = ["", "my tool!", "mcp.server:read", "9lives", "工具", long.as_str()];
    let name = random.pick(&names);
    if let Some(call) = draft.calls_mut().nth(random.below(count)) {
        call.name = (*name).to_owned();
    }
}

fn toggle_signature(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let count = ids(draft).len();
    if let Some(call) = draft.calls_mut().nth(random.below(count)) {
        call.signature = match call.signature {
            Some(_) => None,
            None => Some("c2lnbg==".to_owned()),
        };
    }
}

fn unseal_thinking(random: &mut Random, _: &DraftStyle, draft: &mut GeneratedDraft) {
    let seal = random.pick(&[None, Some(String::new())]).clone();
    for part in draft.turns.iter_mut().flat_map(|turn| turn.parts.iter_mut()) {
        if let GeneratedPart::Thinking(thinking) = part {
            thinking.seal = seal.clone();
        }
    }
}
