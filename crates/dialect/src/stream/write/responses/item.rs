//! One item of a response, and its JSON.

use crate::{
    json::{Scanner, unescape},
    stream::write::pen::number,
};

/// An item that is being written.
pub(super) struct Item {
    pub(super) kind: Kind,
    id: String,
    /// The fields that name a call.
    about: String,
    /// The whole parts of a message, or of a summary.
    content: String,
    parts: u64,
    /// A part is open.
    pub(super) open: bool,
    /// It is a refusal.
    pub(super) refusal: bool,
    /// The text of the open part or of the call, in its JSON spelling.
    pub(super) text: String,
    annotations: String,
    pub(super) annotated: u64,
    /// The encrypted form of reasoning.
    pub(super) sealed: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Function,
    Custom,
}

impl Kind {
    /// What its ids begin with.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Kind::Message => "msg",
            Kind::Reasoning => "rs",
            Kind::Function => "fc",
            Kind::Custom => "ctc",
        }
    }

    /// The key of its text.
    fn key(self) -> &'static str {
        match self {
            Kind::Message | Kind::Reasoning => "text",
            Kind::Function => "arguments",
            Kind::Custom => "input",
        }
    }
}

impl Item {
    pub(super) fn new(kind: Kind, id: String, about: String) -> Item {
        Item {
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
            sealed: String::new(),
        }
    }

    /// How much of the answer it keeps.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&self.about, &self.content, &self.text, &self.annotations, &self.sealed];
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

    /// Whether it is a call whose arguments are no JSON: the answer ended inside.
    pub(super) fn is_broken(&self) -> bool {
        let text = if self.kind == Kind::Function { unescape(&self.text) } else { return false };
        let mut scan = Scanner::new(&text);
        scan.skip().and_then(|_| scan.end()).is_err()
    }

    /// Adds the item, with its whole parts.
    pub(super) fn write(&self, line: &mut String, status: &str) {
        line.push_str("{\"id\":\"");
        line.push_str(&self.id);
        line.push_str("\",\"type\":\"");
        line.push_str(match self.kind {
            Kind::Message => "message",
            Kind::Reasoning => "reasoning",
            Kind::Function => "function_call",
            Kind::Custom => "custom_tool_call",
        });
        // Only these have a status.
        if matches!(self.kind, Kind::Message | Kind::Function) {
            line.push_str("\",\"status\":\"");
            line.push_str(status);
        }
        match self.kind {
            Kind::Message => {
                line.push_str("\",\"role\":\"assistant\",\"content\":[");
                line.push_str(&self.content);
                line.push(']');
            }
            Kind::Reasoning => {
                line.push_str("\",\"summary\":[");
                line.push_str(&self.content);
                line.push(']');
                if !self.sealed.is_empty() {
                    line.push_str(",\"encrypted_content\":\"");
                    line.push_str(&self.sealed);
                    line.push('"');
                }
            }
            Kind::Function | Kind::Custom => {
                line.push_str("\",");
                line.push_str(&self.about);
                self.write_text(line);
            }
        }
        line.push('}');
    }

    /// Adds the open part.
    pub(super) fn write_part(&self, line: &mut String) {
        if self.refusal {
            line.push_str("{\"type\":\"refusal\",\"refusal\":\"");
            line.push_str(&self.text);
            line.push_str("\"}");
            return;
        }
        line.push_str(match self.kind {
            Kind::Reasoning => "{\"type\":\"summary_text\"",
            Kind::Message | Kind::Function | Kind::Custom => "{\"type\":\"output_text\"",
        });
        self.write_text(line);
        if self.kind == Kind::Message {
            line.push_str(",\"annotations\":[");
            line.push_str(&self.annotations);
            line.push_str("],\"logprobs\":[]");
        }
        line.push('}');
    }

    /// Adds what is told of the open part or the call when it is whole: the part, or its text.
    pub(super) fn write_whole(&self, line: &mut String, part: bool) {
        match self.kind {
            Kind::Message | Kind::Reasoning if part => {
                line.push_str(",\"part\":");
                self.write_part(line);
            }
            Kind::Message if self.refusal => {
                line.push_str(",\"refusal\":\"");
                line.push_str(&self.text);
                line.push('"');
            }
            Kind::Message => {
                self.write_text(line);
                line.push_str(",\"logprobs\":[]");
            }
            Kind::Reasoning => self.write_text(line),
            Kind::Function | Kind::Custom => {
                line.push(',');
                line.push_str(&self.about);
                self.write_text(line);
            }
        }
    }

    /// Adds which item and which part an event is about.
    pub(super) fn write_place(&self, line: &mut String) {
        line.push_str(",\"item_id\":\"");
        line.push_str(&self.id);
        line.push('"');
        line.push_str(match self.kind {
            Kind::Message => ",\"content_index\":",
            Kind::Reasoning => ",\"summary_index\":",
            Kind::Function | Kind::Custom => return,
        });
        number(line, self.parts);
    }

    fn write_text(&self, line: &mut String) {
        line.push_str(",\"");
        line.push_str(self.kind.key());
        line.push_str("\":\"");
        line.push_str(&self.text);
        line.push('"');
    }
}
