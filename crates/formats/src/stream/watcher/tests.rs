use std::borrow::Cow;

use foxwedge_core::CallFamily;

use super::*;
use crate::{
    model::{
        ContentPart, JsonText, ModelPart, ModelReply, ModelResponse, StopReason, TokenUsage,
        ToolCallPart,
    },
    stream::{CollectedEnding, StreamConverter, StreamOptions, collect, write_stream},
};

fn text(text: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(text.into()))
}

fn call(id: &'static str, arguments: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::ToolCall(ToolCallPart {
        id: Some(Cow::Borrowed(id)),
        name: Cow::Borrowed("lookup"),
        family: CallFamily::Function,
        arguments: arguments.into(),
        signature: None,
    }))
}

fn stream(format: Format) -> Vec<u8> {
    let reply = ModelReply {
        id: Some("r".into()),
        model: Some(JsonText::from("m")),
        parts: vec![
            text("Grüße 𝄞\n\"you\""),
            call("call_1", r#"{"city": "Köln"}"#),
            call("call_2", "{}"),
        ],
        stop: Some(StopReason::ToolCalls),
        usage: TokenUsage { input: Some(3), output: Some(4), ..TokenUsage::default() },
        ..ModelReply::default()
    };
    write_stream(&ModelResponse::Reply(reply), format, StreamOptions::default()).0
}

/// The events and the observation of bytes that arrive in chunks of that length.
fn watch(
    format: Format,
    bytes: &[u8],
    length: usize,
    limits: StreamLimits,
) -> (Vec<String>, StreamObservation) {
    let mut events = Vec::new();
    let mut each = |event: &StreamEvent<'_>| events.push(format!("{event:?}"));
    let mut watcher = StreamWatcher::new(format, limits);
    for chunk in bytes.chunks(length) {
        watcher.push(chunk, &mut each);
    }
    let observation = watcher.finish(&mut each);
    (events, observation)
}

#[test]
fn observation_does_not_depend_on_chunk_size() {
    for format in Format::ALL {
        let bytes = stream(format);
        let expected = watch(format, &bytes, bytes.len(), StreamLimits::default());
        assert_eq!(expected.1.collection, collect(format, &bytes).expect("a stream"), "{format:?}");
        assert_eq!(expected.1.error, None, "{format:?}");
        for length in 1..40 {
            assert_eq!(
                watch(format, &bytes, length, StreamLimits::default()),
                expected,
                "{format:?} {length}"
            );
        }
    }
}

#[test]
fn truncated_stream_is_observed_as_truncated() {
    for format in Format::ALL {
        let bytes = stream(format);
        for length in (0..bytes.len()).step_by(3) {
            let (events, observation) =
                watch(format, &bytes[..length], 50, StreamLimits::default());
            assert_eq!(observation.error, None, "{format:?} {length}");
            assert_eq!(
                observation.collection,
                collect(format, &bytes[..length]).expect("a stream")
            );
            let last = events.last().map(String::as_str);
            match observation.collection.ending {
                CollectedEnding::Complete => assert_eq!(last, Some("End")),
                CollectedEnding::Truncated => assert_eq!(last, Some("Truncated")),
                CollectedEnding::Failed(error) => panic!("{error:?}"),
            }
        }
    }
}

#[test]
fn malformed_stream_has_no_parts() {
    let table: [&[u8]; 8] = [
        b"data: {\"choices\":[{\n\ndata: {}\n\n",
        b"data: nonsense\n\n",
        b"data: \xff\xfe\n\n",
        b"data: 7\n\n",
        b"<html><body>Bad gateway</body></html>\n\n",
        b"[{]}",
        b"{\"a\" nonsense}",
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    ];
    for format in Format::ALL {
        for bytes in table {
            let (events, observation) = watch(format, bytes, bytes.len(), StreamLimits::default());
            assert_eq!(
                watch(format, bytes, 1, StreamLimits::default()),
                (events, observation.clone())
            );
            assert_ne!(
                observation.collection.ending,
                CollectedEnding::Complete,
                "{format:?} {bytes:?}"
            );
            assert_eq!(observation.collection.reply.parts, Vec::new(), "{format:?} {bytes:?}");
        }
    }
}

#[test]
fn events_before_an_error_are_passed_on() {
    let format = Format::Anthropic;
    let mut bytes = stream(format);
    let complete = watch(format, &bytes, 64, StreamLimits::default());
    let middle = bytes.len() / 2;
    let at = middle + bytes[middle..].windows(2).position(|two| two == b"\n\n").unwrap_or(0) + 2;
    bytes.splice(at..at, *b"data: {\n\n");
    let (events, observation) = watch(format, &bytes, 64, StreamLimits::default());
    assert!(matches!(observation.error, Some(StreamError::Malformed { .. })));
    assert_eq!(observation.collection.ending, CollectedEnding::Truncated);
    assert_eq!(events.last().map(String::as_str), Some("Truncated"));
    assert_eq!(events[..events.len() - 1], complete.0[..events.len() - 1]);
}

#[test]
fn endless_line_is_not_buffered() {
    let limits = StreamLimits { frame: 1 << 20, held: 1 << 20 };
    let mut watcher = StreamWatcher::new(Format::OpenaiChat, limits);
    let chunk = vec![b'x'; 1 << 20];
    watcher.push(b"data: ", &mut |_| {});
    for _ in 0..100 {
        watcher.push(&chunk, &mut |_| {});
    }
    assert!(
        matches!(watcher.error(), Some(StreamError::TooLarge { most, .. }) if *most == 1 << 20)
    );
    assert!(watcher.framer.memory_bytes() == 0);
    assert_eq!(watcher.finish(&mut |_| {}).collection.ending, CollectedEnding::Truncated);
}

#[test]
fn endless_reply_is_passed_on_but_not_collected() {
    let limits = StreamLimits { frame: 1 << 16, held: 10_000 };
    let chunk = |delta: &str| {
        let head = r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":"#;
        format!("{head}{delta}}}]}}\n\n").into_bytes()
    };
    let text_chunk = chunk(r#"{"content":"some words\n"}"#);
    let arguments = chunk(
        r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"[1,"}}]}"#,
    );
    let more = chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"1,1,1,1,1,"}}]}"#);
    for (first, then) in [(&text_chunk, &text_chunk), (&arguments, &more)] {
        let mut deltas = 0;
        let mut watcher = StreamWatcher::new(Format::OpenaiChat, limits);
        watcher.push(first, &mut |_| {});
        for _ in 0..5000 {
            watcher.push(then, &mut |event| {
                deltas += usize::from(matches!(event, StreamEvent::Delta { .. }))
            });
        }
        let observation = watcher.finish(&mut |_| {});
        assert_eq!((deltas, observation.error), (5000, None));
        assert!(observation.collection.truncated);
        // A partial call is dropped; of a text the beginning is kept.
        match observation.collection.reply.parts.as_slice() {
            [] => assert_eq!(first, &arguments),
            [part] => {
                let ContentPart::Text(text) = part.content() else { panic!("{part:?}") };
                assert!(text.len() < 10_000 && text.starts_with("some words\nsome words\n"));
            }
            parts => panic!("{parts:?}"),
        }
    }
}

