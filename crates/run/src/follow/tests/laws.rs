//! Invariants of all recordings, checked against a second, naive reader.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    CallRef, EventPayload, RunEvent, SharedId, ToolCallUpdate, ToolResult, ToolStatus,
    follow::{
        StreamSource,
        tests::{
            recordings::{recordings, source},
            story::{Said, follow, said},
        },
    },
};

/// What a naive reader sees of calls and results in Claude Code's lines.
#[derive(Default)]
struct Naive {
    /// Id, message, parent.
    calls: BTreeSet<(String, String, Option<String>)>,
    results: Vec<String>,
}

fn naive(stream: &str) -> Naive {
    let mut naive = Naive::default();
    for line in stream.lines() {
        let Said::Agent(line) = said(line) else { continue };
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            match (line["type"].as_str(), block["type"].as_str()) {
                (Some("assistant"), Some("tool_use")) => {
                    let id = text(&block["id"]).unwrap();
                    let message = text(&line["message"]["id"]).unwrap();
                    naive.calls.insert((id, message, text(&line["parent_tool_use_id"])));
                }
                (Some("user"), Some("tool_result")) => {
                    naive.results.push(text(&block["tool_use_id"]).unwrap());
                }
                _ => {}
            }
        }
    }
    naive.results.sort();
    naive
}

fn calls(events: &[(usize, RunEvent)]) -> Vec<(&SharedId, &ToolCallUpdate)> {
    let complete = |call: &&ToolCallUpdate| call.input.is_some();
    let calls = events.iter().filter_map(|(_, event)| match &event.body {
        EventPayload::ToolCall(call) => Some((&event.run, call)),
        _ => None,
    });
    calls.filter(|(_, call)| complete(call)).collect()
}

fn results(events: &[(usize, RunEvent)]) -> Vec<(&SharedId, &ToolResult)> {
    let results = events.iter().filter_map(|(_, event)| match &event.body {
        EventPayload::ToolResult(result) => Some((&event.run, result)),
        _ => None,
    });
    results.collect()
}

fn name(call: &CallRef) -> String {
    call.id.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn every_call_and_result_of_a_recording_is_emitted_once_and_in_its_turn() {
    for (recording, stream) in recordings() {
        if source(&stream) != StreamSource::ClaudeCode {
            continue;
        }
        let (naive, events) = (naive(&stream), follow(StreamSource::ClaudeCode, &stream));
        let turns: BTreeMap<(&str, &str), u32> = events
            .iter()
            .filter_map(|(_, event)| match &event.body {
                EventPayload::TurnStarted(turn) => {
                    Some(((&*event.run, turn.message.as_deref()?), turn.turn?))
                }
                _ => None,
            })
            .collect();
        let told = calls(&events);
        assert_eq!(told.len(), naive.calls.len(), "{recording}");
        for (id, message, parent) in &naive.calls {
            let of_parent = |parent: &String| {
                let (_, call) = told.iter().find(|(_, call)| name(&call.call) == *parent).unwrap();
                call.call.turn
            };
            let is_told = told.iter().any(|(run, call)| {
                let turn = match parent {
                    Some(parent) => of_parent(parent),
                    None => turns.get(&(&**run, message.as_str())).copied(),
                };
                let parents = call.parent.as_deref() == parent.as_deref();
                let running = call.status == Some(ToolStatus::Running);
                name(&call.call) == *id && call.call.turn == turn && parents && running
            });
            assert!(is_told, "{recording}: {id} of {message}");
        }
        let mut answers: Vec<String> = results(&events)
            .into_iter()
            .filter(|(_, result)| result.content.is_some())
            .map(|(_, result)| name(&result.call))
            .collect();
        answers.sort();
        assert_eq!(answers, naive.results, "{recording}");
        for (run, result) in results(&events) {
            let its = |(other, call): &&(&SharedId, &ToolCallUpdate)| {
                *other == run && call.call == result.call
            };
            let known = told.iter().find(its);
            // A resumed session has results for calls of the previous stream.
            let foreign = !naive.calls.iter().any(|(id, ..)| *id == name(&result.call));
            assert!(known.is_some() || foreign, "{recording}: {:?}", result.call);
        }
    }
}

#[test]
fn every_run_begins_first_and_ends_once() {
    for (recording, stream) in recordings() {
        let mut ended: BTreeMap<SharedId, usize> = BTreeMap::new();
        for (at, event) in follow(source(&stream), &stream) {
            let known = ended.contains_key(&event.run);
            let begins = matches!(event.body, EventPayload::Started(_));
            assert_eq!(begins, !known, "{recording}:{at}");
            let ends = ended.entry(event.run.clone()).or_default();
            assert_eq!(*ends, 0, "{recording}:{at}: {:?} behind the end", event.body);
            *ends += usize::from(matches!(event.body, EventPayload::Ended(_)));
            assert_eq!((event.seq, event.epoch), (None, None), "{recording}:{at}");
        }
        assert!(ended.values().all(|ends| *ends == 1), "{recording}: {ended:?}");
    }
}

#[test]
fn no_recording_has_an_unknown_line() {
    for (recording, stream) in recordings() {
        for (at, event) in follow(source(&stream), &stream) {
            let known = !matches!(event.body, EventPayload::Unknown { .. });
            assert!(known && event.unknown_word.is_none(), "{recording}:{at}: {event:?}");
        }
    }
}

/// Everything but deltas and intermediate sums.
fn wholes(events: Vec<(usize, RunEvent)>) -> Vec<(SharedId, EventPayload)> {
    let whole = |body: &EventPayload| match body {
        EventPayload::Text(text) | EventPayload::Thought(text) => text.full.is_some(),
        EventPayload::ToolCall(call) => call.input.is_some(),
        EventPayload::ToolArguments { .. } | EventPayload::Usage(_) => false,
        _ => true,
    };
    let events = events.into_iter().map(|(_, event)| (event.run, event.body));
    events.filter(|(_, body)| whole(body)).collect()
}

#[test]
fn deltas_add_up_to_the_whole_text() {
    for (recording, stream) in recordings() {
        let source = source(&stream);
        let lines = stream.lines().filter(|line| !line.contains(r#""type":"stream_event""#));
        let without: Vec<&str> = lines.collect();
        let with = wholes(follow(source, &stream));
        assert_eq!(with, wholes(follow(source, &without.join("\n"))), "{recording}");
    }
}

#[test]
fn a_follower_without_host_lines_reaches_the_same_result() {
    for (recording, stream) in recordings() {
        // A host without a prompt has no run; without its lines this is unknown.
        if recording.ends_with("no-input") {
            continue;
        }
        let source = source(&stream);
        let agent: Vec<&str> = stream.lines().filter(|line| !line.starts_with("> ")).collect();
        let truth = |stream: &str| -> Vec<(SharedId, String)> {
            let events = follow(source, stream).into_iter();
            let line = |(_, event): (usize, RunEvent)| match event.body {
                EventPayload::ToolResult(result) => {
                    Some((event.run, format!("{} {:?}", name(&result.call), result.outcome)))
                }
                EventPayload::ApprovalReplied(reply) => {
                    Some((event.run, format!("{} {:?}", name(&reply.call), reply.verdict)))
                }
                EventPayload::Ended(ended) => Some((event.run, format!("{ended:?}"))),
                _ => None,
            };
            events.filter_map(line).collect()
        };
        assert_eq!(truth(&agent.join("\n")), truth(&stream), "{recording}");
    }
}
