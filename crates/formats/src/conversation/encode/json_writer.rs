//! Writes JSON values and the commas between them.

use std::borrow::Cow;

use foxwedge_json::{StringEnds, escape_into};

/// Appends the comma before the next list element or object field.
pub(crate) fn write_comma(out: &mut String) {
    if !out.ends_with(['[', '{']) {
        out.push(',');
    }
}

/// Appends a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    escape_into(out, text);
    out.push('"');
}

/// Appends JSON without white space between its values. Strings stay unchanged.
pub(crate) fn write_compact(out: &mut String, json: &str) {
    if is_compact(json.as_bytes()) {
        return out.push_str(json);
    }
    let mut rest = json;
    loop {
        let Some(quote) = memchr::memchr(b'"', rest.as_bytes()) else {
            return write_without_whitespace(out, rest);
        };
        let (before, from) = rest.split_at(quote);
        write_without_whitespace(out, before);
        let end = end_of_string(from);
        let (string, after) = from.split_at(end);
        out.push_str(string);
        rest = after;
    }
}

fn write_without_whitespace(out: &mut String, text: &str) {
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        out.extend(text.chars().filter(|c| !c.is_ascii_whitespace()));
    } else {
        out.push_str(text);
    }
}

/// Where the string at the start of a text ends.
fn end_of_string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

/// JSON without white space between its values.
pub(crate) fn compact_json(json: &str) -> Cow<'_, str> {
    if is_compact(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    write_compact(&mut out, json);
    Cow::Owned(out)
}

/// Whether JSON certainly has no white space between its values, which is the common case.
fn is_compact(bytes: &[u8]) -> bool {
    let mut marks = StringEnds::NONE;
    let mut at = 0;
    loop {
        let quote = marks.next_end(bytes, at);
        let between = bytes.get(at..quote).unwrap_or_default();
        if between.contains(&b' ') {
            return false;
        }
        match bytes.get(quote) {
            Some(b'"') => at = quote + 1,
            Some(_) => return false,
            None => return true,
        }
        loop {
            at = marks.next_end(bytes, at);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => return true,
            }
        }
        at += 1;
    }
}

/// Maximum nesting of containers in a document.
pub(crate) const MAX_NESTING: usize = 480;

/// Whether JSON is nested too deep for any document.
pub(crate) fn is_too_deep(json: &str) -> bool {
    // A shorter text cannot hold that many brackets.
    json.len() > 2 * MAX_NESTING && depth(json) > MAX_NESTING
}

fn depth(json: &str) -> usize {
    let (mut deepest, mut open) = (0_usize, 0_usize);
    let (mut inside, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            _ if inside => {}
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_values_is_removed() {
        let table = [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("{ \"a b\" :\n[1, \"x \\\" y\"]\t}", r#"{"a b":[1,"x \" y"]}"#),
            (r#""\\" "#, r#""\\""#),
            (r#"["\\\" ", "é ü" ]"#, r#"["\\\" ","é ü"]"#),
        ];
        for (json, expected) in table {
            assert_eq!(compact_json(json), expected);
        }
        assert_eq!(depth(r#"{"a":[{"[[[":"]"}],"b":{}}"#), 3);
    }
}
