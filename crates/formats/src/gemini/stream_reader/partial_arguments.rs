//! Assembles streamed arguments. Each fragment has the path of its value.

use crate::event::fields::{get, non_empty_text, require_text};
use foxwedge_json::{JsonObject, ScanError, ScanResult, escape_into};

/// Arguments being assembled.
#[derive(Debug)]
pub(super) struct PartialArguments {
    root: PartialValue,
    /// Number of bytes received.
    size: usize,
}

#[derive(Debug)]
enum PartialValue {
    /// Not set yet.
    Empty,
    Object(Vec<(String, PartialValue)>),
    List(Vec<PartialValue>),
    Text(String),
    /// A number, a boolean or null, as raw JSON.
    Plain(String),
}

/// Limits: bytes, steps of a path, elements of a list.
const MAX_BYTES: usize = 16 << 20;
const MAX_STEPS: usize = 64;
const MAX_ELEMENTS: usize = 1 << 16;

impl Default for PartialArguments {
    fn default() -> PartialArguments {
        PartialArguments { root: PartialValue::Object(Vec::new()), size: 0 }
    }
}

impl PartialArguments {
    /// Adds a fragment.
    pub(super) fn push(&mut self, fragment: &JsonObject<'_, '_>) -> ScanResult<()> {
        let Some(path) = non_empty_text(fragment, "jsonPath")? else {
            return Err(ScanError::new(0, "a partial argument without a path"));
        };
        self.size += fragment.raw().len();
        let node = match parse_path(&path) {
            Some(steps) if self.size <= MAX_BYTES => {
                steps.iter().try_fold(&mut self.root, PartialValue::child)
            }
            _ => None,
        };
        let Some(node) = node else {
            return Err(ScanError::new(0, format!("invalid path `{path}`")));
        };
        if let Some(value) = get(fragment, "stringValue") {
            let more = require_text(value, "stringValue")?;
            match node {
                PartialValue::Text(text) => text.push_str(&more),
                node => *node = PartialValue::Text(more.into_owned()),
            }
        } else if let Some(value) =
            get(fragment, "numberValue").or_else(|| get(fragment, "boolValue"))
        {
            *node = PartialValue::Plain(value.raw().to_owned());
        } else if fragment.get("nullValue").is_some() {
            *node = PartialValue::Plain("null".to_owned());
        }
        Ok(())
    }

    /// The arguments as JSON.
    pub(super) fn into_json(self) -> String {
        let mut out = String::new();
        self.root.write(&mut out);
        out
    }
}

/// One step of a path.
enum PathStep {
    Key(String),
    Index(usize),
}

/// The steps of a path such as `$.places[0]['full name']`.
fn parse_path(path: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if steps.len() == MAX_STEPS {
            return None;
        }
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (key, tail) = tail.split_at_checked(end)?;
            steps.push(PathStep::Key(key.to_owned()));
            rest = tail;
            continue;
        }
        let tail = rest.strip_prefix('[')?;
        let quote = tail.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let (step, tail) = match quote {
            Some(quote) => {
                let (key, tail) = tail.strip_prefix(quote)?.split_once(quote)?;
                (PathStep::Key(key.to_owned()), tail.strip_prefix(']')?)
            }
            None => {
                let (number, tail) = tail.split_once(']')?;
                (PathStep::Index(number.parse().ok()?), tail)
            }
        };
        steps.push(step);
        rest = tail;
    }
    Some(steps)
}

impl PartialValue {
    /// The value at a step. Creates it if it does not exist.
    fn child<'n>(&'n mut self, step: &PathStep) -> Option<&'n mut PartialValue> {
        match step {
            PathStep::Key(key) => {
                if !matches!(self, PartialValue::Object(_)) {
                    *self = PartialValue::Object(Vec::new());
                }
                let PartialValue::Object(fields) = self else { return None };
                let known = fields.iter().position(|(name, _)| name == key);
                let at = known.unwrap_or_else(|| {
                    fields.push((key.clone(), PartialValue::Empty));
                    fields.len() - 1
                });
                fields.get_mut(at).map(|(_, node)| node)
            }
            PathStep::Index(index) => {
                if !matches!(self, PartialValue::List(_)) {
                    *self = PartialValue::List(Vec::new());
                }
                let PartialValue::List(elements) = self else { return None };
                if *index >= MAX_ELEMENTS {
                    return None;
                }
                while elements.len() <= *index {
                    elements.push(PartialValue::Empty);
                }
                elements.get_mut(*index)
            }
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            PartialValue::Empty => out.push_str("null"),
            PartialValue::Plain(text) => out.push_str(text),
            PartialValue::Text(text) => {
                out.push('"');
                escape_into(out, text);
                out.push('"');
            }
            PartialValue::Object(fields) => {
                out.push('{');
                for (index, (key, node)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "\"" } else { ",\"" });
                    escape_into(out, key);
                    out.push_str("\":");
                    node.write(out);
                }
                out.push('}');
            }
            PartialValue::List(elements) => {
                out.push('[');
                for (index, node) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    node.write(out);
                }
                out.push(']');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_json::JsonTape;

    #[test]
    fn fragments_become_one_object() {
        let fragments = [
            r#"{"jsonPath":"$.place","stringValue":"Bos","willContinue":true}"#,
            r#"{"jsonPath":"$.place","stringValue":"ton \"MA\""}"#,
            r#"{"jsonPath":"$.days[1].n","numberValue":2.5}"#,
            r#"{"jsonPath":"$['full name']","nullValue":"NULL_VALUE"}"#,
            r#"{"jsonPath":"$.deep.er","boolValue":true}"#,
        ];
        let mut partial = PartialArguments::default();
        for source in fragments {
            let tape = JsonTape::read(source).expect("JSON");
            let fragment = tape.root(source).object().expect("an object");
            partial.push(&fragment).expect("a piece");
        }
        let expected = r#"{"place":"Boston \"MA\"","days":[null,{"n":2.5}],"full name":null,"deep":{"er":true}}"#;
        assert_eq!(partial.into_json(), expected);
        assert_eq!(PartialArguments::default().into_json(), "{}");
    }

    #[test]
    fn invalid_paths_are_rejected() {
        let deep = "$".to_owned() + &".a".repeat(65);
        for path in ["", "place", "$place", "$[x]", "$['a", "$[99999999]", &deep] {
            let source = format!("{{\"jsonPath\":{path:?},\"boolValue\":true}}");
            let tape = JsonTape::read(&source).expect("JSON");
            let fragment = tape.root(&source).object().expect("an object");
            assert!(PartialArguments::default().push(&fragment).is_err(), "{path}");
        }
    }
}
