//! What the writers share.

use crate::model::{JsonText, TextCitation};

/// Adds a whole number.
pub(super) fn write_number(line: &mut String, number: u64) {
    use std::fmt::Write as _;
    let _ = write!(line, "{number}");
}

/// Adds the inside of the JSON string that says a piece of JSON text: what is escaped there is
/// escaped again. The scratch is somewhere to write the text to.
pub(super) fn write_double_escaped(line: &mut String, words: &JsonText<'_>, scratch: &mut String) {
    scratch.clear();
    words.write_unquoted(scratch);
    crate::json::escape_into(line, scratch);
}

/// Adds a text as a JSON string; without one, what stands in for it.
pub(super) fn write_string(line: &mut String, words: Option<&JsonText<'_>>, other: &'static str) {
    match words {
        Some(words) => words.write(line),
        None => JsonText::from(other).write(line),
    }
}

/// Adds the fields of a citation as OpenAI has them: it insists on all of them. Without a place in
/// the text it stands for all that was said so far, and other texts may stand before this one.
pub(super) fn write_url_citation(
    line: &mut String,
    citation: &TextCitation<'_>,
    before: u64,
    said: u64,
) {
    let (start, end) = citation.span.unwrap_or((0, said));
    line.push_str("\"start_index\":");
    write_number(line, start.saturating_add(before));
    line.push_str(",\"end_index\":");
    write_number(line, end.saturating_add(before));
    line.push_str(",\"title\":");
    write_string(line, citation.title.as_ref(), "");
    line.push_str(",\"url\":");
    write_string(line, citation.url.as_ref(), "");
}

/// How many characters the inside of a JSON string has.
pub(super) fn count_characters(raw: &str) -> u64 {
    let mut count = raw.chars().count();
    let mut rest = raw.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        rest = match rest.get(at..).unwrap_or(&[]) {
            // The second half of a character that is spelled in two.
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

/// Whether clients can read it as bytes: signatures of some formats are texts.
pub(super) fn is_base64(text: &str) -> bool {
    let inside = text.trim_end_matches('=');
    let padding = text.len() - inside.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_from_text() {
        for text in ["", "AAAA", "aGk=", "aA==", "+/+/"] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["abc", "ab_-", "a===", "a b=", "====", "a=bc"] {
            assert!(!is_base64(text), "{text}");
        }
    }

    #[test]
    fn what_is_escaped_is_escaped_again() {
        let mut line = String::new();
        write_double_escaped(
            &mut line,
            &JsonText::from_json((r#"a\"b\n\u00e9"#, true)),
            &mut String::new(),
        );
        assert_eq!(line, r#"a\\\"b\\n\\u00e9"#);
    }

    #[test]
    fn characters_are_counted_as_they_read() {
        for raw in ["", "abc", "é𝄞", r#"a\"b\\"#, r"\u00e9x\n", r"\ud834\udd1e!", r"\uD834\uDD1E"]
        {
            let text: String = serde_json::from_str(&format!("\"{raw}\"")).expect("a string");
            assert_eq!(count_characters(raw), text.chars().count() as u64, "{raw}");
        }
    }
}
