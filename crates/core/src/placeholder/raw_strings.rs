//! Strings in raw JSON that was scanned before.

use foxwedge_json::StringEnds;

/// Whether raw JSON has a key of this name, at any depth.
pub(crate) fn has_key(raw: &str, key: &str) -> bool {
    let mut rest = raw;
    while let Some((string, rest_after)) = rest.split_once('"').and_then(|it| split_string(it.1)) {
        rest = rest_after;
        if rest.trim_start().starts_with(':') && unescape(string) == key {
            return true;
        }
    }
    false
}

/// Splits raw JSON after an opening quote at the closing one.
pub(super) fn split_string(inside: &str) -> Option<(&str, &str)> {
    let mut ends = StringEnds::NONE;
    let mut at = 0;
    loop {
        at = ends.next_end(inside.as_bytes(), at);
        match inside.as_bytes().get(at)? {
            b'"' => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Decodes the escapes of a string. Control characters become spaces.
pub(super) fn unescape(string: &str) -> String {
    foxwedge_json::unescape(string).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_at_the_first_quote_that_is_not_escaped() {
        let long = format!(r#"{}\"b"#, "é".repeat(100));
        let table = [
            (r#"a" rest"#, Some(("a", " rest"))),
            (r#"""#, Some(("", ""))),
            (r#"a\"b"c"#, Some((r#"a\"b"#, "c"))),
            (r#"a\\"c"#, Some((r#"a\\"#, "c"))),
            (r#"\é"c"#, Some((r#"\é"#, "c"))),
            ("a\tb\"c", Some(("a\tb", "c"))),
            ("", None),
            ("a", None),
            (r#"a\"#, None),
            (r#"a\""#, None),
            (long.as_str(), None),
        ];
        for (inside, expected) in table {
            assert_eq!(split_string(inside), expected, "{inside}");
        }
        let closed = format!("{long}\"c");
        assert_eq!(split_string(&closed), Some((long.as_str(), "c")));
    }
}
