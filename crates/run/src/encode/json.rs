//! Writes JSON objects, one line each.
//!
//! Written by hand, because a text delta is encoded for every token of every run: it fills one
//! string from left to right and builds no tree of values.

use std::borrow::Cow;

use foxwedge_json::escape_into;

use crate::RawJson;

/// The largest integer that every reader holds exactly.
const MAX_EXACT_INTEGER: u64 = (1 << 53) - 1;

/// An object that is being written. Keys are our own and need no escapes.
pub(super) struct JsonObjectWriter {
    json: String,
}

impl JsonObjectWriter {
    pub(super) fn new() -> JsonObjectWriter {
        JsonObjectWriter::with_capacity(128)
    }

    /// Reserves space for a text of this length.
    pub(super) fn with_capacity(length: usize) -> JsonObjectWriter {
        let mut json = String::with_capacity(length.saturating_add(128));
        json.push('{');
        JsonObjectWriter { json }
    }

    pub(super) fn text(mut self, key: &str, value: &str) -> JsonObjectWriter {
        self.key(key);
        escape(&mut self.json, value);
        self
    }

    /// Adds a string of our own, which needs no escapes.
    pub(super) fn unescaped(mut self, key: &str, value: &str) -> JsonObjectWriter {
        self.key(key);
        self.json.push('"');
        self.json.push_str(value);
        self.json.push('"');
        self
    }

    /// Adds nothing for `None`, since none of the formats expects `null`.
    pub(super) fn optional_text(self, key: &str, value: Option<&str>) -> JsonObjectWriter {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn number(mut self, key: &str, value: u64) -> JsonObjectWriter {
        self.key(key);
        self.json.push_str(&value.min(MAX_EXACT_INTEGER).to_string());
        self
    }

    pub(super) fn flag(mut self, key: &str, value: bool) -> JsonObjectWriter {
        self.key(key);
        self.json.push_str(if value { "true" } else { "false" });
        self
    }

    /// Adds a JSON value from a source.
    pub(super) fn json(mut self, key: &str, value: &RawJson) -> JsonObjectWriter {
        self.key(key);
        self.json.push_str(&single_line(value));
        self
    }

    /// Adds a JSON value that was written here.
    pub(super) fn raw(mut self, key: &str, value: &str) -> JsonObjectWriter {
        self.key(key);
        self.json.push_str(value);
        self
    }

    pub(super) fn object(self, key: &str, value: JsonObjectWriter) -> JsonObjectWriter {
        self.raw(key, &value.finish())
    }

    /// Adds nothing if the object is empty.
    pub(super) fn non_empty_object(self, key: &str, value: JsonObjectWriter) -> JsonObjectWriter {
        if value.is_empty() { self } else { self.object(key, value) }
    }

    pub(super) fn list(
        self,
        key: &str,
        items: impl IntoIterator<Item = String>,
    ) -> JsonObjectWriter {
        self.raw(key, &array(items))
    }

    pub(super) fn finish(mut self) -> String {
        self.json.push('}');
        self.json
    }

    fn is_empty(&self) -> bool {
        self.json.len() == 1
    }

    fn key(&mut self, key: &str) {
        if !self.is_empty() {
            self.json.push(',');
        }
        self.json.push('"');
        self.json.push_str(key);
        self.json.push_str("\":");
    }
}

/// Encodes a text as a JSON string.
pub(super) fn quote(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    escape(&mut json, text);
    json
}

/// Joins encoded values into a JSON array.
pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    let mut json = String::from("[");
    for item in items {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&item);
    }
    json.push(']');
    json
}

/// Returns JSON in its original spelling, on one line. Line breaks occur only between values; other
/// characters that some readers treat as line breaks occur only in strings. JSON that some readers
/// cannot parse, such as `1e400`, becomes a string.
pub(super) fn single_line(value: &RawJson) -> Cow<'_, str> {
    let raw = value.raw();
    if !is_portable(raw) {
        return Cow::Owned(quote(raw));
    }
    escape_line_breaks(raw)
}

