//! Writes Bedrock Converse: binary messages, blocks behind each other.
//!
//! Only calls have a beginning of their own. A block in which nothing is said is not written, as
//! nothing could be told of it but its end.

use foxwedge_core::{Family, Wire};

use super::{
    Brief, ENCRYPTED, NAMELESS, Notes, UNMARKED, UNPLACED, UNSIGNED, UNSIGNED_CALL, cut, failure,
    figures,
    pen::{is_base64, number, string, write_twice},
    stopped,
};
use crate::{
    canon::{Citation, Failure, Lost, Stop, Trouble, Usage, replies::carries_signature},
    stream::{
        event::{Event, Opened, Piece},
        frame::binary::{self, Kind as Message},
    },
};

pub(crate) struct Bedrock {
    brief: Brief,
    line: String,
    scratch: String,
    usage: Usage,
    kind: Kind,
    /// The number of the open block, or of the next one.
    block: u64,
    /// Something of the open block is written.
    said: bool,
    called: bool,
}

/// What the open block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call,
    FreeText,
}

impl Bedrock {
    pub(super) fn new(brief: Brief) -> Bedrock {
        Bedrock {
            brief,
            line: String::new(),
            scratch: String::new(),
            usage: Usage::default(),
            kind: Kind::Text,
            block: 0,
            said: false,
            called: false,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match event {
            Event::Start(_) => {
                binary::write(out, Message::Event("messageStart"), b"{\"role\":\"assistant\"}");
            }
            Event::Open { kind, .. } => self.open(kind, out, notes),
            Event::More { piece, .. } => self.more(piece, out, notes),
            Event::Close { .. } => self.close(out),
            Event::Usage(usage) => self.usage = *usage,
            // Servers say so where a call was asked for. This format names every wait for answers.
            Event::Stop(Stop::End) if self.called => self.stop(&Stop::Calls, out, notes),
            Event::Stop(stop) => self.stop(stop, out, notes),
            Event::End => self.end(out, notes),
            Event::Failed(trouble) => self.fail(trouble, out, notes),
            Event::Cut => self.fail(&cut(), out, notes),
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.line.capacity() + self.scratch.capacity()
    }

    fn open(&mut self, kind: &Opened<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        self.kind = match kind {
            Opened::Text => Kind::Text,
            Opened::Refusal => {
                notes.add(Lost::Refusal, UNMARKED);
                Kind::Text
            }
            Opened::Reasoning => Kind::Reasoning,
            Opened::Redacted(data) if is_base64(data) => {
                self.kind = Kind::Reasoning;
                return self.delta("reasoningContent\":{\"redactedContent", "}", out, |line, _| {
                    data.write_inside(line);
                });
            }
            Opened::Redacted(_) => {
                return notes
                    .add(Lost::Reasoning, "redacted reasoning that is no data is left out");
            }
            Opened::Call { family: Family::Custom, .. } => Kind::FreeText,
            Opened::Call { .. } => Kind::Call,
        };
        let Opened::Call { id, name, signature, .. } = kind else { return };
        if signature.is_some() {
            notes.add(Lost::Signature, UNSIGNED_CALL);
        }
        self.begin();
        self.line.push_str(",\"start\":{\"toolUse\":{\"toolUseId\":");
        string(&mut self.line, id.as_ref(), "");
        self.line.push_str(",\"name\":");
        name.write(&mut self.line);
        self.line.push_str("}}}");
        self.message("contentBlockStart", out);
        (self.said, self.called) = (true, true);
        if self.kind == Kind::FreeText {
            self.delta("toolUse\":{\"input", "}", out, |line, _| {
                line.push_str("{\\\"input\\\":\\\"");
            });
        }
    }

    fn more(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match piece {
            Piece::Text(words) => {
                let free = self.kind == Kind::FreeText;
                let (key, tail) = match self.kind {
                    Kind::Text => ("text", ""),
                    Kind::Reasoning => ("reasoningContent\":{\"text", "}"),
                    Kind::Call | Kind::FreeText => ("toolUse\":{\"input", "}"),
                };
                self.delta(key, tail, out, |line, scratch| match free {
                    true => write_twice(line, words, scratch),
                    false => words.write_inside(line),
                });
            }
            Piece::Signature(words) if carries_signature(self.brief.from, Wire::Bedrock) => {
                self.delta("reasoningContent\":{\"signature", "}", out, |line, _| {
                    words.write_inside(line);
                });
            }
            Piece::Signature(_) => notes.add(Lost::Signature, UNSIGNED),
            Piece::Encrypted(_) => notes.add(Lost::Signature, ENCRYPTED),
            Piece::Citation(citation) => self.citation(citation, out, notes),
        }
    }

    fn citation(&mut self, citation: &Citation<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        let Some(url) = &citation.url else { return notes.add(Lost::Citation, NAMELESS) };
        if citation.span.is_some() {
            notes.add(Lost::Citation, UNPLACED);
        }
        self.begin();
        let line = &mut self.line;
        line.push_str(",\"delta\":{\"citation\":{");
        if let Some(title) = &citation.title {
            line.push_str("\"title\":");
            title.write(line);
            line.push(',');
        }
        if let Some(quote) = &citation.quote {
            line.push_str("\"sourceContent\":[{\"text\":");
            quote.write(line);
            line.push_str("}],");
        }
        line.push_str("\"location\":{\"web\":{\"url\":");
        url.write(line);
        line.push_str("}}}}}");
        self.said = true;
        self.message("contentBlockDelta", out);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.kind == Kind::FreeText {
            self.delta("toolUse\":{\"input", "}", out, |line, _| line.push_str("\\\"}"));
        }
        if std::mem::take(&mut self.said) {
            self.begin();
            self.line.push('}');
            self.message("contentBlockStop", out);
            self.block += 1;
        }
    }

    fn stop(&mut self, stop: &Stop<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        self.line.clear();
        self.line.push_str("{\"stopReason\":\"");
        self.line.push_str(stopped(Wire::Bedrock, stop, notes));
        self.line.push('"');
        if let Stop::Sequence(Some(text)) = stop {
            self.line.push_str(",\"additionalModelResponseFields\":{\"stop_sequence\":");
            text.write(&mut self.line);
            self.line.push('}');
        }
        self.line.push('}');
        self.message("messageStop", out);
    }

    fn end(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        if self.usage.is_empty() {
            return;
        }
        self.line.clear();
        self.line.push_str("{\"usage\":");
        figures(Wire::Bedrock, &self.usage, &mut self.line, notes);
        self.line.push_str(",\"metrics\":{\"latencyMs\":0}}");
        self.message("metadata", out);
    }

    fn fail(&mut self, trouble: &Failure<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        // A stream knows five exceptions only.
        let name = match trouble.kind {
            Trouble::Request
            | Trouble::Credentials
            | Trouble::Permission
            | Trouble::NotFound
            | Trouble::TooLarge => "validationException",
            Trouble::RateLimit => "throttlingException",
            Trouble::Overloaded => "serviceUnavailableException",
            Trouble::Timeout => "modelStreamErrorException",
            Trouble::Server => "internalServerException",
        };
        self.line.clear();
        failure(Wire::Bedrock, trouble, &mut self.line, notes);
        binary::write(out, Message::Exception(name), self.line.as_bytes());
    }

    /// Writes a delta: its key, and what closes it behind its text.
    fn delta(
        &mut self,
        key: &str,
        tail: &str,
        out: &mut Vec<u8>,
        text: impl FnOnce(&mut String, &mut String),
    ) {
        self.begin();
        self.line.push_str(",\"delta\":{\"");
        self.line.push_str(key);
        self.line.push_str("\":\"");
        text(&mut self.line, &mut self.scratch);
        self.line.push('"');
        self.line.push_str(tail);
        self.line.push_str("}}");
        self.said = true;
        self.message("contentBlockDelta", out);
    }

    /// Begins what is said about the open block.
    fn begin(&mut self) {
        self.line.clear();
        self.line.push_str("{\"contentBlockIndex\":");
        number(&mut self.line, self.block);
    }

    fn message(&self, name: &str, out: &mut Vec<u8>) {
        binary::write(out, Message::Event(name), self.line.as_bytes());
    }
}
