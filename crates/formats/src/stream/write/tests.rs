use foxwedge_core::CallFamily;
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    conversation::{
        JsonText, ProviderError, ProviderErrorKind, StopReason, TextCitation, TokenUsage,
    },
    event::{BlockDelta, BlockStart, ReplyHead},
    frame::StreamFramer,
};

/// The events of a reply with every kind of content.
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

/// The output of a writer for these events, and its losses.
fn write_events(
    from: Format,
    to: Format,
    events: &[StreamEvent<'_>],
) -> (Vec<u8>, Vec<&'static str>) {
    let options = StreamWriterOptions { from: Some(from), seed: "seed".to_owned(), usage: true };
    let mut writer = StreamWriter::new(to, options);
    let (mut out, mut notes) = (Vec::new(), LossNotes::default());
    for event in events {
        writer.write_event(event, &mut out, &mut notes);
    }
    (out, notes.list().iter().map(|note| note.kind.name()).collect())
}

/// A stream as text: binary messages as their names and payloads.
fn readable(format: Format, bytes: &[u8]) -> String {
    if format != Format::Bedrock {
        return String::from_utf8(bytes.to_vec()).expect("text");
    }
    let mut text = String::new();
    let mut framer = StreamFramer::new(format, usize::MAX);
    let read = framer.push(bytes, &mut |frame| {
        text.push_str(&format!("{} {}\n", frame.name.unwrap_or(""), frame.data));
        Ok(())
    });
    assert_eq!(read, Ok(()));
    text
}

/// Every event as JSON; `[DONE]` is a string.
fn events(format: Format, bytes: &[u8]) -> Vec<Json> {
    let text = readable(format, bytes);
    let data = text.lines().filter_map(|line| match format {
        Format::Bedrock => line.split_once(' ').map(|line| line.1),
        _ => line.strip_prefix("data: "),
    });
    data.map(|data| serde_json::from_str(data).unwrap_or(json!(data))).collect()
}

#[test]
fn full_reply_is_written_in_every_format() {
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
    for (format, expected, losses) in table {
        let (bytes, notes) = write_events(format, format, &rich());
        assert_eq!(readable(format, &bytes), expected, "{format:?}");
        assert_eq!(notes.join(" "), losses, "{format:?}");
    }
}

#[test]
fn signatures_are_only_written_for_their_own_provider() {
    // Which of signature, redacted data and encrypted text are written, per source format.
    let table = [
        (Format::OpenaiChat, ["", "", "", "", "", ""]),
        (Format::OpenaiResponses, ["e", "e", "e", "e", "e", "e"]),
        (Format::Anthropic, ["r", "r", "sr", "r", "sr", "r"]),
        (Format::Gemini, ["", "", "", "s", "", ""]),
        (Format::Bedrock, ["r", "r", "sr", "r", "sr", "r"]),
        (Format::GeminiInteractions, ["", "", "", "", "", "s"]),
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
            let text = readable(to, &write_events(from, to, &events).0);
            let signatures = [("s", "c2ln"), ("r", "cmVk"), ("e", "ZW5j")];
            let found = signatures.iter().filter(|(_, signature)| text.contains(signature));
            found.map(|(name, _)| *name).collect::<String>()
        });
        assert_eq!(found, expected, "{to:?}");
    }
}

