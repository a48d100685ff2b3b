//! Streams that never end: what is kept stays small, and what would not is an error.

use foxwedge_core::Format;
use foxwedge_formats::stream::{StreamConverter, StreamError, StreamLimits, StreamOptions};
use foxwedge_testkit::answers::{self, message};

use super::{call_begins, call_piece, opening, text_begins, text_piece};

const LIMITS: StreamLimits = StreamLimits { frame: 4096, held: 16_384 };

/// Formats whose calls come in pieces.
const PIECES: [Format; 4] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Bedrock];

fn converter(from: Format, to: Format) -> StreamConverter {
    StreamConverter::new(from, to, StreamOptions { limits: LIMITS, ..StreamOptions::default() })
}

/// Pushes what comes in endlessly, until it is refused or so many bytes were taken. What came out
/// goes to the client each time. Says how many bytes were taken, and what came out last.
fn push_endlessly(
    converter: &mut StreamConverter,
    most: usize,
    mut next: impl FnMut(usize) -> Vec<u8>,
) -> (usize, Vec<u8>, Result<(), StreamError>) {
    let mut taken = 0;
    for number in 0.. {
        let chunk = next(number);
        let mut out = Vec::new();
        let pushed = converter.push(&chunk, &mut out);
        taken += chunk.len();
        if pushed.is_err() || taken >= most {
            return (taken, out, pushed);
        }
    }
    unreachable!("it would have to be refused, or be enough")
}

fn is_too_large(pushed: &Result<(), StreamError>, limit: usize) -> bool {
    matches!(pushed, Err(StreamError::TooLarge { most, .. }) if *most == limit)
}

#[test]
fn endless_text_goes_through_at_once_and_nothing_is_kept() {
    for from in Format::ALL {
        for to in [Format::OpenaiChat, Format::Anthropic, Format::Bedrock, Format::Gemini] {
            let mut converter = converter(from, to);
            let begun = [opening(from), text_begins(from)].concat();
            converter.push(&begun, &mut Vec::new()).expect("it begins");
            let mut taken = 0;
            for number in 0_usize.. {
                let mut out = Vec::new();
                let words = format!("piece {number} of an endless text");
                let piece = text_piece(from, &words);
                converter.push(&piece, &mut out).expect("nothing has to be kept");
                let out = String::from_utf8_lossy(&out);
                assert!(out.contains(&words), "{} {}: {out}", from.name(), to.name());
                taken += piece.len();
                if taken > 20 * LIMITS.held {
                    break;
                }
            }
        }
    }
}

#[test]
fn fifty_megabytes_of_text_need_no_memory() {
    let mut converter =
        StreamConverter::new(Format::OpenaiChat, Format::Anthropic, StreamOptions::default());
    converter.push(&opening(Format::OpenaiChat), &mut Vec::new()).expect("it begins");
    let piece = text_piece(Format::OpenaiChat, &"words and words ".repeat(250));
    let mut out = Vec::new();
    let (mut taken, mut before) = (0, None);
    while taken < 50 << 20 {
        out.clear();
        converter.push(&piece, &mut out).expect("nothing has to be kept");
        assert!(out.len() > 4000);
        taken += piece.len();
        // Everything has its size after the first megabyte.
        if taken > 1 << 20 && before.is_none() {
            before = resident();
        }
    }
    if let (Some(before), Some(after)) = (before, resident()) {
        assert!(after < before + (4 << 10), "from {before} to {after} kilobytes");
    }
}

