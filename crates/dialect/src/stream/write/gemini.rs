//! Writes Gemini: every chunk is a whole response with the parts that are new in it.
//!
//! A call stands in one part, so its arguments are kept until it is closed. A call whose arguments
//! are no object then is no call: it is left out, and an answer that would have waited for it says
//! that the call failed.

use foxwedge_core::{Family, Wire};

use super::{
    Brief, ENCRYPTED, Notes, UNMARKED, UNREADABLE, UNSIGNED, cut, failure, figures, pen::is_base64,
    stopped,
};
use crate::{
    canon::{Failure, Lost, Stop, Usage, Words, replies::carries_signature},
    json::unescape,
    outline::is_object,
    stream::{
        event::{Event, Head, Opened, Piece},
        order::owned_stop,
    },
};

pub(crate) struct Gemini {
    brief: Brief,
    line: String,
    /// What every chunk ends with, behind its candidates.
    tail: String,
    usage: Usage,
    stop: Option<Stop<'static>>,
    kind: Kind,
    /// The fields of an open call before its arguments.
    call: String,
    /// Its arguments in their JSON spelling.
    arguments: String,
    signature: Option<Words<'static>>,
    /// A call was no call.
    malformed: bool,
}

/// What the open block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Redacted,
    Call,
    FreeText,
}

impl Gemini {
    pub(super) fn new(brief: Brief) -> Gemini {
        Gemini {
            brief,
            line: String::new(),
            tail: String::new(),
            usage: Usage::default(),
            stop: None,
            kind: Kind::Text,
            call: String::new(),
            arguments: String::new(),
            signature: None,
            malformed: false,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match event {
            Event::Start(head) => self.start(head),
            Event::Open { kind, .. } => self.open(kind, notes),
            Event::More { piece, .. } => self.more(piece, out, notes),
            Event::Close { .. } => self.close(out, notes),
            Event::Usage(usage) => self.usage = *usage,
            // The figures may still follow, and stand in the same chunk.
            Event::Stop(stop) => self.stop = Some(owned_stop(stop)),
            Event::End => self.end(out, notes),
            Event::Failed(trouble) => self.fail(trouble, out, notes),
            Event::Cut => self.fail(&cut(), out, notes),
        }
    }

    pub(super) fn held(&self) -> usize {
        self.call.len() + self.arguments.len()
    }

    fn start(&mut self, head: &Head<'_>) {
        for (key, words) in [("modelVersion", &head.model), ("responseId", &head.id)] {
            let Some(words) = words else { continue };
            self.tail.extend([",\"", key, "\":"]);
            words.write(&mut self.tail);
        }
        self.tail.push_str("}\n\n");
    }

    fn open(&mut self, kind: &Opened<'_>, notes: &mut Notes) {
        self.kind = match kind {
            Opened::Text => Kind::Text,
            Opened::Refusal => {
                notes.add(Lost::Refusal, UNMARKED);
                Kind::Text
            }
            Opened::Reasoning => Kind::Thought,
            Opened::Redacted(_) => {
                notes.add(Lost::Reasoning, UNREADABLE);
                Kind::Redacted
            }
            Opened::Call { id, name, family, signature } => {
                self.call.push('{');
                if let Some(id) = id {
                    self.call.push_str("\"id\":");
                    id.write(&mut self.call);
                    self.call.push(',');
                }
                self.call.push_str("\"name\":");
                name.write(&mut self.call);
                self.signature = signature.as_ref().map(Words::to_static);
                if *family == Family::Custom { Kind::FreeText } else { Kind::Call }
            }
        };
    }

    fn more(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match (piece, self.kind) {
            (Piece::Text(words), Kind::Text) => self.part(out, |line| {
                line.push_str("\"text\":");
                words.write(line);
            }),
            (Piece::Text(words), Kind::Thought) => self.part(out, |line| {
                line.push_str("\"text\":");
                words.write(line);
                line.push_str(",\"thought\":true");
            }),
            (Piece::Text(words), Kind::Call | Kind::FreeText) => {
                words.write_inside(&mut self.arguments);
            }
            (Piece::Text(_), Kind::Redacted) => {}
            (Piece::Signature(words), _)
                if carries_signature(self.brief.from, Wire::Gemini) && is_base64(words) =>
            {
                self.part(out, |line| {
                    line.push_str("\"text\":\"\",\"thought\":true,\"thoughtSignature\":");
                    words.write(line);
                });
            }
            (Piece::Signature(_), _) => notes.add(Lost::Signature, UNSIGNED),
            (Piece::Encrypted(_), _) => notes.add(Lost::Signature, ENCRYPTED),
            (Piece::Citation(_), _) => {
                let note = "where a text comes from has no place in this format";
                notes.add(Lost::Citation, note);
            }
        }
    }

    fn close(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        let free = match self.kind {
            Kind::Text | Kind::Thought | Kind::Redacted => return,
            Kind::Call => false,
            Kind::FreeText => true,
        };
        let call = std::mem::take(&mut self.call);
        let arguments = std::mem::take(&mut self.arguments);
        let object =
            if free { format!("{{\"input\":\"{arguments}\"}}") } else { unescape(&arguments) };
        if !is_object(&object) {
            self.malformed = true;
            return notes
                .add(Lost::Arguments, "a call whose arguments are no JSON object is left out");
        }
        let signature = self.signature.take().filter(|signature| {
            let known = is_base64(signature);
            if !known {
                notes.add(Lost::Signature, "a signature that is not Google's is left out");
            }
            known
        });
        self.part(out, |line| {
            line.push_str("\"functionCall\":");
            line.push_str(&call);
            line.push_str(",\"args\":");
            // No line of the stream may end inside: between values a space says the same.
            line.extend(object.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
            line.push('}');
            if let Some(signature) = &signature {
                line.push_str(",\"thoughtSignature\":");
                signature.write(line);
            }
        });
    }

    fn end(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        let stop = match self.stop.take().unwrap_or(Stop::End) {
            Stop::End | Stop::Calls if self.malformed => Stop::Malformed,
            stop => stop,
        };
        // Clients take a chunk without any part for a broken one.
        self.begin();
        self.line.push_str("{\"text\":\"\"}]},\"finishReason\":\"");
        self.line.push_str(stopped(Wire::Gemini, &stop, notes));
        self.line.push_str("\",\"index\":0}]");
        if !self.usage.is_empty() {
            self.line.push_str(",\"usageMetadata\":");
            figures(Wire::Gemini, &self.usage, &mut self.line, notes);
        }
        self.done(out);
    }

    fn fail(&mut self, trouble: &Failure<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        if !self.call.is_empty() {
            notes.add(Lost::Arguments, "a call that was cut off is left out");
        }
        self.line.clear();
        self.line.push_str("data: ");
        failure(Wire::Gemini, trouble, &mut self.line, notes);
        self.line.push_str("\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }

    /// Writes a chunk with a part of these fields.
    fn part(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.begin();
        self.line.push('{');
        fields(&mut self.line);
        self.line.push_str("}]},\"index\":0}]");
        self.done(out);
    }

    fn begin(&mut self) {
        self.line.clear();
        self.line.push_str("data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[");
    }

    fn done(&mut self, out: &mut Vec<u8>) {
        self.line.push_str(&self.tail);
        out.extend_from_slice(self.line.as_bytes());
    }
}