#[test]
fn truncated_reply_ends_with_a_failure() {
    let start = [
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
    let truncated = "the stream ended before the response was complete";
    for format in Format::ALL {
        for (last, message) in
            [(failed.clone(), "Slow \"down\""), (StreamEvent::Truncated, truncated)]
        {
            let mut input = start.to_vec();
            let (before, _) = write_events(format, format, &input);
            input.push(last.clone());
            let (bytes, _) = write_events(format, format, &input);
            let added = &bytes[before.len()..];
            let events = events(format, added);
            let [event] = &*events else { panic!("{format:?}: {events:?}") };
            let error = match format {
                Format::OpenaiChat
                | Format::Anthropic
                | Format::Gemini
                | Format::GeminiInteractions => &event["error"],
                Format::OpenaiResponses => {
                    assert_eq!(event["type"], "response.failed");
                    let response = &event["response"];
                    assert_eq!(response["status"], "failed");
                    // Only the text, not the call.
                    let output = response["output"].as_array().expect("a list");
                    assert_eq!(output.len(), 1, "{response}");
                    assert_eq!(output[0]["content"][0]["text"], "whole");
                    &response["error"]
                }
                Format::Bedrock => event,
            };
            assert_eq!(error["message"], message, "{format:?}");
            let name = match (format, message == truncated) {
                (Format::OpenaiChat | Format::Anthropic, false) => {
                    ("type", json!("rate_limit_error"))
                }
                (Format::OpenaiChat, true) => ("type", json!("server_error")),
                (Format::Anthropic, true) => ("type", json!("api_error")),
                (Format::OpenaiResponses, false) => ("code", json!("rate_limit_exceeded")),
                (Format::OpenaiResponses, true) => ("code", json!("server_error")),
                (Format::Gemini, false) => ("code", json!(429)),
                (Format::Gemini, true) => ("code", json!(500)),
                (Format::GeminiInteractions, false) => ("code", json!("resource_exhausted")),
                (Format::GeminiInteractions, true) => ("code", json!("internal")),
                (Format::Bedrock, false) => ("__type", json!("ThrottlingException")),
                (Format::Bedrock, true) => ("__type", json!("InternalServerException")),
            };
            assert_eq!(error[name.0], name.1, "{format:?}");
            let text = readable(format, added);
            let framed = match format {
                Format::Anthropic | Format::GeminiInteractions => {
                    text.starts_with("event: error\n")
                }
                Format::Bedrock => text.contains("Exception {"),
                _ => !text.contains("[DONE]"),
            };
            assert!(framed, "{text}");
        }
    }
}

#[test]
fn gemini_leaves_out_malformed_calls() {
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
        let (bytes, notes) = write_events(Format::OpenaiChat, Format::Gemini, &events);
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
    for (arguments, family, stop, expected, reason, losses) in table {
        let found = call(arguments, family, stop);
        assert_eq!(found, (expected, json!(reason), losses.to_owned()), "{arguments}");
    }
}

#[test]
fn incomplete_responses_have_a_reason() {
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
            let (bytes, _) = write_events(
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
fn stop_sequence_is_written_if_the_format_has_a_field() {
    let stop = StopReason::Sequence(Some("\"END\"".into()));
    let events =
        [StreamEvent::Start(ReplyHead::default()), StreamEvent::Stop(stop), StreamEvent::End];
    for format in Format::ALL {
        let (bytes, notes) = write_events(format, format, &events);
        let is_written = readable(format, &bytes).contains(r#""stop_sequence":"\"END\"""#);
        assert_eq!(is_written, matches!(format, Format::Anthropic | Format::Bedrock), "{format:?}");
        assert_eq!(notes.is_empty(), is_written, "{format:?}");
    }
}

#[test]
fn chat_writes_usage_only_on_request() {
    let options = StreamWriterOptions { from: None, seed: String::new(), usage: false };
    let mut writer = StreamWriter::new(Format::OpenaiChat, options);
    let (mut out, mut notes) = (Vec::new(), LossNotes::default());
    for event in rich() {
        writer.write_event(&event, &mut out, &mut notes);
    }
    let text = readable(Format::OpenaiChat, &out);
    assert!(!text.contains("\"usage\"") && text.ends_with("}]}\n\ndata: [DONE]\n\n"), "{text}");
}

/// The start of a message waits for the usage in its frame, and for nothing else.
#[test]
fn anthropic_start_waits_only_for_its_usage() {
    let options = StreamWriterOptions { from: None, seed: String::new(), usage: true };
    let mut writer = StreamWriter::new(Format::Anthropic, options);
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
fn failed_responses_use_openai_error_codes() {
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
    for (from, kind, code, expected, losses) in table {
        let error = ProviderError { kind, message: "m".into(), code: code.map(Into::into) };
        let input = [StreamEvent::Start(ReplyHead::default()), StreamEvent::Failed(error)];
        let (bytes, notes) = write_events(from, Format::OpenaiResponses, &input);
        let events = events(Format::OpenaiResponses, &bytes);
        assert_eq!(events[2]["response"]["error"], json!({"code": expected, "message": "m"}));
        assert_eq!(notes.len(), losses, "{from:?}");
    }
}

#[test]
fn reasoning_blocks_become_paragraphs_in_chat() {
    let mut input = vec![StreamEvent::Start(ReplyHead::default())];
    for (block, text) in ["a", "", "b"].into_iter().enumerate() {
        let block = block as u32;
        input.push(StreamEvent::Open { block, kind: BlockStart::Reasoning });
        if !text.is_empty() {
            input.push(StreamEvent::Delta { block, delta: BlockDelta::Text(text.into()) });
        }
        input.push(StreamEvent::Close { block });
    }
    let (bytes, _) = write_events(Format::Anthropic, Format::OpenaiChat, &input);
    let deltas = events(Format::OpenaiChat, &bytes);
    let thoughts = deltas.iter().map(|event| &event["choices"][0]["delta"]["reasoning_content"]);
    let thoughts: Vec<&str> = thoughts.filter_map(Json::as_str).collect();
    assert_eq!(thoughts, ["a", "\n\nb"]);
}