/// The memory of this process in kilobytes, where somebody tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn a_frame_without_an_end_is_refused() {
    for from in Format::ALL {
        let starts: Vec<Vec<u8>> = match from {
            Format::Bedrock => {
                let mut long = message("event", "messageStart", &[b' '; 100_000]);
                long.truncate(200);
                vec![long, b"{\"messageStart\":{\"role\":\"".to_vec()]
            }
            Format::Gemini => vec![b"data: {\"a\":\"".to_vec(), b"[{\"a\":\"".to_vec()],
            _ => vec![b"data: {\"a\":\"".to_vec(), b"event: ".to_vec(), b": comment ".to_vec()],
        };
        for start in starts {
            for to in Format::ALL {
                let mut converter = converter(from, to);
                converter.push(&start, &mut Vec::new()).expect("it begins");
                let (taken, out, pushed) =
                    push_endlessly(&mut converter, 20 * LIMITS.frame, |_| vec![b'x'; 100]);
                let told = String::from_utf8_lossy(&start).into_owned();
                assert!(is_too_large(&pushed, LIMITS.frame), "{told} {pushed:?}");
                assert!(taken <= LIMITS.frame + 200, "{told} {taken}");
                let heard = answers::hear(to, &out);
                assert!(heard.error.is_some() && !heard.ended, "{told} {heard:?}");
            }
        }
    }
}

#[test]
fn calls_behind_a_call_that_never_ends_are_held_within_the_limit() {
    for from in [Format::OpenaiChat, Format::OpenaiResponses] {
        for to in Format::ALL {
            let mut converter = converter(from, to);
            let begun = [
                opening(from),
                call_begins(from, 0),
                call_piece(from, 0, "{\\\"a\\\":"),
                call_begins(from, 1),
            ];
            let mut first = Vec::new();
            converter.push(&begun.concat(), &mut first).expect("it begins");
            let (taken, out, pushed) = push_endlessly(&mut converter, 20 * LIMITS.held, |_| {
                call_piece(from, 1, "more and more and more and more of it")
            });
            let pair = format!("{} {}", from.name(), to.name());
            assert!(is_too_large(&pushed, LIMITS.held), "{pair} {pushed:?}");
            assert!(taken < 12 * LIMITS.held, "{pair} {taken}");
            let heard = answers::hear(to, &[first, out].concat());
            assert!(heard.error.is_some() && !heard.ended, "{pair} {heard:?}");
            assert!(!heard.whole.contains(&true), "{pair} {heard:?}");
        }
    }
}

#[test]
fn a_call_that_never_ends_is_kept_only_where_the_format_takes_it_whole() {
    for from in PIECES {
        for to in Format::ALL {
            let mut converter = converter(from, to);
            let begun =
                [opening(from), call_begins(from, 0), call_piece(from, 0, "{\\\"a\\\":\\\"")];
            converter.push(&begun.concat(), &mut Vec::new()).expect("it begins");
            let (_, _, pushed) = push_endlessly(&mut converter, 20 * LIMITS.held, |_| {
                call_piece(from, 0, "more and more and more and more of it")
            });
            let keeps = matches!(to, Format::Gemini | Format::OpenaiResponses);
            let pair = format!("{} {}", from.name(), to.name());
            assert_eq!(is_too_large(&pushed, LIMITS.held), keeps, "{pair} {pushed:?}");
            assert!(keeps || pushed.is_ok(), "{pair} {pushed:?}");
        }
    }
}

#[test]
fn text_that_the_format_repeats_at_its_end_is_kept_within_the_limit() {
    for from in Format::ALL {
        let mut converter = converter(from, Format::OpenaiResponses);
        let begun = [opening(from), text_begins(from)].concat();
        converter.push(&begun, &mut Vec::new()).expect("it begins");
        let (taken, out, pushed) = push_endlessly(&mut converter, 20 * LIMITS.held, |_| {
            text_piece(from, "more and more and more and more of it")
        });
        assert!(is_too_large(&pushed, LIMITS.held), "{} {pushed:?}", from.name());
        assert!(taken > LIMITS.held, "{} {taken}", from.name());
        assert!(String::from_utf8_lossy(&out).contains("response.failed"), "{}", from.name());
        // Behind an error there is nothing.
        let mut behind = Vec::new();
        assert_eq!(converter.push(&text_piece(from, "x"), &mut behind), pushed);
        assert_eq!(converter.finish(&mut behind).err(), pushed.err());
        assert!(behind.is_empty());
    }
}
