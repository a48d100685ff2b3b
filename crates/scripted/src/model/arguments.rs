//! Generates arguments for a schema: its required properties, with simple values.

use serde_json::{Map, Value, json};

/// Maximum depth to which a schema is followed.
const MAX_DEPTH: usize = 8;
/// Maximum number of generated values.
const MAX_VALUES: usize = 1000;

/// An object with the required properties of the schema.
pub(super) fn generate_arguments(schema: &Value) -> Value {
    let mut maker = ArgumentGenerator { root: schema, remaining_values: MAX_VALUES };
    match maker.value("", schema, MAX_DEPTH) {
        Value::Object(fields) => Value::Object(fields),
        _ => json!({}),
    }
}

/// Generates values up to a limit.
struct ArgumentGenerator<'s> {
    root: &'s Value,
    remaining_values: usize,
}

impl ArgumentGenerator<'_> {
    fn value(&mut self, name: &str, schema: &Value, deep: usize) -> Value {
        if deep == 0 || self.remaining_values == 0 {
            return Value::Null;
        }
        self.remaining_values -= 1;
        if let Some(fixed) = schema.get("const") {
            return fixed.clone();
        }
        if let Some(first) =
            schema.get("enum").and_then(Value::as_array).and_then(|list| list.first())
        {
            return first.clone();
        }
        if let Some(fixed) = schema.get("default").filter(|fixed| !fixed.is_null()) {
            return fixed.clone();
        }
        if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
            let found = to.strip_prefix('#').and_then(|to| self.root.pointer(to));
            return found.map_or(Value::Null, |found| self.value(name, found, deep - 1));
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let choices = schema.get(key).and_then(Value::as_array);
            let is_null = |choice: &&Value| kind(choice) == Some("null");
            if let Some(first) =
                choices.and_then(|list| list.iter().find(|choice| !is_null(choice)))
            {
                return self.value(name, first, deep - 1);
            }
        }
        match kind(schema) {
            Some("string") => json!(string(name, schema)),
            Some("integer") => number(schema, 1),
            Some("number") => number(schema, 1),
            Some("boolean") => json!(true),
            Some("array") => {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(4);
                let items = schema.get("items").unwrap_or(&Value::Null);
                (0..least).map(|_| self.value(name, items, deep - 1)).collect()
            }
            Some("null") => Value::Null,
            Some("object") => self.object(schema, deep),
            _ if schema.get("properties").is_some() => self.object(schema, deep),
            _ if name.is_empty() => json!({}),
            _ => json!(name),
        }
    }

    fn object(&mut self, schema: &Value, deep: usize) -> Value {
        let required =
            schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut fields = Map::new();
        for name in required.iter().filter_map(Value::as_str) {
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            let property = property.unwrap_or(&Value::Null);
            fields.insert(name.to_owned(), self.value(name, property, deep - 1));
        }
        Value::Object(fields)
    }
}

/// The type of a schema in lower case; of several, the first that is not null.
fn kind(schema: &Value) -> Option<&'static str> {
    let named = |value: &Value| {
        let name = value.as_str()?.to_ascii_lowercase();
        let known = ["string", "integer", "number", "boolean", "array", "null", "object"];
        known.into_iter().find(|known| *known == name)
    };
    match schema.get("type")? {
        Value::Array(several) => {
            let mut kinds = several.iter().filter_map(named);
            kinds.find(|kind| *kind != "null")
        }
        one => named(one),
    }
}

fn string(name: &str, schema: &Value) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-02",
        Some("date-time") => "2026-01-02T03:04:05Z",
        Some("time") => "03:04:05",
        Some("email") => "fox@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ if name.is_empty() => "text",
        _ => name,
    };
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(1000);
    let max = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(1000);
    let padded = text.chars().chain(std::iter::repeat('x'));
    let length = (text.chars().count() as u64).max(least).min(max);
    padded.take(usize::try_from(length).unwrap_or(0)).collect()
}

fn number(schema: &Value, wanted: i64) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|least| least + 1.0));
    let max = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|max| max - 1.0));
    let mut number = wanted as f64;
    number = least.map_or(number, |least| number.max(least));
    number = max.map_or(number, |max| number.min(max));
    if number.fract() == 0.0 && number.abs() < 9e15 { json!(number as i64) } else { json!(number) }
}
