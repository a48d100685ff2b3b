//! Adds optional details to a history: images and files, error and cache marks, citations,
//! refusals, text after a call, unknown fields.
//!
//! Each detail carries its own number, so that it can be found again.

use foxwedge_core::Format;
use serde_json::{Map, Value, json};

use crate::Random;

/// Adds a detail to about a third of the messages.
pub(super) fn hang(random: &mut Random, format: Format, document: &mut Value) {
    let mut writer = DetailWriter { random, format, number: 0 };
    let Some(list) = list(document) else { return };
    let mut at = 0;
    while at < list.len() {
        if writer.random.chance(35) {
            let behind = list[at].as_object_mut().and_then(|message| writer.message(message));
            list.splice(at + 1..at + 1, behind);
        }
        at += 1;
    }
}

/// The list of messages.
pub(super) fn list(document: &mut Value) -> Option<&mut Vec<Value>> {
    match document {
        Value::Array(list) => Some(list),
        Value::Object(object) => {
            let keys = ["messages", "input", "contents"];
            let key = keys.into_iter().find(|key| object.contains_key(*key))?;
            object.get_mut(key)?.as_array_mut()
        }
        _ => None,
    }
}

struct DetailWriter<'r> {
    random: &'r mut Random,
    format: Format,
    number: usize,
}

