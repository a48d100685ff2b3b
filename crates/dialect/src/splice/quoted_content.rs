//! An answer told as text: what it said, in words, and what it showed, as it was.

use foxwedge_core::Span;

use super::SpliceWriter;
use crate::json::{
    JsonScanner, JsonShape, array_elements, compact, escape_into, field_value, object_fields,
};

/// How an element of an answer's content is carried over.
#[derive(PartialEq)]
pub(crate) enum ElementQuoting {
    /// Its text, in the field of that name.
    Text(&'static str),
    /// It may stand in a user message as it is.
    Verbatim,
    /// It is told as JSON.
    AsJson,
}

/// The content of an answer, taken apart.
pub(crate) struct QuotedContent {
    /// The inside of a JSON string, in pieces: spans of raw string insides, or text to escape.
    texts: Vec<QuotedText>,
    /// Elements that may stand in a user message as they are.
    pub(crate) verbatim: Vec<Span>,
}

enum QuotedText {
    Raw(Span),
    Plain(String),
}

impl QuotedContent {
    /// Takes the content of an answer apart; `element` knows the format.
    pub(crate) fn new(
        source: &str,
        content: Span,
        element: fn(&str, Span) -> ElementQuoting,
    ) -> QuotedContent {
        let mut quoted = QuotedContent { texts: Vec::new(), verbatim: Vec::new() };
        if content.is_empty() {
            return quoted;
        }
        let mut scan = JsonScanner::within(source, content);
        match scan.shape() {
            Ok(JsonShape::String) => quoted.texts.push(QuotedText::Raw(string_inside(content))),
            // A list in which nothing can be carried over is told as it is.
            Ok(JsonShape::Array) if all_as_json(source, content, element) => {
                quoted.texts.push(QuotedText::Plain(compact(source, content)));
            }
            Ok(JsonShape::Array) => {
                for one in array_elements(source, content) {
                    match element(source, one) {
                        ElementQuoting::Text(key) => match field_value(source, one, key) {
                            Some(text) if text.of(source).starts_with('"') => {
                                quoted.texts.push(QuotedText::Raw(string_inside(text)));
                            }
                            _ => quoted.texts.push(QuotedText::Plain(compact(source, one))),
                        },
                        ElementQuoting::Verbatim if is_plain(source, one) => {
                            quoted.verbatim.push(one)
                        }
                        ElementQuoting::Verbatim | ElementQuoting::AsJson => {
                            quoted.texts.push(QuotedText::Plain(compact(source, one)))
                        }
                    }
                }
            }
            Ok(JsonShape::Object) => match single_text_field(source, content) {
                Some(text) => quoted.texts.push(QuotedText::Raw(string_inside(text))),
                None => quoted.texts.push(QuotedText::Plain(compact(source, content))),
            },
            Ok(JsonShape::Null) | Err(_) => {}
            Ok(JsonShape::Number | JsonShape::Bool) => {
                quoted.texts.push(QuotedText::Plain(compact(source, content)))
            }
        }
        quoted
    }

    /// Takes over something that was shown beside the content.
    pub(crate) fn add_media(&mut self, source: &str, one: Span) {
        let raw = one.of(source);
        // Only media: calls, results and texts would mean something else in a user message.
        let held = object_fields(source, one);
        let is_media =
            |key: &str| matches!(key, "inlineData" | "inline_data" | "fileData" | "file_data");
        let speaks = |key: &str| key.starts_with("function") || matches!(key, "text" | "thought");
        let media = held.iter().any(|it| is_media(&it.key) && it.value.of(source).starts_with('{'));
        let speaks = held.iter().any(|it| speaks(&it.key));
        if raw.starts_with('{') && media && !speaks && is_plain(source, one) {
            self.verbatim.push(one);
        } else if raw != "null" {
            self.texts.push(QuotedText::Plain(compact(source, one)));
        }
    }

    /// Writes heading and words as the inside of a JSON string.
    pub(crate) fn write(&self, out: &mut SpliceWriter<'_>, heading: &str) {
        let mut text = String::new();
        escape_into(&mut text, heading);
        out.text(&text);
        for words in &self.texts {
            out.text("\\n");
            match words {
                QuotedText::Raw(span) => out.copy(*span),
                QuotedText::Plain(told) => {
                    let mut text = String::with_capacity(told.len());
                    escape_into(&mut text, told);
                    out.text(&text);
                }
            }
        }
    }
}

fn all_as_json(source: &str, list: Span, element: fn(&str, Span) -> ElementQuoting) -> bool {
    array_elements(source, list)
        .into_iter()
        .all(|one| matches!(element(source, one), ElementQuoting::AsJson))
}

/// The inside of a string that was scanned before.
pub(crate) fn string_inside(string: Span) -> Span {
    Span { start: string.start + 1, end: string.end.saturating_sub(1).max(string.start + 1) }
}

/// The one text of an object like `{"output": "…"}`.
fn single_text_field(source: &str, object: Span) -> Option<Span> {
    let fields = object_fields(source, object);
    let [only] = fields.as_slice() else { return None };
    let known = matches!(&*only.key, "output" | "result" | "content" | "error");
    (known && only.value.of(source).starts_with('"')).then_some(only.value)
}

/// Whether an object has each field once, so that it can be read where it moves to.
fn is_plain(source: &str, object: Span) -> bool {
    let fields = object_fields(source, object);
    let mut keys: Vec<&str> = fields.iter().map(|field| field.key.as_ref()).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
