//! Finds private data in one pass over a text.

use std::ops::Range;

use super::{KnownSecrets, private_places, secret_names, secret_tokens};

/// A match of private data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PrivateMatch {
    pub(super) range: Range<usize>,
    /// A home folder, which is replaced by `~`.
    pub(super) is_home_folder: bool,
}

/// All private data of a text, in order and without overlaps. Linear in the text: every lookahead
/// is bounded, or its bytes are part of the match.
pub(super) fn find_private(text: &str, known: &KnownSecrets) -> Vec<PrivateMatch> {
    let bytes = text.as_bytes();
    let mut matches: Vec<PrivateMatch> = Vec::new();
    let (mut at, mut free) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let found = match_at(text, at, byte, free, known);
        match found.filter(|found| found.range.start >= free && found.range.end > at) {
            Some(found) => {
                (at, free) = (found.range.end, found.range.end);
                matches.push(found);
            }
            None => at += 1,
        }
    }
    matches
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
    let known_secret = || {
        let length = start.then(|| text.get(at..).and_then(|rest| known.at_start(rest))).flatten();
        length.map(|length| at..at + length)
    };
    match byte {
        b'@' => private_places::match_email(text, at, free).map(secret),
        b':' => private_places::match_credentials(text, at).map(secret),
        b'/' | b'\\' => private_places::match_home_folder(text, at)
            .map(home)
            .or_else(|| known_secret().map(secret)),
        b'-' => secret_tokens::match_private_key(text, at)
            .map(secret)
            .or_else(|| private_places::match_home_slug(text, at).map(home)),
        b'0'..=b'9' if start => private_places::match_ipv4(text, at)
            .or_else(|| secret_tokens::match_token(text, at))
            .or_else(known_secret)
            .map(secret),
        b'a'..=b'z' | b'A'..=b'Z' if start => secret_tokens::match_token(text, at)
            .or_else(|| secret_names::match_bearer(text, at))
            .or_else(|| secret_names::match_assignment(text, at))
            .or_else(known_secret)
            .map(secret),
        _ if start && !byte.is_ascii_whitespace() => known_secret().map(secret),
        _ => None,
    }
}

/// Number of bytes from `at` that are of a kind, up to a limit.
pub(super) fn count_while(text: &str, at: usize, max: usize, kind: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take(max).take_while(|byte| kind(**byte)).count()
}
