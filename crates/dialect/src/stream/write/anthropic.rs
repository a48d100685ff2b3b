//! Writes Anthropic Messages: named events, blocks behind each other.
//!
//! A text or reasoning in which nothing is said is not written: the API would refuse it in the
//! history of the next request.

use foxwedge_core::{Family, Wire};

use super::{
    Brief, ENCRYPTED, NAMELESS, Notes, UNMARKED, UNPLACED, UNSIGNED, UNSIGNED_CALL, cut, failure,
    figures,
    pen::{number, string, write_twice},
    stopped,
};
use crate::{
    canon::{
        Citation, Failure, Lost, Stop, Usage, Words,
        replies::{carries_signature, reply_id},
    },
    stream::{
        event::{Event, Head, Opened, Piece},
        order::owned_stop,
    },
};

pub(crate) struct Anthropic {
    brief: Brief,
    line: String,
    scratch: String,
    /// The first event, until the figures that come with it are known: what stands before them.
    waiting: Option<String>,
    usage: Usage,
    stop: Option<Stop<'static>>,
    kind: Kind,
    /// The number of the open block, or of the next one.
    block: u64,
    /// The beginning of the open block is written.
    begun: bool,
    called: bool,
}

/// What the open block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    /// A call.
    Call,
    /// A call whose text stands in an object.
    FreeText,
}

/// The type of a piece of arguments, and the key of its text.
const JSON: &str = "input_json_delta\",\"partial_json";

