//! Schemas of tools and responses. All formats use standard JSON Schema, except for Gemini's older
//! fields, which use a variant.

use crate::conversation::JsonText;
use foxwedge_json::{JsonObject, JsonTape, JsonValue, quote};

/// The schema of a tool without parameters.
pub(crate) const EMPTY_SCHEMA: &str = "{\"type\":\"object\",\"properties\":{}}";

/// The schema of a tool, if it is an object. Adds the object type, which providers require.
pub(crate) fn tool_schema<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    let object = value.object()?;
    Some(match object.get("type") {
        Some(_) => value.raw().into(),
        None => with_object_type(value.raw()).into(),
    })
}

/// The schema of a tool in Gemini's variant.
pub(crate) fn gemini_tool_schema<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    let schema = from_gemini(value)?;
    Some(match value.object()?.get("type") {
        Some(_) => schema,
        None => with_object_type(&schema).into(),
    })
}

/// The schema with `type` set to object.
fn with_object_type(schema: &str) -> String {
    let inside = schema.strip_prefix('{').unwrap_or(schema).trim_start();
    let comma = if inside == "}" { "" } else { "," };
    format!("{{\"type\":\"object\"{comma}{inside}")
}

/// A schema, unchanged, if it is an object.
pub(crate) fn object_schema<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    value.is_object().then(|| value.raw().into())
}

/// Whether every object in a schema requires all of its fields and allows no others.
pub(crate) fn is_strict_schema(schema: &str) -> bool {
    fn exact(value: JsonValue<'_, '_>) -> bool {
        let Some(object) = value.object() else { return value.list().all(exact) };
        object.fields().all(|(_, inner)| exact(inner)) && closed(&object)
    }
    fn closed(object: &JsonObject<'_, '_>) -> bool {
        if object.text("type").is_none_or(|kind| kind != "object") {
            return true;
        }
        let is_closed =
            object.get("additionalProperties").is_some_and(|value| value.raw() == "false");
        let names = object.object("properties");
        let mut names = names.iter().flat_map(|names| names.fields());
        let is_required = |name: &str| {
            object.list("required").any(|element| element.text().as_deref() == Some(name))
        };
        is_closed && names.all(|(name, _)| is_required(&name))
    }
    JsonTape::read(schema).is_ok_and(|tape| exact(tape.root(schema)))
}

/// A schema as Claude enforces it: every object is closed, and limits that it does not know are
/// described. With the names of what is not enforced.
pub(crate) fn closed_schema(schema: &str) -> Option<(String, Vec<String>)> {
    let tape = JsonTape::read(schema).ok()?;
    let (mut out, mut dropped) = (String::with_capacity(schema.len() + 64), Vec::new());
    close_schema(tape.root(schema), &mut out, &mut dropped);
    dropped.sort_unstable();
    dropped.dedup();
    Some((out, dropped))
}

fn close_schema(value: JsonValue<'_, '_>, out: &mut String, dropped: &mut Vec<String>) {
    let Some(object) = value.object() else { return out.push_str(value.raw()) };
    let has_type = |wanted: &str| {
        object.text("type").is_some_and(|kind| kind == wanted)
            || object.list("type").any(|kind| kind.text().is_some_and(|kind| kind == wanted))
    };
    let is_object = has_type("object") || object.get("properties").is_some();
    let (mut described, mut limits) = (None, String::new());
    let start = out.len();
    for (key, value) in object.fields() {
        if is_limit(&key, value) {
            dropped.push(key.to_string());
            limits.push_str(if limits.is_empty() { "" } else { ", " });
            limits.push_str(&format!("{key}: {}", value.raw()));
            continue;
        }
        if key == "additionalProperties" && is_object {
            if value.raw() != "false" {
                dropped.push(key.to_string());
            }
            continue;
        }
        if key == "description" && described.is_none() {
            described = value.text();
            continue;
        }
        write_field_start(&key, start, out);
        match &*key {
            "properties" | "$defs" | "definitions" => match value.object() {
                Some(named) => {
                    let start = out.len();
                    for (name, value) in named.fields() {
                        write_field_start(&name, start, out);
                        close_schema(value, out, dropped);
                    }
                    out.push_str(if out.len() == start { "{}" } else { "}" });
                }
                None => out.push_str(value.raw()),
            },
            "items" => close_schema(value, out, dropped),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" if value.is_list() => {
                out.push('[');
                for (at, value) in value.list().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    close_schema(value, out, dropped);
                }
                out.push(']');
            }
            _ => out.push_str(value.raw()),
        }
    }
    if is_object {
        write_field_start("additionalProperties", start, out);
        out.push_str("false");
    }
    let description = match (described, limits.is_empty()) {
        (Some(text), true) => text.to_string(),
        (Some(text), false) => format!("{text} ({limits})"),
        (None, false) => limits,
        (None, true) => String::new(),
    };
    if !description.is_empty() {
        write_field_start("description", start, out);
        out.push_str(&quote(&description));
    }
    out.push_str(if out.len() == start { "{}" } else { "}" });
}

