//! Escapes and unescapes the content of JSON strings.

use std::borrow::Cow;

/// Appends a text as the content of a JSON string, without quotes.
pub(super) fn escape_into(text: &str, out: &mut String) {
    let mut rest = text;
    // Characters that need no escape are copied in one go.
    while let Some((plain, special)) = rest.split_at_checked(plain_length(rest.as_bytes())) {
        out.push_str(plain);
        let mut characters = special.chars();
        let Some(character) = characters.next() else { return };
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                for digit in [u32::from(control) >> 4, u32::from(control) & 15] {
                    out.push(char::from_digit(digit, 16).unwrap_or('0'));
                }
            }
        }
        rest = characters.as_str();
    }
}

/// Returns the text of a valid JSON string; `None` if the value is not a string. A lone surrogate
/// (`\ud83d` alone, where a stream was cut) becomes U+FFFD.
pub(super) fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    let content = raw.strip_prefix('"')?.strip_suffix('"')?;
    Some(match content.find('\\') {
        None => Cow::Borrowed(content),
        Some(first) => Cow::Owned(unescape(content, first)),
    })
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The number of bytes before the next one that needs an escape: a quote, a backslash or a control
/// character. All of them are ASCII, so a text may be split there.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return at * 8 + (hits.trailing_zeros() / 8) as usize;
        }
    }
    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    words.len() * 8 + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// Marks special bytes in their high bit. A byte above the first marked one may be marked by
/// mistake; the first one never is.
fn special_bytes(word: u64) -> u64 {
    let quotes = word ^ (ONES * u64::from(b'"'));
    let slashes = word ^ (ONES * u64::from(b'\\'));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes.wrapping_sub(ONES) & !quotes | slashes.wrapping_sub(ONES) & !slashes | controls) & HIGH
}

fn unescape(content: &str, first: usize) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    let mut next = Some(first);
    while let Some((plain, escape)) = next.and_then(|at| rest.split_at_checked(at)) {
        out.push_str(plain);
        let mut characters = escape.chars();
        characters.next();
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let (character, after) = decode_escape(characters.as_str());
                out.push(character);
                characters = after.chars();
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
        next = rest.find('\\');
    }
    out.push_str(rest);
    out
}

/// Returns the character of a `\u` escape, given the text after `\u`, and the rest of the text.
fn decode_escape(digits: &str) -> (char, &str) {
    const BROKEN: char = char::REPLACEMENT_CHARACTER;
    let Some((unit, rest)) = code_unit(digits) else { return (BROKEN, digits) };
    if !(0xd800..0xdc00).contains(&unit) {
        return (char::from_u32(unit).unwrap_or(BROKEN), rest);
    }
    let pair = rest.strip_prefix("\\u").and_then(self::code_unit);
    match pair {
        Some((low @ 0xdc00..0xe000, after)) => {
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(BROKEN), after)
        }
        Some(_) | None => (BROKEN, rest),
    }
}

fn code_unit(digits: &str) -> Option<(u32, &str)> {
    let (digits, rest) = digits.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        let mut texts: Vec<String> =
            ["", "\"", "\\", "a\u{1f600}\u{7f}\u{80}\u{2028}", "\0\u{1f}\\u0041", &all]
                .map(String::from)
                .to_vec();
        // Every special character at every position of an 8-byte word.
        for special in ['"', '\\', '\n', '\u{1}', '\u{e9}', '!', '#', '['] {
            texts.extend((0..20).map(|at| format!("{}{special}{}", "x".repeat(at), "y".repeat(9))));
        }
        for text in texts {
            let mut raw = String::from("\"");
            escape_into(&text, &mut raw);
            raw.push('"');
            assert_eq!(text_of(&raw).as_deref(), Some(text.as_str()), "{raw}");
            assert_eq!(serde_json::from_str::<String>(&raw).ok(), Some(text), "{raw}");
        }
    }

    #[test]
    fn every_escape_is_read() {
        let table = [
            (r#""\"\\\/\b\f\n\r\t\u0041""#, Some("\"\\/\u{8}\u{c}\n\r\tA")),
            (r#""\ud83d\ude00!""#, Some("\u{1f600}!")),
            (r#""\uD83D""#, Some("\u{fffd}")),
            (r#""\ud83dx""#, Some("\u{fffd}x")),
            (r#""\ud83d\n""#, Some("\u{fffd}\n")),
            (r#""\ud83d\ud83d\ude00""#, Some("\u{fffd}\u{1f600}")),
            (r#""\ude00""#, Some("\u{fffd}")),
            ("\"\"", Some("")),
            ("\"", None),
            ("7", None),
            ("null", None),
        ];
        for (raw, expected) in table {
            assert_eq!(text_of(raw).as_deref(), expected, "{raw}");
        }
    }
}