/// Escapes what some readers treat as line breaks; those between values become spaces.
fn escape_line_breaks(json: &str) -> Cow<'_, str> {
    let is_line_break = |c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if !json.contains(is_line_break) {
        return Cow::Borrowed(json);
    }
    let mut line = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '\n' | '\r' => line.push(' '),
            '\u{85}' => line.push_str("\\u0085"),
            '\u{2028}' => line.push_str("\\u2028"),
            '\u{2029}' => line.push_str("\\u2029"),
            other => line.push(other),
        }
    }
    Cow::Owned(line)
}

/// Whether every JSON reader can parse the value: at most 100 levels, and no number out of range.
fn is_portable(raw: &str) -> bool {
    let (mut depth, mut digits, mut is_text, mut is_escaped) = (0_u32, 0_u32, false, false);
    for byte in raw.bytes() {
        if is_text {
            is_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_exponent = digits > 0 && matches!(byte, b'e' | b'E');
        digits = if byte.is_ascii_digit() || byte == b'.' { digits + 1 } else { 0 };
        if depth > 100 || digits > 300 || is_exponent && !is_number(raw) {
            return false;
        }
    }
    true
}

/// Whether all numbers are in range. Slow, so called only if a number has an exponent.
fn is_number(raw: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(raw).is_ok()
}

/// Appends a text as a JSON string, with quotes.
pub(super) fn escape(out: &mut String, text: &str) {
    out.push('"');
    let start = out.len();
    escape_into(out, text);
    // The first bytes of the characters that some readers treat as line breaks.
    if memchr::memchr2(0xc2, 0xe2, text.as_bytes()).is_some() {
        let escaped = out.split_off(start);
        out.push_str(&escape_line_breaks(&escaped));
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_one_line_and_keep_their_order() {
        let multiline = RawJson::parse("{\n  \"a\": [1,\r\n2], \"b\": \"x\\ny\u{2028}\"\n}")
            .expect("it is JSON");
        let object = JsonObjectWriter::new()
            .text("type", "x")
            .optional_text("none", None)
            .optional_text("some", Some("y"))
            .number("huge", u64::MAX)
            .flag("yes", true)
            .json("spread", &multiline)
            .non_empty_object("empty", JsonObjectWriter::new())
            .non_empty_object("full", JsonObjectWriter::new().text("a", "b"))
            .list("list", [quote("1"), "2".to_owned()]);
        let expected = concat!(
            r#"{"type":"x","some":"y","huge":9007199254740991,"yes":true,"#,
            r#""spread":{   "a": [1,  2], "b": "x\ny\u2028" },"full":{"a":"b"},"list":["1",2]}"#
        );
        assert_eq!(object.finish(), expected);
    }

    #[test]
    fn json_that_some_readers_cannot_parse_becomes_a_string() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let table = [
            ("1e400".to_owned(), true),
            ("{\"a\":-1E+999}".to_owned(), true),
            ("9".repeat(400), true),
            (deep(101), true),
            (deep(100), false),
            ("[1e3,-2.5E-400,0.1]".to_owned(), false),
            ("{\"a\":\"1e400 [[\\\" 1e400\"}".to_owned(), false),
            ("[true,false,null]".to_owned(), false),
        ];
        for (raw, expected) in table {
            let json = RawJson::parse(&raw).expect("it is JSON");
            let line = single_line(&json);
            let value: serde_json::Value = serde_json::from_str(&line).expect("every reader can");
            assert_eq!(value == raw.as_str(), expected, "{raw}");
        }
    }

    #[test]
    fn escaped_texts_round_trip() {
        let all: String = (0..0x2100_u32).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"\\\n\r\t\u{8}\u{c}\u{0}\u{1f}", "é\u{2028}😀", &all] {
            let read: String = serde_json::from_str(&quote(text)).expect("it is JSON");
            assert_eq!(read, text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'];
            assert!(!quote(text).contains(breaks), "{text:?}");
        }
    }
}
