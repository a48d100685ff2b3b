//! Writes OpenAI Chat: chunks of one choice.
//!
//! The format has one text, one reasoning text and a list of calls. Several texts are joined as
//! they are; several reasoning blocks become paragraphs.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, TextCitation, TokenUsage, response::reply_id,
    },
    event::{
        BlockDelta, BlockStart, ReplyHead, StreamEvent, StreamWriterOptions,
        held_citations::HeldCitations,
        json_writer::{count_characters, write_number, write_string, write_url_citation},
        loss_notes::{ENCRYPTED, LossNotes, UNREADABLE, UNSIGNED},
        reply_end::{stop_word, truncation_error, write_error, write_usage},
    },
};

pub(crate) struct ChatStreamWriter {
    options: StreamWriterOptions,
    /// The beginning of every chunk, up to its choices.
    head: String,
    line: String,
    usage: TokenUsage,
    kind: ChatBlockKind,
    calls: u64,
    citations: u64,
    /// Some reasoning is written.
    has_reasoning: bool,
    /// Nothing of the open block is written yet.
    fresh: bool,
    /// Citations of the open block that point at its whole text.
    held_citations: HeldCitations,
    /// Number of characters in the texts before this one.
    characters_before: u64,
    /// Number of characters in this text.
    characters_written: u64,
}

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChatBlockKind {
    Text,
    Refusal,
    Reasoning,
    Function,
    Custom,
    Redacted,
}

