//! A JSON object as a list of fields. Values stay raw until they are used.

use std::{borrow::Cow, cell::OnceCell, fmt};

use foxwedge_json::string_text;
use serde::{Deserializer as _, de};
use serde_json::value::RawValue;

use crate::{RawJson, SharedId};

/// The maximum length of an unknown value in a warning, in characters.
const MAX_SHOWN: usize = 200;

/// The first unknown value in an event.
pub(super) type UnknownValueCell = OnceCell<SharedId>;

type RawField<'text> = (Cow<'text, str>, &'text RawValue);

/// The fields of an object. A field that is `null` counts as missing. Of two fields with the same
/// name the last one counts. Names in snake_case match names in camelCase.
pub(super) struct EventObject<'text> {
    fields: Vec<RawField<'text>>,
    /// A bit for every name. Most names that are looked up are absent, and this shows it without a
    /// search through the fields.
    names: u64,
    unknown: &'text UnknownValueCell,
}

impl<'text> EventObject<'text> {
    /// Parses an object; `None` if the text is anything else.
    pub(super) fn parse(
        text: &'text str,
        unknown: &'text UnknownValueCell,
    ) -> Option<EventObject<'text>> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let fields = reader.deserialize_map(FieldsVisitor).ok()?;
        reader.end().ok()?;
        let names = fields.iter().fold(0, |names, (name, _)| names | name_bit(name));
        Some(EventObject { fields, names, unknown })
    }

    /// Records an unknown value for the operator. Only the first one is kept.
    pub(super) fn note_unknown(&self, value: &str) {
        let shown = value.char_indices().nth(MAX_SHOWN).and_then(|(end, _)| value.get(..end));
        let _ = self.unknown.set(shown.unwrap_or(value).into());
    }

    /// Whether there is a field with this name, even if it is `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(key, _)| key == name)
    }

    /// Whether there are no fields other than these.
    pub(super) fn has_only(&self, names: &[&str]) -> bool {
        self.fields.iter().all(|(key, _)| names.contains(&&**key))
    }

    /// The raw value of the first of these names that has one.
    pub(super) fn raw(&self, names: &[&str]) -> Option<&'text RawValue> {
        self.find(names).map(|(_, raw)| raw)
    }

    /// A value of any type, not parsed.
    pub(super) fn json(&self, names: &[&str]) -> Option<RawJson> {
        self.raw(names).map(RawJson::from_raw)
    }

    /// A string; `None` for any other type.
    pub(super) fn string(&self, names: &[&str]) -> Option<Cow<'text, str>> {
        string_text(self.raw(names)?.get())
    }

    /// Readable text: a string, the joined texts of a list of blocks, or the JSON itself.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        self.raw(names).map(text)
    }

    /// The name of an enum value; `None` if it is empty. A value that is not a string is returned
    /// as JSON, so that it counts as an unknown name.
    pub(super) fn word(&self, names: &[&str]) -> Option<Cow<'text, str>> {
        let raw = self.raw(names)?.get();
        let name = string_text(raw).unwrap_or(Cow::Borrowed(raw));
        (!name.is_empty()).then_some(name)
    }

    /// The first usable id under these names: a non-empty string, or a number.
    pub(super) fn id(&self, names: &[&str]) -> Option<SharedId> {
        names.iter().find_map(|name| {
            let raw = self.raw(&[name])?.get();
            let text = string_text(raw).or_else(|| is_number(raw).then_some(raw.into()))?;
            (!text.is_empty()).then(|| SharedId::from(&*text))
        })
    }

    /// A non-negative integer, as a number or in a string. Anything else is recorded as unknown and
    /// counts as missing.
    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        let (name, raw) = self.find(names)?;
        let number = whole_number(string_text(raw.get()).as_deref().unwrap_or(raw.get()));
        if number.is_none() {
            self.note_unknown(&format!("{name} {raw}"));
        }
        number
    }

    /// A boolean. Anything else is recorded as unknown and counts as missing.
    pub(super) fn flag(&self, names: &[&str]) -> Option<bool> {
        let (name, raw) = self.find(names)?;
        match raw.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.note_unknown(&format!("{name} {raw}"));
                None
            }
        }
    }

    /// A nested object.
    pub(super) fn object(&self, names: &[&str]) -> Option<EventObject<'text>> {
        self.raw(names).and_then(|raw| self.parse_nested(raw))
    }

    /// Parses a value of this object or of a list in it; `None` if it is not an object.
    pub(super) fn parse_nested(&self, raw: &'text RawValue) -> Option<EventObject<'text>> {
        if raw.get().starts_with('{') { EventObject::parse(raw.get(), self.unknown) } else { None }
    }

    /// The raw items of a list; `None` if it is not a list.
    pub(super) fn list(&self, names: &[&str]) -> Option<Vec<&'text RawValue>> {
        serde_json::from_str(self.raw(names)?.get()).ok()
    }

    fn find(&self, names: &[&str]) -> Option<(&str, &'text RawValue)> {
        let may_exist = |name: &&&str| self.names & name_bit(name) != 0;
        names.iter().filter(may_exist).find_map(|name| {
            let is_match = |field: &&RawField<'text>| field.0 == **name && field.1.get() != "null";
            self.fields.iter().rev().find(is_match).map(|(key, raw)| (&**key, *raw))
        })
    }
}

/// Readable text of a value.
pub(super) fn text(raw: &RawValue) -> String {
    if let Some(text) = string_text(raw.get()) {
        return text.into_owned();
    }
    let is_list = raw.get().starts_with('[');
    let plain = if is_list { RawJson::from_raw(raw).plain() } else { String::new() };
    if plain.is_empty() { raw.get().to_owned() } else { plain }
}

fn name_bit(name: &str) -> u64 {
    let first = name.as_bytes().first().copied().unwrap_or(0);
    1 << ((usize::from(first) + name.len() * 7) % 64)
}

fn is_number(raw: &str) -> bool {
    raw.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn whole_number(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        // `7.0` and `1e3` are integers too; above this limit f64 has no fractions.
        let number: f64 = text.parse().ok()?;
        let whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
        whole.then_some(number as u64)
    })
}

struct FieldsVisitor;

impl<'de> de::Visitor<'de> for FieldsVisitor {
    type Value = Vec<RawField<'de>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: de::MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Vec::with_capacity(12);
        // Names are read raw as well, since a lone surrogate in one would be an error. Raw values
        // do not recurse, so no depth is too much.
        while let Some((name, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            fields.push((normalize_name(name.get()), value));
        }
        Ok(fields)
    }
}

/// Converts a name to camelCase; nearly all names already are.
fn normalize_name(raw: &str) -> Cow<'_, str> {
    if raw.bytes().any(|byte| byte == b'\\' || byte == b'_') {
        return Cow::Owned(to_camel_case(&string_text(raw).unwrap_or_default()));
    }
    Cow::Borrowed(raw.trim_matches('"'))
}

/// Converts `tool_call_id` to `toolCallId`.
fn to_camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut words = name.split('_');
    out.push_str(words.next().unwrap_or(""));
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}
