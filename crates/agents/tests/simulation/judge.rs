//! Judges what came out, without knowing how it was made.

use std::collections::HashSet;

use foxwedge_agents::merge_history;
use foxwedge_core::{CheckOptions, Format, Profile, check};
use foxwedge_formats::{
    OutlineOptions,
    model::ContentPart,
    read,
    stream::{CollectedEnding, collect},
};
use serde_json::Value;

use crate::client::Called;

/// A reply as a client puts it together: its text and its calls.
pub(crate) fn reply(events: &[Value]) -> (String, Vec<Called>) {
    let mut bytes = String::new();
    for event in events {
        let kind = event["type"].as_str().unwrap();
        bytes.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }
    well_formed(events, &bytes);
    let collection = collect(Format::Anthropic, bytes.as_bytes()).unwrap();
    assert_eq!(collection.ending, CollectedEnding::Complete, "{bytes}");
    assert!(collection.skipped.is_empty(), "{bytes}");
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in &collection.reply.parts {
        match part.content() {
            ContentPart::Text(words) => {
                assert!(calls.is_empty(), "a text behind calls: {bytes}");
                text.push_str(words);
            }
            ContentPart::ToolCall(call) => calls.push(Called {
                id: call.id.as_deref().unwrap().to_owned(),
                name: call.name.to_string(),
                arguments: call.arguments.to_string(),
            }),
            _ => panic!("what is this? {bytes}"),
        }
    }
    let reason = events[events.len() - 2]["delta"]["stop_reason"].as_str();
    assert_eq!(reason == Some("tool_use"), !calls.is_empty(), "{bytes}");
    (text, calls)
}

/// One message, its blocks one after the other, numbered from zero.
fn well_formed(events: &[Value], bytes: &str) {
    let count = events.len();
    let mut open = None;
    let mut next = 0;
    for (at, event) in events.iter().enumerate() {
        let index = event["index"].as_u64();
        let place = match event["type"].as_str().unwrap() {
            "message_start" => at == 0,
            "content_block_start" => {
                let fits = open.is_none() && index == Some(next);
                open = index;
                next += 1;
                fits
            }
            "content_block_delta" => open.is_some() && open == index,
            "content_block_stop" => open.take().is_some_and(|open| Some(open) == index),
            "message_delta" => open.is_none() && at + 2 == count,
            "message_stop" => at + 1 == count,
            _ => false,
        };
        assert!(place, "event {at} of {bytes}");
    }
}

/// The history of a client, with every call listed once: no provider refuses it. Tells the ids of
/// the calls that are still open at its end.
pub(crate) fn history(body: &str) -> Vec<String> {
    let found = merge_history(body, Format::OpenaiChat).unwrap();
    let body = found.body.as_deref().unwrap_or(body);
    let open: Vec<String> = found.open.into_iter().map(|call| call.id).collect();
    let naive = naive(body);
    assert_eq!(naive, open.iter().cloned().collect(), "{body}");
    if open.is_empty() {
        let reading = read(body, Format::OpenaiChat, OutlineOptions::default()).unwrap();
        let report = check(
            &reading.draft,
            &CheckOptions::for_profile(Profile::for_format(Format::OpenaiChat)),
        );
        let pairing = |code: u16| (100..300).contains(&code);
        let wrong: Vec<_> =
            report.findings.iter().filter(|finding| pairing(finding.rule.code)).collect();
        assert!(wrong.is_empty(), "{wrong:?}\n{body}");
    }
    open
}

/// A provider's rule in its plainest form: behind calls come their answers, each once, and nothing
/// else. Tells what is open at the end.
fn naive(body: &str) -> HashSet<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let mut open: HashSet<String> = HashSet::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            assert!(open.remove(id), "nobody asked for {id}: {body}");
            continue;
        }
        assert!(open.is_empty(), "{open:?} have no answers: {body}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert!(open.insert(call["id"].as_str().unwrap().to_owned()), "{body}");
        }
    }
    open
}
