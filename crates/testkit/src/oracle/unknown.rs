//! Rule 603: turns that hold something of an unknown type are left as they are.

use serde_json::Value;

use super::reading::{DocumentReading, OracleBlockKind, OracleLayout, OracleMessage, OracleRole};
use super::{OracleProfile::*, OracleRule, RuleCase, items, steps};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[(603, unknown_block)];

/// Excludes the calls and results of such turns from the pairs.
pub(super) fn set_unknown_apart(
    format: TestFormat,
    layout: OracleLayout,
    messages: &mut [OracleMessage<'_>],
) {
    let inside = unknown_messages(format, layout, messages);
    for (message, inside) in messages.iter_mut().zip(&inside) {
        message.blocks.iter_mut().for_each(|block| block.paired &= !*inside);
    }
}

/// For each message, whether it belongs to a turn with something unknown, or holds a call or result
/// with an id that occurs in one.
pub(super) fn unknown_messages(
    format: TestFormat,
    layout: OracleLayout,
    messages: &[OracleMessage<'_>],
) -> Vec<bool> {
    let own_ids = |message: &OracleMessage<'_>| -> Vec<String> {
        let pairs = |kind| matches!(kind, OracleBlockKind::Call | OracleBlockKind::Answer);
        let blocks = message.blocks.iter().filter(|block| pairs(block.kind));
        blocks.filter_map(|block| pair_id(format, block.kind, block.body)).collect()
    };
    let mut inside = vec![false; messages.len()];
    let unknown = (0..messages.len()).filter(|at| messages[*at].has(OracleBlockKind::Unknown));
    let mut next: Vec<usize> = unknown.collect();
    while let Some(at) = next.pop() {
        for at in turn_of(layout, messages, at).filter(|at| !inside[*at]).collect::<Vec<_>>() {
            inside[at] = true;
            let mut ids = Vec::new();
            for block in &messages[at].blocks {
                match block.kind {
                    OracleBlockKind::Unknown => collect_texts(block.body, &mut ids),
                    kind => ids.extend(pair_id(format, kind, block.body)),
                }
            }
            let shares =
                |other: &OracleMessage<'_>| own_ids(other).iter().any(|id| ids.contains(id));
            next.extend((0..messages.len()).filter(|it| !inside[*it] && shares(&messages[*it])));
        }
    }
    inside
}

/// Everything in an unknown block that may be an id.
fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn pair_id(format: TestFormat, kind: OracleBlockKind, body: &Value) -> Option<String> {
    let keys: &[&str] = match (format, kind) {
        (TestFormat::Responses, _) => return items::call_id(body).map(str::to_owned),
        (TestFormat::Interactions, _) => return steps::call_id(body).map(str::to_owned),
        (TestFormat::Anthropic, OracleBlockKind::Answer | OracleBlockKind::ServerAnswer) => {
            &["tool_use_id"]
        }
        (TestFormat::Bedrock, _) => &["toolUseId"],
        _ => &["id"],
    };
    let found = keys.iter().find_map(|key| super::reading::id(body, key));
    found.map(str::to_owned)
}

/// The messages of a turn: those of the model, and the results that follow them.
fn turn_of(
    layout: OracleLayout,
    messages: &[OracleMessage<'_>],
    at: usize,
) -> std::ops::RangeInclusive<usize> {
    let model = |at: usize| messages[at].role == OracleRole::Assistant;
    // A message of an unknown role may be one of the user.
    let user = |at: usize| messages[at].role == OracleRole::User || !messages[at].known;
    let (mut first, mut last) = (at, at);
    if layout == OracleLayout::Items {
        let in_turn = |at: usize| !user(at) && messages[at].role != OracleRole::System;
        while first > 0 && in_turn(first - 1) {
            first -= 1;
        }
        while last + 1 < messages.len() && in_turn(last + 1) {
            last += 1;
        }
        return first..=last;
    }
    // From a message of the user back to the reply before it.
    while first > 0 && user(first) {
        first -= 1;
    }
    while first > 0 && model(first - 1) {
        first -= 1;
    }
    while model(at) && last + 1 < messages.len() && model(last + 1) {
        last += 1;
    }
    if model(last) && last + 1 < messages.len() && user(last + 1) {
        last += 1;
    }
    first..=last
}

fn unknown_block(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[OpenaiResponses, Anthropic, Gemini, Bedrock, GeminiInteractions, Strict])
        || case.reading.layout == OracleLayout::Chat
    {
        return Vec::new();
    }
    let reading: &DocumentReading<'_> = &case.reading;
    let inside = unknown_messages(reading.format, reading.layout, &reading.messages);
    let unpaired: Vec<(usize, String, bool)> = reading
        .messages
        .iter()
        .enumerate()
        .flat_map(|(at, message)| message.blocks.iter().map(move |block| (at, block)))
        .filter(|(_, block)| {
            let pairs = matches!(block.kind, OracleBlockKind::Call | OracleBlockKind::Answer);
            pairs && !block.paired
        })
        .map(|(at, block)| {
            let is_answer = block.kind == OracleBlockKind::Answer;
            (at, pair_id(reading.format, block.kind, block.body).unwrap_or_default(), is_answer)
        })
        .collect();
    let alone = |(_, id, is_answer): &(usize, String, bool)| {
        id.is_empty()
            || !unpaired.iter().any(|(_, other, answer)| other == id && answer != is_answer)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < inside.len() {
        let end = at + inside[at..].iter().take_while(|inside| **inside).count();
        let unknown = (at..end).find(|at| reading.messages[*at].has(OracleBlockKind::Unknown));
        let lone = unpaired.iter().find(|one| (at..end).contains(&one.0) && alone(one));
        if let Some((lone, ..)) = lone {
            let place = unknown.unwrap_or(*lone);
            let is_place = |kind| match unknown {
                Some(_) => kind == OracleBlockKind::Unknown,
                None => matches!(kind, OracleBlockKind::Call | OracleBlockKind::Answer),
            };
            let blocks = &reading.messages[place].blocks;
            let block = blocks.iter().position(|block| is_place(block.kind));
            found.push(reading.at(place, block.unwrap_or(0)));
        }
        at = end.max(at + 1);
    }
    found
}
