//! The JSON text in an attribute of a span: a string with JSON in it, or OTLP's own lists and
//! objects, which are written as JSON.

use std::borrow::Cow;

use foxwedge_json::{
    JsonScanner, JsonShape, ScanResult, Span, StringSpan, decode_escape, escape_into, field_value,
};

/// A JSON text, and where it comes from.
pub(super) struct AttributeText<'a> {
    pub(super) text: Cow<'a, str>,
    origin: TextOrigin,
}

enum TextOrigin {
    /// A string of the document.
    String(StringSpan),
    /// Lists and objects: for each element of the outer list, its position in the text and in the
    /// document.
    Structure(Vec<(usize, usize)>),
}

/// The text of an attribute value; nothing if it is neither a string nor a list.
pub(super) fn attribute_text(source: &str, value: Span) -> Option<AttributeText<'_>> {
    let string = field_value(source, value, "stringValue")
        .or_else(|| field_value(source, value, "string_value"));
    if let Some(string) = string {
        let mut scan = JsonScanner::within(source, string);
        let string = scan.string().ok()?;
        return Some(AttributeText {
            text: string.text(source),
            origin: TextOrigin::String(string),
        });
    }
    let mut writer = StructureWriter::default();
    writer.write_value(&mut JsonScanner::within(source, value)).ok()?;
    writer.is_list.then_some(AttributeText {
        text: Cow::Owned(writer.out),
        origin: TextOrigin::Structure(writer.elements),
    })
}

impl AttributeText<'_> {
    /// The positions in the document that belong to positions in the text, in the same order. In
    /// one pass over the text.
    pub(super) fn document_offsets(&self, source: &str, offsets: &[usize]) -> Vec<usize> {
        match &self.origin {
            TextOrigin::String(string) => {
                let start = string.span.start as usize;
                if !string.escaped {
                    return offsets.iter().map(|offset| start + offset).collect();
                }
                let raw = raw_offsets(string.span.of(source), offsets);
                raw.into_iter().map(|offset| start + offset).collect()
            }
            TextOrigin::Structure(elements) => {
                let element = |offset: &usize| {
                    let after = elements.partition_point(|(text, _)| text <= offset);
                    elements.get(after.saturating_sub(1)).map_or(0, |(_, document)| *document)
                };
                offsets.iter().map(element).collect()
            }
        }
    }
}

/// The positions in a string with escapes that belong to positions in its unescaped text.
fn raw_offsets(raw: &str, offsets: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_unstable_by_key(|&index| offsets[index]);
    let mut found = vec![0; offsets.len()];
    let (mut at, mut unescaped) = (0, 0);
    for index in order {
        let wanted = offsets[index];
        while unescaped < wanted && at < raw.len() {
            let rest = raw.get(at..).unwrap_or("");
            let plain = rest.find('\\').unwrap_or(rest.len());
            if plain > 0 {
                let step = plain.min(wanted - unescaped);
                (at, unescaped) = (at + step, unescaped + step);
            } else {
                let (character, length) = decode_escape(rest);
                (at, unescaped) = (at + length, unescaped + character.len_utf8());
            }
        }
        found[index] = at;
    }
    found
}

/// Writes OTLP values as JSON. The scanner limits how deep they are nested.
#[derive(Default)]
struct StructureWriter {
    out: String,
    /// Whether the outer value is a list.
    is_list: bool,
    elements: Vec<(usize, usize)>,
    depth: usize,
}

impl StructureWriter {
    /// Writes a value: an object with one field that names its type. Of several fields the first
    /// one counts.
    fn write_value(&mut self, scan: &mut JsonScanner<'_>) -> ScanResult<()> {
        if scan.shape()? != JsonShape::Object {
            self.out.push_str("null");
            return scan.skip().map(drop);
        }
        let mut is_written = false;
        scan.object(|scan, key, _| {
            if std::mem::replace(&mut is_written, true) {
                return scan.skip().map(drop);
            }
            match key {
                b"arrayValue" | b"array_value" => {
                    self.is_list |= self.depth == 0;
                    self.write_container(scan, ['[', ']'], StructureWriter::write_value)
                }
                b"kvlistValue" | b"kvlist_value" => {
                    self.write_container(scan, ['{', '}'], StructureWriter::write_entry)
                }
                b"stringValue" | b"string_value" | b"boolValue" | b"bool_value" | b"bytesValue"
                | b"bytes_value" | b"doubleValue" | b"double_value" => {
                    let value = scan.skip()?;
                    self.out.push_str(value.of(scan.source()));
                    Ok(())
                }
                // An integer is written as a string.
                b"intValue" | b"int_value" => {
                    let value = scan.skip()?;
                    let digits = value.of(scan.source()).trim_matches('"');
                    let is_number = digits.parse::<i64>().is_ok();
                    self.out.push_str(if is_number { digits } else { "null" });
                    Ok(())
                }
                _ => {
                    is_written = false;
                    scan.skip().map(drop)
                }
            }
        })?;
        if !is_written {
            self.out.push_str("null");
        }
        Ok(())
    }

