//! Arguments that come piece by piece, each piece with the path of the value it belongs to.

use crate::{
    json::{Object, Scan, Trouble, escape_into},
    stream::read::fields::{get, said, text},
};

/// Arguments that are being put together.
#[derive(Debug)]
pub(super) struct Partial {
    root: Node,
    /// How much has come.
    size: usize,
}

#[derive(Debug)]
enum Node {
    /// Nothing is known of it yet.
    Empty,
    Object(Vec<(String, Node)>),
    List(Vec<Node>),
    Text(String),
    /// A number, a truth value, a null: as it is spelled.
    Plain(String),
}

/// What is kept at most: bytes, steps of a path, elements of a list.
const BYTES: usize = 16 << 20;
const STEPS: usize = 64;
const ELEMENTS: usize = 1 << 16;

impl Default for Partial {
    fn default() -> Partial {
        Partial { root: Node::Object(Vec::new()), size: 0 }
    }
}

impl Partial {
    /// Takes a piece.
    pub(super) fn take(&mut self, piece: &Object<'_, '_>) -> Scan<()> {
        let Some(path) = said(piece, "jsonPath")? else {
            return Err(Trouble::new(0, "a piece of an argument without its path"));
        };
        self.size += piece.raw().len();
        let node = match steps(&path) {
            Some(steps) if self.size <= BYTES => steps.iter().try_fold(&mut self.root, Node::step),
            _ => None,
        };
        let Some(node) = node else {
            return Err(Trouble::new(0, format!("a path that leads nowhere: `{path}`")));
        };
        if let Some(value) = get(piece, "stringValue") {
            let more = text(value, "stringValue")?;
            match node {
                Node::Text(text) => text.push_str(&more),
                node => *node = Node::Text(more.into_owned()),
            }
        } else if let Some(value) = get(piece, "numberValue").or_else(|| get(piece, "boolValue")) {
            *node = Node::Plain(value.raw().to_owned());
        } else if piece.get("nullValue").is_some() {
            *node = Node::Plain("null".to_owned());
        }
        Ok(())
    }

    /// The text of the arguments.
    pub(super) fn into_json(self) -> String {
        let mut out = String::new();
        self.root.write(&mut out);
        out
    }
}

/// One step of a path.
enum Step {
    Key(String),
    Index(usize),
}

/// The steps of a path such as `$.places[0]['full name']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$')?;
    while !rest.is_empty() {
        if steps.len() == STEPS {
            return None;
        }
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (key, tail) = tail.split_at_checked(end)?;
            steps.push(Step::Key(key.to_owned()));
            rest = tail;
            continue;
        }
        let tail = rest.strip_prefix('[')?;
        let quote = tail.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let (step, tail) = match quote {
            Some(quote) => {
                let (key, tail) = tail.strip_prefix(quote)?.split_once(quote)?;
                (Step::Key(key.to_owned()), tail.strip_prefix(']')?)
            }
            None => {
                let (number, tail) = tail.split_once(']')?;
                (Step::Index(number.parse().ok()?), tail)
            }
        };
        steps.push(step);
        rest = tail;
    }
    Some(steps)
}

impl Node {
    /// The value under a step; made if it is not there.
    fn step<'n>(&'n mut self, step: &Step) -> Option<&'n mut Node> {
        match step {
            Step::Key(key) => {
                if !matches!(self, Node::Object(_)) {
                    *self = Node::Object(Vec::new());
                }
                let Node::Object(fields) = self else { return None };
                let known = fields.iter().position(|(name, _)| name == key);
                let at = known.unwrap_or_else(|| {
                    fields.push((key.clone(), Node::Empty));
                    fields.len() - 1
                });
                fields.get_mut(at).map(|(_, node)| node)
            }
            Step::Index(index) => {
                if !matches!(self, Node::List(_)) {
                    *self = Node::List(Vec::new());
                }
                let Node::List(elements) = self else { return None };
                if *index >= ELEMENTS {
                    return None;
                }
                while elements.len() <= *index {
                    elements.push(Node::Empty);
                }
                elements.get_mut(*index)
            }
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Empty => out.push_str("null"),
            Node::Plain(text) => out.push_str(text),
            Node::Text(text) => {
                out.push('"');
                escape_into(out, text);
                out.push('"');
            }
            Node::Object(fields) => {
                out.push('{');
                for (index, (key, node)) in fields.iter().enumerate() {
                    out.push_str(if index == 0 { "\"" } else { ",\"" });
                    escape_into(out, key);
                    out.push_str("\":");
                    node.write(out);
                }
                out.push('}');
            }
            Node::List(elements) => {
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
    use crate::json::Tape;

    #[test]
    fn pieces_become_one_object() {
        let pieces = [
            r#"{"jsonPath":"$.place","stringValue":"Bos","willContinue":true}"#,
            r#"{"jsonPath":"$.place","stringValue":"ton \"MA\""}"#,
            r#"{"jsonPath":"$.days[1].n","numberValue":2.5}"#,
            r#"{"jsonPath":"$['full name']","nullValue":"NULL_VALUE"}"#,
            r#"{"jsonPath":"$.deep.er","boolValue":true}"#,
        ];
        let mut partial = Partial::default();
        for source in pieces {
            let tape = Tape::read(source).expect("JSON");
            let piece = tape.root(source).object().expect("an object");
            partial.take(&piece).expect("a piece");
        }
        let expected = r#"{"place":"Boston \"MA\"","days":[null,{"n":2.5}],"full name":null,"deep":{"er":true}}"#;
        assert_eq!(partial.into_json(), expected);
        assert_eq!(Partial::default().into_json(), "{}");
    }

    #[test]
    fn paths_that_lead_nowhere_are_refused() {
        let deep = "$".to_owned() + &".a".repeat(65);
        for path in ["", "place", "$place", "$[x]", "$['a", "$[99999999]", &deep] {
            let source = format!("{{\"jsonPath\":{path:?},\"boolValue\":true}}");
            let tape = Tape::read(&source).expect("JSON");
            let piece = tape.root(&source).object().expect("an object");
            assert!(Partial::default().take(&piece).is_err(), "{path}");
        }
    }
}
