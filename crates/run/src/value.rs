//! The two kinds of text in events: ids and raw JSON.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;

/// The id of a run, call or message, or the name of a tool. Cheap to clone; opaque to the machine.
pub type SharedId = Arc<str>;

/// A JSON value in its original spelling. It is always valid JSON.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Accepts valid JSON only. Line breaks between tokens become spaces.
    pub fn parse(text: &str) -> Option<RawJson> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(RawJson::from_raw(raw))
    }

    /// Accepts text that a parser has already found to be JSON.
    pub(crate) fn from_raw(raw: &RawValue) -> RawJson {
        let text = raw.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            // Line breaks occur only between tokens: inside a string they are always escaped.
            return RawJson(text.replace(['\n', '\r'], " ").into());
        }
        RawJson(text.into())
    }

    /// Encodes a text as a JSON string.
    pub fn string(text: &str) -> RawJson {
        RawJson::from(&serde_json::Value::String(text.to_owned()))
    }

    /// Returns the JSON text in its original spelling.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Returns the parsed value. Lone surrogates, left where a text was cut, become U+FFFD. JSON
    /// that cannot be parsed (too deep, a number out of range) becomes a string that holds the JSON
    /// text.
    pub fn value(&self) -> serde_json::Value {
        let parsed = serde_json::from_str(&self.0);
        // In valid JSON a backslash occurs only inside a string.
        let repaired = || {
            let text: String = foxwedge_json::replace_surrogates(&self.0, true).collect();
            serde_json::from_str(&text)
        };
        parsed.or_else(|_| repaired()).unwrap_or_else(|_| self.0.to_string().into())
    }

    /// Returns readable text: the text of a string, the joined texts of a list of text blocks, or
    /// else the JSON itself.
    pub fn plain(&self) -> String {
        match self.value() {
            serde_json::Value::String(text) => text,
            serde_json::Value::Array(items) => {
                let texts: Option<Vec<&str>> = items.iter().map(text_of).collect();
                texts.map_or_else(|| self.0.to_string(), |texts| texts.join("\n"))
            }
            serde_json::Value::Null => String::new(),
            _ => self.0.to_string(),
        }
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> RawJson {
        RawJson(value.to_string().into())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn text_of(item: &serde_json::Value) -> Option<&str> {
    (item.get("type")?.as_str()? == "text").then(|| item.get("text")?.as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_json_is_kept_as_text() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let table = [
            (r#""a\\ud83d""#, r"a\ud83d"),
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\ud83d\ude00 \ude00\ud83d!""#, "😀 \u{fffd}\u{fffd}!"),
            ("1e400", "1e400"),
            (&deep, &deep),
            ("null", ""),
            (r#"[{"type":"text","text":"one"},{"type":"text","text":"two"}]"#, "one\ntwo"),
            (r#"{"out":"\ud83d"}"#, r#"{"out":"\ud83d"}"#),
        ];
        for (raw, plain) in table {
            assert_eq!(
                RawJson::parse(raw).map(|json| json.plain()).as_deref(),
                Some(plain),
                "{raw}"
            );
        }
        let cut = RawJson::parse(r#"{"out":"abc\ud83d"}"#).map(|json| json.value());
        assert_eq!(cut, Some(serde_json::json!({ "out": "abc\u{fffd}" })));
    }
}
