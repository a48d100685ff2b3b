use foxwedge_core::CallFamily;
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    model::{JsonText, TextCitation},
    stream::{
        event::{BlockDelta, BlockStart, ReplyHead},
        frame::StreamFramer,
    },
};

/// An answer with everything in it, as a reader of that format would tell it.
fn rich() -> Vec<StreamEvent<'static>> {
    let text = |block, raw| StreamEvent::Delta {
        block,
        delta: BlockDelta::Text(JsonText::from_json((raw, true))),
    };
    let open = |block, kind| StreamEvent::Open { block, kind };
    let call = |block,
                id: &'static str,
                name: &'static str,
                family,
                signature: Option<&'static str>| {
        let signature = signature.map(JsonText::from);
        open(block, BlockStart::Call { id: Some(id.into()), name: name.into(), family, signature })
    };
    let close = |block| StreamEvent::Close { block };
    vec![
        StreamEvent::Start(ReplyHead {
            id: Some("re\"ply".into()),
            model: Some("model-1".into()),
            created: Some(1_700_000_000),
        }),
        StreamEvent::Usage(TokenUsage {
            input: Some(20),
            cache_read: Some(8),
            ..TokenUsage::default()
        }),
        open(0, BlockStart::Reasoning),
        text(0, r"Let me\n"),
        text(0, r"see."),
        StreamEvent::Delta { block: 0, delta: BlockDelta::Signature("c2lnbg==".into()) },
        close(0),
        open(1, BlockStart::Redacted("ZGF0YQ==".into())),
        close(1),
        open(2, BlockStart::Text),
        text(2, r#"It is \"20\u00b0\"."#),
        StreamEvent::Delta {
            block: 2,
            delta: BlockDelta::Citation(TextCitation {
                url: Some("https://a.b/c".into()),
                title: Some("A".into()),
                quote: None,
                span: None,
            }),
        },
        close(2),
        open(3, BlockStart::Text),
        text(3, "So:"),
        close(3),
        call(4, "call_1", "weather", CallFamily::Function, Some("c2ln")),
        text(4, r#"{\"city\": "#),
        text(4, r#"\"K\u00f6ln\"}"#),
        close(4),
        call(5, "call_2", "patch", CallFamily::Custom, None),
        text(5, r#"*** \"a\"\n"#),
        close(5),
        open(6, BlockStart::Refusal),
        text(6, "No."),
        close(6),
        StreamEvent::Stop(StopReason::ToolCalls),
        StreamEvent::Usage(TokenUsage {
            input: Some(20),
            cache_read: Some(8),
            output: Some(30),
            reasoning: Some(9),
            cache_written: None,
        }),
        StreamEvent::End,
    ]
}

/// What a writer makes of events, and what it leaves out.
fn written(from: Format, to: Format, events: &[StreamEvent<'_>]) -> (Vec<u8>, Vec<&'static str>) {
    let brief = StreamWriterOptions { from: Some(from), seed: "seed".to_owned(), usage: true };
    let mut writer = StreamWriter::new(to, brief);
    let (mut out, mut notes) = (Vec::new(), LossNotes::default());
    for event in events {
        writer.write_event(event, &mut out, &mut notes);
    }
    (out, notes.list().iter().map(|note| note.kind.name()).collect())
}

/// A stream as text: binary messages as their names and payloads.
fn readable(wire: Format, bytes: &[u8]) -> String {
    if wire != Format::Bedrock {
        return String::from_utf8(bytes.to_vec()).expect("text");
    }
    let mut text = String::new();
    let mut framer = StreamFramer::new(wire, usize::MAX);
    let read = framer.push(bytes, &mut |frame| {
        text.push_str(&format!("{} {}\n", frame.name.unwrap_or(""), frame.data));
        Ok(())
    });
    assert_eq!(read, Ok(()));
    text
}

/// Every event as JSON; `[DONE]` is a string.
fn events(wire: Format, bytes: &[u8]) -> Vec<Json> {
    let text = readable(wire, bytes);
    let data = text.lines().filter_map(|line| match wire {
        Format::Bedrock => line.split_once(' ').map(|line| line.1),
        _ => line.strip_prefix("data: "),
    });
    data.map(|data| serde_json::from_str(data).unwrap_or(json!(data))).collect()
}

#[test]
fn an_answer_with_everything_is_spelled_as_the_format_does() {
    let table = [
        (Format::OpenaiChat, include_str!("tests/chat.txt"), "signature reasoning"),
        (
            Format::OpenaiResponses,
            include_str!("tests/responses.txt"),
            "signature reasoning signature",
        ),
        (Format::Anthropic, include_str!("tests/anthropic.txt"), "signature refusal"),
        (Format::Gemini, include_str!("tests/gemini.txt"), "reasoning citation refusal"),
        (Format::Bedrock, include_str!("tests/bedrock.txt"), "signature refusal usage"),
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
        (Format::OpenaiChat, ["", "", "", "", ""]),
        (Format::OpenaiResponses, ["e", "e", "e", "e", "e"]),
        (Format::Anthropic, ["r", "r", "sr", "r", "sr"]),
        (Format::Gemini, ["", "", "", "s", ""]),
        (Format::Bedrock, ["r", "r", "sr", "r", "sr"]),
    ];
    let events = [
        StreamEvent::Start(ReplyHead::default()),
        StreamEvent::Open { block: 0, kind: BlockStart::Redacted("cmVk".into()) },
        StreamEvent::Close { block: 0 },
        StreamEvent::Open { block: 1, kind: BlockStart::Reasoning },
        StreamEvent::Delta { block: 1, delta: BlockDelta::Signature("c2ln".into()) },
        StreamEvent::Delta { block: 1, delta: BlockDelta::Encrypted("ZW5j".into()) },
        StreamEvent::Close { block: 1 },
        StreamEvent::Stop(StopReason::End),
        StreamEvent::End,
    ];
    for (to, expected) in table {
        let found = Format::ALL.map(|from| {
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
        StreamEvent::Start(ReplyHead { id: Some("r".into()), ..ReplyHead::default() }),
        StreamEvent::Open { block: 0, kind: BlockStart::Text },
        StreamEvent::Delta { block: 0, delta: BlockDelta::Text("whole".into()) },
        StreamEvent::Close { block: 0 },
        StreamEvent::Open {
            block: 1,
            kind: BlockStart::Call {
                id: Some("call_1".into()),
                name: "f".into(),
                family: CallFamily::Function,
                signature: None,
            },
        },
        StreamEvent::Delta { block: 1, delta: BlockDelta::Text("{\"a\":".into()) },
    ];
    let failed = StreamEvent::Failed(ProviderError {
        kind: ProviderErrorKind::RateLimit,
        message: "Slow \"down\"".into(),
        code: None,
    });
    let cut = "the stream ended before the answer did";
    for wire in Format::ALL {
        for (last, message) in [(failed.clone(), "Slow \"down\""), (StreamEvent::Truncated, cut)] {
            let mut said = begun.to_vec();
            let (before, _) = written(wire, wire, &said);
            said.push(last.clone());
            let (bytes, _) = written(wire, wire, &said);
            let added = &bytes[before.len()..];
            let events = events(wire, added);
            let [event] = &*events else { panic!("{wire:?}: {events:?}") };
            let error = match wire {
                Format::OpenaiChat | Format::Anthropic | Format::Gemini => &event["error"],
                Format::OpenaiResponses => {
                    assert_eq!(event["type"], "response.failed");
                    let response = &event["response"];
                    assert_eq!(response["status"], "failed");
                    // The text, and not the call.
                    let output = response["output"].as_array().expect("a list");
                    assert_eq!(output.len(), 1, "{response}");
                    assert_eq!(output[0]["content"][0]["text"], "whole");
                    &response["error"]
                }
                Format::Bedrock => event,
            };
            assert_eq!(error["message"], message, "{wire:?}");
            let name = match (wire, message == cut) {
                (Format::OpenaiChat | Format::Anthropic, false) => {
                    ("type", json!("rate_limit_error"))
                }
                (Format::OpenaiChat, true) => ("type", json!("server_error")),
                (Format::Anthropic, true) => ("type", json!("api_error")),
                (Format::OpenaiResponses, false) => ("code", json!("rate_limit_exceeded")),
                (Format::OpenaiResponses, true) => ("code", json!("server_error")),
                (Format::Gemini, false) => ("code", json!(429)),
                (Format::Gemini, true) => ("code", json!(500)),
                (Format::Bedrock, false) => ("__type", json!("ThrottlingException")),
                (Format::Bedrock, true) => ("__type", json!("InternalServerException")),
            };
            assert_eq!(error[name.0], name.1, "{wire:?}");
            let text = readable(wire, added);
            let framed = match wire {
                Format::Anthropic => text.starts_with("event: error\n"),
                Format::Bedrock => text.contains("Exception {"),
                _ => !text.contains("[DONE]"),
            };
            assert!(framed, "{text}");
        }
    }
}

#[test]
fn gemini_leaves_out_calls_that_are_none() {
    let call = |arguments: &'static str, family, stop| {
        let kind = BlockStart::Call { id: None, name: "f".into(), family, signature: None };
        let events = [
            StreamEvent::Start(ReplyHead::default()),
            StreamEvent::Open { block: 0, kind },
            StreamEvent::Delta { block: 0, delta: BlockDelta::Text(arguments.into()) },
            StreamEvent::Close { block: 0 },
            StreamEvent::Stop(stop),
            StreamEvent::End,
        ];
        let (bytes, notes) = written(Format::OpenaiChat, Format::Gemini, &events);
        let events = self::events(Format::Gemini, &bytes);
        let part = |event: &Json| event["candidates"][0]["content"]["parts"][0].clone();
        let arguments = part(&events[0])["functionCall"]["args"].clone();
        let reason = events[events.len() - 1]["candidates"][0]["finishReason"].clone();
        (arguments, reason, notes.join(" "))
    };
    let table = [
        (
            "{\n \"a\" : 1\r\n}",
            CallFamily::Function,
            StopReason::ToolCalls,
            json!({"a": 1}),
            "STOP",
            "",
        ),
        ("{}", CallFamily::Function, StopReason::ToolCalls, json!({}), "STOP", ""),
        (
            "a\n\"b\"",
            CallFamily::Custom,
            StopReason::ToolCalls,
            json!({"input": "a\n\"b\""}),
            "STOP",
            "",
        ),
        (
            "{\"a\":",
            CallFamily::Function,
            StopReason::ToolCalls,
            Json::Null,
            "MALFORMED_FUNCTION_CALL",
            "arguments",
        ),
        (
            "[1]",
            CallFamily::Function,
            StopReason::End,
            Json::Null,
            "MALFORMED_FUNCTION_CALL",
            "arguments",
        ),
        (
            "{\"a\":",
            CallFamily::Function,
            StopReason::Length,
            Json::Null,
            "MAX_TOKENS",
            "arguments",
        ),
    ];
    for (arguments, family, stop, expected, reason, lost) in table {
        let found = call(arguments, family, stop);
        assert_eq!(found, (expected, json!(reason), lost.to_owned()), "{arguments}");
    }
}

#[test]
fn responses_say_why_they_are_incomplete() {
    let table = [
        (StopReason::End, "completed", Json::Null),
        (StopReason::ToolCalls, "completed", Json::Null),
        (StopReason::Length, "incomplete", json!({"reason": "max_output_tokens"})),
        (StopReason::ContextFull, "incomplete", json!({"reason": "max_output_tokens"})),
        (StopReason::Refusal, "incomplete", json!({"reason": "content_filter"})),
    ];
    let kind = BlockStart::Call {
        id: Some("call_1".into()),
        name: "f".into(),
        family: CallFamily::Function,
        signature: None,
    };
    for (stop, status, details) in table {
        for (arguments, item) in [("{\"a\"", "incomplete"), ("{}", "completed")] {
            let (bytes, _) = written(
                Format::OpenaiChat,
                Format::OpenaiResponses,
                &[
                    StreamEvent::Start(ReplyHead::default()),
                    StreamEvent::Open { block: 0, kind: kind.clone() },
                    StreamEvent::Delta { block: 0, delta: BlockDelta::Text(arguments.into()) },
                    StreamEvent::Close { block: 0 },
                    StreamEvent::Stop(stop.clone()),
                    StreamEvent::End,
                ],
            );
            let events = events(Format::OpenaiResponses, &bytes);
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
    let stop = StopReason::Sequence(Some("\"END\"".into()));
    let events =
        [StreamEvent::Start(ReplyHead::default()), StreamEvent::Stop(stop), StreamEvent::End];
    for wire in Format::ALL {
        let (bytes, notes) = written(wire, wire, &events);
        let told = readable(wire, &bytes).contains(r#""stop_sequence":"\"END\"""#);
        assert_eq!(told, matches!(wire, Format::Anthropic | Format::Bedrock), "{wire:?}");
        assert_eq!(notes.is_empty(), told, "{wire:?}");
    }
}

#[test]
fn chat_tells_figures_only_to_those_who_asked() {
    let brief = StreamWriterOptions { from: None, seed: String::new(), usage: false };
    let mut writer = StreamWriter::new(Format::OpenaiChat, brief);
    let (mut out, mut notes) = (Vec::new(), LossNotes::default());
    for event in rich() {
        writer.write_event(&event, &mut out, &mut notes);
    }
    let text = readable(Format::OpenaiChat, &out);
    assert!(!text.contains("\"usage\"") && text.ends_with("}]}\n\ndata: [DONE]\n\n"), "{text}");
}

/// The beginning of a message waits for the figures that come with it, and for nothing else.
#[test]
fn anthropics_beginning_waits_for_its_figures_only() {
    let brief = StreamWriterOptions { from: None, seed: String::new(), usage: true };
    let mut writer = StreamWriter::new(Format::Anthropic, brief);
    let (mut out, mut notes) = (Vec::new(), LossNotes::default());
    writer.write_event(&StreamEvent::Start(ReplyHead::default()), &mut out, &mut notes);
    let usage = TokenUsage { input: Some(3), ..TokenUsage::default() };
    writer.write_event(&StreamEvent::Usage(usage), &mut out, &mut notes);
    assert!(out.is_empty());
    writer.end_frame(&mut out);
    let events = events(Format::Anthropic, &out);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 3);
    writer.end_frame(&mut out);
    assert_eq!(self::events(Format::Anthropic, &out).len(), 1);
}

#[test]
fn failed_responses_use_openais_own_words() {
    let table = [
        (
            Format::Anthropic,
            ProviderErrorKind::Overloaded,
            Some("overloaded_error"),
            "server_error",
            1,
        ),
        (
            Format::Gemini,
            ProviderErrorKind::InvalidRequest,
            Some("INVALID_ARGUMENT"),
            "invalid_prompt",
            1,
        ),
        (Format::Bedrock, ProviderErrorKind::RateLimit, None, "rate_limit_exceeded", 0),
        (
            Format::OpenaiResponses,
            ProviderErrorKind::InvalidRequest,
            Some("bio_policy"),
            "bio_policy",
            0,
        ),
    ];
    for (from, kind, code, expected, lost) in table {
        let failure = ProviderError { kind, message: "m".into(), code: code.map(JsonText::from) };
        let said = [StreamEvent::Start(ReplyHead::default()), StreamEvent::Failed(failure)];
        let (bytes, notes) = written(from, Format::OpenaiResponses, &said);
        let events = events(Format::OpenaiResponses, &bytes);
        assert_eq!(events[2]["response"]["error"], json!({"code": expected, "message": "m"}));
        assert_eq!(notes.len(), lost, "{from:?}");
    }
}

#[test]
fn thoughts_are_paragraphs_in_chat() {
    let mut said = vec![StreamEvent::Start(ReplyHead::default())];
    for (block, words) in ["a", "", "b"].into_iter().enumerate() {
        let block = block as u32;
        said.push(StreamEvent::Open { block, kind: BlockStart::Reasoning });
        if !words.is_empty() {
            said.push(StreamEvent::Delta { block, delta: BlockDelta::Text(words.into()) });
        }
        said.push(StreamEvent::Close { block });
    }
    let (bytes, _) = written(Format::Anthropic, Format::OpenaiChat, &said);
    let deltas = events(Format::OpenaiChat, &bytes);
    let thoughts = deltas.iter().map(|event| &event["choices"][0]["delta"]["reasoning_content"]);
    let thoughts: Vec<&str> = thoughts.filter_map(Json::as_str).collect();
    assert_eq!(thoughts, ["a", "\n\nb"]);
}
