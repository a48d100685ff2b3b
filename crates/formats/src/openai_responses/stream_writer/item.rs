//! An output item of a response and its JSON.

use crate::event::json_writer::write_number;
use foxwedge_json::{JsonScanner, unescape};

/// An item being written.
pub(super) struct ResponsesOutputItem {
    pub(super) kind: ResponsesOutputKind,
    id: String,
    /// The id and name fields of a call.
    about: String,
    /// The complete parts of a message or a summary.
    content: String,
    parts: u64,
    /// A part is open.
    pub(super) open: bool,
    /// The open part is a refusal.
    pub(super) refusal: bool,
    /// The text of the open part or of the call, JSON-escaped.
    pub(super) text: String,
    annotations: String,
    pub(super) annotated: u64,
    /// The encrypted form of reasoning.
    pub(super) encrypted: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ResponsesOutputKind {
    Message,
    Reasoning,
    Function,
    Custom,
}

impl ResponsesOutputKind {
    /// The prefix of its ids.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            ResponsesOutputKind::Message => "msg",
            ResponsesOutputKind::Reasoning => "rs",
            ResponsesOutputKind::Function => "fc",
            ResponsesOutputKind::Custom => "ctc",
        }
    }

    /// The key of its text.
    fn key(self) -> &'static str {
        match self {
            ResponsesOutputKind::Message | ResponsesOutputKind::Reasoning => "text",
            ResponsesOutputKind::Function => "arguments",
            ResponsesOutputKind::Custom => "input",
        }
    }
}

impl ResponsesOutputItem {
    pub(super) fn new(kind: ResponsesOutputKind, id: String, about: String) -> ResponsesOutputItem {
        ResponsesOutputItem {
            kind,
            id,
            about,
            content: String::new(),
            parts: 0,
            open: false,
            refusal: false,
            text: String::new(),
            annotations: String::new(),
            annotated: 0,
            encrypted: String::new(),
        }
    }

    /// Number of buffered bytes.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&self.about, &self.content, &self.text, &self.annotations, &self.encrypted];
        texts.into_iter().map(String::len).sum()
    }

    pub(super) fn open_part(&mut self, refusal: bool) {
        self.open = true;
        self.refusal = refusal;
        self.text.clear();
        self.annotations.clear();
        self.annotated = 0;
    }

    pub(super) fn annotate(&mut self, annotation: &str) {
        if self.annotated > 0 {
            self.annotations.push(',');
        }
        self.annotations.push_str(annotation);
        self.annotated += 1;
    }

    pub(super) fn close_part(&mut self) {
        if std::mem::take(&mut self.open) {
            let mut content = std::mem::take(&mut self.content);
            if self.parts > 0 {
                content.push(',');
            }
            self.write_part(&mut content);
            self.content = content;
            self.parts += 1;
        }
    }

    /// Whether it is a call with invalid JSON arguments: the reply ended inside.
    pub(super) fn is_broken(&self) -> bool {
        let text = if self.kind == ResponsesOutputKind::Function {
            unescape(&self.text)
        } else {
            return false;
        };
        let mut scan = JsonScanner::new(&text);
        scan.skip().and_then(|_| scan.end()).is_err()
    }

    /// Appends the item with its complete parts.
    pub(super) fn write(&self, line: &mut String, status: &str) {
        line.push_str("{\"id\":\"");
        line.push_str(&self.id);
        line.push_str("\",\"type\":\"");
        line.push_str(match self.kind {
            ResponsesOutputKind::Message => "message",
            ResponsesOutputKind::Reasoning => "reasoning",
            ResponsesOutputKind::Function => "function_call",
            ResponsesOutputKind::Custom => "custom_tool_call",
        });
        // Only messages and function calls have a status.
        if matches!(self.kind, ResponsesOutputKind::Message | ResponsesOutputKind::Function) {
            line.push_str("\",\"status\":\"");
            line.push_str(status);
        }
        match self.kind {
            ResponsesOutputKind::Message => {
                line.push_str("\",\"role\":\"assistant\",\"content\":[");
                line.push_str(&self.content);
                line.push(']');
            }
            ResponsesOutputKind::Reasoning => {
                line.push_str("\",\"summary\":[");
                line.push_str(&self.content);
                line.push(']');
                if !self.encrypted.is_empty() {
                    line.push_str(",\"encrypted_content\":\"");
                    line.push_str(&self.encrypted);
                    line.push('"');
                }
            }
            ResponsesOutputKind::Function | ResponsesOutputKind::Custom => {
                line.push_str("\",");
                line.push_str(&self.about);
                self.write_text(line);
            }
        }
        line.push('}');
    }

    /// Appends the open part.
    pub(super) fn write_part(&self, line: &mut String) {
        if self.refusal {
            line.push_str("{\"type\":\"refusal\",\"refusal\":\"");
            line.push_str(&self.text);
            line.push_str("\"}");
            return;
        }
        line.push_str(match self.kind {
            ResponsesOutputKind::Reasoning => "{\"type\":\"summary_text\"",
            ResponsesOutputKind::Message
            | ResponsesOutputKind::Function
            | ResponsesOutputKind::Custom => "{\"type\":\"output_text\"",
        });
        self.write_text(line);
        if self.kind == ResponsesOutputKind::Message {
            line.push_str(",\"annotations\":[");
            line.push_str(&self.annotations);
            line.push_str("],\"logprobs\":[]");
        }
        line.push('}');
    }

    /// Appends the complete part, or the complete text of the part or call.
    pub(super) fn write_completed(&self, line: &mut String, part: bool) {
        match self.kind {
            ResponsesOutputKind::Message | ResponsesOutputKind::Reasoning if part => {
                line.push_str(",\"part\":");
                self.write_part(line);
            }
            ResponsesOutputKind::Message if self.refusal => {
                line.push_str(",\"refusal\":\"");
                line.push_str(&self.text);
                line.push('"');
            }
            ResponsesOutputKind::Message => {
                self.write_text(line);
                line.push_str(",\"logprobs\":[]");
            }
            ResponsesOutputKind::Reasoning => self.write_text(line),
            ResponsesOutputKind::Function | ResponsesOutputKind::Custom => {
                line.push(',');
                line.push_str(&self.about);
                self.write_text(line);
            }
        }
    }

    /// Appends the item id and the part index of an event.
    pub(super) fn write_place(&self, line: &mut String) {
        line.push_str(",\"item_id\":\"");
        line.push_str(&self.id);
        line.push('"');
        line.push_str(match self.kind {
            ResponsesOutputKind::Message => ",\"content_index\":",
            ResponsesOutputKind::Reasoning => ",\"summary_index\":",
            ResponsesOutputKind::Function | ResponsesOutputKind::Custom => return,
        });
        write_number(line, self.parts);
    }

    fn write_text(&self, line: &mut String) {
        line.push_str(",\"");
        line.push_str(self.kind.key());
        line.push_str("\":\"");
        line.push_str(&self.text);
        line.push('"');
    }
}
