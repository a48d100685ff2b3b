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

fn text(words: &'static str) -> ModelPart<'static> {
    ModelPart::new(ContentPart::Text(words.into()))
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

fn stream(wire: Format) -> Vec<u8> {
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
    write_stream(&ModelResponse::Reply(reply), wire, StreamOptions::default()).0
}

/// What is told and what is kept of bytes that come in pieces of that length.
fn watch(
    wire: Format,
    bytes: &[u8],
    length: usize,
    limits: StreamLimits,
) -> (Vec<String>, StreamObservation) {
    let mut told = Vec::new();
    let mut each = |event: &StreamEvent<'_>| told.push(format!("{event:?}"));
    let mut watcher = StreamWatcher::new(wire, limits);
    for chunk in bytes.chunks(length) {
        watcher.push(chunk, &mut each);
    }
    let watched = watcher.finish(&mut each);
    (told, watched)
}

#[test]
fn what_is_seen_does_not_depend_on_how_the_bytes_were_cut() {
    for wire in Format::ALL {
        let bytes = stream(wire);
        let whole = watch(wire, &bytes, bytes.len(), StreamLimits::default());
        assert_eq!(whole.1.collection, collect(wire, &bytes).expect("a stream"), "{wire:?}");
        assert_eq!(whole.1.error, None, "{wire:?}");
        for length in 1..40 {
            assert_eq!(
                watch(wire, &bytes, length, StreamLimits::default()),
                whole,
                "{wire:?} {length}"
            );
        }
    }
}

#[test]
fn a_stream_that_is_cut_off_anywhere_is_seen_as_such() {
    for wire in Format::ALL {
        let bytes = stream(wire);
        for length in (0..bytes.len()).step_by(3) {
            let (told, watched) = watch(wire, &bytes[..length], 50, StreamLimits::default());
            assert_eq!(watched.error, None, "{wire:?} {length}");
            assert_eq!(watched.collection, collect(wire, &bytes[..length]).expect("a stream"));
            let last = told.last().map(String::as_str);
            match watched.collection.ending {
                CollectedEnding::Complete => assert_eq!(last, Some("End")),
                CollectedEnding::Truncated => assert_eq!(last, Some("Truncated")),
                CollectedEnding::Failed(failure) => panic!("{failure:?}"),
            }
        }
    }
}

#[test]
fn nonsense_is_remembered_and_never_kept() {
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
    for wire in Format::ALL {
        for bytes in table {
            let (told, watched) = watch(wire, bytes, bytes.len(), StreamLimits::default());
            assert_eq!(watch(wire, bytes, 1, StreamLimits::default()), (told, watched.clone()));
            assert_ne!(watched.collection.ending, CollectedEnding::Complete, "{wire:?} {bytes:?}");
            assert_eq!(watched.collection.reply.parts, Vec::new(), "{wire:?} {bytes:?}");
        }
    }
}

#[test]
fn what_came_before_trouble_is_told() {
    let wire = Format::Anthropic;
    let mut bytes = stream(wire);
    let whole = watch(wire, &bytes, 64, StreamLimits::default());
    let middle = bytes.len() / 2;
    let at = middle + bytes[middle..].windows(2).position(|two| two == b"\n\n").unwrap_or(0) + 2;
    bytes.splice(at..at, *b"data: {\n\n");
    let (told, watched) = watch(wire, &bytes, 64, StreamLimits::default());
    assert!(matches!(watched.error, Some(StreamError::Malformed { .. })));
    assert_eq!(watched.collection.ending, CollectedEnding::Truncated);
    assert_eq!(told.last().map(String::as_str), Some("Truncated"));
    assert_eq!(told[..told.len() - 1], whole.0[..told.len() - 1]);
}

#[test]
fn a_line_without_an_end_is_not_kept() {
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
    assert!(watcher.framer.kept() == 0);
    assert_eq!(watcher.finish(&mut |_| {}).collection.ending, CollectedEnding::Truncated);
}

#[test]
fn an_answer_without_an_end_is_told_and_not_kept() {
    let limits = StreamLimits { frame: 1 << 16, held: 10_000 };
    let chunk = |delta: &str| {
        let head = r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":"#;
        format!("{head}{delta}}}]}}\n\n").into_bytes()
    };
    let words = chunk(r#"{"content":"some words\n"}"#);
    let arguments = chunk(
        r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"[1,"}}]}"#,
    );
    let more = chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"1,1,1,1,1,"}}]}"#);
    for (first, then) in [(&words, &words), (&arguments, &more)] {
        let mut seen = 0;
        let mut watcher = StreamWatcher::new(Format::OpenaiChat, limits);
        watcher.push(first, &mut |_| {});
        for _ in 0..5000 {
            watcher.push(then, &mut |event| {
                seen += usize::from(matches!(event, StreamEvent::Delta { .. }))
            });
        }
        let watched = watcher.finish(&mut |_| {});
        assert_eq!((seen, watched.error), (5000, None));
        assert!(watched.collection.truncated);
        // Half a call is none, half a text is the half that was kept.
        match watched.collection.reply.parts.as_slice() {
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
fn many_small_blocks_are_not_kept_either() {
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
    let watched = watcher.finish(&mut |_| {});
    assert_eq!((blocks, watched.error, watched.collection.truncated), (1000, None, true));
    assert!(watched.collection.reply.parts.len() <= 10_000 / size_of::<ModelPart<'_>>());
}

#[test]
fn a_converter_tells_what_the_client_is_told() {
    for from in Format::ALL {
        for to in Format::ALL {
            let bytes = stream(from);
            let options = StreamOptions { seed: "s".to_owned(), ..StreamOptions::default() };
            let mut plain = StreamConverter::new(from, to, options.clone());
            let mut watched = StreamConverter::with_collection(from, to, options);
            let (mut expected, mut out, mut told) = (Vec::new(), Vec::new(), Vec::new());
            let mut each = |event: &StreamEvent<'_>| told.push(format!("{event:?}"));
            for chunk in bytes.chunks(50) {
                plain.push(chunk, &mut expected).expect("a stream");
                watched.push_observed(chunk, &mut out, &mut each).expect("a stream");
            }
            let finished = plain.finish(&mut expected).expect("a stream");
            assert_eq!(watched.finish_observed(&mut out, &mut each), Ok(finished));
            assert_eq!(out, expected, "{from:?} {to:?}");
            let collection = watched.take_collection().expect("kept");
            let client = collect(to, &out).expect("a stream");
            assert_eq!(collection.ending, CollectedEnding::Complete, "{from:?} {to:?}");
            assert_eq!(collection.reply.parts, client.reply.parts, "{from:?} {to:?}");
            assert_eq!(told.last().map(String::as_str), Some("End"));
            assert_eq!((watched.take_collection(), plain.take_collection()), (None, None));
        }
    }
}
