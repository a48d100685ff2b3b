//! Truncated, shuffled, repeated or nonsensical streams. Nothing panics, readable lines are read,
//! and every run that started ends once.

use std::collections::BTreeMap;

use crate::{
    EventPayload, RawJson, RunEvent, SharedId,
    follow::{
        AgentExit, AgentFollower, AgentState, StreamSource,
        tests::{
            recordings::{recordings, source},
            story::{said, told},
        },
    },
};

/// Feeds lines, ends the stream and checks the output.
fn sound(source: StreamSource, lines: &[String], exit: AgentExit, what: &str) -> Vec<RunEvent> {
    let mut follower = AgentFollower::new(source, "run".into());
    let mut events = Vec::new();
    for line in lines {
        events.extend(said(line).to(&mut follower));
        follower.state();
    }
    events.extend(follower.finish(exit));
    assert_eq!(follower.finish(exit), [], "{what}");
    let mut ends: BTreeMap<&SharedId, usize> = BTreeMap::new();
    for event in &events {
        let known = ends.contains_key(&event.run);
        assert_eq!(matches!(event.body, EventPayload::Started(_)), !known, "{what}: {event:?}");
        *ends.entry(&event.run).or_default() +=
            usize::from(matches!(event.body, EventPayload::Ended(_)));
    }
    assert!(ends.values().all(|ends| *ends == 1), "{what}: {ends:?}");
    events
}

