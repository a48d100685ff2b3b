//! A look into JSON that was scanned before, in the terms of the readers. Nothing here fails: what
//! is of another type is not there.

use std::borrow::Cow;

use foxwedge_core::Span;

use crate::json::{Field, Scanner, elements, fields};

/// A value of the document.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    source: &'a str,
    span: Span,
}

impl<'a> Value<'a> {
    pub(super) fn new(source: &'a str, span: Span) -> Value<'a> {
        Value { source, span }
    }

    /// The text of the value.
    pub(super) fn raw(self) -> &'a str {
        self.span.of(self.source)
    }

    pub(super) fn is_null(self) -> bool {
        self.raw() == "null"
    }

    pub(super) fn is_object(self) -> bool {
        self.raw().starts_with('{')
    }

    pub(super) fn is_list(self) -> bool {
        self.raw().starts_with('[')
    }

    /// What a string says.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        if !self.raw().starts_with('"') {
            return None;
        }
        let string = Scanner::within(self.source, self.span).string().ok()?;
        Some(string.text(self.source))
    }

    /// The elements of a list.
    pub(super) fn list(self) -> impl Iterator<Item = Value<'a>> {
        let spans = if self.is_list() { elements(self.source, self.span) } else { Vec::new() };
        spans.into_iter().map(move |span| Value::new(self.source, span))
    }

    /// The fields of an object.
    pub(super) fn object(self) -> Option<Object<'a>> {
        let object = || Object { value: self, fields: fields(self.source, self.span) };
        self.is_object().then(object)
    }
}

/// The fields of an object.
pub(super) struct Object<'a> {
    value: Value<'a>,
    fields: Vec<Field<'a>>,
}

impl<'a> Object<'a> {
    /// The text of the whole object.
    pub(super) fn raw(&self) -> &'a str {
        self.value.raw()
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let field = self.fields.iter().find(|field| field.key == key)?;
        Some(Value::new(self.value.source, field.value))
    }

    /// The value under the first of the keys that is there.
    pub(super) fn any(&self, keys: &[&str]) -> Option<Value<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// A string that says something.
    pub(super) fn word(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).filter(|text| !text.is_empty())
    }

    pub(super) fn object(&self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.object()
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// The first key, where an object is a tagged value.
    pub(super) fn tag(&self) -> Cow<'a, str> {
        self.fields.first().map(|field| field.key.clone()).unwrap_or_default()
    }

    /// A field as it stands in the document: `"key": value`.
    pub(super) fn member(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.key == key).map(|field| self.slice(field))
    }

    /// The fields under other keys than these, as they stand in the document.
    pub(super) fn others(&self, keys: &[&str]) -> Vec<&'a str> {
        let other = |field: &&Field<'a>| !keys.contains(&field.key.as_ref());
        self.fields.iter().filter(other).map(|field| self.slice(field)).collect()
    }

    fn slice(&self, field: &Field<'a>) -> &'a str {
        let span = Span { start: field.name.start, end: field.value.end };
        span.of(self.value.source)
    }
}