/// Writes the name of a field, and what stands before it.
fn write_field_start(name: &str, start: usize, out: &mut String) {
    out.push(if out.len() == start { '{' } else { ',' });
    out.push_str(&quote(name));
    out.push(':');
}

/// Whether Claude refuses a keyword in a schema that it enforces.
fn is_limit(key: &str, value: JsonValue<'_, '_>) -> bool {
    match key {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "minLength" | "maxLength" | "maxItems" | "uniqueItems" | "minProperties"
        | "maxProperties" => true,
        "minItems" => !matches!(value.raw(), "0" | "1"),
        _ => false,
    }
}

/// Converts a schema in Gemini's variant to standard JSON Schema: types are in lower case,
/// `nullable` is one of the types, and limits are numbers.
pub(crate) fn from_gemini<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    let mut out = String::with_capacity(value.raw().len());
    write_schema(&value.object()?, &mut out);
    Some(out.into())
}

fn write_schema(object: &JsonObject<'_, '_>, out: &mut String) {
    let nullable = object.is_true("nullable");
    let start = out.len();
    for (key, value) in object.fields() {
        let before = out.len();
        let key = standard_key(&key);
        out.push(if before == start { '{' } else { ',' });
        out.push_str(&quote(key));
        out.push(':');
        let written = match key {
            "type" => write_type(value, nullable, out),
            "nullable" => false,
            "properties" | "$defs" => write_schema_map(value, out),
            "items" | "additionalProperties" | "not" => write_subschema(value, out),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => write_schema_list(value, out),
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties" => write_limit(value, out),
            _ => write_raw(value, out),
        };
        if !written {
            out.truncate(before);
        }
    }
    out.push_str(if out.len() == start { "{}" } else { "}" });
}

/// The standard name of a field that may be in snake case.
fn standard_key(key: &str) -> &str {
    match key {
        "any_of" => "anyOf",
        "additional_properties" => "additionalProperties",
        "prefix_items" => "prefixItems",
        "property_ordering" => "propertyOrdering",
        "min_items" => "minItems",
        "max_items" => "maxItems",
        "min_length" => "minLength",
        "max_length" => "maxLength",
        "min_properties" => "minProperties",
        "max_properties" => "maxProperties",
        "defs" => "$defs",
        "ref" => "$ref",
        key => key,
    }
}

fn write_type(value: JsonValue<'_, '_>, nullable: bool, out: &mut String) -> bool {
    let Some(type_name) = value.text() else { return write_raw(value, out) };
    let type_name = match &*type_name {
        "STRING" => "string",
        "NUMBER" => "number",
        "INTEGER" => "integer",
        "BOOLEAN" => "boolean",
        "ARRAY" => "array",
        "OBJECT" => "object",
        "NULL" => "null",
        "TYPE_UNSPECIFIED" => return false,
        type_name => type_name,
    };
    match nullable && type_name != "null" {
        true => out.push_str(&format!("[{},\"null\"]", quote(type_name))),
        false => out.push_str(&quote(type_name)),
    }
    true
}

/// Writes named schemas. The names are not keywords of the variant.
fn write_schema_map(value: JsonValue<'_, '_>, out: &mut String) -> bool {
    let Some(object) = value.object() else { return write_raw(value, out) };
    out.push('{');
    for (name, value) in object.fields() {
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str(&quote(&name));
        out.push(':');
        write_subschema(value, out);
    }
    out.push('}');
    true
}

fn write_schema_list(value: JsonValue<'_, '_>, out: &mut String) -> bool {
    if !value.is_list() {
        return write_raw(value, out);
    }
    out.push('[');
    for (at, value) in value.list().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_subschema(value, out);
    }
    out.push(']');
    true
}

fn write_subschema(value: JsonValue<'_, '_>, out: &mut String) -> bool {
    match value.object() {
        Some(object) => write_schema(&object, out),
        None => return write_raw(value, out),
    }
    true
}

/// Writes an integer, which the protocol encodes as a string.
fn write_limit(value: JsonValue<'_, '_>, out: &mut String) -> bool {
    match value.text().and_then(|text| text.parse::<u64>().ok()) {
        Some(number) => out.push_str(&number.to_string()),
        None => return write_raw(value, out),
    }
    true
}

