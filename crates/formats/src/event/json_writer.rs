//! JSON helpers of the writers.

use crate::conversation::{JsonText, TextCitation};

/// Appends a whole number.
pub(crate) fn write_number(line: &mut String, number: u64) {
    use std::fmt::Write as _;
    let _ = write!(line, "{number}");
}

/// Appends JSON-escaped text, escaped a second time: the inside of a JSON string that holds JSON.
/// `scratch` is a reusable buffer.
pub(crate) fn write_double_escaped(line: &mut String, text: &JsonText<'_>, scratch: &mut String) {
    scratch.clear();
    text.write_unquoted(scratch);
    foxwedge_json::escape_into(line, scratch);
}

/// Appends a text as a JSON string, or a default if there is none.
pub(crate) fn write_string(line: &mut String, text: Option<&JsonText<'_>>, default: &'static str) {
    match text {
        Some(text) => text.write(line),
        None => JsonText::from(default).write(line),
    }
}

/// Appends the fields of a citation in OpenAI's format, which requires all of them. Without a
/// position it covers the text written so far. `before` counts the characters of earlier texts.
pub(crate) fn write_url_citation(
    line: &mut String,
    citation: &TextCitation<'_>,
    before: u64,
    written: u64,
) {
    let (start, end) = citation.span.unwrap_or((0, written));
    line.push_str("\"start_index\":");
    write_number(line, start.saturating_add(before));
    line.push_str(",\"end_index\":");
    write_number(line, end.saturating_add(before));
    line.push_str(",\"title\":");
    write_string(line, citation.title.as_ref(), "");
    line.push_str(",\"url\":");
    write_string(line, citation.url.as_ref(), "");
}

/// Appends an event with JSON data. Escapes the line ends that only some readers take for such:
/// Google's library for Python splits a stream with `str.splitlines`. In JSON they are always inside
/// a string.
pub(crate) fn write_frame(out: &mut Vec<u8>, frame: &str) {
    let mut rest = frame.as_bytes();
    let mut from = 0;
    while let Some(at) = memchr::memchr2(0xc2, 0xe2, rest.get(from..).unwrap_or_default()) {
        let (head, tail) = rest.split_at(from + at);
        let (escape, behind): (&[u8], _) = match tail {
            [0xc2, 0x85, behind @ ..] => (b"\\u0085", behind),
            [0xe2, 0x80, 0xa8, behind @ ..] => (b"\\u2028", behind),
            [0xe2, 0x80, 0xa9, behind @ ..] => (b"\\u2029", behind),
            _ => {
                from += at + 1;
                continue;
            }
        };
        out.extend_from_slice(head);
        out.extend_from_slice(escape);
        (rest, from) = (behind, 0);
    }
    out.extend_from_slice(rest);
}

/// Number of characters in the inside of a JSON string.
pub(crate) fn count_characters(raw: &str) -> u64 {
    let mut count = raw.chars().count();
    let mut rest = raw.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        rest = match rest.get(at..).unwrap_or(&[]) {
            // The second half of a surrogate pair.
            [_, b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _, rest @ ..] => {
                count -= 6;
                rest
            }
            [_, b'u', _, _, _, _, rest @ ..] => {
                count -= 5;
                rest
            }
            [_, _, rest @ ..] => {
                count -= 1;
                rest
            }
            _ => &[],
        };
    }
    count as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_is_escaped_again() {
        let mut line = String::new();
        write_double_escaped(
            &mut line,
            &JsonText::from_json((r#"a\"b\n\u00e9"#, true)),
            &mut String::new(),
        );
        assert_eq!(line, r#"a\\\"b\\n\\u00e9"#);
    }

    #[test]
    fn line_ends_of_some_readers_are_escaped_in_frames() {
        let table = [
            ("", ""),
            ("data: {\"a\":\"é — “plain” ©\"}\n\n", "data: {\"a\":\"é — “plain” ©\"}\n\n"),
            ("\u{2028}", r"\u2028"),
            ("a\u{85}b\u{2028}\u{2029}—c\u{2027}", "a\\u0085b\\u2028\\u2029—c\u{2027}"),
            ("\\\\\u{2029}", r"\\\u2029"),
        ];
        for (frame, expected) in table {
            let mut out = b"before ".to_vec();
            write_frame(&mut out, frame);
            assert_eq!(String::from_utf8_lossy(&out), format!("before {expected}"));
        }
    }

    #[test]
    fn characters_are_counted_after_unescaping() {
        for raw in ["", "abc", "é𝄞", r#"a\"b\\"#, r"\u00e9x\n", r"\ud834\udd1e!", r"\uD834\uDD1E"]
        {
            let text: String = serde_json::from_str(&format!("\"{raw}\"")).expect("a string");
            assert_eq!(count_characters(raw), text.chars().count() as u64, "{raw}");
        }
    }
}
