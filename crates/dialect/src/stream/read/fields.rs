//! Looks into frames: what is missing or null is nothing, what has another type is wrong.

use crate::{
    canon::Words,
    json::{Object, Scan, Trouble, Value},
};

/// The value under a key, unless it is null.
pub(super) fn get<'t, 'a>(object: &Object<'t, 'a>, key: &str) -> Option<Value<'t, 'a>> {
    object.get(key).filter(|value| !value.is_null())
}

/// The text under a key.
pub(super) fn words<'a>(object: &Object<'_, 'a>, key: &str) -> Scan<Option<Words<'a>>> {
    get(object, key).map(|value| text(value, key)).transpose()
}

/// The text under a key, if it says anything.
pub(super) fn said<'a>(object: &Object<'_, 'a>, key: &str) -> Scan<Option<Words<'a>>> {
    Ok(words(object, key)?.filter(|words| !words.is_empty()))
}

/// The object under a key.
pub(super) fn object<'t, 'a>(object: &Object<'t, 'a>, key: &str) -> Scan<Option<Object<'t, 'a>>> {
    get(object, key).map(|value| as_object(value, key)).transpose()
}

/// The list under a key; empty if there is none.
pub(super) fn list<'t, 'a>(
    object: &Object<'t, 'a>,
    key: &str,
) -> Scan<impl Iterator<Item = Value<'t, 'a>> + use<'t, 'a>> {
    let value = get(object, key);
    match value {
        Some(value) if !value.is_list() => wrong(value, key, "a list"),
        value => Ok(value.into_iter().flat_map(Value::list)),
    }
}

/// The number under a key that names a place.
pub(super) fn index(object: &Object<'_, '_>, key: &str) -> Scan<Option<u64>> {
    let Some(value) = get(object, key) else { return Ok(None) };
    match value.count() {
        Some(index) => Ok(Some(index)),
        None => wrong(value, key, "a whole number"),
    }
}

/// A figure, if it is one. Some servers write times with fractions.
pub(super) fn count(object: &Object<'_, '_>, key: &str) -> Option<u64> {
    let number = get(object, key)?.number()?;
    number.split('.').next()?.parse().ok()
}

/// A value that has to be a text.
pub(super) fn text<'a>(value: Value<'_, 'a>, key: &str) -> Scan<Words<'a>> {
    match value.inside() {
        Some(inside) => Ok(Words::inside(inside)),
        None => wrong(value, key, "a string"),
    }
}

/// A value that has to be an object.
pub(super) fn as_object<'t, 'a>(value: Value<'t, 'a>, key: &str) -> Scan<Object<'t, 'a>> {
    match value.object() {
        Some(object) => Ok(object),
        None => wrong(value, key, "an object"),
    }
}

/// Arguments that some servers write as an object and some as its text.
pub(super) fn arguments<'a>(value: Value<'_, 'a>) -> Words<'a> {
    value.inside().map_or_else(|| value.raw().into(), Words::inside)
}

fn wrong<T>(value: Value<'_, '_>, key: &str, wanted: &str) -> Scan<T> {
    Err(Trouble::new(value.span().start as usize, format!("`{key}` is not {wanted}")))
}

/// Something that should be in the frame is not.
pub(super) fn missing<T>(what: &str) -> Scan<T> {
    Err(Trouble::new(0, format!("{what} is missing")))
}
