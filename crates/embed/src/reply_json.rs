//! Puts documents into JSON replies, for programs that talk over lines or HTTP.

use std::borrow::Cow;

use foxwedge_json::{JsonScanner, JsonShape, quote};

/// How a document is put into a JSON reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DocumentForm {
    /// As a value, if it is one object or list; as a string otherwise.
    Value,
    /// As a string.
    Text,
}

/// A document as JSON without line breaks. `None` if it is not UTF-8.
///
/// A document that is embedded as a value keeps its bytes, except that line breaks between its
/// values become spaces.
pub fn document_json(document: &[u8], form: DocumentForm) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(document).ok()?;
    match form {
        DocumentForm::Value if is_container(text) => Some(on_one_line(text.trim())),
        DocumentForm::Value | DocumentForm::Text => Some(Cow::Owned(quote(text))),
    }
}

/// Whether a text is one JSON object or list.
fn is_container(text: &str) -> bool {
    let mut scanner = JsonScanner::new(text);
    let is_open = matches!(scanner.shape(), Ok(JsonShape::Object | JsonShape::Array));
    is_open && scanner.skip().is_ok() && scanner.end().is_ok()
}

/// Strings in JSON hold no line breaks, so each one stands between two values.
fn on_one_line(json: &str) -> Cow<'_, str> {
    match json.contains(['\n', '\r']) {
        true => Cow::Owned(json.replace(['\n', '\r'], " ")),
        false => Cow::Borrowed(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_value_only_if_it_is_one_object_or_list() {
        use DocumentForm::{Text, Value};
        let table = [
            ("{\"a\":1.50}", Value, "{\"a\":1.50}"),
            ("{\"a\":1}", Text, "\"{\\\"a\\\":1}\""),
            (" [1,\n  2]\r\n", Value, "[1,   2]"),
            ("{\"a\":1}\n{\"b\":2}\n", Value, "\"{\\\"a\\\":1}\\n{\\\"b\\\":2}\\n\""),
            ("\"text\"", Value, "\"\\\"text\\\"\""),
            ("7", Value, "\"7\""),
            ("{\"a\":", Value, "\"{\\\"a\\\":\""),
            ("", Value, "\"\""),
        ];
        for (document, form, expected) in table {
            let json = document_json(document.as_bytes(), form);
            assert_eq!(json.as_deref(), Some(expected), "{document}");
        }
        assert_eq!(document_json(b"\xff", Value), None);
    }
}
