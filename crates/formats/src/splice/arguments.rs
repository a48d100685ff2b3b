//! Encodes tool call arguments as a format requires.

use foxwedge_core::{ArgumentsFix, Span};

use crate::outline::is_json_object;
use foxwedge_json::{JsonScanner, compact, quote, replace_surrogates};

/// How a format encodes arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentsEncoding {
    /// As a string that holds JSON.
    Text,
    /// As an object.
    Object,
}

/// The new value of an arguments field.
pub fn encode_arguments(
    source: &str,
    value: Option<Span>,
    fix: ArgumentsFix,
    encoding: ArgumentsEncoding,
) -> String {
    let raw = value.map_or("", |value| value.of(source));
    let text = || match value {
        Some(value) if raw.starts_with('"') => {
            let mut scan = JsonScanner::within(source, value);
            scan.string().map(|text| text.text(source).into_owned()).unwrap_or_default()
        }
        _ => raw.to_owned(),
    };
    let object = match fix {
        ArgumentsFix::ToString => raw.to_owned(),
        ArgumentsFix::Empty => "{}".to_owned(),
        // Lone surrogates are replaced, as in all text that is written anew.
        ArgumentsFix::Wrap => {
            format!("{{\"value\":{}}}", replace_surrogates(raw, true).collect::<String>())
        }
        ArgumentsFix::EmptyText => String::new(),
        ArgumentsFix::ToText => {
            value.map_or_else(String::new, |value| value_as_text(source, value))
        }
        ArgumentsFix::ToObject | ArgumentsFix::CompleteObject => repair_object(&text()),
    };
    match encoding {
        ArgumentsEncoding::Text => quote(&object),
        ArgumentsEncoding::Object => object,
    }
}

/// A value as text: the content of a string, or the compact JSON of any other value.
pub(crate) fn value_as_text(source: &str, value: Span) -> String {
    let mut scan = JsonScanner::within(source, value);
    match scan.string() {
        Ok(text) if value.of(source).starts_with('"') => text.text(source).into_owned(),
        _ => compact(source, value),
    }
}

/// Turns a text into a JSON object: unchanged if it is one, closed if it was cut off, else wrapped.
fn repair_object(text: &str) -> String {
    if is_json_object(text) {
        return text.to_owned();
    }
    if text.trim().is_empty() {
        return "{}".to_owned();
    }
    close_truncated(text).unwrap_or_else(|| {
        let mut scan = JsonScanner::new(text);
        let json = scan.skip().and_then(|_| scan.end()).is_ok() && scan.lone_surrogates.is_empty();
        if json {
            format!("{{\"value\":{}}}", text.trim())
        } else {
            format!("{{\"value\":{}}}", quote(text))
        }
    })
}

/// Closes a truncated object: its string, then its brackets. If the result is not JSON, drops what
/// follows the last comma.
fn close_truncated(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    let mut last_comma = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => {
                open.push('}');
                last_comma = Some((at + 1, open.clone()));
            }
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop()?;
            }
            b',' if open.len() <= 64 => last_comma = Some((at, open.clone())),
            _ => {}
        }
        if open.len() > 256 {
            return None;
        }
    }
    let finish = |head: &str, tail: &str, open: &[char]| {
        let closing: String = open.iter().rev().collect();
        let object = format!("{head}{tail}{closing}");
        is_json_object(&object).then_some(object)
    };
    let tail = if in_string { "\"" } else { "" };
    let head = if escaped { text.get(..text.len() - 1).unwrap_or("") } else { text };
    finish(head, tail, &open).or_else(|| {
        let (at, open) = last_comma?;
        finish(text.get(..at)?, "", &open)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_off_arguments_are_closed() {
        let table = [
            (r#"{"city":"Par"#, r#"{"city":"Par"}"#),
            (r#"{"city":"Paris","un"#, r#"{"city":"Paris"}"#),
            (r#"{"city":"Paris","units":"#, r#"{"city":"Paris"}"#),
            (r#"{"a":[1,2"#, r#"{"a":[1,2]}"#),
            (r#"{"a":{"b":"c\"#, r#"{"a":{"b":"c"}}"#),
            ("{", "{}"),
            ("", "{}"),
            ("[1,2]", r#"{"value":[1,2]}"#),
            ("ls -la", r#"{"value":"ls -la"}"#),
        ];
        for (text, expected) in table {
            assert_eq!(repair_object(text), expected, "{text}");
        }
    }
}
