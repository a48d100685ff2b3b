//! Takes a line apart without building a tree: a value is looked into only when somebody asks,
//! and arguments keep the spelling they came in.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{RawJson, SharedId};

/// The fields of a JSON object. A field that is `null` is not there.
pub(super) struct LineFields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> LineFields<'a> {
    /// The fields of an object; nothing if the text is something else.
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

    /// A text that says something.
    pub(super) fn non_empty_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A name: a text that is not empty, or a number.
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

    /// The elements of a list; none if it is something else.
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

/// The text of a JSON string.
pub(super) fn text_of(raw: &RawValue) -> Option<String> {
    let spelled = raw.get();
    if !spelled.starts_with('"') {
        return None;
    }
    serde_json::from_str(spelled)
        .ok()
        .or_else(|| serde_json::from_str(&replace_lone_surrogates(spelled)).ok())
}

/// A number without a fraction, however it is spelled.
fn whole_number(raw: &RawValue) -> Option<u64> {
    let spelled = raw.get();
    serde_json::from_str::<u64>(spelled).ok().or_else(|| {
        let number: f64 = serde_json::from_str(spelled).ok()?;
        // Casting stops at the ends of the range.
        (number >= 0.0).then_some(number as u64)
    })
}

/// A JSON string without lone surrogates: JavaScript prints halves of characters, and no text
/// of ours can hold them.
fn replace_lone_surrogates(spelled: &str) -> String {
    let mut mended = String::with_capacity(spelled.len());
    let mut rest = spelled;
    while let Some((before, from)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        mended.push_str(before);
        let pair =
            || from.get(6..).and_then(code_unit).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        let taken = match code_unit(from) {
            Some(high) if (0xD800..0xDC00).contains(&high) && pair() => 12,
            Some(lone) if (0xD800..0xE000).contains(&lone) => {
                mended.push_str("\\ufffd");
                rest = from.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            None => 1 + from.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, behind) = from.split_at_checked(taken).unwrap_or((from, ""));
        mended.push_str(kept);
        rest = behind;
    }
    mended.push_str(rest);
    mended
}

/// The number of a `\u` escape at the beginning of a text.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
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
