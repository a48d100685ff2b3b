mod line_ends;
mod reply_losses;

use std::borrow::Cow;

use foxwedge_core::CallFamily;
use serde_json::Value as Json;

use super::*;
use crate::{
    model::{
        ContentPart, JsonText, ModelPart, ModelReply, PartNotes, ReasoningPart, ReasoningSignature,
        StopReason, TextCitation, TokenUsage, ToolCallPart, encode_reply,
    },
    stream::{
        collect,
        collect::CollectedEnding,
        event::owned::borrowed_text,
        event::{BlockDelta, BlockStart},
    },
};

fn text(content: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(content.into()))
}

fn refusal(content: &'static str) -> ModelPart<'static> {
    text(content).with_notes(PartNotes { refusal: true, ..PartNotes::default() })
}

fn cited(
    content: &'static str,
    quote: Option<&'static str>,
    span: Option<(u64, u64)>,
) -> ModelPart<'static> {
    let citation = TextCitation {
        url: Some("https://a.b/".into()),
        title: Some("A \"title\"".into()),
        quote: quote.map(JsonText::from),
        span,
    };
    text(content).with_notes(PartNotes { citations: vec![citation], ..PartNotes::default() })
}

fn thought(text: &'static str, signature: ReasoningSignature<'static>) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Reasoning(ReasoningPart { text: text.into(), signature }))
}

fn call(id: &'static str, family: CallFamily, arguments: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::ToolCall(ToolCallPart {
        id: Some(Cow::Borrowed(id)),
        name: Cow::Borrowed("lookup"),
        family,
        arguments: arguments.into(),
        signature: None,
    }))
}

fn signed_call(id: &'static str, arguments: &'static str) -> ModelPart<'static> {
    let ContentPart::ToolCall(call) = call(id, CallFamily::Function, arguments).into_content()
    else {
        panic!("a call");
    };
    ModelPart::new(ContentPart::ToolCall(ToolCallPart {
        signature: Some("c2lnbg==".into()),
        ..call
    }))
}

