//! Writes OpenAI Chat: chunks of one choice.
//!
//! The format has one text, one reasoning and a list of calls. Several texts become one as they are;
//! several thoughts are its paragraphs.

use foxwedge_core::{Family, Wire};

use super::{
    Brief, ENCRYPTED, NAMELESS, Notes, UNQUOTED, UNREADABLE, UNSIGNED, cut, failure, figures,
    pen::{characters, number, string, url_citation},
    stopped,
};
use crate::{
    canon::{Citation, Failure, Lost, Usage, Words, replies::reply_id},
    stream::event::{Event, Head, Opened, Piece},
};

pub(crate) struct Chat {
    brief: Brief,
    /// What every chunk begins with, up to its choices.
    head: String,
    line: String,
    usage: Usage,
    kind: Kind,
    calls: u64,
    citations: u64,
    /// Some reasoning is told.
    thought: bool,
    /// Nothing of the open block is told yet.
    fresh: bool,
    /// Characters of the texts before this one.
    before: u64,
    /// Characters of this text.
    said: u64,
}

/// What the open block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Reasoning,
    Function,
    Custom,
    Redacted,
}

impl Chat {
    pub(super) fn new(brief: Brief) -> Chat {
        Chat {
            brief,
            head: String::new(),
            line: String::new(),
            usage: Usage::default(),
            kind: Kind::Text,
            calls: 0,
            citations: 0,
            thought: false,
            fresh: false,
            before: 0,
            said: 0,
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match event {
            Event::Start(head) => self.start(head, out),
            Event::Open { kind, .. } => self.open(kind, out, notes),
            Event::More { piece, .. } => self.more(piece, out, notes),
            Event::Close { .. } => {}
            Event::Usage(usage) => self.usage = *usage,
            Event::Stop(stop) => {
                let word = stopped(Wire::OpenaiChat, stop, notes);
                self.begin();
                self.line.push_str("[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
                self.line.push_str(word);
                self.line.push_str("\"}]}\n\n");
                self.done(out);
            }
            Event::End => self.end(out, notes),
            Event::Failed(trouble) => self.fail(trouble, out, notes),
            Event::Cut => self.fail(&cut(), out, notes),
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.head.capacity() + self.line.capacity()
    }

    fn start(&mut self, head: &Head<'_>, out: &mut Vec<u8>) {
        self.head.push_str("data: {\"id\":");
        let id = reply_id(Wire::OpenaiChat, head.id.as_deref(), &self.brief.seed);
        Words::from(id).write(&mut self.head);
        self.head.push_str(",\"object\":\"chat.completion.chunk\",\"created\":");
        number(&mut self.head, head.created.unwrap_or(0));
        self.head.push_str(",\"model\":");
        string(&mut self.head, head.model.as_ref(), "unknown");
        self.head.push_str(",\"choices\":");
        self.delta(out, |line| line.push_str("\"role\":\"assistant\",\"content\":\"\""));
    }

    fn open(&mut self, kind: &Opened<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        self.kind = match kind {
            Opened::Text => Kind::Text,
            Opened::Refusal => Kind::Refusal,
            Opened::Reasoning => Kind::Reasoning,
            Opened::Redacted(_) => Kind::Redacted,
            Opened::Call { family: Family::Custom, .. } => Kind::Custom,
            Opened::Call { .. } => Kind::Function,
        };
        self.fresh = true;
        match kind {
            Opened::Text => self.before += std::mem::take(&mut self.said),
            Opened::Refusal | Opened::Reasoning => {}
            Opened::Redacted(_) => notes.add(Lost::Reasoning, UNREADABLE),
            Opened::Call { id, name, family, signature } => {
                let index = self.calls;
                self.calls += 1;
                let (kind, input) = match family {
                    Family::Custom => ("custom", "input"),
                    _ => ("function", "arguments"),
                };
                self.delta(out, |line| {
                    line.push_str("\"tool_calls\":[{\"index\":");
                    number(line, index);
                    line.push_str(",\"id\":");
                    string(line, id.as_ref(), "");
                    line.push_str(",\"type\":\"");
                    line.push_str(kind);
                    line.push_str("\",\"");
                    line.push_str(kind);
                    line.push_str("\":{\"name\":");
                    name.write(line);
                    line.push_str(",\"");
                    line.push_str(input);
                    line.push_str("\":\"\"}");
                    if let Some(signature) = signature {
                        line.push_str(",\"extra_content\":{\"google\":{\"thought_signature\":");
                        signature.write(line);
                        line.push_str("}}");
                    }
                    line.push_str("}]");
                });
            }
        }
    }

    fn more(&mut self, piece: &Piece<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        match piece {
            Piece::Text(words) => self.text(words, out, notes),
            Piece::Signature(_) => notes.add(Lost::Signature, UNSIGNED),
            Piece::Encrypted(_) => notes.add(Lost::Signature, ENCRYPTED),
            Piece::Citation(citation) => self.citation(citation, out, notes),
        }
    }

    fn text(&mut self, words: &Words<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        let index = self.calls.saturating_sub(1);
        let fresh = std::mem::take(&mut self.fresh);
        if fresh && self.kind == Kind::Text && self.calls > 0 {
            notes.add(Lost::Order, "a text behind a call stands before it");
        }
        if fresh && self.kind == Kind::Reasoning && (self.calls > 0 || self.before + self.said > 0)
        {
            notes.add(Lost::Order, "reasoning behind a text or a call stands before it");
        }
        let (key, input, tail) = match self.kind {
            Kind::Text => ("\"content\":\"", "", "\""),
            Kind::Refusal => ("\"refusal\":\"", "", "\""),
            Kind::Reasoning => {
                // A paragraph of its own.
                let apart = std::mem::replace(&mut self.thought, true) && fresh;
                let key = "\"reasoning_content\":\"";
                (if apart { "\"reasoning_content\":\"\\n\\n" } else { key }, "", "\"")
            }
            Kind::Function => {
                ("\"tool_calls\":[{\"index\":", ",\"function\":{\"arguments\":\"", "\"}}]")
            }
            Kind::Custom => ("\"tool_calls\":[{\"index\":", ",\"custom\":{\"input\":\"", "\"}}]"),
            Kind::Redacted => return,
        };
        let mut said = 0;
        let counts = self.kind == Kind::Text;
        self.delta(out, |line| {
            line.push_str(key);
            if !input.is_empty() {
                number(line, index);
                line.push_str(input);
            }
            let start = line.len();
            words.write_inside(line);
            if counts {
                said = characters(line.get(start..).unwrap_or(""));
            }
            line.push_str(tail);
        });
        self.said += said;
    }

    fn citation(&mut self, citation: &Citation<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        if citation.url.is_none() {
            return notes.add(Lost::Citation, NAMELESS);
        }
        if citation.quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
            notes.add(Lost::Citation, UNQUOTED);
        }
        let (before, said) = (self.before, self.said);
        let index = self.citations;
        self.citations += 1;
        self.delta(out, |line| {
            line.push_str("\"annotations\":[{\"index\":");
            number(line, index);
            line.push_str(",\"type\":\"url_citation\",\"url_citation\":{");
            url_citation(line, citation, before, said);
            line.push_str("}}]");
        });
    }

    fn end(&mut self, out: &mut Vec<u8>, notes: &mut Notes) {
        if self.brief.usage && !self.usage.is_empty() {
            self.begin();
            self.line.push_str("[],\"usage\":");
            figures(Wire::OpenaiChat, &self.usage, &mut self.line, notes);
            self.line.push_str("}\n\n");
            self.done(out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn fail(&mut self, trouble: &Failure<'_>, out: &mut Vec<u8>, notes: &mut Notes) {
        self.line.clear();
        self.line.push_str("data: ");
        failure(Wire::OpenaiChat, trouble, &mut self.line, notes);
        self.line.push_str("\n\n");
        self.done(out);
    }

    /// Writes a chunk with a delta of these fields.
    fn delta(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.begin();
        self.line.push_str("[{\"index\":0,\"delta\":{");
        fields(&mut self.line);
        self.line.push_str("},\"finish_reason\":null}]}\n\n");
        self.done(out);
    }

    fn begin(&mut self) {
        self.line.clear();
        self.line.push_str(&self.head);
    }

    fn done(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line.as_bytes());
    }
}
