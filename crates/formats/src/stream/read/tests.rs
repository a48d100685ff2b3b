//! Whole streams and their events.

mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::{CallFamily, Format};

use super::StreamReader;
use crate::{
    event::{BlockDelta, BlockStart, EventSink, StreamEvent, StreamLoss},
    frame::{StreamError, StreamFramer},
};

/// Records one line per event.
#[derive(Default)]
struct Lines(Vec<String>);

impl EventSink for Lines {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.0.push(match event {
            StreamEvent::Start(head) => {
                let (id, model) = (head.id.as_deref(), head.model.as_deref());
                let created = head.created.map(|created| created.to_string());
                let known = [id, model, created.as_deref()].map(|known| known.unwrap_or("-"));
                format!("start {}", known.join(" "))
            }
            StreamEvent::Open { block, kind } => format!("open {block} {}", describe_start(&kind)),
            StreamEvent::Delta { block, delta } => match delta {
                BlockDelta::Text(text) => format!("more {block} {:?}", &*text),
                BlockDelta::Signature(text) => format!("more {block} signature {text}"),
                BlockDelta::Encrypted(text) => format!("more {block} encrypted {text}"),
                BlockDelta::Citation(citation) => {
                    let texts = [citation.url, citation.title, citation.quote];
                    let texts = texts.map(|texts| texts.map_or("-".to_owned(), |w| w.to_string()));
                    format!("more {block} citation {} {:?}", texts.join(" "), citation.span)
                }
            },
            StreamEvent::Close { block } => format!("close {block}"),
            StreamEvent::Usage(usage) => {
                let figures = [
                    usage.input,
                    usage.output,
                    usage.cache_read,
                    usage.cache_written,
                    usage.reasoning,
                ];
                let figures = figures
                    .map(|figure| figure.map_or("-".to_owned(), |figure| figure.to_string()));
                format!("usage {}", figures.join(" "))
            }
            StreamEvent::Stop(stop) => format!("stop {stop:?}"),
            StreamEvent::End => "end".to_owned(),
            StreamEvent::Failed(error) => {
                let code = error.code.as_deref().unwrap_or("-");
                format!("failed {:?} {code}: {}", error.kind, error.message)
            }
            StreamEvent::Truncated => "cut".to_owned(),
        });
    }

    fn skip(&mut self, note: StreamLoss) {
        self.0.push(format!("skip {}: {}", note.kind.name(), note.note));
    }
}

fn describe_start(kind: &BlockStart<'_>) -> String {
    match kind {
        BlockStart::Text => "text".to_owned(),
        BlockStart::Refusal => "refusal".to_owned(),
        BlockStart::Reasoning => "reasoning".to_owned(),
        BlockStart::Redacted(data) => format!("redacted {data}"),
        BlockStart::Call { id, name, family, signature } => {
            let family = match family {
                CallFamily::Function => "call".to_owned(),
                family => format!("call of {family:?}"),
            };
            let signature = signature.as_ref().map(|text| format!(" signed {text}"));
            let id = id.as_deref().unwrap_or("-");
            format!("{family} {id} {name}{}", signature.unwrap_or_default())
        }
    }
}

fn read<'c>(
    format: Format,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<String>, Result<(), StreamError>) {
    let (mut framer, mut reader) = (StreamFramer::new(format, 1 << 20), StreamReader::new(format));
    let mut lines = Lines::default();
    let run = || {
        for chunk in chunks {
            framer.push(chunk, &mut |frame| reader.read_frame(frame, &mut lines))?;
        }
        framer.finish(&mut |frame| reader.read_frame(frame, &mut lines))?;
        reader.finish(&mut lines);
        Ok(())
    };
    let result = run();
    (lines.0, result)
}

/// Reads a stream in one chunk. Asserts that all other chunks give the same events.
#[track_caller]
fn read_in_any_chunks(format: Format, bytes: &[u8]) -> Vec<String> {
    let (lines, result) = read(format, [bytes]);
    assert_eq!(result, Ok(()), "{lines:#?}");
    for at in 0..bytes.len() {
        let (head, tail) = bytes.split_at(at);
        let (found, result) = read(format, [head, tail]);
        assert!(found == lines && result.is_ok(), "cut at {at}: {found:#?}");
    }
    assert_eq!(read(format, bytes.chunks(1)).0, lines);
    check_corrupted(format, bytes);
    lines
}

