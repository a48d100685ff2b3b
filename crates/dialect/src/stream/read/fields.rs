//! Looks into frames: what is missing or null is nothing, what has another type is wrong.

use crate::{
    json::{JsonObject, JsonValue, ScanError, ScanResult},
    model::JsonText,
};

/// The value under a key, unless it is null.
pub(super) fn get<'t, 'a>(object: &JsonObject<'t, 'a>, key: &str) -> Option<JsonValue<'t, 'a>> {
    object.get(key).filter(|value| !value.is_null())
}

/// The text under a key.
pub(super) fn optional_text<'a>(
    object: &JsonObject<'_, 'a>,
    key: &str,
) -> ScanResult<Option<JsonText<'a>>> {
    get(object, key).map(|value| require_text(value, key)).transpose()
}

/// The text under a key, if it says anything.
pub(super) fn non_empty_text<'a>(
    object: &JsonObject<'_, 'a>,
    key: &str,
) -> ScanResult<Option<JsonText<'a>>> {
    Ok(optional_text(object, key)?.filter(|words| !words.is_empty()))
}

/// The object under a key.
pub(super) fn optional_object<'t, 'a>(
    object: &JsonObject<'t, 'a>,
    key: &str,
) -> ScanResult<Option<JsonObject<'t, 'a>>> {
    get(object, key).map(|value| require_object(value, key)).transpose()
}

/// The list under a key; empty if there is none.
pub(super) fn optional_list<'t, 'a>(
    object: &JsonObject<'t, 'a>,
    key: &str,
) -> ScanResult<impl Iterator<Item = JsonValue<'t, 'a>> + use<'t, 'a>> {
    let value = get(object, key);
    match value {
        Some(value) if !value.is_list() => wrong_type(value, key, "a list"),
        value => Ok(value.into_iter().flat_map(JsonValue::list)),
    }
}

/// The number under a key that names a place.
pub(super) fn optional_index(object: &JsonObject<'_, '_>, key: &str) -> ScanResult<Option<u64>> {
    let Some(value) = get(object, key) else { return Ok(None) };
    match value.count() {
        Some(index) => Ok(Some(index)),
        None => wrong_type(value, key, "a whole number"),
    }
}

/// A figure, if it is one. Some servers write times with fractions.
pub(super) fn optional_count(object: &JsonObject<'_, '_>, key: &str) -> Option<u64> {
    let number = get(object, key)?.number()?;
    number.split('.').next()?.parse().ok()
}

/// A value that has to be a text.
pub(super) fn require_text<'a>(value: JsonValue<'_, 'a>, key: &str) -> ScanResult<JsonText<'a>> {
    match value.raw_string() {
        Some(inside) => Ok(JsonText::from_json(inside)),
        None => wrong_type(value, key, "a string"),
    }
}

/// A value that has to be an object.
pub(super) fn require_object<'t, 'a>(
    value: JsonValue<'t, 'a>,
    key: &str,
) -> ScanResult<JsonObject<'t, 'a>> {
    match value.object() {
        Some(object) => Ok(object),
        None => wrong_type(value, key, "an object"),
    }
}

/// Arguments that some servers write as an object and some as its text.
pub(super) fn arguments_text<'a>(value: JsonValue<'_, 'a>) -> JsonText<'a> {
    value.raw_string().map_or_else(|| value.raw().into(), JsonText::from_json)
}

fn wrong_type<T>(value: JsonValue<'_, '_>, key: &str, wanted: &str) -> ScanResult<T> {
    Err(ScanError::new(value.span().start as usize, format!("`{key}` is not {wanted}")))
}

/// Something that should be in the frame is not.
pub(super) fn missing_field<T>(what: &str) -> ScanResult<T> {
    Err(ScanError::new(0, format!("{what} is missing")))
}
