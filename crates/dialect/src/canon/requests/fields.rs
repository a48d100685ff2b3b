//! The fields of an object, taken one by one: what nobody takes is kept as it stands.

use foxwedge_core::Wire;

use crate::{
    canon::{Setting, Words},
    json::{Object, Shape, Value},
};

/// The fields of an object, and which of them are understood.
pub(super) struct Fields<'t, 'a> {
    object: Object<'t, 'a>,
    taken: Vec<&'static str>,
}

impl<'t, 'a> Fields<'t, 'a> {
    pub(super) fn of(object: Object<'t, 'a>) -> Fields<'t, 'a> {
        Fields { object, taken: Vec::new() }
    }

    /// Fields that are read elsewhere.
    pub(super) fn skip(&mut self, keys: &[&'static str]) {
        self.taken.extend(keys);
    }

    /// Takes a field if its value is understood.
    pub(super) fn take<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Value<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.object.get(key)?)?;
        self.taken.push(key);
        Some(value)
    }

    /// Takes the first of some fields whose value is understood.
    pub(super) fn first<T>(
        &mut self,
        keys: &[&'static str],
        read: impl Fn(Value<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        keys.iter().find_map(|key| self.take(key, &read))
    }

    /// Looks at the first of some fields whose value is understood, and leaves it.
    pub(super) fn peek<T>(
        &self,
        keys: &[&'static str],
        read: impl Fn(Value<'t, 'a>) -> Option<T>,
    ) -> Option<T> {
        keys.iter().find_map(|key| read(self.object.get(key)?))
    }

    pub(super) fn words(&mut self, key: &'static str) -> Option<Words<'a>> {
        self.take(key, words)
    }

    pub(super) fn number(&mut self, key: &'static str) -> Option<&'a str> {
        self.take(key, Value::number)
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.take(key, flag)
    }

    /// The fields of an object, under the first of some keys.
    pub(super) fn inner(&mut self, keys: &[&'static str]) -> Option<Fields<'t, 'a>> {
        self.first(keys, Value::object).map(Fields::of)
    }

    /// The names of the fields that nobody took and that ask for something.
    pub(super) fn names(&self) -> Vec<std::borrow::Cow<'a, str>> {
        let asks = |value: &Value<'t, 'a>| !matches!(value.raw(), "null" | "false");
        let left = self.object.fields().filter(|(key, _)| !self.is_taken(key));
        left.filter(|(_, value)| asks(value)).map(|(key, _)| key).collect()
    }

    /// Hands over the fields that nobody took.
    pub(super) fn leave(self, wire: Wire, within: &'static str, others: &mut Vec<Setting<'a>>) {
        let left = self.object.fields().filter(|(key, _)| !self.is_taken(key));
        others.extend(left.map(|(key, value)| Setting {
            wire,
            within,
            key: key.into(),
            value: value.raw(),
        }));
    }

    fn is_taken(&self, key: &str) -> bool {
        self.taken.contains(&key)
    }
}

/// What a string says.
pub(super) fn words<'a>(value: Value<'_, 'a>) -> Option<Words<'a>> {
    value.inside().map(Words::inside)
}

/// Whether a value is `true` or `false`.
pub(super) fn flag(value: Value<'_, '_>) -> Option<bool> {
    (value.shape() == Shape::Bool).then(|| value.raw() == "true")
}

/// A list of strings.
pub(super) fn texts<'a>(value: Value<'_, 'a>) -> Option<Vec<Words<'a>>> {
    value.is_list().then(|| value.list().map(words).collect())?
}
