//! Chat streams as servers of several kinds write them.

use super::sdk::{assert_calls, calls_of};
use super::*;

fn chunk(delta: Value, end: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
    format!("data: {}\n\n", json!({ "id": "c", "choices": [choice] }))
}

fn deltas(deltas: Value) -> String {
    chunk(json!({ "tool_calls": deltas }), None)
}

fn end(reason: &str) -> String {
    chunk(json!({}), Some(reason)) + "data: [DONE]\n\n"
}

/// What a server does with every call.
#[derive(Debug)]
struct ServerStyle {
    first_index: usize,
    /// Which deltas have the id and the name.
    id: Repetition,
    name: Repetition,
    /// Whether an empty object comes before the arguments.
    has_placeholder: bool,
    /// Whether a comment follows every chunk.
    has_comments: bool,
    /// Whether the last chunk repeats the last call.
    repeats_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repetition {
    First,
    Late,
    Every,
}

impl ServerStyle {
    fn new(numbers: &mut Numbers) -> ServerStyle {
        let id = [Repetition::First, Repetition::Late, Repetition::Every][numbers.below(3)];
        let name = [Repetition::First, Repetition::Every][numbers.below(2)];
        ServerStyle {
            first_index: numbers.below(3),
            id,
            name,
            has_placeholder: numbers.chance(30),
            has_comments: numbers.chance(50),
            repeats_last: numbers.chance(50) && id != Repetition::Late,
        }
    }

    fn write(&self, calls: &[SentCall]) -> String {
        let mut sent = String::new();
        for (at, call) in calls.iter().enumerate() {
            let start = if self.has_placeholder { "{}" } else { "" };
            let fragments = std::iter::once(start).chain(call.fragments.iter().map(String::as_str));
            for (part, fragment) in fragments.enumerate() {
                let has = |repetition: Repetition| match repetition {
                    Repetition::First => part == 0,
                    Repetition::Late => part == 1,
                    Repetition::Every => true,
                };
                let mut delta = json!({ "index": self.first_index + at, "function": { "arguments": fragment } });
                if has(self.id) {
                    delta["id"] = json!(call.id);
                }
                if has(self.name) {
                    delta["function"]["name"] = json!(call.name);
                }
                sent += &deltas(json!([delta]));
                if self.has_comments {
                    sent += ": processing\n\n";
                }
            }
        }
        let last = calls.last().filter(|_| self.repeats_last).map(|call| {
            let function = json!({ "name": call.name, "arguments": call.fragments.concat() });
            let index = self.first_index + calls.len() - 1;
            json!({ "tool_calls": [{ "index": index, "id": call.id, "function": function }] })
        });
        sent + &chunk(last.unwrap_or(json!({})), Some("tool_calls")) + "data: [DONE]\n\n"
    }

    fn is_plain(&self) -> bool {
        self.first_index == 0
            && (self.id, self.name) == (Repetition::First, Repetition::First)
            && !self.has_placeholder
            && !self.repeats_last
    }
}

#[test]
fn calls_of_every_server_are_read_as_they_were_sent() {
    let mut numbers = Numbers(21);
    let mut plain = 0;
    for _ in 0..2_000 {
        let mut calls = calls(&mut numbers);
        let style = ServerStyle::new(&mut numbers);
        let sent = style.write(&calls);
        let repaired = repair(Format::OpenaiChat, &sent, &mut numbers);
        if style.is_plain() {
            assert_eq!(repaired, sent);
            plain += 1;
        }
        if style.id == Repetition::Late {
            calls.iter_mut().for_each(|call| call.id = None);
        }
        assert_calls(Format::OpenaiChat, &repaired, &calls, &format!("{style:?}\n{sent}"));
    }
    assert!(plain > 30, "{plain}");
}

#[test]
fn a_chunk_that_is_sent_again_is_no_second_call() {
    let mut numbers = Numbers(22);
    for round in 0..300 {
        let calls = calls(&mut numbers);
        let mut sent = String::new();
        let mut last = String::new();
        for (index, call) in calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": call.fragments.concat() });
            let delta =
                json!({ "index": index, "id": call.id, "type": "function", "function": function });
            last = deltas(json!([delta]));
            sent += &last.repeat(if round % 2 == 0 { 2 } else { 1 });
        }
        if round % 2 == 1 {
            sent += &last.replace("\"finish_reason\":null", "\"finish_reason\":\"tool_calls\"");
        } else {
            sent += &end("tool_calls");
        }
        let repaired = repair(Format::OpenaiChat, &sent, &mut numbers);
        assert_calls(Format::OpenaiChat, &repaired, &calls, &sent);
    }
}

#[test]
fn custom_tool_calls_pass_as_they_are() {
    let call = json!({ "index": 0, "id": "c", "type": "custom", "custom": { "name": "edit", "input": "*** " } });
    let input = json!({ "index": 0, "custom": { "input": "Begin {'a'" } });
    let function = json!({ "index": 1, "id": "d", "type": "function", "function": { "name": "f", "arguments": "{\"a\":1" } });
    for reason in ["tool_calls", "stop"] {
        let start = deltas(json!([call])) + &deltas(json!([input]));
        let sent = start.clone() + &end(reason);
        assert_eq!(repair(Format::OpenaiChat, &sent, &mut Numbers(23)), sent);

        let mixed = start + &deltas(json!([function])) + &end(reason);
        let repaired = repair(Format::OpenaiChat, &mixed, &mut Numbers(23));
        let expected = [["c", "edit", "*** Begin {'a'"], ["d", "f", "{\"a\":1}"]]
            .map(|it| it.map(str::to_owned));
        assert_eq!(calls_of(Format::OpenaiChat, &repaired), expected, "{repaired}");
    }
}

