use foxwedge_core::Family;
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    canon::{Citation, Words},
    stream::{
        event::{Head, Opened, Piece},
        frame::Framer,
    },
};

/// An answer with everything in it, as a reader of that format would tell it.
fn rich() -> Vec<Event<'static>> {
    let text = |block, raw| Event::More { block, piece: Piece::Text(Words::inside((raw, true))) };
    let open = |block, kind| Event::Open { block, kind };
    let call =
        |block, id: &'static str, name: &'static str, family, signature: Option<&'static str>| {
            let signature = signature.map(Words::from);
            open(block, Opened::Call { id: Some(id.into()), name: name.into(), family, signature })
        };
    let close = |block| Event::Close { block };
    vec![
        Event::Start(Head {
            id: Some("re\"ply".into()),
            model: Some("model-1".into()),
            created: Some(1_700_000_000),
        }),
        Event::Usage(Usage { input: Some(20), cached: Some(8), ..Usage::default() }),
        open(0, Opened::Reasoning),
        text(0, r"Let me\n"),
        text(0, r"see."),
        Event::More { block: 0, piece: Piece::Signature("c2lnbg==".into()) },
        close(0),
        open(1, Opened::Redacted("ZGF0YQ==".into())),
        close(1),
        open(2, Opened::Text),
        text(2, r#"It is \"20\u00b0\"."#),
        Event::More {
            block: 2,
            piece: Piece::Citation(Citation {
                url: Some("https://a.b/c".into()),
                title: Some("A".into()),
                quote: None,
                span: None,
            }),
        },
        close(2),
        open(3, Opened::Text),
        text(3, "So:"),
        close(3),
        call(4, "call_1", "weather", Family::Function, Some("c2ln")),
        text(4, r#"{\"city\": "#),
        text(4, r#"\"K\u00f6ln\"}"#),
        close(4),
        call(5, "call_2", "patch", Family::Custom, None),
        text(5, r#"*** \"a\"\n"#),
        close(5),
        open(6, Opened::Refusal),
        text(6, "No."),
        close(6),
        Event::Stop(Stop::Calls),
        Event::Usage(Usage {
            input: Some(20),
            cached: Some(8),
            output: Some(30),
            reasoning: Some(9),
            stored: None,
        }),
        Event::End,
    ]
}

/// What a writer makes of events, and what it leaves out.
fn written(from: Wire, to: Wire, events: &[Event<'_>]) -> (Vec<u8>, Vec<&'static str>) {
    let brief = Brief { from: Some(from), seed: "seed".to_owned(), usage: true };
    let mut writer = Writer::new(to, brief);
    let (mut out, mut notes) = (Vec::new(), Notes::default());
    for event in events {
        writer.event(event, &mut out, &mut notes);
    }
    (out, notes.list().iter().map(|note| note.what.name()).collect())
}

/// A stream as text: binary messages as their names and payloads.
fn readable(wire: Wire, bytes: &[u8]) -> String {
    if wire != Wire::Bedrock {
        return String::from_utf8(bytes.to_vec()).expect("text");
    }
    let mut text = String::new();
    let mut framer = Framer::new(wire, usize::MAX);
    let read = framer.push(bytes, &mut |frame| {
        text.push_str(&format!("{} {}\n", frame.name.unwrap_or(""), frame.data));
        Ok(())
    });
    assert_eq!(read, Ok(()));
    text
}

/// Every event as JSON; `[DONE]` is a string.
fn events(wire: Wire, bytes: &[u8]) -> Vec<Json> {
    let text = readable(wire, bytes);
    let data = text.lines().filter_map(|line| match wire {
        Wire::Bedrock => line.split_once(' ').map(|line| line.1),
        _ => line.strip_prefix("data: "),
    });
    data.map(|data| serde_json::from_str(data).unwrap_or(json!(data))).collect()
}

#[test]
fn an_answer_with_everything_is_spelled_as_the_format_does() {
    let table = [
        (Wire::OpenaiChat, include_str!("tests/chat.txt"), "signature reasoning"),
        (
            Wire::OpenaiResponses,
            include_str!("tests/responses.txt"),
            "signature reasoning signature",
        ),
        (Wire::Anthropic, include_str!("tests/anthropic.txt"), "signature refusal"),
        (Wire::Gemini, include_str!("tests/gemini.txt"), "reasoning citation refusal"),
        (Wire::Bedrock, include_str!("tests/bedrock.txt"), "signature refusal usage"),
    ];
    for (wire, expected, lost) in table {
        let (bytes, notes) = written(wire, wire, &rich());
        assert_eq!(readable(wire, &bytes), expected, "{wire:?}");
        assert_eq!(notes.join(" "), lost, "{wire:?}");
    }
}

#[test]
fn seals_go_only_to_their_makers() {
    // Which of signature, redacted data and encrypted text are written, for each maker.
    let table = [
        (Wire::OpenaiChat, ["", "", "", "", ""]),
        (Wire::OpenaiResponses, ["e", "e", "e", "e", "e"]),
        (Wire::Anthropic, ["r", "r", "sr", "r", "sr"]),
        (Wire::Gemini, ["", "", "", "s", ""]),
        (Wire::Bedrock, ["r", "r", "sr", "r", "sr"]),
    ];
    let events = [
        Event::Start(Head::default()),
        Event::Open { block: 0, kind: Opened::Redacted("cmVk".into()) },
        Event::Close { block: 0 },
        Event::Open { block: 1, kind: Opened::Reasoning },
        Event::More { block: 1, piece: Piece::Signature("c2ln".into()) },
        Event::More { block: 1, piece: Piece::Encrypted("ZW5j".into()) },
        Event::Close { block: 1 },
        Event::Stop(Stop::End),
        Event::End,
    ];
    for (to, expected) in table {
        let found = Wire::ALL.map(|from| {
            let text = readable(to, &written(from, to, &events).0);
            let seals = [("s", "c2ln"), ("r", "cmVk"), ("e", "ZW5j")];
            let found = seals.iter().filter(|(_, seal)| text.contains(seal));
            found.map(|(name, _)| *name).collect::<String>()
        });
        assert_eq!(found, expected, "{to:?}");
    }
}

#[test]
fn an_answer_that_breaks_off_ends_as_a_failure() {
    let begun = [
        Event::Start(Head { id: Some("r".into()), ..Head::default() }),
        Event::Open { block: 0, kind: Opened::Text },
        Event::More { block: 0, piece: Piece::Text("whole".into()) },
        Event::Close { block: 0 },
        Event::Open {
            block: 1,
            kind: Opened::Call {
                id: Some("call_1".into()),
                name: "f".into(),
                family: Family::Function,
                signature: None,
            },
        },
        Event::More { block: 1, piece: Piece::Text("{\"a\":".into()) },
    ];
    let failed = Event::Failed(Failure {
        kind: Trouble::RateLimit,
        message: "Slow \"down\"".into(),
        code: None,
    });
    let cut = "the stream ended before the answer did";
    for wire in Wire::ALL {
        for (last, message) in [(failed.clone(), "Slow \"down\""), (Event::Cut, cut)] {
            let mut said = begun.to_vec();
            let (before, _) = written(wire, wire, &said);
            said.push(last.clone());
            let (bytes, _) = written(wire, wire, &said);
            let added = &bytes[before.len()..];
            let events = events(wire, added);
            let [event] = &*events else { panic!("{wire:?}: {events:?}") };
            let error = match wire {
                Wire::OpenaiChat | Wire::Anthropic | Wire::Gemini => &event["error"],
                Wire::OpenaiResponses => {
                    assert_eq!(event["type"], "response.failed");
                    let response = &event["response"];
                    assert_eq!(response["status"], "failed");
                    // The text, and not the call.
                    let output = response["output"].as_array().expect("a list");
                    assert_eq!(output.len(), 1, "{response}");
                    assert_eq!(output[0]["content"][0]["text"], "whole");
                    &response["error"]
                }
                Wire::Bedrock => event,
            };
            assert_eq!(error["message"], message, "{wire:?}");
            let name = match (wire, message == cut) {
                (Wire::OpenaiChat | Wire::Anthropic, false) => ("type", json!("rate_limit_error")),
                (Wire::OpenaiChat, true) => ("type", json!("server_error")),
                (Wire::Anthropic, true) => ("type", json!("api_error")),
                (Wire::OpenaiResponses, false) => ("code", json!("rate_limit_exceeded")),
                (Wire::OpenaiResponses, true) => ("code", json!("server_error")),
                (Wire::Gemini, false) => ("code", json!(429)),
                (Wire::Gemini, true) => ("code", json!(500)),
                (Wire::Bedrock, false) => ("__type", json!("ThrottlingException")),
                (Wire::Bedrock, true) => ("__type", json!("InternalServerException")),
            };
            assert_eq!(error[name.0], name.1, "{wire:?}");
            let text = readable(wire, added);
            let framed = match wire {
                Wire::Anthropic => text.starts_with("event: error\n"),
                Wire::Bedrock => text.contains("Exception {"),
                _ => !text.contains("[DONE]"),
            };
            assert!(framed, "{text}");
        }
    }
}

#[test]
fn gemini_leaves_out_calls_that_are_none() {
    let call = |arguments: &'static str, family, stop| {
        let kind = Opened::Call { id: None, name: "f".into(), family, signature: None };
        let events = [
            Event::Start(Head::default()),
            Event::Open { block: 0, kind },
            Event::More { block: 0, piece: Piece::Text(arguments.into()) },
            Event::Close { block: 0 },
            Event::Stop(stop),
            Event::End,
        ];
        let (bytes, notes) = written(Wire::OpenaiChat, Wire::Gemini, &events);
        let events = self::events(Wire::Gemini, &bytes);
        let part = |event: &Json| event["candidates"][0]["content"]["parts"][0].clone();
        let arguments = part(&events[0])["functionCall"]["args"].clone();
        let reason = events[events.len() - 1]["candidates"][0]["finishReason"].clone();
        (arguments, reason, notes.join(" "))
    };
    let table = [
        ("{\n \"a\" : 1\r\n}", Family::Function, Stop::Calls, json!({"a": 1}), "STOP", ""),
        ("{}", Family::Function, Stop::Calls, json!({}), "STOP", ""),
        ("a\n\"b\"", Family::Custom, Stop::Calls, json!({"input": "a\n\"b\""}), "STOP", ""),
        (
            "{\"a\":",
            Family::Function,
            Stop::Calls,
            Json::Null,
            "MALFORMED_FUNCTION_CALL",
            "arguments",
        ),
        ("[1]", Family::Function, Stop::End, Json::Null, "MALFORMED_FUNCTION_CALL", "arguments"),
        ("{\"a\":", Family::Function, Stop::Length, Json::Null, "MAX_TOKENS", "arguments"),
    ];
    for (arguments, family, stop, expected, reason, lost) in table {
        let found = call(arguments, family, stop);
        assert_eq!(found, (expected, json!(reason), lost.to_owned()), "{arguments}");
    }
}

#[test]
fn responses_say_why_they_are_incomplete() {
    let table = [
        (Stop::End, "completed", Json::Null),
        (Stop::Calls, "completed", Json::Null),
        (Stop::Length, "incomplete", json!({"reason": "max_output_tokens"})),
        (Stop::ContextFull, "incomplete", json!({"reason": "max_output_tokens"})),
        (Stop::Refusal, "incomplete", json!({"reason": "content_filter"})),
    ];
    let kind = Opened::Call {
        id: Some("call_1".into()),
        name: "f".into(),
        family: Family::Function,
        signature: None,
    };
    for (stop, status, details) in table {
        for (arguments, item) in [("{\"a\"", "incomplete"), ("{}", "completed")] {
            let (bytes, _) = written(
                Wire::OpenaiChat,
                Wire::OpenaiResponses,
                &[
                    Event::Start(Head::default()),
                    Event::Open { block: 0, kind: kind.clone() },
                    Event::More { block: 0, piece: Piece::Text(arguments.into()) },
                    Event::Close { block: 0 },
                    Event::Stop(stop.clone()),
                    Event::End,
                ],
            );
            let events = events(Wire::OpenaiResponses, &bytes);
            let last = &events[events.len() - 1];
            assert_eq!(last["type"], format!("response.{status}"));
            assert_eq!(last["response"]["status"], status);
            assert_eq!(last["response"]["incomplete_details"], details);
            assert_eq!(last["response"]["output"][0]["status"], item);
            let numbers = events.iter().map(|event| event["sequence_number"].as_u64());
            assert!(numbers.eq((0..events.len() as u64).map(Some)));
        }
    }
}

#[test]
fn a_stop_at_a_text_is_told_where_there_is_a_place_for_it() {
    let stop = Stop::Sequence(Some("\"END\"".into()));
    let events = [Event::Start(Head::default()), Event::Stop(stop), Event::End];
    for wire in Wire::ALL {
        let (bytes, notes) = written(wire, wire, &events);
        let told = readable(wire, &bytes).contains(r#""stop_sequence":"\"END\"""#);
        assert_eq!(told, matches!(wire, Wire::Anthropic | Wire::Bedrock), "{wire:?}");
        assert_eq!(notes.is_empty(), told, "{wire:?}");
    }
}

#[test]
fn chat_tells_figures_only_to_those_who_asked() {
    let brief = Brief { from: None, seed: String::new(), usage: false };
    let mut writer = Writer::new(Wire::OpenaiChat, brief);
    let (mut out, mut notes) = (Vec::new(), Notes::default());
    for event in rich() {
        writer.event(&event, &mut out, &mut notes);
    }
    let text = readable(Wire::OpenaiChat, &out);
    assert!(!text.contains("\"usage\"") && text.ends_with("}]}\n\ndata: [DONE]\n\n"), "{text}");
}

/// The beginning of a message waits for the figures that come with it, and for nothing else.
#[test]
fn anthropics_beginning_waits_for_its_figures_only() {
    let brief = Brief { from: None, seed: String::new(), usage: true };
    let mut writer = Writer::new(Wire::Anthropic, brief);
    let (mut out, mut notes) = (Vec::new(), Notes::default());
    writer.event(&Event::Start(Head::default()), &mut out, &mut notes);
    let usage = Usage { input: Some(3), ..Usage::default() };
    writer.event(&Event::Usage(usage), &mut out, &mut notes);
    assert!(out.is_empty());
    writer.settle(&mut out);
    let events = events(Wire::Anthropic, &out);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 3);
    writer.settle(&mut out);
    assert_eq!(self::events(Wire::Anthropic, &out).len(), 1);
}

#[test]
fn failed_responses_use_openais_own_words() {
    let table = [
        (Wire::Anthropic, Trouble::Overloaded, Some("overloaded_error"), "server_error", 1),
        (Wire::Gemini, Trouble::Request, Some("INVALID_ARGUMENT"), "invalid_prompt", 1),
        (Wire::Bedrock, Trouble::RateLimit, None, "rate_limit_exceeded", 0),
        (Wire::OpenaiResponses, Trouble::Request, Some("bio_policy"), "bio_policy", 0),
    ];
    for (from, kind, code, expected, lost) in table {
        let failure = Failure { kind, message: "m".into(), code: code.map(Words::from) };
        let said = [Event::Start(Head::default()), Event::Failed(failure)];
        let (bytes, notes) = written(from, Wire::OpenaiResponses, &said);
        let events = events(Wire::OpenaiResponses, &bytes);
        assert_eq!(events[2]["response"]["error"], json!({"code": expected, "message": "m"}));
        assert_eq!(notes.len(), lost, "{from:?}");
    }
}

#[test]
fn thoughts_are_paragraphs_in_chat() {
    let mut said = vec![Event::Start(Head::default())];
    for (block, words) in ["a", "", "b"].into_iter().enumerate() {
        let block = block as u32;
        said.push(Event::Open { block, kind: Opened::Reasoning });
        if !words.is_empty() {
            said.push(Event::More { block, piece: Piece::Text(words.into()) });
        }
        said.push(Event::Close { block });
    }
    let (bytes, _) = written(Wire::Anthropic, Wire::OpenaiChat, &said);
    let deltas = events(Wire::OpenaiChat, &bytes);
    let thoughts = deltas.iter().map(|event| &event["choices"][0]["delta"]["reasoning_content"]);
    let thoughts: Vec<&str> = thoughts.filter_map(Json::as_str).collect();
    assert_eq!(thoughts, ["a", "\n\nb"]);
}
