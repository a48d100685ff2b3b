//! Writes JSON objects, one line each.
//!
//! By hand, since a text delta is written for every token of every run: one string, filled from
//! left to right, and no tree of values.

use std::borrow::Cow;

use crate::Json;

/// The largest whole number that every reader keeps exact.
const LARGEST: u64 = (1 << 53) - 1;

/// An object that is being written. Keys are ours and need no escapes.
pub(super) struct Object {
    json: String,
}

impl Object {
    pub(super) fn new() -> Object {
        Object::sized(128)
    }

    /// With room for a text of that length.
    pub(super) fn sized(length: usize) -> Object {
        let mut json = String::with_capacity(length.saturating_add(128));
        json.push('{');
        Object { json }
    }

    pub(super) fn text(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        escape(&mut self.json, value);
        self
    }

    /// Nothing at all, if there is nothing: no standard here likes `null`.
    pub(super) fn maybe(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn number(mut self, key: &str, value: u64) -> Object {
        self.key(key);
        self.json.push_str(&value.min(LARGEST).to_string());
        self
    }

    pub(super) fn flag(mut self, key: &str, value: bool) -> Object {
        self.key(key);
        self.json.push_str(if value { "true" } else { "false" });
        self
    }

    /// A value that somebody else spelled.
    pub(super) fn json(mut self, key: &str, value: &Json) -> Object {
        self.key(key);
        self.json.push_str(&one_line(value.raw()));
        self
    }

    /// A value that was written here.
    pub(super) fn written(mut self, key: &str, value: &str) -> Object {
        self.key(key);
        self.json.push_str(value);
        self
    }

    pub(super) fn object(self, key: &str, value: Object) -> Object {
        self.written(key, &value.end())
    }

    /// Left out, if nothing is in it.
    pub(super) fn filled(self, key: &str, value: Object) -> Object {
        if value.is_empty() { self } else { self.object(key, value) }
    }

    pub(super) fn list(self, key: &str, items: impl IntoIterator<Item = String>) -> Object {
        self.written(key, &array(items))
    }

    pub(super) fn end(mut self) -> String {
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

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    escape(&mut json, text);
    json
}

/// Values that were written here, as a JSON array.
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

/// JSON as it was spelled, on one line. Line breaks stand between values only; what some readers
/// of lines take for one stands in texts only.
pub(super) fn one_line(raw: &str) -> Cow<'_, str> {
    let breaks = |c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if !raw.contains(breaks) {
        return Cow::Borrowed(raw);
    }
    let mut line = String::with_capacity(raw.len() + 16);
    for c in raw.chars() {
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

fn escape(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let (length, escaped) = match byte {
            b'"' => (1, "\\\""),
            b'\\' => (1, "\\\\"),
            0..0x20 => (1, control(*byte)),
            // Some readers of lines take these for their ends.
            0xc2 if bytes.get(at + 1) == Some(&0x85) => (2, "\\u0085"),
            0xe2 if bytes.get(at + 1..at + 3) == Some(&[0x80, 0xa8]) => (3, "\\u2028"),
            0xe2 if bytes.get(at + 1..at + 3) == Some(&[0x80, 0xa9]) => (3, "\\u2029"),
            _ => continue,
        };
        out.push_str(text.get(copied..at).unwrap_or_default());
        out.push_str(escaped);
        copied = at + length;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out.push('"');
}

fn control(byte: u8) -> &'static str {
    const ALL: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b",
        "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012",
        "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a",
        "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    ALL.get(usize::from(byte)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_one_line_and_keep_their_order() {
        let spread = Json::parse("{\n  \"a\": [1,\r\n2], \"b\": \"x\\ny\u{2028}\"\n}").expect("it is JSON");
        let object = Object::new()
            .text("type", "x")
            .maybe("none", None)
            .maybe("some", Some("y"))
            .number("huge", u64::MAX)
            .flag("yes", true)
            .json("spread", &spread)
            .filled("empty", Object::new())
            .filled("full", Object::new().text("a", "b"))
            .list("list", [quoted("1"), "2".to_owned()]);
        let expected = concat!(
            r#"{"type":"x","some":"y","huge":9007199254740991,"yes":true,"#,
            r#""spread":{   "a": [1,  2], "b": "x\ny\u2028" },"full":{"a":"b"},"list":["1",2]}"#
        );
        assert_eq!(object.end(), expected);
    }

    #[test]
    fn texts_come_back_as_they_were() {
        let all: String = (0..0x2100_u32).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"\\\n\r\t\u{8}\u{c}\u{0}\u{1f}", "é\u{2028}😀", &all] {
            let read: String = serde_json::from_str(&quoted(text)).expect("it is JSON");
            assert_eq!(read, text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'];
            assert!(!quoted(text).contains(breaks), "{text:?}");
        }
    }
}