/// A reply with everything that the format can hold.
fn rich(format: Format) -> ModelReply<'static> {
    let function = CallFamily::Function;
    let signed = || ReasoningSignature::Signed("c2ln".into());
    let redacted = || ReasoningSignature::Redacted("cmVk".into());
    let quote = Some("he said \"so\"");
    let parts = match format {
        Format::OpenaiChat => vec![
            thought("Hm.\n", ReasoningSignature::Unsigned),
            cited("It is \"20°\" 𝄞.", None, Some((3, 8))),
            refusal("No."),
            signed_call("call_1", r#"{"city": "Köln"}"#),
            call("call_2", function, "{}"),
            call("call_3", CallFamily::Custom, "*** \"a\"\n\\"),
        ],
        Format::OpenaiResponses => vec![
            thought("Hm.\n", ReasoningSignature::Encrypted("ZW5j".into())),
            thought("", ReasoningSignature::Encrypted("ZW5j".into())),
            cited("It is \"20°\" 𝄞.", None, Some((3, 8))),
            text("So:"),
            refusal("No."),
            call("call_1", function, r#"{"city": "Köln"}"#),
            call("call_2", function, "{}"),
            call("call_3", CallFamily::Custom, "*** \"a\"\n\\"),
            text("Done."),
        ],
        Format::Anthropic | Format::Bedrock => vec![
            thought("Hm.\n", signed()),
            thought("", redacted()),
            thought("Open.", ReasoningSignature::Unsigned),
            cited("It is \"20°\" 𝄞.", quote, None),
            text("So:"),
            call("tooluse_1", function, r#"{"city": "Köln"}"#),
            call("tooluse_2", function, "{}"),
            text("Done."),
        ],
        Format::GeminiInteractions => vec![
            thought("Hm.\n", signed()),
            thought("", signed()),
            thought("Open.", ReasoningSignature::Unsigned),
            cited("It is \"20°\" 𝄞.", None, None),
            text("So:"),
            call("call_1", function, r#"{"city": "Köln"}"#),
            call("call_2", function, "{}"),
            text("Done."),
        ],
        Format::Gemini => vec![
            thought("Hm.\n", signed()),
            text("It is \"20°\" 𝄞."),
            signed_call("call_1", r#"{"city": "Köln"}"#),
            call("call_2", function, "{}"),
            text("Done."),
        ],
    };
    let named = format != Format::Bedrock;
    ModelReply {
        wire: Some(format),
        id: Some(JsonText::from("the \"id\"")).filter(|_| named),
        model: Some(JsonText::from("model-1")).filter(|_| named),
        created: Some(1_700_000_000)
            .filter(|_| matches!(format, Format::OpenaiChat | Format::OpenaiResponses)),
        parts,
        stop: Some(StopReason::ToolCalls),
        usage: TokenUsage {
            input: Some(100),
            output: Some(50),
            cache_read: Some(40),
            cache_written: Some(0).filter(|_| format == Format::OpenaiResponses),
            reasoning: Some(20).filter(|_| format != Format::Bedrock),
        },
    }
}

fn stream(reply: &ModelReply<'_>, to: Format) -> (Vec<u8>, StreamEnding) {
    write_stream(&ModelResponse::Reply(reply.clone()), to, StreamOptions::default())
}

/// A plain reply that every format can hold, except for some metadata.
fn plain() -> ModelReply<'static> {
    ModelReply {
        id: Some("r".into()),
        model: Some("m".into()),
        parts: vec![
            text("A\nb"),
            call("call_1", CallFamily::Function, r#"{"a":[1,"}"]}"#),
            call("call_2", CallFamily::Function, "{}"),
        ],
        stop: Some(StopReason::ToolCalls),
        usage: TokenUsage { input: Some(3), output: Some(4), ..TokenUsage::default() },
        ..ModelReply::default()
    }
}

#[test]
fn collecting_the_events_of_a_reply_gives_the_same_reply() {
    for format in Format::ALL {
        let reply = rich(format);
        let mut collected = StreamCollector::within(Some(format), usize::MAX);
        emit_outcome(&ModelResponse::Reply(reply.clone()), &mut collected);
        let collection = collected.finish();
        assert_eq!(collection.reply, reply, "{format:?}");
        assert_eq!(
            (collection.ending, collection.skipped),
            (CollectedEnding::Complete, Vec::new())
        );
    }
}

#[test]
fn written_stream_is_read_back_unchanged() {
    for format in Format::ALL {
        let reply = rich(format);
        let (bytes, ending) = stream(&reply, format);
        let collection = collect(format, &bytes).expect("a stream");
        assert_eq!(collection.ending, CollectedEnding::Complete, "{format:?}");
        assert_eq!(collection.reply, reply, "{format:?}");
        assert_eq!(collection.skipped, Vec::new(), "{format:?}");
        assert_eq!((ending.skipped, ending.renamed), (Vec::new(), Vec::new()), "{format:?}");
        assert!(ending.complete && !ending.failed);
    }
}

#[test]
fn plain_reply_survives_every_pair_of_formats() {
    for from in Format::ALL {
        let (source, _) = stream(&plain(), from);
        for to in Format::ALL {
            let (bytes, ending) = convert(from, to, &source, source.len());
            assert!(ending.complete && !ending.failed, "{from:?} {to:?}");
            let found = collect(to, &bytes).expect("a stream").reply;
            let expected = plain();
            let summary = |part: &ModelPart<'_>| match part.content() {
                ContentPart::ToolCall(call) => format!("{} {}", call.name, call.arguments),
                other => format!("{other:?}"),
            };
            let summaries =
                |reply: &ModelReply<'_>| reply.parts.iter().map(summary).collect::<Vec<_>>();
            assert_eq!(summaries(&found), summaries(&expected), "{from:?} {to:?}");
            let cost = |usage: TokenUsage| (usage.input, usage.output);
            assert_eq!((found.stop, cost(found.usage)), (expected.stop, cost(expected.usage)));
            if ![from, to].contains(&Format::Bedrock) {
                assert_eq!((found.id, found.model), (expected.id, expected.model));
            }
        }
    }
}

fn convert(from: Format, to: Format, source: &[u8], chunk: usize) -> (Vec<u8>, StreamEnding) {
    let mut converter = StreamConverter::new(from, to, StreamOptions::default());
    let mut out = Vec::new();
    for chunk in source.chunks(chunk) {
        converter.push(chunk, &mut out).expect("a stream");
    }
    let ending = converter.finish(&mut out).expect("a stream");
    (out, ending)
}

/// The last event of a Responses stream repeats the reply as a body would have it.
#[test]
fn last_responses_event_has_the_same_response_as_a_body() {
    let mut replies: Vec<ModelReply<'_>> = Format::ALL.into_iter().map(rich).collect();
    let parts = vec![
        text(""),
        thought("", ReasoningSignature::Unsigned),
        text("A"),
        thought("", ReasoningSignature::Unsigned),
    ];
    replies.push(ModelReply { parts, stop: Some(StopReason::Length), ..ModelReply::default() });
    for reply in replies {
        let (bytes, _) = stream(&reply, Format::OpenaiResponses);
        let written = String::from_utf8(bytes).expect("text");
        let last = written.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        let last: Json = serde_json::from_str(last.expect("an event")).expect("JSON");
        let outcome = ModelResponse::Reply(reply);
        let body = encode_reply(&outcome, Format::OpenaiResponses, "").body;
        let body: Json = serde_json::from_str(&body).expect("JSON");
        assert_eq!(last["response"], body);
    }
}

#[test]
fn empty_blocks_are_not_written() {
    let parts = vec![
        text(""),
        thought("", ReasoningSignature::Unsigned),
        text("A"),
        thought("", ReasoningSignature::Unsigned),
    ];
    let reply = ModelReply { parts, stop: Some(StopReason::End), ..ModelReply::default() };
    for format in Format::ALL {
        let found = collect(format, &stream(&reply, format).0).expect("a stream");
        assert_eq!(found.reply.parts, [text("A")], "{format:?}");
    }
}

#[test]
fn output_does_not_depend_on_chunk_size() {
    for from in Format::ALL {
        let (source, _) = stream(&rich(from), from);
        for to in Format::ALL {
            let whole = convert(from, to, &source, source.len());
            for chunk in [1, 2, 3, 7, 100] {
                assert_eq!(convert(from, to, &source, chunk), whole, "{from:?} {to:?} {chunk}");
            }
        }
    }
}

#[test]
fn truncated_stream_is_never_complete() {
    for from in Format::ALL {
        let (source, _) = stream(&rich(from), from);
        for to in Format::ALL {
            for cut in (0..source.len()).step_by(211) {
                let (bytes, ending) = convert(from, to, &source[..cut], 64);
                let collection = collect(to, &bytes).expect("a stream");
                assert_eq!(
                    ending.complete,
                    collection.ending == CollectedEnding::Complete,
                    "{cut}"
                );
                // Only the end of the reply may be missing.
                let all_parts = &rich(from).parts;
                let calls = |parts: &[ModelPart<'_>]| {
                    parts
                        .iter()
                        .filter(|part| matches!(part.content(), ContentPart::ToolCall(_)))
                        .count()
                };
                assert!(calls(&collection.reply.parts) <= calls(all_parts));
                for part in &collection.reply.parts {
                    let ContentPart::ToolCall(call) = part.content() else { continue };
                    let known = |part: &ModelPart<'_>| match part.content() {
                        ContentPart::ToolCall(known) => {
                            known.arguments == call.arguments || known.is_free_text()
                        }
                        _ => false,
                    };
                    assert!(all_parts.iter().any(known), "{from:?} {to:?} {cut}: {call:?}");
                }
            }
        }
    }
}

#[test]
fn malformed_stream_is_an_error_and_ends_with_a_failure() {
    for to in Format::ALL {
        let mut converter = StreamConverter::new(Format::OpenaiChat, to, StreamOptions::default());
        let mut out = Vec::new();
        let good =
            b"data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
        converter.push(good, &mut out).expect("a chunk");
        let before = out.len();
        let error = converter.push(b"data: {\"id\":\n\n", &mut out).expect_err("no JSON");
        assert!(out.len() > before);
        let length = out.len();
        assert_eq!(converter.push(good, &mut out), Err(error.clone()));
        assert_eq!(converter.finish(&mut out), Err(error.clone()));
        assert_eq!(out.len(), length);
        let collection = collect(to, &out).expect("a stream");
        let CollectedEnding::Failed(failure) = collection.ending else { panic!("{collection:?}") };
        assert_eq!(failure.kind, ProviderErrorKind::Server);
        assert_eq!(failure.message, *error.to_string());
        assert_eq!(collection.reply.stop, None);
    }
}

#[test]
fn failures_are_converted_between_all_formats() {
    for from in Format::ALL {
        for to in Format::ALL {
            let failure = ProviderError {
                kind: ProviderErrorKind::RateLimit,
                message: "Wait".into(),
                code: None,
            };
            let (bytes, _) =
                write_stream(&ModelResponse::Error(failure), from, StreamOptions::default());
            let (bytes, ending) = convert(from, to, &bytes, 11);
            assert!(ending.failed && !ending.complete, "{from:?} {to:?}");
            let CollectedEnding::Failed(failure) = collect(to, &bytes).expect("a stream").ending
            else {
                panic!("{from:?} {to:?}");
            };
            assert_eq!((failure.kind, &*failure.message), (ProviderErrorKind::RateLimit, "Wait"));
        }
    }
}

#[test]
fn buffered_data_is_limited() {
    let begin = concat!(
        r#"data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":["#,
        r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{"}},"#,
        r#"{"index":1,"id":"y","function":{"name":"g","arguments":"{"}}]}}]}"#,
        "\n\n",
    );
    let more = concat!(
        r#"data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":["#,
        r#"{"index":1,"function":{"arguments":"0123456789"}}]}}]}"#,
        "\n\n",
    );
    for to in Format::ALL {
        let limits = StreamLimits { held: 2000, ..StreamLimits::default() };
        let options = StreamOptions { limits, ..StreamOptions::default() };
        let mut converter = StreamConverter::new(Format::OpenaiChat, to, options);
        let mut out = Vec::new();
        converter.push(begin.as_bytes(), &mut out).expect("a chunk");
        let mut pushed = 0;
        let error = loop {
            pushed += 1;
            assert!(pushed < 250, "{to:?}");
            if let Err(error) = converter.push(more.as_bytes(), &mut out) {
                break error;
            }
        };
        assert!(matches!(error, StreamError::TooLarge { most: 2000, .. }), "{error}");
        let collection = collect(to, &out).expect("a stream");
        assert!(matches!(collection.ending, CollectedEnding::Failed(_)), "{to:?}");
    }
}

#[test]
fn long_replies_are_not_buffered() {
    let call = BlockStart::Call {
        id: None,
        name: "f".into(),
        family: CallFamily::Function,
        signature: None,
    };
    for to in [Format::OpenaiChat, Format::Anthropic, Format::Bedrock] {
        for kind in [BlockStart::Text, BlockStart::Reasoning, call.clone()] {
            let mut output = ConverterOutput::new(None, to, StreamOptions::default());
            let mut out = Vec::new();
            let targets = &mut OutputTargets { out: &mut out, observer: &mut |_| {} };
            output.accept_event(StreamEvent::Open { block: 0, kind }, targets);
            for _ in 0..200_000 {
                let delta = BlockDelta::Text(JsonText::from_json((r#"some \"text\" "#, true)));
                output.accept_event(StreamEvent::Delta { block: 0, delta }, targets);
                output.end_frame(0, targets.out).expect("room");
                targets.out.clear();
            }
            let memory = output.sequencer.memory_bytes() + output.writer.memory_bytes();
            assert!(memory < 4096, "{to:?}: {memory}");
        }
    }
}

#[test]
fn missing_metadata_is_taken_from_the_options() {
    let (source, _) = stream(&plain(), Format::Bedrock);
    let head = ReplyHead { id: None, model: Some("asked".into()), created: Some(7) };
    let options = StreamOptions { seed: "s".to_owned(), head, ..StreamOptions::default() };
    let mut converter = StreamConverter::new(Format::Bedrock, Format::OpenaiChat, options.clone());
    let mut out = Vec::new();
    converter.push(&source, &mut out).expect("a stream");
    converter.finish(&mut out).expect("a stream");
    let reply = collect(Format::OpenaiChat, &out).expect("a stream").reply;
    assert_eq!(reply.model.as_ref().map(borrowed_text), Some("asked".into()));
    assert_eq!(reply.created, Some(7));
    assert!(reply.id.is_some_and(|id| id.starts_with("chatcmpl-")));
}

#[test]
fn model_option_replaces_the_model_name() {
    let options = StreamOptions { model: Some("mine".to_owned()), ..StreamOptions::default() };
    for format in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        let outcome = ModelResponse::Reply(plain());
        let (bytes, _) = write_stream(&outcome, format, options.clone());
        let reply = collect(format, &bytes).expect("a stream").reply;
        assert_eq!(reply.model, Some("mine".into()), "{format:?}");
    }
}

/// Converts a chat stream of these frames to Anthropic. Returns the output and its ending.
fn convert_chat_to_anthropic(frames: &[&str]) -> (String, StreamEnding) {
    let mut converter =
        StreamConverter::new(Format::OpenaiChat, Format::Anthropic, StreamOptions::default());
    let mut out = Vec::new();
    for frame in frames {
        converter.push(format!("data: {frame}\n\n").as_bytes(), &mut out).expect("well-formed");
    }
    let ending = converter.finish(&mut out).expect("well-formed");
    (String::from_utf8(out).expect("text"), ending)
}

#[test]
fn end_inside_a_call_is_a_truncation() {
    let call = r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"path\":\"/t"}}]}}]}"#;
    let (out, ending) = convert_chat_to_anthropic(&[call, "[DONE]"]);
    assert!(!ending.complete && !out.contains("content_block_stop"), "{out}");
    assert!(out.contains("event: error"), "{out}");
    // An empty stream is not a complete reply either.
    assert!(!convert_chat_to_anthropic(&["[DONE]"]).1.complete);
    // A text without a stop reason is complete at the end marker.
    let text = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    assert!(convert_chat_to_anthropic(&[text, "[DONE]"]).1.complete);
}

#[test]
fn error_shapes_of_other_servers_are_failures() {
    let text = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    for error in [
        r#"{"object":"error","message":"boom","type":"InternalServerError","param":null,"code":500}"#,
        r#"{"error":"boom"}"#,
        r#"{"error":{"message":"boom","code":502}}"#,
    ] {
        let (out, ending) = convert_chat_to_anthropic(&[text, error, "[DONE]"]);
        assert!(ending.failed && !ending.complete && out.contains("boom"), "{out}");
    }
}

#[test]
fn calls_get_the_original_tool_names_back() {
    let names =
        vec![IdentifierReplacement { old: "files.read".into(), new: "files_read_1".into() }];
    let options = StreamOptions { renamed_tools: names, ..StreamOptions::default() };
    let mut converter = StreamConverter::new(Format::OpenaiChat, Format::Gemini, options);
    let mut out = Vec::new();
    let call = r#"data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"files_read_1","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    converter
        .push(format!("{call}\n\ndata: [DONE]\n\n").as_bytes(), &mut out)
        .expect("well-formed");
    converter.finish(&mut out).expect("well-formed");
    assert!(String::from_utf8_lossy(&out).contains("\"files.read\""));
}
