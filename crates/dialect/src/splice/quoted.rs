//! An answer told as text: what it said, in words, and what it showed, as it was.

use foxwedge_core::Span;

use super::Writer;
use crate::json::{Scanner, Shape, compact, elements, escape_into, field, fields};

/// How an element of an answer's content is carried over.
#[derive(PartialEq)]
pub(crate) enum Element {
    /// Its text, in the field of that name.
    Text(&'static str),
    /// It may stand in a user message as it is.
    Whole,
    /// It is told as JSON.
    Told,
}

/// The content of an answer, taken apart.
pub(crate) struct Quoted {
    /// The inside of a JSON string, in pieces: spans of raw string insides, or text to escape.
    words: Vec<Words>,
    /// Elements that may stand in a user message as they are.
    pub(crate) whole: Vec<Span>,
}

enum Words {
    Raw(Span),
    Told(String),
}

impl Quoted {
    /// Takes the content of an answer apart; `element` knows the format.
    pub(crate) fn new(source: &str, content: Span, element: fn(&str, Span) -> Element) -> Quoted {
        let mut quoted = Quoted { words: Vec::new(), whole: Vec::new() };
        if content.is_empty() {
            return quoted;
        }
        let mut scan = Scanner::within(source, content);
        match scan.shape() {
            Ok(Shape::String) => quoted.words.push(Words::Raw(inside(content))),
            // A list in which nothing can be carried over is told as it is.
            Ok(Shape::Array) if all_told(source, content, element) => {
                quoted.words.push(Words::Told(compact(source, content)));
            }
            Ok(Shape::Array) => {
                for one in elements(source, content) {
                    match element(source, one) {
                        Element::Text(key) => match field(source, one, key) {
                            Some(text) if text.of(source).starts_with('"') => {
                                quoted.words.push(Words::Raw(inside(text)));
                            }
                            _ => quoted.words.push(Words::Told(compact(source, one))),
                        },
                        Element::Whole if is_plain(source, one) => quoted.whole.push(one),
                        Element::Whole | Element::Told => {
                            quoted.words.push(Words::Told(compact(source, one)))
                        }
                    }
                }
            }
            Ok(Shape::Object) => match single_text(source, content) {
                Some(text) => quoted.words.push(Words::Raw(inside(text))),
                None => quoted.words.push(Words::Told(compact(source, content))),
            },
            Ok(Shape::Null) | Err(_) => {}
            Ok(Shape::Number | Shape::Bool) => {
                quoted.words.push(Words::Told(compact(source, content)))
            }
        }
        quoted
    }

    /// Takes over something that was shown beside the content.
    pub(crate) fn show(&mut self, source: &str, one: Span) {
        let raw = one.of(source);
        // Only media: calls, results and texts would mean something else in a user message.
        let held = fields(source, one);
        let is_media =
            |key: &str| matches!(key, "inlineData" | "inline_data" | "fileData" | "file_data");
        let speaks = |key: &str| key.starts_with("function") || matches!(key, "text" | "thought");
        let media = held.iter().any(|it| is_media(&it.key) && it.value.of(source).starts_with('{'));
        let speaks = held.iter().any(|it| speaks(&it.key));
        if raw.starts_with('{') && media && !speaks && is_plain(source, one) {
            self.whole.push(one);
        } else if raw != "null" {
            self.words.push(Words::Told(compact(source, one)));
        }
    }

    /// Writes heading and words as the inside of a JSON string.
    pub(crate) fn write(&self, out: &mut Writer<'_>, heading: &str) {
        let mut text = String::new();
        escape_into(&mut text, heading);
        out.text(&text);
        for words in &self.words {
            out.text("\\n");
            match words {
                Words::Raw(span) => out.copy(*span),
                Words::Told(told) => {
                    let mut text = String::with_capacity(told.len());
                    escape_into(&mut text, told);
                    out.text(&text);
                }
            }
        }
    }
}

fn all_told(source: &str, list: Span, element: fn(&str, Span) -> Element) -> bool {
    elements(source, list).into_iter().all(|one| matches!(element(source, one), Element::Told))
}

/// The inside of a string that was scanned before.
pub(crate) fn inside(string: Span) -> Span {
    Span { start: string.start + 1, end: string.end.saturating_sub(1).max(string.start + 1) }
}

/// The one text of an object like `{"output": "…"}`.
fn single_text(source: &str, object: Span) -> Option<Span> {
    let fields = fields(source, object);
    let [only] = fields.as_slice() else { return None };
    let known = matches!(&*only.key, "output" | "result" | "content" | "error");
    (known && only.value.of(source).starts_with('"')).then_some(only.value)
}

/// Whether an object has each field once, so that it can be read where it moves to.
fn is_plain(source: &str, object: Span) -> bool {
    let fields = fields(source, object);
    let mut keys: Vec<&str> = fields.iter().map(|field| field.key.as_ref()).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
