//! What an error text quotes from the history: ids, and the number of a message.

use std::collections::BTreeSet;
use std::iter::Peekable;

use super::text::{DecodedChars, NormalizedText};

/// Ids that are known by how they begin.
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

/// Words behind which providers name ids of any form, one or a list of them.
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

/// Words that may stand in quotes where an id could stand.
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

/// The ids that the text names, each once.
pub(super) fn quoted_ids<'a>(text: &'a str, squeezed: &NormalizedText) -> Vec<&'a str> {
    let mut found = Vec::new();
    for marker in MARKERS {
        let mut read_to = 0;
        for (_, end) in squeezed.places_of(marker) {
            if end >= read_to && !begins_inside_word(text, end) {
                read_to = read_id_list(text, end, &mut found);
            }
        }
    }
    let words = QuotedTokens::new(text, 0, usize::MAX, |char| char != ':' && char != '.');
    found.extend(words.map(|token| token.text).filter(|token| has_known_prefix(token)));
    let mut seen = BTreeSet::new();
    found.retain(|id| seen.insert(*id));
    found
}

/// Reads the ids behind a marker and says how far it came.
fn read_id_list<'a>(text: &'a str, from: usize, found: &mut Vec<&'a str>) -> usize {
    let mut read_to = from;
    let mut expected = true;
    for token in QuotedTokens::new(text, from, 32, |_| true) {
        read_to = token.end;
        if !(expected || token.after_comma) || !token.is_id() {
            break;
        }
        expected = false;
        found.push(token.text);
        if token.ends_sentence {
            break;
        }
    }
    read_to
}

fn has_known_prefix(token: &str) -> bool {
    // `call_8Zk` and `call_1` are ids, `call_id` is a word.
    let random =
        |rest: &str| rest.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    PREFIXES.iter().any(|prefix| token.strip_prefix(prefix).is_some_and(random))
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
        let mut letters = self.text.chars();
        letters.next();
        let mixed = self.text.chars().any(|char| char.is_ascii_lowercase())
            && letters.any(|char| char.is_ascii_uppercase());
        let digits = self.text.bytes().any(|byte| byte.is_ascii_digit());
        let number = self.text.bytes().all(|byte| byte.is_ascii_digit());
        (mixed || self.quoted || digits && !number) && !WORDS.contains(&self.text)
    }
}

/// The tokens of a text from a place on.
struct QuotedTokens<'a, F> {
    text: &'a str,
    glyphs: Peekable<DecodedChars<'a>>,
    /// How many characters may stand before the next token.
    max_gap: usize,
    allowed: F,
}

impl<'a, F: Fn(char) -> bool> QuotedTokens<'a, F> {
    fn new(text: &'a str, at: usize, patience: usize, allowed: F) -> Self {
        QuotedTokens {
            text,
            glyphs: DecodedChars::new(text, at).peekable(),
            max_gap: patience,
            allowed,
        }
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
            while let Some(glyph) = self.glyphs.peek().copied() {
                if glyph.start != end || !self.belongs(glyph.char, glyph.plain) {
                    break;
                }
                end = glyph.end;
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

/// The message that the text points at.
pub(super) fn message_index(text: &str, squeezed: &NormalizedText) -> Option<usize> {
    // A path into the request, then a sentence about a message.
    let path = |gap: &str| gap.contains(['.', '[', '/']) || gap.contains(',') && gap.contains('\'');
    let sentence = |gap: &str| !gap.is_empty() && gap.chars().all(char::is_whitespace);
    let paths = ["messages", "input", "contents", "message"];
    let sentences = ["message index", "message at index", "message at position"];
    let number =
        |words: &&str, fits: &dyn Fn(&str) -> bool| number_behind(text, squeezed, words, fits);
    paths
        .iter()
        .find_map(|words| number(words, &path))
        .or_else(|| sentences.iter().find_map(|words| number(words, &sentence)))
}

fn number_behind(
    text: &str,
    squeezed: &NormalizedText,
    words: &str,
    fits: &dyn Fn(&str) -> bool,
) -> Option<usize> {
    squeezed.places_of(words).into_iter().find_map(|(start, end)| {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        if before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let rest = text.get(end..)?;
        let head = rest.char_indices().take(12).find(|(_, char)| char.is_alphanumeric())?.0;
        let (gap, number) = rest.split_at_checked(head)?;
        let allowed = |char| matches!(char, '.' | '[' | '/' | ' ' | '\n' | ',' | '\'' | '"' | '\\');
        if !gap.chars().all(allowed) || !fits(gap) {
            return None;
        }
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = number.split_at_checked(digits)?;
        let index: usize = digits.parse().ok()?;
        // AWS counts from 1 where it writes `messages.2.member.content`.
        if behind.starts_with(".member") { index.checked_sub(1) } else { Some(index) }
    })
}
