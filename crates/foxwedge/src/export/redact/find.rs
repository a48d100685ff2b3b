//! One pass over a text: where it holds something private.

use std::ops::Range;

use super::{KnownSecrets, private_places, secret_names, secret_tokens};

/// Something private.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PrivateMatch {
    pub(super) range: Range<usize>,
    /// A home folder, which has a short name of its own.
    pub(super) is_home_folder: bool,
}

/// Everything private in a text, in order, nothing twice. Every look ahead is bounded, or what it
/// saw is part of the hit: the time grows with the text.
pub(super) fn find_private(text: &str, known: &KnownSecrets) -> Vec<PrivateMatch> {
    let bytes = text.as_bytes();
    let mut hits: Vec<PrivateMatch> = Vec::new();
    let (mut at, mut free) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let hit = match_at(text, at, byte, free, known);
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

fn match_at(
    text: &str,
    at: usize,
    byte: u8,
    free: usize,
    known: &KnownSecrets,
) -> Option<PrivateMatch> {
    let secret = |range| PrivateMatch { range, is_home_folder: false };
    let home = |range| PrivateMatch { range, is_home_folder: true };
    let start = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
    let again = || {
        let length = start.then(|| text.get(at..).and_then(|rest| known.at_start(rest))).flatten();
        length.map(|length| at..at + length)
    };
    match byte {
        b'@' => private_places::match_email(text, at, free).map(secret),
        b':' => private_places::match_credentials(text, at).map(secret),
        b'/' | b'\\' => {
            private_places::match_home_folder(text, at).map(home).or_else(|| again().map(secret))
        }
        b'-' => secret_tokens::match_private_key(text, at)
            .map(secret)
            .or_else(|| private_places::match_home_slug(text, at).map(home)),
        b'0'..=b'9' if start => private_places::match_ipv4(text, at)
            .or_else(|| secret_tokens::match_token(text, at))
            .or_else(again)
            .map(secret),
        b'a'..=b'z' | b'A'..=b'Z' if start => secret_tokens::match_token(text, at)
            .or_else(|| secret_names::match_bearer(text, at))
            .or_else(|| secret_names::match_assignment(text, at))
            .or_else(again)
            .map(secret),
        _ if start && !byte.is_ascii_whitespace() => again().map(secret),
        _ => None,
    }
}

/// How many bytes from `at` on are of a kind, up to a limit.
pub(super) fn count_while(text: &str, at: usize, most: usize, kind: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take(most).take_while(|byte| kind(**byte)).count()
}
