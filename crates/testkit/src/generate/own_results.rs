//! Histories with tool results in the message of their own call, as some libraries store them.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::draft::{GeneratedDraft, GeneratedPart};
use super::sound::{self, DraftStyle};
use super::{pairs, render, wrap};
use crate::dialect::TestFormat;
use crate::random::Random;

/// A bare list or a request in which some results, or all of them, are in the message of their call.
/// In every second history, calls of different turns have the same ids; some have other damage, too.
///
/// # Panics
///
/// On an unknown format, which is a mistake in the test.
pub fn results_beside_calls(random: &mut Random, format: &str, size: usize) -> Value {
    let format = TestFormat::named(format).expect("the test names a known dialect");
    let request = random.chance(50);
    let style = DraftStyle::new(random, format, request);
    let mut draft = sound::conversation(random, &style, size);
    if random.chance(50) {
        number_calls_by_turn(&mut draft);
    }
    let share = *random.pick(&[30, 60, 100]);
    move_results(random, share, &mut draft);
    let accidents = if random.chance(60) { 0 } else { 1 + random.below(2) };
    for _ in 0..accidents {
        random.pick(pairs::ACCIDENTS)(random, &style, &mut draft);
    }
    let list = render::list(format, &draft);
    wrap(random, &style, list, 0)
}

/// Gives the calls of every turn the same ids, in order, and their results.
fn number_calls_by_turn(draft: &mut GeneratedDraft) {
    let mut renamed: HashMap<String, Value> = HashMap::new();
    for turn in &mut draft.turns {
        let calls = turn.parts.iter_mut().filter_map(|part| match part {
            GeneratedPart::Call(call) => call.id.as_mut(),
            _ => None,
        });
        for (number, id) in calls.enumerate() {
            let new = json!(format!("callid{number:03}"));
            renamed.insert(std::mem::replace(id, new.clone()).to_string(), new);
        }
    }
    for id in draft.answers_mut().filter_map(|answer| answer.id.as_mut()) {
        if let Some(new) = renamed.get(&id.to_string()) {
            *id = new.clone();
        }
    }
}

/// Moves results of the next message into the message of their call: behind the call, or to the end.
fn move_results(random: &mut Random, share: usize, draft: &mut GeneratedDraft) {
    for at in 0..draft.turns.len().saturating_sub(1) {
        if !draft.turns[at].calls() {
            continue;
        }
        let results = std::mem::take(&mut draft.turns[at + 1].parts);
        for part in results {
            if !part.is_answer() || !random.chance(share) {
                draft.turns[at + 1].parts.push(part);
                continue;
            }
            let parts = &mut draft.turns[at].parts;
            let call = parts.iter().position(|call| answers(&part, call));
            let place = call.filter(|_| random.chance(70)).map_or(parts.len(), |call| call + 1);
            parts.insert(place, part);
        }
    }
    draft.sweep();
}

/// Whether a result has the id of a call.
fn answers(result: &GeneratedPart, call: &GeneratedPart) -> bool {
    match (result, call) {
        (GeneratedPart::Answer(answer), GeneratedPart::Call(call)) => answer.id == call.id,
        _ => false,
    }
}

/// Moves the results of a `ModelMessage` list into the messages of their calls. Calls of different
/// messages get the same ids, in lists of both kinds.
pub fn move_list_results(random: &mut Random, list: &mut Vec<Value>) {
    let repeats = random.chance(50);
    let mut ids: HashMap<String, String> = HashMap::new();
    for message in list.iter_mut().filter(|_| repeats) {
        let is_reply = message["role"] == "assistant";
        let mut number = 0;
        for part in parts_of(message) {
            let Some(id) = part["toolCallId"].as_str().map(str::to_owned) else { continue };
            if is_reply {
                number += 1;
                ids.insert(id.clone(), format!("c{number}"));
            }
            part["toolCallId"] = json!(ids.get(&id).cloned().unwrap_or(id));
        }
    }
    for at in 1..list.len() {
        if list[at]["role"] != "tool" || list[at - 1]["role"] != "assistant" {
            continue;
        }
        for part in std::mem::take(parts_of(&mut list[at])) {
            let target = if random.chance(60) { at - 1 } else { at };
            parts_of(&mut list[target]).push(part);
        }
    }
    list.retain_mut(|message| !parts_of(message).is_empty());
}

/// The parts of a message of a list of the AI SDK.
fn parts_of(message: &mut Value) -> &mut Vec<Value> {
    let key = if message["parts"].is_array() { "parts" } else { "content" };
    if !message[key].is_array() {
        // A string stands for one text.
        let text = message[key].take();
        message[key] = json!([{"type": "text", "text": text}]);
    }
    message[key].as_array_mut().expect("a list")
}
