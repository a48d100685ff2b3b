//! Converts the result of a server to a tool result for a model. No field is trusted to exist or to
//! have the right type.

use foxwedge_tools::{OutputCapture, ToolCallResult, ToolCompletion, ToolResultContent};
use serde_json::{Value, json};

/// Maximum bytes of one image or document, in base64: the limit of providers.
const MAX_MEDIA: usize = 5 << 20;
/// Maximum bytes of all of them in one result.
const MAX_TOTAL_MEDIA: usize = 20 << 20;
/// Image types that models accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENT_TYPE: &str = "application/pdf";

/// Reads the result of a call. Keeps at most `max_text` bytes of its text.
pub(super) fn read_result(result: &Value, max_text: usize) -> ToolCallResult {
    if let Some(kind) = result.get("resultType").and_then(Value::as_str)
        && kind != "complete"
    {
        return ToolCallResult::failed(format!(
            "the server wants something else before it answers (`{}`), which is not supported",
            printable(kind)
        ));
    }
    let mut builder = ToolResultBuilder { parts: Vec::new(), max_text, media_bytes: 0 };
    match result.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| builder.push_block(block)),
        Some(Value::String(text)) => builder.push_text(text),
        Some(_) | None => {}
    }
    if let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null()) {
        builder.push_structured(structured);
    }
    let completion = match result.get("isError") {
        Some(Value::Bool(true)) => ToolCompletion::Failed,
        Some(_) | None => ToolCompletion::Done,
    };
    ToolCallResult { completion, content: builder.into_content() }
}

enum ResultPart {
    Text(String),
    Block(Value),
}

struct ToolResultBuilder {
    parts: Vec<ResultPart>,
    max_text: usize,
    media_bytes: usize,
}