#[test]
fn many_small_blocks_are_collected_up_to_the_limit() {
    let limits = StreamLimits { frame: 1 << 16, held: 10_000 };
    let mut watcher = StreamWatcher::new(Format::Anthropic, limits);
    let start = r#"{"type":"message_start","message":{"id":"m","model":"m"}}"#;
    watcher.push(format!("data: {start}\n\n").as_bytes(), &mut |_| {});
    let mut blocks = 0;
    for index in 0..1000 {
        let open = format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":"x"}}}}"#
        );
        let close = format!(r#"{{"type":"content_block_stop","index":{index}}}"#);
        let bytes = format!("data: {open}\n\ndata: {close}\n\n");
        watcher.push(bytes.as_bytes(), &mut |event| {
            blocks += usize::from(matches!(event, StreamEvent::Close { .. }));
        });
    }
    let observation = watcher.finish(&mut |_| {});
    assert_eq!((blocks, observation.error, observation.collection.truncated), (1000, None, true));
    assert!(observation.collection.reply.parts.len() <= 10_000 / size_of::<ModelPart<'_>>());
}

#[test]
fn converter_passes_on_and_collects_what_the_client_gets() {
    for from in Format::ALL {
        for to in Format::ALL {
            let bytes = stream(from);
            let options = StreamOptions { seed: "s".to_owned(), ..StreamOptions::default() };
            let mut plain = StreamConverter::new(from, to, options.clone());
            let mut observed = StreamConverter::with_collection(from, to, options);
            let (mut expected, mut out, mut events) = (Vec::new(), Vec::new(), Vec::new());
            let mut each = |event: &StreamEvent<'_>| events.push(format!("{event:?}"));
            for chunk in bytes.chunks(50) {
                plain.push(chunk, &mut expected).expect("a stream");
                observed.push_observed(chunk, &mut out, &mut each).expect("a stream");
            }
            let ending = plain.finish(&mut expected).expect("a stream");
            assert_eq!(observed.finish_observed(&mut out, &mut each), Ok(ending));
            assert_eq!(out, expected, "{from:?} {to:?}");
            let collection = observed.take_collection().expect("kept");
            let client = collect(to, &out).expect("a stream");
            assert_eq!(collection.ending, CollectedEnding::Complete, "{from:?} {to:?}");
            assert_eq!(collection.reply.parts, client.reply.parts, "{from:?} {to:?}");
            assert_eq!(events.last().map(String::as_str), Some("End"));
            assert_eq!((observed.take_collection(), plain.take_collection()), (None, None));
        }
    }
}