impl ChatStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> ChatStreamWriter {
        ChatStreamWriter {
            options,
            head: String::new(),
            line: String::new(),
            usage: TokenUsage::default(),
            kind: ChatBlockKind::Text,
            calls: 0,
            citations: 0,
            has_reasoning: false,
            fresh: false,
            held_citations: HeldCitations::default(),
            characters_before: 0,
            characters_written: 0,
        }
    }

    pub(crate) fn write_event(
        &mut self,
        event: &StreamEvent<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        match event {
            StreamEvent::Start(head) => self.write_start(head, out),
            StreamEvent::Open { kind, .. } => self.open_block(kind, out, notes),
            StreamEvent::Delta { delta, .. } => self.write_delta(delta, out, notes),
            StreamEvent::Close { .. } => {
                for citation in self.held_citations.take() {
                    self.write_citation(&citation, out);
                }
            }
            StreamEvent::Usage(usage) => self.usage = *usage,
            StreamEvent::Stop(stop) => {
                let reason = stop_word(WIRE, stop, notes);
                self.begin_chunk();
                self.line.push_str("[{\"index\":0,\"delta\":{},\"finish_reason\":\"");
                self.line.push_str(reason);
                self.line.push_str("\"}]}\n\n");
                self.end_chunk(out);
            }
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held_citations.bytes()
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.head.capacity() + self.line.capacity() + self.held_bytes()
    }

    fn write_start(&mut self, head: &ReplyHead<'_>, out: &mut Vec<u8>) {
        self.head.push_str("data: {\"id\":");
        let id = reply_id(WIRE, head.id.as_deref(), &self.options.seed);
        JsonText::from(id).write(&mut self.head);
        self.head.push_str(",\"object\":\"chat.completion.chunk\",\"created\":");
        write_number(&mut self.head, head.created.unwrap_or(0));
        self.head.push_str(",\"model\":");
        write_string(&mut self.head, head.model.as_ref(), "unknown");
        self.head.push_str(",\"choices\":");
        self.write_delta_chunk(out, |line| {
            line.push_str("\"role\":\"assistant\",\"content\":\"\"")
        });
    }

    fn open_block(&mut self, kind: &BlockStart<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        self.kind = match kind {
            BlockStart::Text => ChatBlockKind::Text,
            BlockStart::Refusal => ChatBlockKind::Refusal,
            BlockStart::Reasoning => ChatBlockKind::Reasoning,
            BlockStart::Redacted(_) => ChatBlockKind::Redacted,
            BlockStart::Call { family: CallFamily::Custom, .. } => ChatBlockKind::Custom,
            BlockStart::Call { .. } => ChatBlockKind::Function,
        };
        self.fresh = true;
        match kind {
            BlockStart::Text => {
                self.characters_before += std::mem::take(&mut self.characters_written)
            }
            BlockStart::Refusal | BlockStart::Reasoning => {}
            BlockStart::Redacted(_) => notes.add(LossKind::Reasoning, UNREADABLE),
            BlockStart::Call { id, name, family, signature } => {
                let index = self.calls;
                self.calls += 1;
                let (kind, input) = match family {
                    CallFamily::Custom => ("custom", "input"),
                    _ => ("function", "arguments"),
                };
                self.write_delta_chunk(out, |line| {
                    line.push_str("\"tool_calls\":[{\"index\":");
                    write_number(line, index);
                    line.push_str(",\"id\":");
                    write_string(line, id.as_ref(), "");
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

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match delta {
            BlockDelta::Text(text) => self.write_text(text, out, notes),
            BlockDelta::Signature(_) => notes.add(LossKind::Signature, UNSIGNED),
            BlockDelta::Encrypted(_) => notes.add(LossKind::Signature, ENCRYPTED),
            BlockDelta::Citation(citation) => {
                if let Some(placed) = self.held_citations.accept(citation, notes) {
                    self.write_citation(placed, out);
                }
            }
        }
    }

    fn write_text(&mut self, text: &JsonText<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        let index = self.calls.saturating_sub(1);
        let fresh = std::mem::take(&mut self.fresh);
        if fresh && self.kind == ChatBlockKind::Text && self.calls > 0 {
            notes.add(LossKind::Order, "text after a call is moved before it");
        }
        if fresh
            && self.kind == ChatBlockKind::Reasoning
            && (self.calls > 0 || self.characters_before + self.characters_written > 0)
        {
            notes.add(LossKind::Order, "reasoning after text or a call is moved before it");
        }
        let (key, input, tail) = match self.kind {
            ChatBlockKind::Text => ("\"content\":\"", "", "\""),
            ChatBlockKind::Refusal => ("\"refusal\":\"", "", "\""),
            ChatBlockKind::Reasoning => {
                // Start a new paragraph.
                let new_paragraph = std::mem::replace(&mut self.has_reasoning, true) && fresh;
                let key = "\"reasoning_content\":\"";
                (if new_paragraph { "\"reasoning_content\":\"\\n\\n" } else { key }, "", "\"")
            }
            ChatBlockKind::Function => {
                ("\"tool_calls\":[{\"index\":", ",\"function\":{\"arguments\":\"", "\"}}]")
            }
            ChatBlockKind::Custom => {
                ("\"tool_calls\":[{\"index\":", ",\"custom\":{\"input\":\"", "\"}}]")
            }
            ChatBlockKind::Redacted => return,
        };
        let mut characters = 0;
        let is_text = self.kind == ChatBlockKind::Text;
        self.write_delta_chunk(out, |line| {
            line.push_str(key);
            if !input.is_empty() {
                write_number(line, index);
                line.push_str(input);
            }
            let start = line.len();
            text.write_unquoted(line);
            if is_text {
                characters = count_characters(line.get(start..).unwrap_or(""));
            }
            line.push_str(tail);
        });
        self.characters_written += characters;
    }

    fn write_citation(&mut self, citation: &TextCitation<'_>, out: &mut Vec<u8>) {
        let (before, written) = (self.characters_before, self.characters_written);
        let index = self.citations;
        self.citations += 1;
        self.write_delta_chunk(out, |line| {
            line.push_str("\"annotations\":[{\"index\":");
            write_number(line, index);
            line.push_str(",\"type\":\"url_citation\",\"url_citation\":{");
            write_url_citation(line, citation, before, written);
            line.push_str("}}]");
        });
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        if self.options.usage && !self.usage.is_empty() {
            self.begin_chunk();
            self.line.push_str("[],\"usage\":");
            write_usage(WIRE, &self.usage, &mut self.line, notes);
            self.line.push_str("}\n\n");
            self.end_chunk(out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        self.line.clear();
        self.line.push_str("data: ");
        write_error(WIRE, error, &mut self.line, notes);
        self.line.push_str("\n\n");
        self.end_chunk(out);
    }

    /// Writes a chunk with a delta of these fields.
    fn write_delta_chunk(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.begin_chunk();
        self.line.push_str("[{\"index\":0,\"delta\":{");
        fields(&mut self.line);
        self.line.push_str("},\"finish_reason\":null}]}\n\n");
        self.end_chunk(out);
    }

    fn begin_chunk(&mut self) {
        self.line.clear();
        self.line.push_str(&self.head);
    }

    fn end_chunk(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line.as_bytes());
    }
}
