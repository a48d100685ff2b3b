//! The two kinds of text that events are made of: names, and JSON that nobody looks into.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;

/// The name of a run, a call, a message or a tool. Cheap to copy, never shown the inside of.
pub type SharedId = Arc<str>;

/// A JSON value as it was spelled. Only valid JSON gets in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Takes a text that is JSON; nothing else. It is kept on one line.
    pub fn parse(text: &str) -> Option<RawJson> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(RawJson::from_raw(raw))
    }

    /// Takes what a parser found to be JSON.
    pub(crate) fn from_raw(raw: &RawValue) -> RawJson {
        let text = raw.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            // Between tokens only: inside a string a line break is always escaped.
            return RawJson(text.replace(['\n', '\r'], " ").into());
        }
        RawJson(text.into())
    }

    /// A text, as a JSON string.
    pub fn string(text: &str) -> RawJson {
        RawJson::from(&serde_json::Value::String(text.to_owned()))
    }

    /// The value as it was spelled.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The value, read. Half a character, where somebody cut a text, becomes U+FFFD; what cannot
    /// be read at all (too deep, a number beyond all numbers) is told as the text it is.
    pub fn value(&self) -> serde_json::Value {
        let read = serde_json::from_str(&self.0);
        let whole = || serde_json::from_str(&replace_lone_surrogates(&self.0));
        read.or_else(|_| whole()).unwrap_or_else(|_| self.0.to_string().into())
    }

    /// What a person would read: a string's text, the texts of a list of text blocks, or the
    /// JSON itself.
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

/// The same JSON with every half of a character replaced. In valid JSON a backslash stands in a
/// string, and something stands behind it.
fn replace_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        out.push_str(plain);
        let length = match (code_unit(escape), escape.get(6..).and_then(code_unit)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or("");
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        let (escape, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(escape);
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The half of a character that an escape at the beginning of a text stands for.
fn code_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_not_lost() {
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
        let half = RawJson::parse(r#"{"out":"abc\ud83d"}"#).map(|json| json.value());
        assert_eq!(half, Some(serde_json::json!({ "out": "abc\u{fffd}" })));
    }
}