#[test]
fn calls_at_one_index_that_begin_with_a_name_alone_stay_apart() {
    let mut numbers = Numbers(24);
    for _ in 0..300 {
        let mut calls = calls(&mut numbers);
        let mut sent = String::new();
        for call in &mut calls {
            (call.id, call.name) = (None, Some("f".to_owned()));
            sent += &deltas(json!([{ "index": 0, "function": { "name": "f", "arguments": "" } }]));
            for fragment in &call.fragments {
                sent += &deltas(json!([{ "index": 0, "function": { "arguments": fragment } }]));
            }
        }
        sent += &end("tool_calls");
        let repaired = repair(Format::OpenaiChat, &sent, &mut numbers);
        assert_calls(Format::OpenaiChat, &repaired, &calls, &sent);
    }
    // A name in every delta, also behind the arguments, is the name of one call.
    for parts in [&["", "{\"a\":", "1}", ""][..], &["{\"a\":1}", ""]] {
        let delta = |part: &&str| {
            deltas(json!([{ "index": 0, "function": { "name": "f", "arguments": part } }]))
        };
        let sent = parts.iter().map(delta).collect::<String>() + &end("stop");
        let repaired = repair(Format::OpenaiChat, &sent, &mut numbers);
        let call = SentCall {
            id: None,
            name: Some("f".to_owned()),
            fragments: vec!["{\"a\":1}".to_owned()],
        };
        assert_calls(Format::OpenaiChat, &repaired, &[call], &sent);
    }
}

#[test]
fn a_comma_at_the_end_of_a_changed_frame_waits_too() {
    let call = |id: &str, arguments: &str| json!({ "index": 0, "id": id, "function": { "name": "f", "arguments": arguments } });
    let rest = json!({ "index": 0, "function": { "arguments": "}" } });
    let sent = deltas(json!([call("a", "{}")])) + &deltas(json!([call("b", "{\"a\":1,")]));
    let streams = [
        sent.clone() + &deltas(json!([rest])) + &end("tool_calls"),
        sent.clone() + &end("tool_calls"),
        deltas(json!([call("a", "{}")]))
            + &deltas(json!([call("b", "{\"a\":1,"), rest]))
            + &end("stop"),
        deltas(json!([call("a", "{}")]))
            + &chunk(json!({ "tool_calls": [call("b", "{\"a\":1,")] }), Some("tool_calls")),
    ];
    for sent in streams {
        let repaired = repair(Format::OpenaiChat, &sent, &mut Numbers(25));
        let expected = [["a", "f", "{}"], ["b", "f", "{\"a\":1}"]].map(|it| it.map(str::to_owned));
        assert_eq!(calls_of(Format::OpenaiChat, &repaired), expected, "{sent}\n->\n{repaired}");
    }
}

#[test]
fn a_stream_without_a_reason_is_completed_at_its_end_if_only_brackets_are_missing() {
    for (arguments, expected) in [
        ("{\"a\":[\"x\"]}", "{\"a\":[\"x\"]}"),
        ("{\"a\":[\"x\"", "{\"a\":[\"x\"]}"),
        ("{\"a\":\"x\"", "{\"a\":\"x\"}"),
        ("{\"a\":1", "{\"a\":1"),
        ("{\"a\":\"x", "{\"a\":\"x"),
        ("{\"a\":\"x\",", "{\"a\":\"x\","),
        ("{\"a\":", "{\"a\":"),
        ("", ""),
    ] {
        let start = |name: Option<&str>| {
            let function = json!({ "name": name, "arguments": arguments });
            deltas(json!([{ "index": 0, "id": "a", "function": function }]))
        };
        // The last end of a line is missing.
        for done in ["data: [DONE]\n\n", "data: [DONE]\n", "data: [DONE]"] {
            let sent = start(Some("f")) + done;
            let repaired = repair(Format::OpenaiChat, &sent, &mut Numbers(26));
            assert!(repaired.ends_with(done), "{repaired}");
            assert_eq!(calls_of(Format::OpenaiChat, &repaired)[0][2], expected, "{repaired}");
            assert!(arguments != expected || repaired == sent, "{repaired}");
        }
        let failed = start(Some("f")) + "data: {\"error\":{\"code\":502}}\n\ndata: [DONE]\n\n";
        assert_eq!(repair(Format::OpenaiChat, &failed, &mut Numbers(26)), failed);
        let unfinished = start(Some("f"));
        assert_eq!(repair(Format::OpenaiChat, &unfinished, &mut Numbers(26)), unfinished);
    }
    let sent = deltas(json!([{ "index": 0, "id": "a", "function": { "arguments": "{\"a\":1}" } }]));
    let repaired = repair(Format::OpenaiChat, &(sent + "data: [DONE]\n\n"), &mut Numbers(26));
    assert_eq!(calls_of(Format::OpenaiChat, &repaired)[0][1], UNNAMED_TOOL, "{repaired}");
}