impl ToolResultBuilder {
    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(ResultPart::Text(text.to_owned()));
        }
    }

    fn push_block(&mut self, block: &Value) {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match (field("type"), field("data")) {
            (Some("text"), _) => self.push_text(field("text").unwrap_or_default()),
            (Some("image"), Some(data)) => {
                self.push_media("image", field("mimeType").unwrap_or_default(), data);
            }
            (Some("audio"), data) => {
                let (kind, size) = (field("mimeType").unwrap_or("audio"), data.map_or(0, str::len));
                self.push_note(&format!(
                    "audio ({}, {size} bytes in base64), not shown",
                    printable(kind)
                ));
            }
            (Some("resource"), _) => {
                self.push_resource(block.get("resource").unwrap_or(&Value::Null));
            }
            (Some("resource_link"), _) => {
                let (name, uri) = (field("name").unwrap_or_default(), field("uri"));
                let about = field("description").map(|it| format!(": {it}")).unwrap_or_default();
                let uri = uri.unwrap_or("no address");
                self.push_note(&format!("resource `{name}` at {uri}{about}"));
            }
            (Some(kind), _) => {
                self.push_note(&format!("content of kind `{}`, not shown", printable(kind)))
            }
            (None, _) => self.push_note("content of no kind, not shown"),
        }
    }

    /// An embedded file.
    fn push_resource(&mut self, resource: &Value) {
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = field("uri").unwrap_or("no address");
        match (field("text"), field("blob")) {
            (Some(text), _) => {
                self.push_note(&format!("resource {uri}"));
                self.push_text(text);
            }
            (None, Some(blob)) => {
                self.push_note(&format!("resource {uri}"));
                self.push_media("resource", field("mimeType").unwrap_or_default(), blob);
            }
            (None, None) => self.push_note(&format!("resource {uri}, without content")),
        }
    }

    /// An image or a document, if models accept its type.
    fn push_media(&mut self, what: &str, kind: &str, data: &str) {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let block = match kind.as_str() {
            DOCUMENT_TYPE => "document",
            other if IMAGE_TYPES.contains(&other) => "image",
            _ => "",
        };
        let fits = data.len() <= MAX_MEDIA && self.media_bytes + data.len() <= MAX_TOTAL_MEDIA;
        if block.is_empty() || data.is_empty() || !data.bytes().all(is_base64) || !fits {
            let kind = printable(&kind);
            let size = data.len();
            return self
                .push_note(&format!("{what} (`{kind}`, {size} bytes in base64), not shown"));
        }
        self.media_bytes += data.len();
        let source = json!({"type": "base64", "media_type": kind, "data": data});
        self.parts.push(ResultPart::Block(json!({"type": block, "source": source})));
    }

    /// Adds structured content. It is usually the same as the texts and then left out; a text that
    /// holds only a part of it is replaced.
    fn push_structured(&mut self, value: &Value) {
        let texts: Vec<&str> = self.texts().collect();
        let whole = texts.join("\n");
        if texts.iter().any(|text| text_matches(text, value))
            || text_matches(&whole, value)
            || texts_match_items(&texts, value)
        {
            return;
        }
        let json = value.to_string();
        let partial = self.parts.iter_mut().find_map(|part| match part {
            ResultPart::Text(text) if text_matches_part(text, value) => Some(text),
            ResultPart::Text(_) | ResultPart::Block(_) => None,
        });
        match partial {
            Some(text) => *text = json,
            None => self.push_text(&json),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            ResultPart::Text(text) => Some(text.as_str()),
            ResultPart::Block(_) => None,
        })
    }

    fn push_note(&mut self, text: &str) {
        self.parts.push(ResultPart::Text(format!("[{text}]")));
    }

    /// Text alone is one text. Between images, adjacent texts are joined.
    fn into_content(self) -> ToolResultContent {
        let mut blocks: Vec<Value> = Vec::new();
        let mut text = String::new();
        let mut left = self.max_text;
        let mut flush = |text: &mut String, blocks: &mut Vec<Value>| {
            if !text.is_empty() {
                let kept = truncate_middle(&std::mem::take(text), left);
                left = left.saturating_sub(kept.len());
                blocks.push(json!({"type": "text", "text": kept}));
            }
        };
        for part in self.parts {
            match part {
                ResultPart::Text(more) => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&more);
                }
                ResultPart::Block(block) => {
                    flush(&mut text, &mut blocks);
                    blocks.push(block);
                }
            }
        }
        if blocks.is_empty() {
            let text = truncate_middle(&text, self.max_text);
            return ToolResultContent::Text(if text.is_empty() {
                "(no output)".to_owned()
            } else {
                text
            });
        }
        flush(&mut text, &mut blocks);
        ToolResultContent::Blocks(blocks)
    }
}

/// Whether a text equals a structure. Servers wrap a value that is not an object into one with a
/// single field, in the text or in the structure.
fn text_matches(text: &str, value: &Value) -> bool {
    let written = read_json(text);
    equals_value(text, written.as_ref(), value)
        || only_field(value).is_some_and(|inner| equals_value(text, written.as_ref(), inner))
        || written.as_ref().and_then(only_field).is_some_and(|inner| values_equal(inner, value))
}

/// Whether the texts equal the items of a list, in order.
fn texts_match_items(texts: &[&str], value: &Value) -> bool {
    let list = only_field(value).unwrap_or(value).as_array();
    list.is_some_and(|items| {
        !items.is_empty()
            && items.len() == texts.len()
            && items.iter().zip(texts).all(|(item, text)| text_matches(text, item))
    })
}

/// Whether a text is a JSON object and the structure has all of its fields.
fn text_matches_part(text: &str, value: &Value) -> bool {
    match (read_json(text), value) {
        (Some(Value::Object(written)), Value::Object(all)) => written
            .iter()
            .all(|(name, field)| all.get(name).is_some_and(|there| values_equal(there, field))),
        _ => false,
    }
}

fn equals_value(text: &str, written: Option<&Value>, value: &Value) -> bool {
    match value {
        Value::String(string) if string.trim() == text.trim() => true,
        value => written.is_some_and(|written| values_equal(written, value)),
    }
}

