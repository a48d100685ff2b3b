//! Text of a JSON document that is unescaped only when it is read, and written back with its
//! original escapes.

use std::{borrow::Cow, cell::OnceCell, fmt, ops::Deref};

use foxwedge_json::{escape_into, unescape};

/// Text that may still be in its escaped JSON form.
#[derive(Clone)]
pub struct JsonText<'a>(JsonTextForm<'a>);

#[derive(Clone)]
enum JsonTextForm<'a> {
    /// The unescaped text.
    Plain(Cow<'a, str>),
    /// The inside of a JSON string with escapes, and its unescaped text once it was needed.
    Escaped(&'a str, OnceCell<Box<str>>),
}

impl<'a> JsonText<'a> {
    /// Creates the text from the inside of a scanned JSON string.
    pub(crate) fn from_json((raw, escaped): (&'a str, bool)) -> JsonText<'a> {
        JsonText(match escaped {
            true => JsonTextForm::Escaped(raw, OnceCell::new()),
            false => JsonTextForm::Plain(Cow::Borrowed(raw)),
        })
    }

    /// Appends the text as the inside of a JSON string.
    pub(crate) fn write_unquoted(&self, out: &mut String) {
        match &self.0 {
            JsonTextForm::Plain(text) => escape_into(out, text),
            JsonTextForm::Escaped(raw, _) => out.push_str(raw),
        }
    }

    /// Appends the text as a JSON string.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('"');
        self.write_unquoted(out);
        out.push('"');
    }

    /// Whether the text is empty. Does not unescape.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            JsonTextForm::Plain(text) => text.is_empty(),
            JsonTextForm::Escaped(raw, _) => raw.is_empty(),
        }
    }

    /// The escaped source of a text with escapes.
    pub(crate) fn escaped_source(&self) -> Option<&'a str> {
        match self.0 {
            JsonTextForm::Escaped(raw, _) => Some(raw),
            JsonTextForm::Plain(_) => None,
        }
    }

    /// The source text, if it is borrowed from the document.
    pub(crate) fn borrowed_source(&self) -> Option<&str> {
        match &self.0 {
            JsonTextForm::Escaped(raw, _) => Some(raw),
            JsonTextForm::Plain(Cow::Borrowed(text)) => Some(text),
            JsonTextForm::Plain(Cow::Owned(_)) => None,
        }
    }

    /// Whether the text is borrowed from its document, without escapes.
    pub fn is_unescaped(&self) -> bool {
        matches!(self.0, JsonTextForm::Plain(Cow::Borrowed(_)))
    }

    /// The unescaped text as an owned string.
    pub fn into_owned(self) -> String {
        match self.0 {
            JsonTextForm::Plain(text) => text.into_owned(),
            JsonTextForm::Escaped(raw, text) => {
                text.into_inner().map_or_else(|| unescape(raw), String::from)
            }
        }
    }

    /// A copy with a static lifetime.
    pub fn to_static(&self) -> JsonText<'static> {
        JsonText(JsonTextForm::Plain(Cow::Owned(self.to_string())))
    }
}

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            JsonTextForm::Plain(text) => text,
            JsonTextForm::Escaped(raw, text) => text.get_or_init(|| unescape(raw).into_boxed_str()),
        }
    }
}

impl Default for JsonText<'_> {
    fn default() -> Self {
        JsonText(JsonTextForm::Plain(Cow::Borrowed("")))
    }
}

impl<'a> From<Cow<'a, str>> for JsonText<'a> {
    fn from(text: Cow<'a, str>) -> JsonText<'a> {
        JsonText(JsonTextForm::Plain(text))
    }
}

impl<'a> From<&'a str> for JsonText<'a> {
    fn from(text: &'a str) -> JsonText<'a> {
        JsonText(JsonTextForm::Plain(Cow::Borrowed(text)))
    }
}

impl From<String> for JsonText<'_> {
    fn from(text: String) -> Self {
        JsonText(JsonTextForm::Plain(Cow::Owned(text)))
    }
}

impl AsRef<str> for JsonText<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for JsonText<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for JsonText<'_> {}

impl PartialEq<str> for JsonText<'_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for JsonText<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_original_escapes() {
        let table = [
            (JsonText::from_json((r"a\/\u00e9\n", true)), "a/é\n", r#""a\/\u00e9\n""#),
            (JsonText::from_json(("plain é", false)), "plain é", "\"plain é\""),
            (JsonText::from("a\"b\\\n\u{1}"), "a\"b\\\n\u{1}", r#""a\"b\\\n\u0001""#),
        ];
        for (text, unescaped, written) in table {
            let mut out = String::new();
            text.write(&mut out);
            assert_eq!((&*text, out.as_str()), (unescaped, written));
            assert_eq!(text.clone().into_owned(), unescaped);
        }
    }
}