fn lines(stream: &str) -> Vec<String> {
    let lines = stream.lines().filter(|line| !line.starts_with("! "));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_stream_that_is_cut_anywhere_ends() {
    let exits = [
        AgentExit::Eof,
        AgentExit::Code(0),
        AgentExit::Code(1),
        AgentExit::Code(143),
        AgentExit::Signal(9),
    ];
    for (name, stream) in recordings() {
        let lines = lines(&stream);
        for (at, line) in lines.iter().enumerate() {
            let mut cut = lines.get(..at).unwrap().to_vec();
            let exit = exits[at % exits.len()];
            sound(source(&stream), &cut, exit, &format!("{name}:{at}"));
            // A truncated last line, cut at several positions.
            let tears = (1..line.len()).step_by(1 + line.len() / 2);
            for tear in tears.filter(|tear| line.is_char_boundary(*tear)) {
                cut.push(line.get(..tear).unwrap().to_owned());
                sound(source(&stream), &cut, exit, &format!("{name}:{at}:{tear}"));
                cut.pop();
            }
        }
    }
}

#[test]
fn lines_lost_after_a_cut_are_not_reported_as_done() {
    for (name, stream) in recordings() {
        let all = lines(&stream);
        for at in 0..all.len() {
            let cut: Vec<String> = all.get(..at).unwrap().to_vec();
            let promised = cut.iter().any(|line| {
                line.contains(r#""type":"result""#) || line.contains(r#""type":"turn.completed""#)
            });
            let events = sound(source(&stream), &cut, AgentExit::Signal(9), &name);
            let done = events.iter().any(|event| match &event.body {
                EventPayload::Ended(ended) => !matches!(
                    ended.outcome,
                    Some(crate::Outcome::Interrupted | crate::Outcome::Stopped)
                ),
                _ => false,
            });
            assert!(promised || !done, "{name}:{at}");
        }
    }
}

/// A deterministic pseudo-random sequence.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

#[test]
fn lines_that_are_lost_repeated_moved_or_damaged_stop_nothing() {
    let mut dice = Dice(7);
    for (name, stream) in recordings() {
        for round in 0..25 {
            let mut lines = lines(&stream);
            for _ in 0..=dice.throw(4) {
                let at = dice.throw(lines.len());
                let Some(line) = lines.get(at).cloned() else { continue };
                match dice.throw(5) {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, line),
                    2 => {
                        let line = lines.remove(at);
                        let to = dice.throw(lines.len() + 1);
                        lines.insert(to, line);
                    }
                    3 => lines[at] = damaged(&line, &mut dice),
                    _ => lines.insert(at, NONSENSE[dice.throw(NONSENSE.len())].to_owned()),
                }
            }
            sound(source(&stream), &lines, AgentExit::Eof, &format!("{name} round {round}"));
        }
    }
}

/// A line with some bytes changed.
fn damaged(line: &str, dice: &mut Dice) -> String {
    let mut bytes = line.as_bytes().to_vec();
    for _ in 0..3 {
        let at = dice.throw(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = b"\"{}[],:0nt\\ x"[dice.throw(13)];
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Lines that no agent should print.
const NONSENSE: [&str; 32] = [
    "",
    "   ",
    "npm warn deprecated",
    "{",
    "null",
    "7",
    "[]",
    "\"text\"",
    "{}",
    r#"{"type":null}"#,
    r#"{"type":7}"#,
    r#"{"type":"weather","sky":"blue"}"#,
    r#"{"type":"assistant"}"#,
    r#"{"type":"assistant","message":7}"#,
    r#"{"type":"assistant","message":{"content":{}}}"#,
    r#"{"type":"assistant","message":{"content":[7,null,{},{"type":"tool_use"}]}}"#,
    r#"{"type":"assistant","message":{"id":"","content":"words"}}"#,
    r#"{"type":"assistant","message":{"id":"m","content":[{"type":"hologram"}]}}"#,
    r#"{"type":"user"}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result"},{"type":"image"},7]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"nobody"}]}}"#,
    r#"{"type":"stream_event"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"x"}}}"#,
    r#"{"type":"stream_event","event":{"type":"message_stop"}}"#,
    r#"{"type":"result"}"#,
    r#"{"type":"system"}"#,
    r#"{"type":"system","subtype":"session_state_changed","state":"idle"}"#,
    r#"{"type":"control_request"}"#,
    r#"{"type":"control_cancel_request","request_id":"nobody"}"#,
    r#"{"type":"item.completed"}"#,
    r#"{"type":"tool_result","status":"strange"}"#,
];

#[test]
fn nonsense_alone_is_kept_and_ends() {
    for source in [StreamSource::ClaudeCode, StreamSource::Codex, StreamSource::GeminiCli] {
        let lines: Vec<String> = NONSENSE.iter().map(|line| (*line).to_owned()).collect();
        sound(source, &lines, AgentExit::Code(0), source.name());
        for line in &lines {
            sound(source, std::slice::from_ref(line), AgentExit::Code(0), line);
            sound(source, &[format!("> {line}")], AgentExit::Code(1), line);
        }
    }
}

#[test]
fn a_line_that_cannot_be_read_is_kept_and_changes_nothing() {
    let start = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}"#;
    let call = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"T","input":{}}]}}"#;
    let table = [
        ("npm warn", r#"unknown not-json "npm warn""#),
        (r#"{"type":"assis"#, r#"unknown not-json "{\"type\":\"assis""#),
        ("[1]", "unknown not-an-object [1]"),
        (r#"{"sky":"blue"}"#, r#"unknown no-type {"sky":"blue"}"#),
        (r#"{"type":"weather"}"#, r#"unknown weather {"type":"weather"}"#),
        (
            r#"{"type":"system","subtype":"weather"}"#,
            r#"unknown system:weather {"type":"system","subtype":"weather"}"#,
        ),
    ];
    for (line, expected) in table {
        let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
        // Before the run starts it is held back and follows the start.
        assert_eq!(follower.line(line), [], "{line}");
        let begun = told(&follower.line(start));
        assert_eq!(begun.get(1).map(String::as_str), Some(expected), "{line}");
        follower.line(call);
        let before = follower.state();
        assert!(matches!(before, AgentState::Waiting { .. }));
        assert_eq!(told(&follower.line(line)), [expected], "{line}");
        assert_eq!(follower.state(), before, "{line}");
    }
}

#[test]
fn a_line_that_is_not_json_is_kept_up_to_its_limit() {
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    follower.line(r#"{"type":"system","subtype":"init","tools":[]}"#);
    let events = follower.line(&format!("a{}", "é".repeat(1_000_000)));
    let expected = RawJson::string(&format!("a{}", "é".repeat(2047)));
    match events.as_slice() {
        [RunEvent { body: EventPayload::Unknown { kind, raw }, .. }] => {
            assert_eq!((kind.as_str(), raw), ("not-json", &expected));
        }
        events => panic!("{} events", events.len()),
    }
}

#[test]
fn a_deep_line_and_a_long_one_are_read() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = "x".repeat(1_000_000);
    for input in [deep, format!("\"{long}\"")] {
        let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
        let line = format!(
            r#"{{"type":"assistant","message":{{"id":"m1","content":[{{"type":"tool_use","id":"x","name":"T","input":{input}}}]}}}}"#
        );
        let events = follower.line(&line);
        let told = events.iter().any(|event| match &event.body {
            EventPayload::ToolCall(call) => {
                call.input.as_ref().is_some_and(|told| told.raw() == input)
            }
            _ => false,
        });
        assert!(told, "{} bytes", input.len());
    }
}

#[test]
fn a_storm_before_the_start_does_not_wait_for_ever() {
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    let events: Vec<RunEvent> = (0..1000).flat_map(|_| follower.line("not json")).collect();
    assert_eq!(events.len(), 1001);
    assert!(matches!(events.first().map(|event| &event.body), Some(EventPayload::Started(_))));
}