/// The only field of an object.
fn only_field(value: &Value) -> Option<&Value> {
    value.as_object().filter(|fields| fields.len() == 1)?.values().next()
}

/// JSON in a text, possibly in a code fence.
fn read_json(text: &str) -> Option<Value> {
    let text = text.trim();
    let bare = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let bare = bare.map(|text| text.strip_prefix("json").unwrap_or(text));
    serde_json::from_str(bare.unwrap_or(text)).ok()
}

/// Whether two values are the same; a number may be written in two ways.
fn values_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| values_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, field)| {
                    other.get(name).is_some_and(|there| values_equal(there, field))
                })
        }
        (one, other) => one == other,
    }
}

/// Keeps the start and the end of a text that is too long.
pub(super) fn truncate_middle(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let output = OutputCapture::new(max);
    output.push(text.as_bytes());
    output.capture().text
}

/// A text that is safe to print in a note.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(result: Value) -> String {
        match read_result(&result, 40) {
            ToolCallResult { completion, content: ToolResultContent::Text(text) } => {
                format!("{completion:?}: {text}")
            }
            ToolCallResult { completion, content: ToolResultContent::Blocks(blocks) } => {
                format!("{completion:?}: {}", Value::Array(blocks))
            }
        }
    }

    #[test]
    fn every_server_result_becomes_a_tool_result() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let table = [
            (json!({"content": [text("one"), text("two")]}), "Done: one\ntwo"),
            (json!({"content": [text("no")], "isError": true}), "Failed: no"),
            (json!({"content": []}), "Done: (no output)"),
            (json!({}), "Done: (no output)"),
            (json!({"content": "plain"}), "Done: plain"),
            (json!({"content": 7}), "Done: (no output)"),
            (json!({"content": [7]}), "Done: [content of no kind, not shown]"),
            (json!({"content": [{"type": "text"}]}), "Done: (no output)"),
            (
                json!({"content": [{"type": "hologram"}]}),
                "Done: [content of kind `hologram`, not shown]",
            ),
            (json!({"structuredContent": {"a": 1}}), r#"Done: {"a":1}"#),
            (
                json!({"content": [text("{ \"a\": 1 }")], "structuredContent": {"a": 1}}),
                r#"Done: { "a": 1 }"#,
            ),
            (
                json!({"content": [text("one")], "structuredContent": {"a": 1}}),
                "Done: one\n{\"a\":1}",
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}, text("it")]}),
                r#"Done: [{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"},{"text":"it","type":"text"}]"#,
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/tiff", "data": "AAAA"}]}),
                "Done: [image (`image/tiff`\n[… 12 bytes left out …]\n base64), not shown]",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "f:x", "text": "in it"}}]}),
                "Done: [resource f:x]\nin it",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "f:x", "mimeType": "application/pdf", "blob": "AA=="}}]}),
                r#"Done: [{"text":"[resource f:x]","type":"text"},{"source":{"data":"AA==","media_type":"application/pdf","type":"base64"},"type":"document"}]"#,
            ),
            (
                json!({"content": [{"type": "resource_link", "name": "n", "uri": "f:x"}]}),
                "Done: [resource `n` at f:x]",
            ),
            (
                json!({"content": [text(&"abcde".repeat(20))]}),
                "Done: abcdeabcdeabcdeabcde\n[… 60 bytes left out …]\nabcdeabcdeabcdeabcde",
            ),
        ];
        for (result, expected) in table {
            assert_eq!(describe(result.clone()), expected, "{result}");
        }
    }

    #[test]
    fn content_in_both_text_and_structure_is_kept_once() {
        let pretty = "[\n  {\n    \"b\": [1, 2],\n    \"a\": \"x\"\n  }\n]";
        let list = json!([{"a": "x", "b": [1, 2]}]);
        let table = [
            // Texts, structure and expected result.
            (vec!["3"], json!({"result": 3}), "3"),
            (vec!["3.0"], json!({"result": 3}), "3.0"),
            (vec!["true"], json!({"result": true}), "true"),
            (vec!["null"], json!({"result": null}), "null"),
            (vec!["hello"], json!({"result": "hello"}), "hello"),
            (vec!["\"hello\""], json!({"result": "hello"}), "\"hello\""),
            (vec!["hello\n"], json!({"result": "hello"}), "hello\n"),
            (vec!["{\"a\":1}"], json!({"result": "{\"a\":1}"}), "{\"a\":1}"),
            (vec![pretty], json!({"entities": list}), pretty),
            (vec![pretty], list.clone(), pretty),
            (vec!["{ \"b\": 2,\n \"a\": 1 }"], json!({"a": 1, "b": 2}), "{ \"b\": 2,\n \"a\": 1 }"),
            (vec!["```json\n{\"a\": 1}\n```"], json!({"a": 1}), "```json\n{\"a\": 1}\n```"),
            (vec!["{\"result\": [1]}"], json!([1]), "{\"result\": [1]}"),
            (vec!["a", "b"], json!({"result": ["a", "b"]}), "a\nb"),
            (
                vec!["{\"n\": 1}", "{\"n\": 2}"],
                json!({"result": [{"n": 1}, {"n": 2}]}),
                "{\"n\": 1}\n{\"n\": 2}",
            ),
            (vec!["one", "two"], json!({"result": "one\ntwo"}), "one\ntwo"),
            // The structure differs, or holds more.
            (vec!["3"], json!({"result": 4}), "3\n{\"result\":4}"),
            (vec!["3"], json!({"result": 3, "unit": "m"}), "3\n{\"result\":3,\"unit\":\"m\"}"),
            (vec!["{\"a\": 1}"], json!({"b": 1}), "{\"a\": 1}\n{\"b\":1}"),
            (vec!["{\"a\": 1}"], json!({"a": 1, "b": 2}), "{\"a\":1,\"b\":2}"),
            (vec!["a"], json!({"result": ["a", "b"]}), "a\n{\"result\":[\"a\",\"b\"]}"),
            (vec!["b", "a"], json!({"result": ["a", "b"]}), "b\na\n{\"result\":[\"a\",\"b\"]}"),
            (vec!["two found"], json!({"found": 2}), "two found\n{\"found\":2}"),
            (vec![], json!({"result": 3}), "{\"result\":3}"),
            (vec![], json!({"result": []}), "{\"result\":[]}"),
        ];
        for (texts, structured, expected) in table {
            let blocks: Vec<Value> =
                texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
            let result = json!({"content": blocks, "structuredContent": structured});
            let ToolResultContent::Text(text) = read_result(&result, 1_000).content else {
                panic!("{result}")
            };
            assert_eq!(text, expected, "{result}");
        }
    }

    #[test]
    fn a_result_that_requires_input_is_a_failure() {
        let result =
            read_result(&json!({"resultType": "input_required", "inputRequests": {}}), 1_000);
        let ToolResultContent::Text(text) = &result.content else { panic!("{result:?}") };
        assert!(
            result.completion == ToolCompletion::Failed && text.contains("input_required"),
            "{text}"
        );
    }

    #[test]
    fn images_are_limited() {
        let image =
            json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(MAX_MEDIA)});
        let bad = json!({"type": "image", "mimeType": "image/png", "data": "no base64!"});
        let mut blocks = vec![image; 6];
        blocks.push(bad);
        let ToolResultContent::Blocks(blocks) =
            read_result(&json!({"content": blocks}), 1_000).content
        else {
            panic!("no blocks")
        };
        let shown = blocks.iter().filter(|block| block["type"] == "image").count();
        assert_eq!(shown, MAX_TOTAL_MEDIA / MAX_MEDIA);
        assert_eq!(blocks.len(), shown + 1, "the rest is described in one text");
    }
}
