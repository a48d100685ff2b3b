//! Whole streams, and what is told of them.

mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::{CallFamily, Format};

use super::StreamReader;
use crate::stream::{
    StreamError,
    event::{BlockDelta, BlockStart, EventSink, StreamEvent, StreamLoss},
    frame::StreamFramer,
};

/// What is told, one line for each event.
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
            StreamEvent::Open { block, kind } => format!("open {block} {}", opened(&kind)),
            StreamEvent::Delta { block, delta: piece } => match piece {
                BlockDelta::Text(text) => format!("more {block} {:?}", &*text),
                BlockDelta::Signature(text) => format!("more {block} signature {text}"),
                BlockDelta::Encrypted(text) => format!("more {block} encrypted {text}"),
                BlockDelta::Citation(citation) => {
                    let words = [citation.url, citation.title, citation.quote];
                    let words = words.map(|words| words.map_or("-".to_owned(), |w| w.to_string()));
                    format!("more {block} citation {} {:?}", words.join(" "), citation.span)
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
                let figures = figures.map(|one| one.map_or("-".to_owned(), |one| one.to_string()));
                format!("usage {}", figures.join(" "))
            }
            StreamEvent::Stop(stop) => format!("stop {stop:?}"),
            StreamEvent::End => "end".to_owned(),
            StreamEvent::Failed(failure) => {
                let code = failure.code.as_deref().unwrap_or("-");
                format!("failed {:?} {code}: {}", failure.kind, failure.message)
            }
            StreamEvent::Truncated => "cut".to_owned(),
        });
    }

    fn skip(&mut self, note: StreamLoss) {
        self.0.push(format!("skip {}: {}", note.kind.name(), note.note));
    }
}

fn opened(kind: &BlockStart<'_>) -> String {
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
    wire: Format,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<String>, Result<(), StreamError>) {
    let (mut framer, mut reader) = (StreamFramer::new(wire, 1 << 20), StreamReader::new(wire));
    let mut lines = Lines::default();
    let run = || {
        for chunk in chunks {
            framer.push(chunk, &mut |frame| reader.read_frame(frame, &mut lines))?;
        }
        framer.finish(&mut |frame| reader.read_frame(frame, &mut lines))?;
        reader.finish(&mut lines);
        Ok(())
    };
    let ended = run();
    (lines.0, ended)
}

/// Reads a stream in one chunk, and makes sure that any other chunks say the same.
#[track_caller]
fn told(wire: Format, bytes: &[u8]) -> Vec<String> {
    let (lines, ended) = read(wire, [bytes]);
    assert_eq!(ended, Ok(()), "{lines:#?}");
    for at in 0..bytes.len() {
        let (head, tail) = bytes.split_at(at);
        let (found, ended) = read(wire, [head, tail]);
        assert!(found == lines && ended.is_ok(), "cut at {at}: {found:#?}");
    }
    assert_eq!(read(wire, bytes.chunks(1)).0, lines);
    broken(wire, bytes);
    lines
}

/// Makes sure that a stream with a wrong byte says the same in any chunks.
fn broken(wire: Format, bytes: &[u8]) {
    let mut chance = bytes.len() as u64;
    for _ in 0..64 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut bytes = bytes.to_vec();
        let Some(last) = bytes.len().checked_sub(1) else { return };
        let at = (chance >> 33) as usize % (last + 1);
        bytes[at] = b"\n\r{}[]\":,0x\\ \xff"[(chance >> 20) as usize % 14];
        let whole = read(wire, [&bytes[..]]);
        assert_eq!(read(wire, bytes.chunks(7)), whole, "byte {at} is {:?}", bytes[at] as char);
        assert_eq!(read(wire, bytes.chunks(1)), whole, "byte {at} is {:?}", bytes[at] as char);
    }
}

/// Compares what is told of a stream with what should be, one line for each event.
#[track_caller]
fn check(wire: Format, stream: &str, expected: &str) {
    let lines = told(wire, stream.as_bytes());
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines, expected, "{lines:#?}");
}

/// A stream of these data.
fn sse(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// The same, with names that the data repeat.
fn named(data: &[&str]) -> String {
    let name = |data: &str| -> String {
        let value: serde_json::Value = serde_json::from_str(data).expect("JSON");
        value["type"].as_str().unwrap_or_default().to_owned()
    };
    data.iter().map(|data| format!("event: {}\ndata: {data}\n\n", name(data))).collect()
}

const WIRES: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Gemini,
    Format::Bedrock,
];

#[test]
fn nothing_at_all_is_an_answer_that_was_cut_off() {
    for wire in WIRES {
        for stream in ["", "\n\n", ": hello\n\n"] {
            check(wire, stream, "cut");
        }
    }
}

#[test]
fn data_that_is_no_object_is_refused_with_its_byte() {
    let table = [
        ("data: {\"a\":1}x\n\n", 13, "`x` where the end should be"),
        (": hi\n\ndata: {\"a\":tru}\n\n", 17, "`t` where `true` should be"),
        ("event: e\ndata: {\"a\"\ndata:  1}\n\n", 27, "`1` where `:` should be"),
        ("data:  [1]\n\n", 7, "the data of an event is not an object"),
        ("data: \"text\"\n\n", 6, "the data of an event is not an object"),
        ("{\"a\":\"x\n", 7, "a control character inside a string"),
    ];
    for wire in WIRES {
        for (stream, at, what) in table {
            let what = what.to_owned();
            let expected = Err(StreamError::Malformed { at, what });
            assert_eq!(read(wire, [stream.as_bytes()]).1, expected, "{stream:?}");
            assert_eq!(read(wire, stream.as_bytes().chunks(1)).1, expected, "{stream:?}");
        }
    }
}

#[test]
fn values_of_another_type_are_refused_with_their_byte() {
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
    for (wire, data, at, what) in table {
        let (_, ended) = read(wire, [sse(&[data]).as_bytes()]);
        let what = what.to_owned();
        assert_eq!(ended, Err(StreamError::Malformed { at: at + 6, what }), "{data}");
    }
}

#[test]
fn what_nobody_knows_is_left_out_and_said_once() {
    let unknown = sse(&[r#"{"type":"news","delta":1}"#, r#"{"type":"news","delta":2}"#]);
    let expected = "skip unknown: events `news` were left out\ncut";
    check(Format::Anthropic, &unknown, expected);
    check(Format::OpenaiResponses, &unknown, expected);
    let tagged = sse(&[r#"{"news":{}}"#, r#"{"news":{}}"#]);
    check(Format::Bedrock, &tagged, expected);
}
