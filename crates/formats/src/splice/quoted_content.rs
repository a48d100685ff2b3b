//! Quotes a tool result in a user message: its text as text, its media unchanged.

use foxwedge_core::Span;
use foxwedge_core::sorting::sort_by;

use foxwedge_json::{
    FieldChange, FieldChanges, SpliceWriter, array_elements, compact, escape_into, field_value,
    object_fields, quote, write_patched,
};
use foxwedge_json::{JsonScanner, JsonShape};

/// How to quote an element of a tool result's content.
#[derive(PartialEq)]
pub enum ElementQuoting {
    /// As the text in the field of that name.
    Text(&'static str),
    /// Unchanged: it is valid in a user message.
    Verbatim,
    /// With another type: that of such media in a user message.
    Retyped(MediaType),
    /// As JSON text.
    AsJson,
}

/// How a user message names media of a tool result.
#[derive(PartialEq)]
pub struct MediaType {
    /// The type.
    pub name: &'static str,
    /// A field with another name there: the name in the result, and that in the message.
    pub renamed: Option<(&'static str, &'static str)>,
}

/// The content of a tool result, split into texts and media.
pub(crate) struct QuotedContent {
    /// The texts to join: spans inside raw JSON strings, or text to escape.
    texts: Vec<QuotedText>,
    /// Elements that stay elements in a user message.
    pub(crate) media: Vec<QuotedMedia>,
}

/// An element that stays one in a user message.
pub(crate) struct QuotedMedia {
    element: Span,
    /// Its new type, if that differs.
    retyped: Option<MediaType>,
}

impl QuotedMedia {
    /// Writes the element. Its data is copied from the source.
    pub(crate) fn write(self, out: &mut SpliceWriter<'_>) {
        let Some(MediaType { name, renamed }) = self.retyped else { return out.copy(self.element) };
        let mut changes: FieldChanges<'_> = vec![("type", FieldChange::Text(quote(name)))];
        if let Some((old, new)) = renamed
            && let Some(value) = field_value(out.source, self.element, old)
        {
            changes.push((old, FieldChange::Remove));
            changes.push((new, FieldChange::WriteWith(Box::new(move |out| out.copy(value)))));
        }
        write_patched(out, self.element, changes);
    }
}

enum QuotedText {
    Raw(Span),
    Plain(String),
}

impl QuotedContent {
    /// Splits the content of a tool result. `element` decides per element of a list.
    pub(crate) fn new(
        source: &str,
        content: Span,
        element: fn(&str, Span) -> ElementQuoting,
    ) -> QuotedContent {
        let mut quoted = QuotedContent { texts: Vec::new(), media: Vec::new() };
        if content.is_empty() {
            return quoted;
        }
        let mut scan = JsonScanner::within(source, content);
        match scan.shape() {
            Ok(JsonShape::String) => quoted.texts.push(QuotedText::Raw(string_inside(content))),
            // A list with only JSON elements is quoted as one JSON text.
            Ok(JsonShape::Array) if all_as_json(source, content, element) => {
                quoted.texts.push(QuotedText::Plain(compact(source, content)));
            }
            Ok(JsonShape::Array) => {
                for item in array_elements(source, content) {
                    match element(source, item) {
                        ElementQuoting::Text(key) => match field_value(source, item, key) {
                            Some(text) if text.of(source).starts_with('"') => {
                                quoted.texts.push(QuotedText::Raw(string_inside(text)));
                            }
                            _ => quoted.texts.push(QuotedText::Plain(compact(source, item))),
                        },
                        ElementQuoting::Verbatim if is_plain(source, item) => {
                            quoted.media.push(QuotedMedia { element: item, retyped: None });
                        }
                        ElementQuoting::Retyped(kind) if is_plain(source, item) => {
                            quoted.media.push(QuotedMedia { element: item, retyped: Some(kind) });
                        }
                        ElementQuoting::Verbatim
                        | ElementQuoting::Retyped(_)
                        | ElementQuoting::AsJson => {
                            quoted.texts.push(QuotedText::Plain(compact(source, item)))
                        }
                    }
                }
            }
            // The output of some tools is one element.
            Ok(JsonShape::Object) => match element(source, content) {
                ElementQuoting::Retyped(kind) if is_plain(source, content) => {
                    quoted.media.push(QuotedMedia { element: content, retyped: Some(kind) });
                }
                _ => match single_text_field(source, content) {
                    Some(text) => quoted.texts.push(QuotedText::Raw(string_inside(text))),
                    None => quoted.texts.push(QuotedText::Plain(compact(source, content))),
                },
            },
            Ok(JsonShape::Null) | Err(_) => {}
            Ok(JsonShape::Number | JsonShape::Bool) => {
                quoted.texts.push(QuotedText::Plain(compact(source, content)))
            }
        }
        quoted
    }

    /// Adds media that the tool result holds beside its content.
    pub(crate) fn add_media(&mut self, source: &str, item: Span) {
        let raw = item.of(source);
        // Only media: calls, results and text would have another meaning in a user message.
        let fields = object_fields(source, item);
        let is_media =
            |key: &str| matches!(key, "inlineData" | "inline_data" | "fileData" | "file_data");
        let has_content =
            |key: &str| key.starts_with("function") || matches!(key, "text" | "thought");
        let media =
            fields.iter().any(|it| is_media(&it.key) && it.value.of(source).starts_with('{'));
        let has_content = fields.iter().any(|it| has_content(&it.key));
        if raw.starts_with('{') && media && !has_content && is_plain(source, item) {
            self.media.push(QuotedMedia { element: item, retyped: None });
        } else if raw != "null" {
            self.texts.push(QuotedText::Plain(compact(source, item)));
        }
    }

    /// Writes the heading and the texts as the inside of a JSON string.
    pub(crate) fn write(&self, out: &mut SpliceWriter<'_>, heading: &str) {
        let mut escaped = String::new();
        escape_into(&mut escaped, heading);
        out.text(&escaped);
        for text in &self.texts {
            out.text("\\n");
            match text {
                QuotedText::Raw(span) => out.copy(*span),
                QuotedText::Plain(plain) => {
                    let mut escaped = String::with_capacity(plain.len());
                    escape_into(&mut escaped, plain);
                    out.text(&escaped);
                }
            }
        }
    }
}

fn all_as_json(source: &str, list: Span, element: fn(&str, Span) -> ElementQuoting) -> bool {
    array_elements(source, list)
        .into_iter()
        .all(|item| matches!(element(source, item), ElementQuoting::AsJson))
}

/// The span of a string without its quotes. The string must have been scanned before.
pub(super) fn string_inside(string: Span) -> Span {
    Span { start: string.start + 1, end: string.end.saturating_sub(1).max(string.start + 1) }
}

/// The text of an object with one text field, such as `{"output": "…"}`.
fn single_text_field(source: &str, object: Span) -> Option<Span> {
    let fields = object_fields(source, object);
    let [only] = fields.as_slice() else { return None };
    let known = matches!(&*only.key, "output" | "result" | "content" | "error");
    (known && only.value.of(source).starts_with('"')).then_some(only.value)
}

/// Whether an object has no duplicate fields, so that it is valid where it moves to.
fn is_plain(source: &str, object: Span) -> bool {
    let fields = object_fields(source, object);
    let mut keys: Vec<&str> = fields.iter().map(|field| field.key.as_ref()).collect();
    sort_by(&mut keys, |one, other| one.cmp(other));
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
