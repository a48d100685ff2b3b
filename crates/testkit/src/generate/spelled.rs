//! The same JSON value in different notations.

use serde_json::{Map, Value};

use crate::random::Random;

/// Writes `value` compactly, indented or with unusual spacing, with its keys in any order and some
/// characters as escapes.
///
/// The text always parses to the same value.
pub fn spelled(random: &mut Random, value: &Value) -> String {
    let spacing = *random.pick(&[
        JsonSpacing::None,
        JsonSpacing::None,
        JsonSpacing::Indented,
        JsonSpacing::Odd,
    ]);
    let order =
        *random.pick(&[KeyOrder::Sorted, KeyOrder::Usual, KeyOrder::Usual, KeyOrder::Random]);
    let escapes = if random.chance(30) { 1 + random.below(10) } else { 0 };
    let key_escapes = if random.chance(3) { 5 } else { 0 };
    let mut writer =
        JsonVariantWriter { random, spacing, order, escapes, key_escapes, text: String::new() };
    writer.space(0);
    writer.value(value, 0);
    writer.space(0);
    writer.text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonSpacing {
    None,
    Indented,
    Odd,
}

/// The order of the keys of an object.
#[derive(Clone, Copy)]
enum KeyOrder {
    Sorted,
    /// As providers write them: the type first.
    Usual,
    Random,
}

struct JsonVariantWriter<'a> {
    random: &'a mut Random,
    spacing: JsonSpacing,
    order: KeyOrder,
    /// How many of a hundred ASCII characters in strings are escaped.
    escapes: usize,
    /// The same for keys.
    key_escapes: usize,
    text: String,
}

impl JsonVariantWriter<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.text.push_str(&value.to_string())
            }
            Value::String(text) => self.string(text, self.escapes),
            Value::Array(elements) => {
                self.text.push('[');
                for (index, element) in elements.iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.value(element, depth + 1);
                }
                self.close(']', elements.is_empty(), depth);
            }
            Value::Object(fields) => {
                self.text.push('{');
                for (index, (key, field)) in self.ordered(fields).into_iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.string(key, self.key_escapes);
                    self.odd_space();
                    self.text.push(':');
                    match self.spacing {
                        JsonSpacing::None => {}
                        JsonSpacing::Indented => self.text.push(' '),
                        JsonSpacing::Odd => self.odd_space(),
                    }
                    self.value(field, depth + 1);
                }
                self.close('}', fields.is_empty(), depth);
            }
        }
    }

    fn ordered<'v>(&mut self, fields: &'v Map<String, Value>) -> Vec<(&'v String, &'v Value)> {
        let first = ["model", "role", "type", "id", "call_id", "tool_use_id", "toolUseId", "name"];
        let mut fields: Vec<_> = fields.iter().collect();
        match self.order {
            KeyOrder::Sorted => {}
            KeyOrder::Usual => {
                fields.sort_by_key(|(key, _)| {
                    first.iter().position(|it| it == key).unwrap_or(first.len())
                });
            }
            KeyOrder::Random => self.random.shuffle(&mut fields),
        }
        fields
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.odd_space();
            self.text.push(',');
        }
        self.space(depth);
    }

    fn close(&mut self, bracket: char, empty: bool, depth: usize) {
        if !empty || self.spacing == JsonSpacing::Odd {
            self.space(depth);
        }
        self.text.push(bracket);
    }

    fn space(&mut self, depth: usize) {
        match self.spacing {
            JsonSpacing::None => {}
            JsonSpacing::Indented if self.text.is_empty() => {}
            JsonSpacing::Indented => {
                self.text.push('\n');
                self.text.push_str(&"  ".repeat(depth));
            }
            JsonSpacing::Odd => self.odd_space(),
        }
    }

    fn odd_space(&mut self) {
        if self.spacing == JsonSpacing::Odd {
            let space = *self.random.pick(&["", "", " ", "\t", "\n", "\r\n", "   "]);
            self.text.push_str(space);
        }
    }

    fn string(&mut self, text: &str, escapes: usize) {
        self.text.push('"');
        for character in text.chars() {
            let escaped = escapes > 0 && character.is_ascii() && self.random.chance(escapes);
            match character {
                '/' if escaped => self.text.push_str("\\/"),
                _ if escaped || character < ' ' => {
                    self.text.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                '"' | '\\' => self.text.extend(['\\', character]),
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }
}
