//! Reads the arguments of a call and reports all errors at once, so that a model can correct itself
//! in one step.

use serde_json::{Map, Value};

use crate::{path::display_text, refusal::ToolRefusal};

/// The arguments of a call. Each known argument is read once; all others are errors.
#[derive(Debug)]
pub(crate) struct ArgumentReader<'a> {
    tool: &'static str,
    given: Option<&'a Map<String, Value>>,
    known: Vec<&'static str>,
    errors: Vec<String>,
}

impl<'a> ArgumentReader<'a> {
    pub(crate) fn new(tool: &'static str, input: &'a Value) -> ArgumentReader<'a> {
        let mut errors = Vec::new();
        let given = input.as_object();
        if given.is_none() {
            errors.push(format!("they must be an object, not {}", short_value(input)));
        }
        ArgumentReader { tool, given, known: Vec::new(), errors }
    }

    /// Reads a required string.
    pub(crate) fn text(&mut self, name: &'static str) -> &'a str {
        match self.optional_text(name) {
            Ok(Some(text)) => text,
            Ok(None) => {
                self.errors.push(format!("`{name}` is missing; it must be a string"));
                ""
            }
            Err(()) => "",
        }
    }

    /// Reads an optional string.
    pub(crate) fn text_or(&mut self, name: &'static str, default: &'a str) -> &'a str {
        self.optional_text(name).ok().flatten().unwrap_or(default)
    }

    fn optional_text(&mut self, name: &'static str) -> Result<Option<&'a str>, ()> {
        match self.take_value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                self.errors.push(format!("`{name}` must be a string, not {}", short_value(other)));
                Err(())
            }
        }
    }

    /// Reads an optional whole number from `min` to `max`.
    pub(crate) fn number(&mut self, name: &'static str, min: u64, max: u64, default: u64) -> u64 {
        let Some(value) = self.take_value(name) else { return default };
        match whole_number(value).filter(|number| (min..=max).contains(number)) {
            Some(number) => number,
            None => {
                let range = match max {
                    u64::MAX => format!("from {min}"),
                    _ => format!("from {min} to {max}"),
                };
                let found = short_value(value);
                self.errors.push(format!("`{name}` must be a whole number {range}, not {found}"));
                default
            }
        }
    }

    /// Reads an optional boolean. Default: false.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        match self.take_value(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.errors
                    .push(format!("`{name}` must be true or false, not {}", short_value(other)));
                false
            }
        }
    }

    /// Reports all errors, after every known argument was read.
    pub(crate) fn finish(mut self) -> Result<(), ToolRefusal> {
        let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
        for name in self.given.iter().flat_map(|given| given.keys()).take(20) {
            if !self.known.contains(&name.as_str()) {
                let name = short_value(&Value::from(name.as_str()));
                let known = known.join(", ");
                self.errors.push(format!("{name} is not known; known are {known}"));
            }
        }
        match self.errors.as_slice() {
            [] => Ok(()),
            [one] => Err(ToolRefusal(format!("wrong arguments for `{}`: {one}", self.tool))),
            more => {
                let more = more.join("\n- ");
                Err(ToolRefusal(format!("wrong arguments for `{}`:\n- {more}", self.tool)))
            }
        }
    }

    /// Reads an argument. `null` counts as missing.
    fn take_value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.given?.get(name).filter(|value| !value.is_null())
    }
}

/// Some models write `3.0`.
fn whole_number(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        let fits = number.fract() == 0.0 && (0.0..=9.0e15).contains(&number);
        fits.then_some(number as u64)
    })
}

/// A value, short enough for a message.
fn short_value(value: &Value) -> String {
    const MAX_CHARS: usize = 60;
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => {
            let brief: String = text.chars().take(MAX_CHARS).collect();
            let more = if brief.len() < text.len() { "…" } else { "" };
            format!("\"{}{more}\"", display_text(&brief))
        }
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(input: Value) -> Result<(String, u64, bool), String> {
        let mut arguments = ArgumentReader::new("read", &input);
        let path = arguments.text("path").to_owned();
        let limit = arguments.number("limit", 1, 9, 5);
        let all = arguments.flag("all");
        arguments.finish().map(|()| (path, limit, all)).map_err(|ToolRefusal(why)| why)
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let good = |path: &str, limit, all| Ok((path.to_owned(), limit, all));
        assert_eq!(read(json!({"path": "a"})), good("a", 5, false));
        assert_eq!(read(json!({"path": "", "limit": 9, "all": true})), good("", 9, true));
        assert_eq!(read(json!({"path": "a", "limit": 3.0, "all": null})), good("a", 3, false));
        let table = [
            (json!({}), "wrong arguments for `read`: `path` is missing; it must be a string"),
            (json!({"path": 3}), "wrong arguments for `read`: `path` must be a string, not 3"),
            (
                json!({"path": "a", "limit": "3"}),
                "wrong arguments for `read`: `limit` must be a whole number from 1 to 9, not \"3\"",
            ),
            (
                json!({"path": "a", "limit": 1e300}),
                "wrong arguments for `read`: `limit` must be a whole number from 1 to 9, not 1e+300",
            ),
            (
                json!({"path": null, "file": "x", "limit": 0, "all": "yes"}),
                "wrong arguments for `read`:\n\
                 - `path` is missing; it must be a string\n\
                 - `limit` must be a whole number from 1 to 9, not 0\n\
                 - `all` must be true or false, not \"yes\"\n\
                 - \"file\" is not known; known are `path`, `limit`, `all`",
            ),
            (
                json!([1]),
                "wrong arguments for `read`:\n\
                 - they must be an object, not an array\n\
                 - `path` is missing; it must be a string",
            ),
        ];
        for (input, expected) in table {
            assert_eq!(read(input.clone()), Err(expected.to_owned()), "{input}");
        }
    }
}
