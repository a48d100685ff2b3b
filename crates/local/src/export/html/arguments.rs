//! Writes the arguments of a call: each with its name, strings as plain text.

use std::fmt;

use foxwedge_formats::model::ToolCallPart;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::html_document::HtmlDocument;
use crate::export::pretty::pretty;

/// Longer arguments are written below their name.
const SHORT: usize = 60;

pub(super) fn write(document: &mut HtmlDocument, call: &ToolCallPart<'_>) {
    if call.is_free_text() {
        return document.output(&call.arguments);
    }
    let Ok(ArgumentFields(fields)) = serde_json::from_str(&call.arguments) else {
        return document.output(&call.arguments);
    };
    if fields.is_empty() {
        return document.raw("<p class=\"aside\">No arguments.</p>\n");
    }
    document.raw("<dl class=\"arguments\">\n");
    for (name, value) in fields {
        let text = serde_json::from_str::<String>(value.get());
        let text =
            text.unwrap_or_else(|_| pretty(value.get()).unwrap_or_else(|| value.get().to_owned()));
        let short = text.len() <= SHORT && !text.contains('\n');
        document.raw(if short { "<div class=\"short\"><dt>" } else { "<div><dt>" });
        document.text(&name);
        document.raw("</dt><dd>");
        if short {
            document.element("code", "value", &text);
        } else {
            document.output(&text);
        }
        document.raw("</dd></div>\n");
    }
    document.raw("</dl>\n");
}

/// The fields of an object, in order.
struct ArgumentFields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for ArgumentFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ArgumentFields, D::Error> {
        struct ArgumentFieldsVisitor;

        impl<'de> Visitor<'de> for ArgumentFieldsVisitor {
            type Value = ArgumentFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArgumentFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(ArgumentFields(fields))
            }
        }

        deserializer.deserialize_map(ArgumentFieldsVisitor)
    }
}