impl DetailWriter<'_> {
    /// Adds a detail to a message. Returns a message that must follow it, if any.
    fn message(&mut self, message: &mut Map<String, Value>) -> Option<Value> {
        self.number += 1;
        let role = message.get("role").and_then(Value::as_str).unwrap_or("").to_owned();
        let kind = message.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
        // An item that is dropped as a whole loses its fields with it.
        let stays = !role.is_empty()
            || kind.starts_with("function_")
            || matches!(kind.as_str(), "user_input" | "model_output");
        if stays && self.random.chance(10) {
            let field = json!(format!("kept-field-{}", self.number));
            message.insert("x_note".to_owned(), field);
        }
        match (role.as_str(), kind.as_str()) {
            ("system", _)
                if matches!(self.format, Format::OpenaiChat | Format::OpenaiResponses) =>
            {
                message.insert("role".to_owned(), json!("developer"));
            }
            ("user", _) => self.user(message),
            ("assistant" | "model", _) => self.model(message),
            (_, "user_input") => self.user(message),
            (_, "model_output") => self.model(message),
            (_, "function_result") => {
                if self.random.chance(40) {
                    message.insert("is_error".to_owned(), json!(true));
                }
                let image = self.shown();
                extend(message, "result", "text", image);
            }
            (_, "function_call_output") => {
                let image = self.shown();
                extend(message, "output", "input_text", image);
            }
            // Text after a call.
            (_, "function_call") if self.random.chance(30) => {
                let text = format!("assistant afterthought {}.", self.number);
                if self.format == Format::GeminiInteractions {
                    let content = json!([{"type": "text", "text": text}]);
                    return Some(json!({"type": "model_output", "content": content}));
                }
                return Some(json!({"role": "assistant", "content": text}));
            }
            _ => {}
        }
        None
    }

    fn user(&mut self, message: &mut Map<String, Value>) {
        let answers = matches!(self.format, Format::Anthropic | Format::Gemini | Format::Bedrock);
        let key = if self.format == Format::Gemini { "parts" } else { "content" };
        let holds = |names: &[&str], blocks: &[Value]| {
            blocks.iter().any(|block| names.iter().any(|name| block.get(*name).is_some()))
        };
        let blocks = message.get_mut(key).and_then(Value::as_array_mut);
        let names = ["tool_use_id", "functionResponse", "toolResult"];
        match blocks.filter(|blocks| answers && holds(&names, blocks)) {
            Some(blocks) => blocks.iter_mut().for_each(|block| self.answer(block)),
            None => {
                let media = self.shown();
                let kind =
                    if self.format == Format::OpenaiResponses { "input_text" } else { "text" };
                extend(message, key, kind, media);
                self.mark(message, key);
            }
        }
    }

    /// An image or a file.
    fn shown(&mut self) -> Value {
        let number = self.number;
        let image = format!("aW1h{number:04}");
        let file = format!("ZmlsZQ{number:04}==");
        let name = format!("kept-field-name-{number}");
        let url = format!("https://pictures.example/{number}.png");
        let choices = match self.format {
            Format::OpenaiChat => vec![
                json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{image}")}}),
                json!({"type": "image_url", "image_url": {"url": url}}),
                json!({"type": "input_audio", "input_audio": {"data": file, "format": "wav"}}),
                json!({"type": "file", "file": {"filename": name, "file_data": format!("data:application/pdf;base64,{file}")}}),
                json!({"type": "file", "file": {"file_id": format!("file-{number}")}}),
            ],
            Format::OpenaiResponses => vec![
                json!({"type": "input_image", "image_url": format!("data:image/jpeg;base64,{image}")}),
                json!({"type": "input_image", "image_url": url}),
                json!({"type": "input_image", "file_id": format!("file-{number}")}),
                json!({"type": "input_file", "filename": name, "file_data": format!("data:application/pdf;base64,{file}")}),
            ],
            Format::Anthropic => vec![
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": image}}),
                json!({"type": "image", "source": {"type": "url", "url": url}}),
                json!({"type": "document", "title": name, "source": {"type": "base64", "media_type": "application/pdf", "data": file}}),
                json!({"type": "document", "title": "notes", "source": {"type": "text", "media_type": "text/plain", "data": format!("written down {number}.")}}),
                json!({"type": "image", "source": {"type": "file", "file_id": format!("file_{number}")}}),
            ],
            Format::Gemini => vec![
                json!({"inlineData": {"mimeType": "image/png", "data": image}}),
                json!({"inlineData": {"mimeType": "audio/wav", "data": file}}),
                json!({"inlineData": {"mimeType": "application/pdf", "data": file}}),
                json!({"fileData": {"mimeType": "image/png", "fileUri": url}}),
                json!({"fileData": {"mimeType": "video/mp4", "fileUri": format!("gs://bucket/{number}.mp4")}}),
            ],
            Format::GeminiInteractions => vec![
                json!({"type": "image", "data": image, "mime_type": "image/png"}),
                json!({"type": "document", "data": file, "mime_type": "application/pdf"}),
                json!({"type": "image", "uri": url, "mime_type": "image/png"}),
                json!({"type": "video", "uri": format!("gs://bucket/{number}.mp4"), "mime_type": "video/mp4"}),
            ],
            Format::Bedrock => vec![
                json!({"image": {"format": "png", "source": {"bytes": image}}}),
                json!({"document": {"format": "pdf", "name": name, "source": {"bytes": file}}}),
                json!({"video": {"format": "mp4", "source": {"s3Location": {"uri": format!("s3://bucket/{number}.mp4")}}}}),
            ],
        };
        self.random.pick(&choices).clone()
    }

    /// Marks a tool result as failed, or adds an image or a file to it.
    fn answer(&mut self, block: &mut Value) {
        self.number += 1;
        let failed = self.random.chance(40);
        let shows = self.random.chance(40);
        let image = self.shown();
        let inner = |block: &mut Value, key: &str| -> Option<Map<String, Value>> {
            block.get_mut(key)?.as_object_mut().map(std::mem::take)
        };
        match self.format {
            Format::Anthropic => {
                let Some(block) = block.as_object_mut().filter(|it| it.contains_key("tool_use_id"))
                else {
                    return;
                };
                if failed {
                    block.insert("is_error".to_owned(), json!(true));
                }
                if shows {
                    extend(block, "content", "text", image);
                }
            }
            Format::Bedrock => {
                let Some(mut result) = inner(block, "toolResult") else { return };
                if failed {
                    result.insert("status".to_owned(), json!("error"));
                }
                if shows {
                    extend(&mut result, "content", "", image);
                }
                block["toolResult"] = Value::Object(result);
            }
            Format::Gemini => {
                let Some(mut result) = inner(block, "functionResponse") else { return };
                let text = result.get("response").and_then(|it| it.get("output")).cloned();
                if let Some(text) = text.filter(|_| failed) {
                    result.insert("response".to_owned(), json!({"error": text}));
                }
                if shows {
                    result.insert("parts".to_owned(), json!([image]));
                }
                block["functionResponse"] = Value::Object(result);
            }
            Format::OpenaiChat | Format::OpenaiResponses | Format::GeminiInteractions => {}
        }
    }

    /// Marks the end of a message for caching.
    fn mark(&mut self, message: &mut Map<String, Value>, key: &str) {
        if !self.random.chance(25) {
            return;
        }
        let Some(blocks) = message.get_mut(key).and_then(Value::as_array_mut) else { return };
        match self.format {
            Format::Anthropic => {
                if let Some(block) = blocks.last_mut().and_then(Value::as_object_mut) {
                    block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
                }
            }
            Format::Bedrock => blocks.push(json!({"cachePoint": {"type": "default"}})),
            Format::OpenaiChat
            | Format::OpenaiResponses
            | Format::Gemini
            | Format::GeminiInteractions => {}
        }
    }

    fn model(&mut self, message: &mut Map<String, Value>) {
        let number = self.number;
        let address = format!("https://kept-cite-{number}.example");
        match self.format {
            Format::OpenaiChat => {
                if !message.contains_key("tool_calls") {
                    let text = format!("I would rather not {number}.");
                    message.insert("content".to_owned(), Value::Null);
                    message.insert("refusal".to_owned(), json!(text));
                }
            }
            Format::OpenaiResponses => {
                let cited = json!({"type": "output_text", "text": format!("as they say {number}."),
                    "annotations": [{"type": "url_citation", "url": address, "title": "t", "start_index": 0, "end_index": 2}]});
                let refused =
                    json!({"type": "refusal", "refusal": format!("I would rather not {number}.")});
                let part = self.random.pick(&[cited, refused]).clone();
                extend(message, "content", "output_text", part);
            }
            Format::Anthropic => {
                let cited = json!({"type": "text", "text": format!("as they say {number}."),
                    "citations": [{"type": "web_search_result_location", "url": address, "title": "t", "cited_text": "so", "encrypted_index": "e"}]});
                let blocks = message.get_mut("content").and_then(Value::as_array_mut);
                let first = blocks
                    .filter(|blocks| blocks.first().is_some_and(|block| block["type"] == "text"));
                if let Some(blocks) = first {
                    blocks.insert(0, cited);
                }
            }
            Format::GeminiInteractions => {
                let cited = json!({"type": "text", "text": format!("as they say {number}."),
                    "annotations": [{"type": "url_citation", "url": address, "title": "t"}]});
                extend(message, "content", "text", cited);
            }
            Format::Gemini => {
                let seal = format!("c2VhbGVk{number}");
                let signed =
                    json!({"text": format!("signed words {number}."), "thoughtSignature": seal});
                let behind = json!({"text": format!("afterthought {number}.")});
                let part = self.random.pick(&[signed, behind]).clone();
                extend(message, "parts", "", part);
            }
            Format::Bedrock => {
                if let Some(blocks) = message.get_mut("content").and_then(Value::as_array_mut) {
                    blocks.insert(0, json!({"text": format!("first of all {number}.")}));
                }
            }
        }
    }
}

/// Adds an element to a content. A string becomes a list with one text element of this type.
fn extend(message: &mut Map<String, Value>, key: &str, kind: &str, element: Value) {
    match message.get_mut(key) {
        Some(Value::Array(list)) => list.push(element),
        Some(Value::String(text)) => {
            let text = json!({"type": kind, "text": text});
            message.insert(key.to_owned(), json!([text, element]));
        }
        _ => {}
    }
}
