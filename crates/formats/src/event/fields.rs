//! Field access for frames: missing and null fields are `None`, a wrong type is an error.

use crate::conversation::JsonText;
use foxwedge_json::{JsonObject, JsonValue, ScanError, ScanResult};

/// The value under a key, unless it is null.
pub(crate) fn get<'t, 'a>(object: &JsonObject<'t, 'a>, key: &str) -> Option<JsonValue<'t, 'a>> {
    object.get(key).filter(|value| !value.is_null())
}

/// The text under a key.
pub(crate) fn optional_text<'a>(
    object: &JsonObject<'_, 'a>,
    key: &str,
) -> ScanResult<Option<JsonText<'a>>> {
    get(object, key).map(|value| require_text(value, key)).transpose()
}

/// The text under a key, unless it is empty.
pub(crate) fn non_empty_text<'a>(
    object: &JsonObject<'_, 'a>,
    key: &str,
) -> ScanResult<Option<JsonText<'a>>> {
    Ok(optional_text(object, key)?.filter(|text| !text.is_empty()))
}

/// The object under a key.
pub(crate) fn optional_object<'t, 'a>(
    object: &JsonObject<'t, 'a>,
    key: &str,
) -> ScanResult<Option<JsonObject<'t, 'a>>> {
    get(object, key).map(|value| require_object(value, key)).transpose()
}

/// The elements of the list under a key. Empty if there is no list.
pub(crate) fn optional_list<'t, 'a>(
    object: &JsonObject<'t, 'a>,
    key: &str,
) -> ScanResult<impl Iterator<Item = JsonValue<'t, 'a>> + use<'t, 'a>> {
    let value = get(object, key);
    match value {
        Some(value) if !value.is_list() => wrong_type(value, key, "a list"),
        value => Ok(value.into_iter().flat_map(JsonValue::list)),
    }
}

/// The index under a key.
pub(crate) fn optional_index(object: &JsonObject<'_, '_>, key: &str) -> ScanResult<Option<u64>> {
    let Some(value) = get(object, key) else { return Ok(None) };
    match value.count() {
        Some(index) => Ok(Some(index)),
        None => wrong_type(value, key, "a whole number"),
    }
}

/// The count under a key, if it is a number. Some servers write times with fractions.
pub(crate) fn optional_count(object: &JsonObject<'_, '_>, key: &str) -> Option<u64> {
    let number = get(object, key)?.number()?;
    number.split('.').next()?.parse().ok()
}

/// A value that must be a text.
pub(crate) fn require_text<'a>(value: JsonValue<'_, 'a>, key: &str) -> ScanResult<JsonText<'a>> {
    match value.raw_string() {
        Some(inside) => Ok(JsonText::from_json(inside)),
        None => wrong_type(value, key, "a string"),
    }
}

/// A value that must be an object.
pub(crate) fn require_object<'t, 'a>(
    value: JsonValue<'t, 'a>,
    key: &str,
) -> ScanResult<JsonObject<'t, 'a>> {
    match value.object() {
        Some(object) => Ok(object),
        None => wrong_type(value, key, "an object"),
    }
}

/// Arguments as text. Some servers send an object, some send its text.
pub(crate) fn arguments_text<'a>(value: JsonValue<'_, 'a>) -> JsonText<'a> {
    value.raw_string().map_or_else(|| value.raw().into(), JsonText::from_json)
}

fn wrong_type<T>(value: JsonValue<'_, '_>, key: &str, expected: &str) -> ScanResult<T> {
    Err(ScanError::new(value.span().start as usize, format!("`{key}` is not {expected}")))
}

/// An error for a missing field.
pub(crate) fn missing_field<T>(name: &str) -> ScanResult<T> {
    Err(ScanError::new(0, format!("{name} is missing")))
}
