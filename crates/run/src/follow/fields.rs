//! Reads the fields of a line without building a tree: values are parsed on demand, and arguments
//! keep their original encoding.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use crate::{RawJson, SharedId};

/// The fields of a JSON object. A `null` field counts as missing.
pub(super) struct LineFields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> LineFields<'a> {
    /// Reads an object; `None` if the text is something else.
    pub(super) fn read(text: &'a str) -> Option<LineFields<'a>> {
        serde_json::from_str(text).ok().map(LineFields)
    }

    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied().filter(|raw| raw.get() != "null")
    }

    pub(super) fn json(&self, name: &str) -> Option<RawJson> {
        self.raw(name).and_then(|raw| RawJson::parse(raw.get()))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.raw(name).and_then(text_of)
    }

    /// A text that is not empty.
    pub(super) fn non_empty_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// An id: a text that is not empty, or a number.
    pub(super) fn id(&self, name: &str) -> Option<SharedId> {
        let raw = self.raw(name)?;
        match text_of(raw) {
            Some(text) if text.is_empty() => None,
            Some(text) => Some(text.into()),
            None => whole_number(raw).map(|number| number.to_string().into()),
        }
    }

    pub(super) fn object(&self, name: &str) -> Option<LineFields<'a>> {
        self.raw(name).and_then(|raw| LineFields::read(raw.get()))
    }

    /// The elements of a list; empty if it is something else.
    pub(super) fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.raw(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    pub(super) fn is_list(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|raw| raw.get().starts_with('['))
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.raw(name).and_then(whole_number)
    }

    pub(super) fn signed(&self, name: &str) -> Option<i64> {
        self.raw(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|raw| raw.get() == "true")
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &'a RawValue> {
        self.0.values().copied()
    }
}

/// The text of a JSON string. JavaScript prints halves of characters, which become U+FFFD.
pub(super) fn text_of(raw: &RawValue) -> Option<String> {
    foxwedge_json::string_text(raw.get()).map(Cow::into_owned)
}

/// A non-negative number without its fraction, in any notation.
fn whole_number(raw: &RawValue) -> Option<u64> {
    let json = raw.get();
    serde_json::from_str::<u64>(json).ok().or_else(|| {
        let number: f64 = serde_json::from_str(json).ok()?;
        // The cast saturates.
        (number >= 0.0).then_some(number as u64)
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_what_they_are() {
        let line = r#"{"text":"a","empty":"","null":null,"number":3,"float":2e3,"minus":-4,
            "list":[1,2],"object":{"x":[]},"yes":true,"escaped\u0020key":"b"}"#;
        let fields = LineFields::read(line).unwrap();
        assert_eq!(fields.text("text").as_deref(), Some("a"));
        assert_eq!(fields.text("empty").as_deref(), Some(""));
        assert_eq!(fields.non_empty_text("empty"), None);
        assert_eq!(fields.id("empty"), None);
        assert_eq!(fields.id("number").as_deref(), Some("3"));
        assert!(fields.raw("null").is_none());
        assert_eq!(fields.number("float"), Some(2000));
        assert_eq!(fields.number("minus"), None);
        assert_eq!(fields.signed("minus"), Some(-4));
        assert_eq!(fields.list("list").len(), 2);
        assert_eq!(fields.list("object").len(), 0);
        assert!(fields.object("object").unwrap().is_list("x"));
        assert!(fields.is_true("yes"));
        assert_eq!(fields.text("escaped key").as_deref(), Some("b"));
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        let table = [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
            (r#""\\ud83d \ud83dé\"\ud83d\n""#, "\\ud83d \u{fffd}é\"\u{fffd}\n"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
        ];
        for (spelled, expected) in table {
            let line = format!(r#"{{"text":{spelled}}}"#);
            let text = LineFields::read(&line).unwrap().text("text");
            assert_eq!(text.as_deref(), Some(expected), "{spelled}");
        }
    }
}
