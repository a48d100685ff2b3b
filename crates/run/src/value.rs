//! The two kinds of text that events are made of: names, and JSON that nobody looks into.

use std::{fmt, sync::Arc};

use serde_json::value::RawValue;

/// The name of a run, a call, a message or a tool. Cheap to copy, never shown the inside of.
pub type Id = Arc<str>;

/// A JSON value as it was spelled. Only valid JSON gets in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Takes a text that is JSON; nothing else. It is kept on one line.
    pub fn parse(text: &str) -> Option<Json> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(Json::from_raw(raw))
    }

    /// Takes what a parser found to be JSON.
    pub(crate) fn from_raw(raw: &RawValue) -> Json {
        let text = raw.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            // Between tokens only: inside a string a line break is always escaped.
            return Json(text.replace(['\n', '\r'], " ").into());
        }
        Json(text.into())
    }

    /// A text, as a JSON string.
    pub fn string(text: &str) -> Json {
        Json::from(&serde_json::Value::String(text.to_owned()))
    }

    /// The value as it was spelled.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// The value, read.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or(serde_json::Value::Null)
    }

    /// What a person would read: a string's text, the texts of a list of text blocks, or the
    /// JSON itself.
    pub fn plain(&self) -> String {
        let Ok(value) = serde_json::from_str(&self.0) else {
            // Too deep to be read by anybody.
            return self.0.to_string();
        };
        match value {
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

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Json {
        Json(value.to_string().into())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn text_of(item: &serde_json::Value) -> Option<&str> {
    (item.get("type")?.as_str()? == "text").then(|| item.get("text")?.as_str()).flatten()
}