/// Asserts that a stream with a corrupted byte gives the same events in any chunks.
fn check_corrupted(format: Format, bytes: &[u8]) {
    let mut random = bytes.len() as u64;
    for _ in 0..64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut bytes = bytes.to_vec();
        let Some(last) = bytes.len().checked_sub(1) else { return };
        let at = (random >> 33) as usize % (last + 1);
        bytes[at] = b"\n\r{}[]\":,0x\\ \xff"[(random >> 20) as usize % 14];
        let expected = read(format, [&bytes[..]]);
        assert_eq!(read(format, bytes.chunks(7)), expected, "byte {at} is {:?}", bytes[at] as char);
        assert_eq!(read(format, bytes.chunks(1)), expected, "byte {at} is {:?}", bytes[at] as char);
    }
}

/// Compares the events of a stream with the expected ones, one line per event.
#[track_caller]
fn check(format: Format, stream: &str, expected: &str) {
    let lines = read_in_any_chunks(format, stream.as_bytes());
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines, expected, "{lines:#?}");
}

/// A server-sent event stream with this data.
fn sse(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// The same, with event names from the `type` fields.
fn named(data: &[&str]) -> String {
    let name = |data: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(data).expect("JSON");
        value["type"].as_str().unwrap_or_default().to_owned()
    };
    data.iter().map(|data| format!("event: {}\ndata: {data}\n\n", name(data))).collect()
}

const FORMATS: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Gemini,
    Format::Bedrock,
];

#[test]
fn empty_stream_is_truncated() {
    for format in FORMATS {
        for stream in ["", "\n\n", ": hello\n\n"] {
            check(format, stream, "cut");
        }
    }
}

#[test]
fn data_that_is_not_an_object_is_rejected_with_its_offset() {
    let table = [
        ("data: {\"a\":1}x\n\n", 13, "unexpected `x`, expected the end"),
        (": hi\n\ndata: {\"a\":tru}\n\n", 17, "unexpected `t`, expected `true`"),
        ("event: e\ndata: {\"a\"\ndata:  1}\n\n", 27, "unexpected `1`, expected `:`"),
        ("data:  [1]\n\n", 7, "the data of an event is not an object"),
        ("data: \"text\"\n\n", 6, "the data of an event is not an object"),
        ("{\"a\":\"x\n", 7, "a control character inside a string"),
    ];
    for format in FORMATS {
        for (stream, at, what) in table {
            let what = what.to_owned();
            let expected = Err(StreamError::Malformed { at, what });
            assert_eq!(read(format, [stream.as_bytes()]).1, expected, "{stream:?}");
            assert_eq!(read(format, stream.as_bytes().chunks(1)).1, expected, "{stream:?}");
        }
    }
}

#[test]
fn values_of_a_wrong_type_are_rejected_with_their_offset() {
    let table = [
        (Format::OpenaiChat, r#"{"choices":{}}"#, 11, "`choices` is not a list"),
        (Format::OpenaiChat, r#"{"choices":[7]}"#, 12, "`choices` is not an object"),
        (Format::OpenaiChat, r#"{"choices":[{"delta":[]}]}"#, 21, "`delta` is not an object"),
        (
            Format::OpenaiChat,
            r#"{"choices":[{"delta":{"content":7}}]}"#,
            32,
            "`content` is not a string",
        ),
        (
            Format::Anthropic,
            r#"{"type":"content_block_delta","index":0,"delta":7}"#,
            48,
            "`delta` is not an object",
        ),
        (
            Format::Anthropic,
            r#"{"type":"content_block_delta","index":"0","delta":{}}"#,
            38,
            "`index` is not a whole number",
        ),
        (
            Format::OpenaiResponses,
            r#"{"type":"response.output_text.delta","delta":{}}"#,
            45,
            "`delta` is not a string",
        ),
        (
            Format::OpenaiResponses,
            r#"{"type":"response.output_item.added"}"#,
            0,
            "`item` is missing",
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"text":1}]}}]}"#,
            44,
            "`text` is not a string",
        ),
        (
            Format::Bedrock,
            r#"{"contentBlockDelta":[]}"#,
            21,
            "`contentBlockDelta` is not an object",
        ),
        (Format::Bedrock, "{}", 0, "the name of the event is missing"),
    ];
    for (format, data, at, what) in table {
        let (_, result) = read(format, [sse(&[data]).as_bytes()]);
        let what = what.to_owned();
        assert_eq!(result, Err(StreamError::Malformed { at: at + 6, what }), "{data}");
    }
}

#[test]
fn unknown_events_are_reported_once() {
    let unknown = sse(&[r#"{"type":"news","delta":1}"#, r#"{"type":"news","delta":2}"#]);
    let expected = "skip unknown: events `news` were left out\ncut";
    check(Format::Anthropic, &unknown, expected);
    check(Format::OpenaiResponses, &unknown, expected);
    let tagged = sse(&[r#"{"news":{}}"#, r#"{"news":{}}"#]);
    check(Format::Bedrock, &tagged, expected);
}
