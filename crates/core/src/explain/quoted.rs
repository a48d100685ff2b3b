//! Extracts what an error text quotes from the history: ids, and the index of a message.

use std::collections::BTreeSet;
use std::iter::Peekable;

use super::text::{DecodedChars, NormalizedText};

/// Known prefixes of ids.
const PREFIXES: &[&str] = &[
    "toolu_",
    "tooluse_",
    "srvtoolu_",
    "mcptoolu_",
    "call_",
    "call-",
    "chatcmpl-tool-",
    "fc_",
    "ctc_",
    "rs_",
    "msg_",
];

/// Phrases after which providers quote ids of any form, one or a list of them.
const MARKERS: &[&str] = &[
    "blocks immediately after",
    "did not have response messages",
    "for the following ids",
    "tool_result blocks",
    "blocks with id",
    "tool use with id",
    "with call_id",
    "for function call",
    "for tool call",
    "for tool calls",
    "for custom tool call",
    "tool call id",
    "tool call id was",
    "tool id",
    "item with id",
    "item found with id",
];

/// Words that may be quoted where an id is expected.
const WORDS: &[&str] = &[
    "tool_use",
    "tool_result",
    "tool_calls",
    "tool_call_id",
    "tool_use_id",
    "server_tool_use",
    "thinking",
    "redacted_thinking",
    "tool",
    "user",
    "assistant",
    "system",
    // Keys of error envelopes, which follow the sentence in a log.
    "type",
    "code",
    "param",
    "error",
    "message",
    "status",
    "request_id",
];

/// The ids in the text, each once.
pub(super) fn quoted_ids<'a>(text: &'a str, normalized: &NormalizedText) -> Vec<&'a str> {
    let mut ids = Vec::new();
    for marker in MARKERS {
        let mut read_to = 0;
        for (_, end) in normalized.places_of(marker) {
            if end >= read_to && !begins_inside_word(text, end) {
                read_to = read_id_list(text, end, &mut ids);
            }
        }
    }
    let tokens = QuotedTokens::new(text, 0, usize::MAX, |char| char != ':' && char != '.');
    ids.extend(tokens.map(|token| token.text).filter(|token| has_known_prefix(token)));
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    ids
}

/// Reads the ids after a marker. Returns the end of what it read.
fn read_id_list<'a>(text: &'a str, from: usize, ids: &mut Vec<&'a str>) -> usize {
    let mut read_to = from;
    let mut expected = true;
    for token in QuotedTokens::new(text, from, 32, |_| true) {
        read_to = token.end;
        if !(expected || token.after_comma) || !token.is_id() {
            break;
        }
        expected = false;
        ids.push(token.text);
        if token.ends_sentence {
            break;
        }
    }
    read_to
}

fn has_known_prefix(token: &str) -> bool {
    // `call_8Zk` and `call_1` are ids, `call_id` is a word.
    let looks_random =
        |rest: &str| rest.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    PREFIXES.iter().any(|prefix| token.strip_prefix(prefix).is_some_and(looks_random))
}

fn begins_inside_word(text: &str, at: usize) -> bool {
    text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(char::is_alphanumeric)
}

/// A run of characters that an id can have.
struct QuotedToken<'a> {
    text: &'a str,
    end: usize,
    after_comma: bool,
    quoted: bool,
    ends_sentence: bool,
}

impl QuotedToken<'_> {
    fn is_id(&self) -> bool {
        let mut rest = self.text.chars();
        rest.next();
        let mixed = self.text.chars().any(|char| char.is_ascii_lowercase())
            && rest.any(|char| char.is_ascii_uppercase());
        let digits = self.text.bytes().any(|byte| byte.is_ascii_digit());
        let number = self.text.bytes().all(|byte| byte.is_ascii_digit());
        (mixed || self.quoted || digits && !number) && !WORDS.contains(&self.text)
    }
}

/// The tokens of a text from a position on.
struct QuotedTokens<'a, F> {
    text: &'a str,
    glyphs: Peekable<DecodedChars<'a>>,
    /// The maximum number of characters before the next token.
    max_gap: usize,
    allowed: F,
}

impl<'a, F: Fn(char) -> bool> QuotedTokens<'a, F> {
    fn new(text: &'a str, at: usize, max_gap: usize, allowed: F) -> Self {
        QuotedTokens { text, glyphs: DecodedChars::new(text, at).peekable(), max_gap, allowed }
    }

    fn belongs(&self, char: char, plain: bool) -> bool {
        let known = char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | ':' | '|');
        plain && known && (self.allowed)(char)
    }
}

impl<'a, F: Fn(char) -> bool> Iterator for QuotedTokens<'a, F> {
    type Item = QuotedToken<'a>;

    fn next(&mut self) -> Option<QuotedToken<'a>> {
        let (mut after_comma, mut quoted) = (false, false);
        for _ in 0..self.max_gap {
            let first = self.glyphs.next()?;
            if !self.belongs(first.char, first.plain) {
                after_comma |= first.char == ',';
                quoted = matches!(first.char, '\'' | '"' | '`' | '‘' | '“');
                continue;
            }
            let (start, mut end) = (first.start, first.end);
            while let Some(next) = self.glyphs.peek().copied() {
                if next.start != end || !self.belongs(next.char, next.plain) {
                    break;
                }
                end = next.end;
                self.glyphs.next();
            }
            let run = self.text.get(start..end).unwrap_or_default();
            let text = run.trim_matches(['.', ':', '-', '|']);
            if !text.is_empty() {
                return Some(QuotedToken {
                    text,
                    end,
                    after_comma,
                    quoted,
                    ends_sentence: run.ends_with('.'),
                });
            }
        }
        None
    }
}

/// The index of the message that the text refers to.
pub(super) fn message_index(text: &str, normalized: &NormalizedText) -> Option<usize> {
    // First look for a path into the request, then for a sentence about a message.
    let path = |gap: &str| gap.contains(['.', '[', '/']) || gap.contains(',') && gap.contains('\'');
    let sentence = |gap: &str| !gap.is_empty() && gap.chars().all(char::is_whitespace);
    let paths = ["messages", "input", "contents", "message"];
    let sentences = ["message index", "message at index", "message at position"];
    let number =
        |phrase: &&str, fits: &dyn Fn(&str) -> bool| number_behind(text, normalized, phrase, fits);
    paths
        .iter()
        .find_map(|phrase| number(phrase, &path))
        .or_else(|| sentences.iter().find_map(|phrase| number(phrase, &sentence)))
}

fn number_behind(
    text: &str,
    normalized: &NormalizedText,
    phrase: &str,
    fits: &dyn Fn(&str) -> bool,
) -> Option<usize> {
    normalized.places_of(phrase).into_iter().find_map(|(start, end)| {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        if before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let rest = text.get(end..)?;
        let digits_start = rest.char_indices().take(12).find(|(_, char)| char.is_alphanumeric())?.0;
        let (gap, number) = rest.split_at_checked(digits_start)?;
        let allowed = |char| matches!(char, '.' | '[' | '/' | ' ' | '\n' | ',' | '\'' | '"' | '\\');
        if !gap.chars().all(allowed) || !fits(gap) {
            return None;
        }
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, suffix) = number.split_at_checked(digits)?;
        let index: usize = digits.parse().ok()?;
        // AWS counts from 1 where it writes `messages.2.member.content`.
        if suffix.starts_with(".member") { index.checked_sub(1) } else { Some(index) }
    })
}
