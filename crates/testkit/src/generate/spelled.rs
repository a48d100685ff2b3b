//! The same JSON value, spelled in different ways.

use serde_json::{Map, Value};

use crate::random::Random;

/// Writes `value` compactly, indented or oddly spaced, with its keys in one order or another and
/// some characters as escapes.
///
/// Every spelling parses back to the same value.
pub fn spelled(random: &mut Random, value: &Value) -> String {
    let spacing = *random.pick(&[Spacing::None, Spacing::None, Spacing::Indented, Spacing::Odd]);
    let order = *random.pick(&[Order::Sorted, Order::Usual, Order::Usual, Order::Random]);
    let escapes = if random.chance(30) { 1 + random.below(10) } else { 0 };
    let key_escapes = if random.chance(3) { 5 } else { 0 };
    let mut writer = Writer { random, spacing, order, escapes, key_escapes, text: String::new() };
    writer.space(0);
    writer.value(value, 0);
    writer.space(0);
    writer.text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    None,
    Indented,
    Odd,
}

/// How the keys of an object follow each other.
#[derive(Clone, Copy)]
enum Order {
    Sorted,
    /// As providers write them: what the object is comes first.
    Usual,
    Random,
}

struct Writer<'a> {
    random: &'a mut Random,
    spacing: Spacing,
    order: Order,
    /// How many of a hundred ASCII characters in strings are escaped.
    escapes: usize,
    /// The same for keys.
    key_escapes: usize,
    text: String,
}

impl Writer<'_> {
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
                        Spacing::None => {}
                        Spacing::Indented => self.text.push(' '),
                        Spacing::Odd => self.odd_space(),
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
            Order::Sorted => {}
            Order::Usual => {
                fields.sort_by_key(|(key, _)| {
                    first.iter().position(|it| it == key).unwrap_or(first.len())
                });
            }
            Order::Random => self.random.shuffle(&mut fields),
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
        if !empty || self.spacing == Spacing::Odd {
            self.space(depth);
        }
        self.text.push(bracket);
    }

    fn space(&mut self, depth: usize) {
        match self.spacing {
            Spacing::None => {}
            Spacing::Indented if self.text.is_empty() => {}
            Spacing::Indented => {
                self.text.push('\n');
                self.text.push_str(&"  ".repeat(depth));
            }
            Spacing::Odd => self.odd_space(),
        }
    }

    fn odd_space(&mut self) {
        if self.spacing == Spacing::Odd {
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
