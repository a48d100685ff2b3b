//! Takes the fields of an object one by one; fields that are not taken are kept unchanged.

use foxwedge_core::Format;

use crate::conversation::{FormatSetting, JsonText};
use foxwedge_json::{JsonObject, JsonShape, JsonValue};

/// The fields of an object, and which of them were taken.
pub(crate) struct RequestFields<'t, 'a> {
    object: JsonObject<'t, 'a>,
    read_keys: Vec<&'static str>,
}

impl<'t, 'a> RequestFields<'t, 'a> {
    pub(crate) fn of(object: JsonObject<'t, 'a>) -> RequestFields<'t, 'a> {
        RequestFields { object, read_keys: Vec::new() }
    }

    /// Skips fields that are read elsewhere.
    pub(crate) fn skip(&mut self, keys: &[&'static str]) {
        self.read_keys.extend(keys);
    }

    /// Takes a field if its value can be parsed.
    pub(crate) fn take<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(JsonValue<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.object.get(key)?)?;
        self.read_keys.push(key);
        Some(value)
    }

    /// Takes the first of several fields whose value can be parsed.
    pub(crate) fn take_first<T>(
        &mut self,
        keys: &[&'static str],
        read: impl Fn(JsonValue<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        keys.iter().find_map(|key| self.take(key, &read))
    }

    /// Parses the first of several fields whose value can be parsed, without taking it.
    pub(crate) fn peek_first<T>(
        &self,
        keys: &[&'static str],
        read: impl Fn(JsonValue<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        keys.iter().find_map(|key| read(self.object.get(key)?))
    }

    pub(crate) fn take_text(&mut self, key: &'static str) -> Option<JsonText<'a>> {
        self.take(key, read_text)
    }

    pub(crate) fn take_number(&mut self, key: &'static str) -> Option<&'a str> {
        self.take(key, JsonValue::number)
    }

    pub(crate) fn take_flag(&mut self, key: &'static str) -> Option<bool> {
        self.take(key, read_flag)
    }

    /// Takes the object under the first of several keys.
    pub(crate) fn take_object(&mut self, keys: &[&'static str]) -> Option<RequestFields<'t, 'a>> {
        self.take_first(keys, JsonValue::object).map(RequestFields::of)
    }

    /// The names of the fields that were not taken and that are not empty.
    pub(crate) fn remaining_names(&self) -> Vec<std::borrow::Cow<'a, str>> {
        let is_set = |value: &JsonValue<'t, 'a>| !matches!(value.raw(), "null" | "false");
        let remaining = self.object.fields().filter(|(key, _)| !self.is_taken(key));
        remaining.filter(|(_, value)| is_set(value)).map(|(key, _)| key).collect()
    }

    /// Collects the fields that were not taken.
    pub(crate) fn collect_remaining(
        self,
        format: Format,
        within: &'static str,
        others: &mut Vec<FormatSetting<'a>>,
    ) {
        let remaining = self.object.fields().filter(|(key, _)| !self.is_taken(key));
        others.extend(remaining.map(|(key, value)| FormatSetting {
            wire: format,
            parent: within,
            key: key.into(),
            value: value.raw(),
        }));
    }

    fn is_taken(&self, key: &str) -> bool {
        self.read_keys.contains(&key)
    }
}

/// The text of a string value.
pub(crate) fn read_text<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    value.raw_string().map(JsonText::from_json)
}

/// A boolean value.
pub(crate) fn read_flag(value: JsonValue<'_, '_>) -> Option<bool> {
    (value.shape() == JsonShape::Bool).then(|| value.raw() == "true")
}

/// A list of strings.
pub(crate) fn read_texts<'a>(value: JsonValue<'_, 'a>) -> Option<Vec<JsonText<'a>>> {
    value.is_list().then(|| value.list().map(read_text).collect())?
}
