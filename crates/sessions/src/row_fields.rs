//! Fields of JSON objects in rows.

use std::borrow::Cow;

use foxwedge_core::Span;
use foxwedge_json::{JsonField, JsonScanner, JsonShape, object_fields};

/// The fields of an object, scanned once.
pub(super) struct RowFields<'a> {
    pub(super) source: &'a str,
    fields: Vec<JsonField<'a>>,
}

impl<'a> RowFields<'a> {
    pub(super) fn of(source: &'a str, object: Span) -> RowFields<'a> {
        RowFields { source, fields: object_fields(source, object) }
    }

    pub(super) fn get(&self, key: &str) -> Option<Span> {
        self.fields.iter().find(|field| field.key == key).map(|field| field.value)
    }

    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let value = self.get(key)?;
        let mut scan = JsonScanner::within(self.source, value);
        (scan.shape() == Ok(JsonShape::String))
            .then(|| scan.string().ok())?
            .map(|text| text.text(self.source))
    }

    /// The fields of an object in this one; none if there is no such object.
    pub(super) fn inner(&self, key: &str) -> RowFields<'a> {
        RowFields::of(self.source, self.get(key).unwrap_or(Span::NOWHERE))
    }

    /// Whether a field is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.of(self.source) == "true")
    }
}
