//! Writes the events of every item: it is added, gets deltas, and is done.

use serde_json::{Value, json};

use super::{items, response};
use crate::{
    oracle::answers::{
        GeneratedFrame, OracleReply,
        fields::list,
        pen::{FrameWriter, woven},
    },
    random::Random,
};

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let mix = random.chance(50);
    let silent = random.chance(10);
    let mut writer = FrameWriter::sse(random);
    let mut number = 0;
    let begun = response(answer, None, Vec::new(), None);
    let mut send =
        |writer: &mut FrameWriter<'_>, event: Value| send(writer, &mut number, &begun, event);
    send(&mut writer, json!({"type": "response.created", "response": begun}));
    send(&mut writer, json!({"type": "response.in_progress", "response": begun}));
    let items = items(&answer.blocks);
    let mut together = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let events = told(&mut writer, at, item, silent);
        // The parts of a message stay together.
        let alone = list(item, "content").len() > 1;
        if alone {
            release(&mut writer, &mut send, &mut together, mix);
        }
        together.push(events);
        if alone {
            release(&mut writer, &mut send, &mut together, mix);
        }
    }
    release(&mut writer, &mut send, &mut together, mix);
    if let Some(stop) = &answer.stop {
        let body = response(answer, Some(stop), items, Some(&answer.usage));
        let kind = if body["status"] == "completed" { "completed" } else { "incomplete" };
        let kind = format!("response.{kind}");
        send(&mut writer, json!({"type": kind, "response": body}));
    }
    writer.frames
}

fn release(
    writer: &mut FrameWriter<'_>,
    send: &mut impl FnMut(&mut FrameWriter<'_>, Value),
    queues: &mut Vec<Vec<Value>>,
    mix: bool,
) {
    // The next item starts only after this one has its first delta.
    let begun = |queue: Vec<Value>| {
        let mut groups: Vec<Vec<Value>> = Vec::new();
        for event in queue {
            let part = event.get("part").is_some() && groups.len() == 1;
            match groups.last_mut().filter(|_| part) {
                Some(first) => first.push(event),
                None => groups.push(vec![event]),
            }
        }
        groups
    };
    let queues = std::mem::take(queues).into_iter().map(begun).collect();
    for event in woven(writer.random, queues, mix).into_iter().flatten() {
        send(writer, event);
    }
}

fn send(writer: &mut FrameWriter<'_>, number: &mut u64, begun: &Value, mut event: Value) {
    let again = json!({"type": "response.in_progress", "response": begun});
    writer.noise(Some("response.in_progress"), &again);
    let strange = json!({"type": "response.weather.changed", "sequence_number": *number});
    writer.unknown(Some("response.weather.changed"), &strange);
    event["sequence_number"] = json!(*number);
    *number += 1;
    let name = event["type"].as_str().unwrap_or_default().to_owned();
    writer.event(Some(&name), &event);
}

/// The events of an item.
fn told(writer: &mut FrameWriter<'_>, at: usize, item: &Value, silent: bool) -> Vec<Value> {
    let mut begun = item.clone();
    if item.get("status").is_some() {
        begun["status"] = json!("in_progress");
    }
    for (key, empty) in [
        ("content", json!([])),
        ("summary", json!([])),
        ("arguments", json!("")),
        ("input", json!("")),
        ("encrypted_content", json!("half")),
    ] {
        if item.get(key).is_some() {
            begun[key] = empty;
        }
    }
    let added = json!({"type": "response.output_item.added", "output_index": at, "item": begun});
    let mut events = vec![added];
    match item["type"].as_str().unwrap_or_default() {
        "function_call" if !silent => {
            let kind = "response.function_call_arguments";
            events.extend(spoken(
                writer,
                at,
                item,
                kind,
                "arguments",
                &item["arguments"],
                json!({}),
            ));
        }
        "custom_tool_call" if !silent => {
            let kind = "response.custom_tool_call_input";
            events.extend(spoken(writer, at, item, kind, "input", &item["input"], json!({})));
        }
        _ => {
            for (index, part) in list(item, "content").iter().enumerate() {
                events.extend(part_events(writer, at, item, "content", index, part));
            }
            for (index, part) in list(item, "summary").iter().enumerate() {
                events.extend(part_events(writer, at, item, "summary", index, part));
            }
        }
    }
    events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    events
}

/// The events of a part of an item.
fn part_events(
    writer: &mut FrameWriter<'_>,
    at: usize,
    item: &Value,
    list: &str,
    index: usize,
    part: &Value,
) -> Vec<Value> {
    let kind = part["type"].as_str().unwrap_or_default();
    let key = if kind == "refusal" { "refusal" } else { "text" };
    let (around, text_kind) = match (list, kind) {
        ("summary", _) => ("response.reasoning_summary_part", "response.reasoning_summary_text"),
        (_, "reasoning_text") => ("response.content_part", "response.reasoning_text"),
        (_, "refusal") => ("response.content_part", "response.refusal"),
        _ => ("response.content_part", "response.output_text"),
    };
    let place = json!({ format!("{list}_index"): index });
    let mut empty = part.clone();
    empty[key] = json!("");
    let mut events = vec![event(&format!("{around}.added"), at, item, &place, "part", empty)];
    events.extend(spoken(writer, at, item, text_kind, key, &part[key], place.clone()));
    events.push(event(&format!("{around}.done"), at, item, &place, "part", part.clone()));
    events
}

/// The deltas of a text, and the complete text.
fn spoken(
    writer: &mut FrameWriter<'_>,
    at: usize,
    item: &Value,
    kind: &str,
    key: &str,
    text: &Value,
    place: Value,
) -> Vec<Value> {
    let delta = format!("{kind}.delta");
    let deltas = writer.pieces(text.as_str().unwrap_or_default());
    let mut events: Vec<Value> = deltas
        .into_iter()
        .map(|text_delta| event(&delta, at, item, &place, "delta", json!(text_delta)))
        .collect();
    events.push(event(&format!("{kind}.done"), at, item, &place, key, text.clone()));
    events
}

fn event(kind: &str, at: usize, item: &Value, place: &Value, key: &str, value: Value) -> Value {
    let mut event = json!({"type": kind, "item_id": item["id"], "output_index": at, key: value});
    for (key, value) in place.as_object().into_iter().flatten() {
        event[key] = value.clone();
    }
    event
}