    /// Writes the `values` of a list or an object.
    fn write_container(
        &mut self,
        scan: &mut JsonScanner<'_>,
        [open, close]: [char; 2],
        write: fn(&mut StructureWriter, &mut JsonScanner<'_>) -> ScanResult<()>,
    ) -> ScanResult<()> {
        self.out.push(open);
        self.depth += 1;
        let mut is_read = false;
        if scan.shape()? == JsonShape::Object {
            scan.object(|scan, key, _| {
                let is_list = key == b"values" && scan.shape()? == JsonShape::Array;
                if !is_list || std::mem::replace(&mut is_read, true) {
                    return scan.skip().map(drop);
                }
                scan.array(|scan, index| {
                    if index > 0 {
                        self.out.push(',');
                    }
                    if self.depth == 1 {
                        self.elements.push((self.out.len(), scan.position()));
                    }
                    write(self, scan)
                })
                .map(drop)
            })?;
        } else {
            scan.skip()?;
        }
        self.depth -= 1;
        self.out.push(close);
        Ok(())
    }

    /// Writes an entry of an object: its key, then its value. A value before its key is left out;
    /// no exporter writes that.
    fn write_entry(&mut self, scan: &mut JsonScanner<'_>) -> ScanResult<()> {
        let start = self.out.len();
        let mut has_value = false;
        if scan.shape()? == JsonShape::Object {
            scan.object(|scan, key, _| {
                let has_key = self.out.len() > start;
                match key {
                    b"key" if !has_key && scan.shape()? == JsonShape::String => {
                        let text = scan.string()?.text(scan.source());
                        self.out.push('"');
                        escape_into(&mut self.out, &text);
                        self.out.push_str("\":");
                        Ok(())
                    }
                    b"value" if has_key && !has_value => {
                        has_value = true;
                        self.write_value(scan)
                    }
                    _ => scan.skip().map(drop),
                }
            })?;
        } else {
            scan.skip()?;
        }
        match (self.out.len() > start, has_value) {
            (false, _) => self.out.push_str("\"\":null"),
            (true, false) => self.out.push_str("null"),
            (true, true) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn text_of(value: &Value) -> Option<String> {
        let source = value.to_string();
        let whole = Span::new(0, source.len());
        attribute_text(&source, whole).map(|attribute| attribute.text.into_owned())
    }

    #[test]
    fn structures_become_json() {
        let string = |text: &str| json!({"stringValue": text});
        let entry = |key: &str, value: Value| json!({"key": key, "value": value});
        let part = json!({"kvlistValue": {"values": [
            entry("type", string("text")), entry("content", string("a \"b\"\n")),
            entry("n", json!({"intValue": "7"})), entry("m", json!({"intValue": 8})),
            entry("x", json!({"doubleValue": 1.5})), entry("b", json!({"boolValue": true})),
            entry("z", json!({})), entry("l", json!({"arrayValue": {}})),
            entry("o", json!({"kvlist_value": {"values": []}})),
        ]}});
        let list = json!({"arrayValue": {"values": [part, string("x")]}});
        let expected = json!([
            {"type": "text", "content": "a \"b\"\n", "n": 7, "m": 8, "x": 1.5, "b": true, "z": null,
             "l": [], "o": {}},
            "x",
        ]);
        let text = text_of(&list).expect("a text");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), expected);
        assert_eq!(text_of(&string("[1]")).as_deref(), Some("[1]"));
        for other in [json!({}), json!(7), json!({"boolValue": true}), json!({"kvlistValue": {}})] {
            assert_eq!(text_of(&other), None, "{other}");
        }
    }

    #[test]
    fn malformed_structures_stay_json() {
        let table = [
            json!({"arrayValue": 7}),
            json!({"arrayValue": {"values": 7}}),
            json!({"arrayValue": {"values": [7, null, {"intValue": "x"}, {"other": 1}]}}),
            json!({"arrayValue": {"values": [{"kvlistValue": {"values": [7, {}, {"key": "k"},
                {"value": {"stringValue": "v"}}, {"key": 5, "value": {}}]}}]}}),
        ];
        for value in table {
            let text = text_of(&value).expect("a text");
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{value}: {text}");
        }
    }

    #[test]
    fn positions_lead_back_into_the_document() {
        let inner = "[{\"a\":\"é\\n\",\"😀\":\"\u{1}\"}]";
        for source in [
            json!({"stringValue": inner}).to_string(),
            "{\"stringValue\":\"[{\\\"a\\\":\\\"\\u00e9\\\\n\\\",\\\"\\ud83d\\ude00\\\":\\\"\\u0001\\\"}]\"}"
                .to_owned(),
        ] {
            let attribute = attribute_text(&source, Span::new(0, source.len())).expect("a text");
            assert_eq!(attribute.text, inner);
            let offsets: Vec<usize> = inner.char_indices().map(|(at, _)| at).rev().collect();
            let found = attribute.document_offsets(&source, &offsets);
            for (offset, at) in offsets.into_iter().zip(found) {
                let head = foxwedge_json::unescape(&source["{\"stringValue\":\"".len()..at]);
                assert_eq!(head, inner[..offset], "{offset}");
            }
        }
    }
}