impl Anthropic {
    pub(super) fn new(brief: Brief) -> Anthropic {
        Anthropic {
            brief,
            line: String::new(),
            scratch: String::new(),
            waiting: None,
            usage: Usage::default(),
            stop: None,
            kind: Kind::Text,
            block: 0,
            begun: false,
            called: false,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        if let Event::Usage(usage) = event {
            self.usage = *usage;
            return;
        }
        self.settle(out);
        match event {
            Event::Start(head) => self.start(head),
            Event::Open { kind, .. } => self.open(kind, out, notes),
            Event::More { piece, .. } => self.more(piece, out, notes),
            Event::Close { .. } => self.close(out),
            Event::Usage(_) => {}
            // The figures may still follow, and stand in the same event.
            Event::Stop(stop) => self.stop = Some(owned_stop(stop)),
            Event::End => self.end(out, notes),
            Event::Failed(trouble) => self.fail(trouble, out, notes),
            Event::Cut => self.fail(&cut(), out, notes),
        }
    }

    /// Writes the first event with what is known.
    pub(super) fn settle(&mut self, out: &mut Vec<u8>) {
        let Some(mut line) = self.waiting.take() else { return };
        crate::canon::usages::write(Wire::Anthropic, &self.usage, &mut line);
        line.push_str("}}\n\n");
        out.extend_from_slice(line.as_bytes());
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let waiting = self.waiting.as_ref().map_or(0, String::capacity);
        self.line.capacity() + self.scratch.capacity() + waiting
    }

    fn start(&mut self, head: &Head<'_>) {
        let mut line = String::from("event: message_start\ndata: {\"type\":\"message_start\"");
        line.push_str(",\"message\":{\"id\":");
        let id = reply_id(Wire::Anthropic, head.id.as_deref(), &self.brief.seed);
        Words::from(id).write(&mut line);
        line.push_str(",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
        string(&mut line, head.model.as_ref(), "unknown");
        line.push_str(",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
        self.waiting = Some(line);
    }

    fn open(&mut self, kind: &Opened<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match kind {
            Opened::Text => self.kind = Kind::Text,
            Opened::Refusal => {
                notes.add(Lost::Refusal, UNMARKED);
                self.kind = Kind::Text;
            }
            Opened::Reasoning => self.kind = Kind::Thinking,
            Opened::Redacted(data) => {
                self.kind = Kind::Redacted;
                self.begin_block(out, |line| {
                    line.push_str("redacted_thinking\",\"data\":");
                    data.write(line);
                });
            }
            Opened::Call { id, name, family, signature } => {
                if signature.is_some() {
                    notes.add(Lost::Signature, UNSIGNED_CALL);
                }
                self.called = true;
                self.kind = Kind::Call;
                self.begin_block(out, |line| {
                    line.push_str("tool_use\",\"id\":");
                    string(line, id.as_ref(), "");
                    line.push_str(",\"name\":");
                    name.write(line);
                    line.push_str(",\"input\":{}");
                });
                if *family == Family::Custom {
                    self.kind = Kind::FreeText;
                    self.delta(JSON, out, |line, _| line.push_str("{\\\"input\\\":\\\""));
                }
            }
        }
    }

    fn more(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match piece {
            Piece::Text(words) => {
                let kind = self.kind;
                let key = match kind {
                    Kind::Text => "text_delta\",\"text",
                    Kind::Thinking => "thinking_delta\",\"thinking",
                    Kind::Call | Kind::FreeText => JSON,
                    Kind::Redacted => return,
                };
                self.delta(key, out, |line, scratch| match kind {
                    Kind::FreeText => write_twice(line, words, scratch),
                    _ => words.write_inside(line),
                });
            }
            Piece::Signature(words) if carries_signature(self.brief.from, Wire::Anthropic) => {
                self.delta("signature_delta\",\"signature", out, |line, _| {
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
        self.begin_delta(out);
        let line = &mut self.line;
        line.push_str("citations_delta\",\"citation\":{\"type\":\"web_search_result_location\"");
        line.push_str(",\"url\":");
        url.write(line);
        line.push_str(",\"title\":");
        match &citation.title {
            Some(title) => title.write(line),
            None => line.push_str("null"),
        }
        line.push_str(",\"cited_text\":");
        string(line, citation.quote.as_ref(), "");
        // Only the maker has one, and readers insist on it.
        line.push_str(",\"encrypted_index\":\"\"}}");
        self.done(out);
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.kind == Kind::FreeText {
            self.delta(JSON, out, |line, _| line.push_str("\\\"}"));
        }
        if std::mem::take(&mut self.begun) {
            self.begin("content_block_stop");
            self.index();
            self.done(out);
            self.block += 1;
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        let stop = match self.stop.take().unwrap_or(Stop::End) {
            // Servers say so where a call was asked for. This format names every wait for answers.
            Stop::End if self.called => Stop::Calls,
            stop => stop,
        };
        self.begin("message_delta");
        self.line.push_str(",\"delta\":{\"stop_reason\":\"");
        self.line.push_str(stopped(Wire::Anthropic, &stop, notes));
        self.line.push_str("\",\"stop_sequence\":");
        match &stop {
            Stop::Sequence(Some(text)) => text.write(&mut self.line),
            _ => self.line.push_str("null"),
        }
        self.line.push_str("},\"usage\":");
        figures(Wire::Anthropic, &self.usage, &mut self.line, notes);
        self.done(out);
        self.begin("message_stop");
        self.done(out);
    }

    fn fail(&mut self, trouble: &Failure<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        self.line.clear();
        self.line.push_str("event: error\ndata: ");
        failure(Wire::Anthropic, trouble, &mut self.line, notes);
        self.line.push_str("\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }

    /// Writes the beginning of a block: its type and its fields.
    fn begin_block(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.begun = true;
        self.begin("content_block_start");
        self.index();
        self.line.push_str(",\"content_block\":{\"type\":\"");
        fields(&mut self.line);
        self.line.push('}');
        self.done(out);
    }

    /// Writes a delta: its type and the key of its text.
    fn delta(&mut self, key: &str, out: &mut Vec<u8>, text: impl FnOnce(&mut String, &mut String)) {
        self.begin_delta(out);
        self.line.push_str(key);
        self.line.push_str("\":\"");
        text(&mut self.line, &mut self.scratch);
        self.line.push_str("\"}");
        self.done(out);
    }

    /// Begins a delta, and its block if that was not begun before.
    fn begin_delta(&mut self, out: &mut Vec<u8>) {
        if !self.begun {
            let thinking = self.kind == Kind::Thinking;
            self.begin_block(out, |line| match thinking {
                true => line.push_str("thinking\",\"thinking\":\"\",\"signature\":\"\""),
                false => line.push_str("text\",\"text\":\"\""),
            });
        }
        self.begin("content_block_delta");
        self.index();
        self.line.push_str(",\"delta\":{\"type\":\"");
    }

    fn index(&mut self) {
        self.line.push_str(",\"index\":");
        number(&mut self.line, self.block);
    }

    fn begin(&mut self, name: &str) {
        self.line.clear();
        self.line.push_str("event: ");
        self.line.push_str(name);
        self.line.push_str("\ndata: {\"type\":\"");
        self.line.push_str(name);
        self.line.push('"');
    }

    fn done(&mut self, out: &mut Vec<u8>) {
        self.line.push_str("}\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }
}
