//! Makes an answer for a model of what a server answered. Nothing here trusts a field to be there,
//! or to be of its kind.

use foxwedge_tools::{Answer, Content, How, Output};
use serde_json::{Value, json};

/// Bytes of one picture or document, in base64: what providers take.
const MOST_DATA: usize = 5 << 20;
/// Bytes of all of them in one answer.
const ALL_DATA: usize = 20 << 20;
/// Pictures that models can look at.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENT: &str = "application/pdf";

/// Reads the result of a call. Of its text so many bytes are kept.
pub(super) fn read(result: &Value, most: usize) -> Answer {
    if let Some(kind) = result.get("resultType").and_then(Value::as_str)
        && kind != "complete"
    {
        return Answer::failed(format!(
            "the server wants something else before it answers (`{}`), which is not supported",
            short(kind)
        ));
    }
    let mut told = Told { parts: Vec::new(), most, data: 0 };
    match result.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| told.block(block)),
        Some(Value::String(text)) => told.text(text),
        Some(_) | None => {}
    }
    if let Some(structured) = result.get("structuredContent").filter(|it| !it.is_null()) {
        told.structured(structured);
    }
    let how = match result.get("isError") {
        Some(Value::Bool(true)) => How::Failed,
        Some(_) | None => How::Done,
    };
    Answer { how, content: told.content() }
}

enum Part {
    Text(String),
    Block(Value),
}

struct Told {
    parts: Vec<Part>,
    most: usize,
    data: usize,
}

impl Told {
    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(Part::Text(text.to_owned()));
        }
    }

    fn block(&mut self, block: &Value) {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match (field("type"), field("data")) {
            (Some("text"), _) => self.text(field("text").unwrap_or_default()),
            (Some("image"), Some(data)) => {
                self.data("image", field("mimeType").unwrap_or_default(), data);
            }
            (Some("audio"), data) => {
                let (kind, size) = (field("mimeType").unwrap_or("audio"), data.map_or(0, str::len));
                self.note(&format!("audio ({}, {size} bytes in base64), not shown", short(kind)));
            }
            (Some("resource"), _) => {
                self.resource(block.get("resource").unwrap_or(&Value::Null));
            }
            (Some("resource_link"), _) => {
                let (name, uri) = (field("name").unwrap_or_default(), field("uri"));
                let about = field("description").map(|it| format!(": {it}")).unwrap_or_default();
                let uri = uri.unwrap_or("no address");
                self.note(&format!("resource `{name}` at {uri}{about}"));
            }
            (Some(kind), _) => self.note(&format!("content of kind `{}`, not shown", short(kind))),
            (None, _) => self.note("content of no kind, not shown"),
        }
    }

    /// A file that lies in the answer.
    fn resource(&mut self, resource: &Value) {
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = field("uri").unwrap_or("no address");
        match (field("text"), field("blob")) {
            (Some(text), _) => {
                self.note(&format!("resource {uri}"));
                self.text(text);
            }
            (None, Some(blob)) => {
                self.note(&format!("resource {uri}"));
                self.data("resource", field("mimeType").unwrap_or_default(), blob);
            }
            (None, None) => self.note(&format!("resource {uri}, without content")),
        }
    }

    /// A picture or a document, if models can look at it.
    fn data(&mut self, what: &str, kind: &str, data: &str) {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        let block = match kind.as_str() {
            DOCUMENT => "document",
            other if PICTURES.contains(&other) => "image",
            _ => "",
        };
        let fits = data.len() <= MOST_DATA && self.data + data.len() <= ALL_DATA;
        if block.is_empty() || data.is_empty() || !data.bytes().all(is_base64) || !fits {
            let kind = short(&kind);
            let size = data.len();
            return self.note(&format!("{what} (`{kind}`, {size} bytes in base64), not shown"));
        }
        self.data += data.len();
        let source = json!({"type": "base64", "media_type": kind, "data": data});
        self.parts.push(Part::Block(json!({"type": block, "source": source})));
    }

    /// The same as the text, mostly: told only if no text says it.
    fn structured(&mut self, value: &Value) {
        let said = self.parts.iter().any(|part| match part {
            Part::Text(text) => {
                serde_json::from_str::<Value>(text).is_ok_and(|text| text == *value)
            }
            Part::Block(_) => false,
        });
        if !said {
            self.text(&value.to_string());
        }
    }

    fn note(&mut self, text: &str) {
        self.parts.push(Part::Text(format!("[{text}]")));
    }

    /// Text alone is one text. Among pictures every run of texts is one.
    fn content(self) -> Content {
        let mut blocks: Vec<Value> = Vec::new();
        let mut text = String::new();
        let mut left = self.most;
        let mut flush = |text: &mut String, blocks: &mut Vec<Value>| {
            if !text.is_empty() {
                let kept = bounded(&std::mem::take(text), left);
                left = left.saturating_sub(kept.len());
                blocks.push(json!({"type": "text", "text": kept}));
            }
        };
        for part in self.parts {
            match part {
                Part::Text(more) => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&more);
                }
                Part::Block(block) => {
                    flush(&mut text, &mut blocks);
                    blocks.push(block);
                }
            }
        }
        if blocks.is_empty() {
            let text = bounded(&text, self.most);
            return Content::Text(if text.is_empty() { "(no output)".to_owned() } else { text });
        }
        flush(&mut text, &mut blocks);
        Content::Blocks(blocks)
    }
}

/// The beginning and the end of a text that is too long.
pub(super) fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let output = Output::new(most);
    output.push(text.as_bytes());
    output.captured().text
}

/// Something that fits into a note.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(result: Value) -> String {
        match read(&result, 40) {
            Answer { how, content: Content::Text(text) } => format!("{how:?}: {text}"),
            Answer { how, content: Content::Blocks(blocks) } => {
                format!("{how:?}: {}", Value::Array(blocks))
            }
        }
    }

    #[test]
    fn whatever_a_server_answers_becomes_an_answer() {
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
            assert_eq!(told(result.clone()), expected, "{result}");
        }
    }

    #[test]
    fn a_server_that_wants_something_first_has_failed() {
        let answer = read(&json!({"resultType": "input_required", "inputRequests": {}}), 1_000);
        let Content::Text(text) = &answer.content else { panic!("{answer:?}") };
        assert!(answer.how == How::Failed && text.contains("input_required"), "{text}");
    }

    #[test]
    fn pictures_have_an_end() {
        let picture =
            json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(MOST_DATA)});
        let bad = json!({"type": "image", "mimeType": "image/png", "data": "no base64!"});
        let mut blocks = vec![picture; 6];
        blocks.push(bad);
        let Content::Blocks(blocks) = read(&json!({"content": blocks}), 1_000).content else {
            panic!("no blocks")
        };
        let shown = blocks.iter().filter(|block| block["type"] == "image").count();
        assert_eq!(shown, ALL_DATA / MOST_DATA);
        assert_eq!(blocks.len(), shown + 1, "the rest is told in one text");
    }
}
