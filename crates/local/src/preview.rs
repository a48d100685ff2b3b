//! One-line previews of JSON text without control characters. Reads only the first bytes.

use foxwedge_json::decode_escape;

use crate::output::is_harmful;

/// Keys that hold the text of a part.
const TEXT: [&str; 1] = ["\"text\""];
/// Keys that hold the output of a tool result.
const OUTPUT: [&str; 5] = ["\"text\"", "\"output\"", "\"error\"", "\"result\"", "\"content\""];

/// The beginning of a text part: a string, or an object with a `text` field.
pub fn text(raw: &str, max: usize) -> String {
    first_chars(raw, &TEXT, max)
}

/// The beginning of the output of a tool result.
pub fn output(raw: &str, max: usize) -> String {
    first_chars(raw, &OUTPUT, max)
}

fn first_chars(raw: &str, keys: &[&str], max: usize) -> String {
    let start = match raw.as_bytes().first() {
        Some(b'"') => Some(1),
        _ => keys.iter().find_map(|key| field(raw, key)),
    };
    let mut rest = start.and_then(|start| raw.get(start..)).unwrap_or("");
    let mut text = String::new();
    let mut length = 0;
    while let Some(c) = rest.chars().next() {
        let (c, used) = match c {
            '"' => return text,
            '\\' if rest.len() > 1 => decode_escape(rest),
            '\\' => (' ', 1),
            c => (c, c.len_utf8()),
        };
        rest = rest.get(used..).unwrap_or("");
        if c.is_whitespace() || is_harmful(c) {
            if text.ends_with(' ') {
                continue;
            }
            text.push(' ');
        } else {
            text.push(c);
        }
        length += 1;
        if length == max {
            text.push('…');
            break;
        }
    }
    text
}

/// Offset of the string value of a key.
fn field(raw: &str, key: &str) -> Option<usize> {
    raw.match_indices(key).take(8).find_map(|(at, _)| {
        let rest = raw.get(at + key.len()..)?;
        let value = rest.trim_start().strip_prefix(':')?.trim_start();
        value.starts_with('"').then(|| raw.len() - value.len() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_are_short_and_harmless() {
        let table = [
            (r#""hello""#, "hello"),
            (r#"{"type":"text","text":"hi \"you\""}"#, "hi \"you\""),
            (r#"{"text" : "a\n\n  b\u001b[31m"}"#, "a b [31m"),
            (r#""fox \ud83e\udd8a here""#, "fox 🦊 here"),
            (r#""half \ud83e\u0041""#, "half \u{fffd}A"),
            (r#"{"type":"text"}"#, ""),
            ("\"\\", " "),
            ("", ""),
        ];
        for (raw, expected) in table {
            assert_eq!(text(raw, 40), expected, "{raw}");
        }
        assert_eq!(text(&format!("\"{}\"", "中".repeat(99)), 40).chars().count(), 41);
        assert_eq!(output(r#"{"response":{"output":"3 files"}}"#, 40), "3 files");
        assert_eq!(output(r#"[{"type":"text","text":"3 files"}]"#, 40), "3 files");
    }
}
