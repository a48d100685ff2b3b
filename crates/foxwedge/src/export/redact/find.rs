//! One pass over a text: where it holds something private.

use std::ops::Range;

use super::{Known, keys, named, places};

/// Something private.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    /// A home folder, which has a short name of its own.
    pub(super) home: bool,
}

/// Everything private in a text, in order, nothing twice. Every look ahead is bounded, or what it
/// saw is part of the hit: the time grows with the text.
pub(super) fn find(text: &str, known: &Known) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let mut hits: Vec<Hit> = Vec::new();
    let (mut at, mut free) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let hit = look(text, at, byte, free, known);
        match hit.filter(|hit| hit.range.start >= free && hit.range.end > at) {
            Some(hit) => {
                (at, free) = (hit.range.end, hit.range.end);
                hits.push(hit);
            }
            None => at += 1,
        }
    }
    hits
}

fn look(text: &str, at: usize, byte: u8, free: usize, known: &Known) -> Option<Hit> {
    let secret = |range| Hit { range, home: false };
    let home = |range| Hit { range, home: true };
    let start = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
    let again = || {
        let length = start.then(|| text.get(at..).and_then(|rest| known.at_start(rest))).flatten();
        length.map(|length| at..at + length)
    };
    match byte {
        b'@' => places::email(text, at, free).map(secret),
        b':' => places::credentials(text, at).map(secret),
        b'/' | b'\\' => places::home(text, at).map(home).or_else(|| again().map(secret)),
        b'-' => {
            keys::private_key(text, at).map(secret).or_else(|| places::slug(text, at).map(home))
        }
        b'0'..=b'9' if start => {
            places::ipv4(text, at).or_else(|| keys::token(text, at)).or_else(again).map(secret)
        }
        b'a'..=b'z' | b'A'..=b'Z' if start => keys::token(text, at)
            .or_else(|| named::bearer(text, at))
            .or_else(|| named::assigned(text, at))
            .or_else(again)
            .map(secret),
        _ if start && !byte.is_ascii_whitespace() => again().map(secret),
        _ => None,
    }
}

/// How many bytes from `at` on are of a kind, up to a limit.
pub(super) fn run(text: &str, at: usize, most: usize, kind: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take(most).take_while(|byte| kind(**byte)).count()
}