fn write_raw(value: JsonValue<'_, '_>, out: &mut String) -> bool {
    out.push_str(value.raw());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(
        source: &str,
        read: fn(JsonValue<'_, '_>) -> Option<JsonText<'static>>,
    ) -> Option<String> {
        let tape = JsonTape::read(source).expect("JSON");
        read(tape.root(source)).map(JsonText::into_owned)
    }

    #[test]
    fn the_gemini_variant_becomes_standard_json_schema() {
        let table = [
            (r#"{"type":"OBJECT"}"#, r#"{"type":"object"}"#),
            (r#"{"type":"string","nullable":true}"#, r#"{"type":["string","null"]}"#),
            (r#"{"nullable":false,"type":"NULL"}"#, r#"{"type":"null"}"#),
            (r#"{"nullable":true}"#, "{}"),
            (r#"{"type":"TYPE_UNSPECIFIED","title":"t"}"#, r#"{"title":"t"}"#),
            (
                r#"{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["STRING"]},"nullable":{"type":"ARRAY","items":{"type":"INTEGER"},"minItems":"1"}},"required":["type"]}"#,
                r#"{"type":"object","properties":{"type":{"type":"string","enum":["STRING"]},"nullable":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["type"]}"#,
            ),
            (
                r#"{"any_of":[{"type":"NUMBER"},{"type":"BOOLEAN"},7],"default":{"type":"STRING"}}"#,
                r#"{"anyOf":[{"type":"number"},{"type":"boolean"},7],"default":{"type":"STRING"}}"#,
            ),
            (
                r#"{"type":7,"properties":[],"items":null}"#,
                r#"{"type":7,"properties":[],"items":null}"#,
            ),
        ];
        for (source, expected) in table {
            let read = |value: JsonValue<'_, '_>| from_gemini(value).map(|text| text.to_static());
            assert_eq!(changed(source, read).as_deref(), Some(expected), "{source}");
        }
    }

    #[test]
    fn a_schema_is_closed_for_claude() {
        let table = [
            (r#"{"type":"string"}"#, r#"{"type":"string"}"#, ""),
            ("{}", "{}", ""),
            (
                r#"{"type":"object","properties":{"description":{"type":"integer","minimum":1,"description":"n"},"b":{"type":["object","null"]}},"required":["b"]}"#,
                r#"{"type":"object","properties":{"description":{"type":"integer","description":"n (minimum: 1)"},"b":{"type":["object","null"],"additionalProperties":false}},"required":["b"],"additionalProperties":false}"#,
                "minimum",
            ),
            (
                r#"{"type":"array","minItems":2,"items":{"type":"object","additionalProperties":{"type":"string"}}}"#,
                r#"{"type":"array","items":{"type":"object","additionalProperties":false},"description":"minItems: 2"}"#,
                "additionalProperties minItems",
            ),
            (
                r#"{"anyOf":[{"properties":{}},{"minItems":1}],"$defs":{"maximum":{"maximum":2}}}"#,
                r#"{"anyOf":[{"properties":{},"additionalProperties":false},{"minItems":1}],"$defs":{"maximum":{"description":"maximum: 2"}}}"#,
                "maximum",
            ),
        ];
        for (source, expected, dropped) in table {
            let closed = closed_schema(source).expect("a schema");
            assert_eq!((closed.0.as_str(), closed.1.join(" ").as_str()), (expected, dropped));
            assert_eq!(closed_schema(expected).expect("a schema").0, expected);
        }
    }

    #[test]
    fn a_strict_schema_allows_no_other_fields() {
        let table = [
            (r#"{"type":"string"}"#, true),
            (r#"{"type":"object"}"#, false),
            (r#"{"type":"object","properties":{},"additionalProperties":false}"#, true),
            (r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#, false),
            (
                r#"{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}"#,
                true,
            ),
            (r#"{"type":"array","items":{"type":"object"}}"#, false),
            (r#"{"anyOf":[{"type":"null"},{"type":"object"}]}"#, false),
            ("{", false),
        ];
        for (source, expected) in table {
            assert_eq!(is_strict_schema(source), expected, "{source}");
        }
    }

    #[test]
    fn a_tool_schema_is_an_object() {
        let table = [
            ("{}", Some(r#"{"type":"object"}"#)),
            (r#"{ "properties":{}}"#, Some(r#"{"type":"object","properties":{}}"#)),
            (r#"{"type":"object"}"#, Some(r#"{"type":"object"}"#)),
            ("7", None),
        ];
        for (source, expected) in table {
            let read = |value: JsonValue<'_, '_>| tool_schema(value).map(|text| text.to_static());
            assert_eq!(changed(source, read).as_deref(), expected, "{source}");
        }
    }
}
