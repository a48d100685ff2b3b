//! Writes Anthropic Messages: named events, one block after the other.
//!
//! Empty text and reasoning blocks are not written: the API would reject them in the history of the
//! next request.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, StopReason, TextCitation, TokenUsage,
        response::{carries_signature, reply_id},
    },
    event::{
        BlockDelta, BlockStart, ReplyHead, StreamEvent, StreamWriterOptions,
        json_writer::{write_double_escaped, write_number, write_string},
        loss_notes::{ENCRYPTED, LossNotes, NAMELESS, UNMARKED, UNPLACED, UNSIGNED, UNSIGNED_CALL},
        owned::owned_stop,
        reply_end::{stop_word, truncation_error, write_error, write_usage},
    },
};

pub(crate) struct AnthropicStreamWriter {
    options: StreamWriterOptions,
    line: String,
    scratch: String,
    /// The first event up to its usage, until the usage is known.
    pending_start: Option<String>,
    usage: TokenUsage,
    stop: Option<StopReason<'static>>,
    kind: AnthropicBlockKind,
    /// The index of the open block, or of the next one.
    block: u64,
    /// The start of the open block is written.
    started: bool,
    called: bool,
}

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnthropicBlockKind {
    Text,
    Thinking,
    Redacted,
    /// A call with JSON arguments.
    Call,
    /// A call with free text, wrapped in an object.
    FreeText,
}

/// The type of an arguments delta and the key of its text.
const JSON: &str = "input_json_delta\",\"partial_json";

impl AnthropicStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> AnthropicStreamWriter {
        AnthropicStreamWriter {
            options,
            line: String::new(),
            scratch: String::new(),
            pending_start: None,
            usage: TokenUsage::default(),
            stop: None,
            kind: AnthropicBlockKind::Text,
            block: 0,
            started: false,
            called: false,
        }
    }

    pub(crate) fn write_event(
        &mut self,
        event: &StreamEvent<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        if let StreamEvent::Usage(usage) = event {
            self.usage = *usage;
            return;
        }
        self.end_frame(out);
        match event {
            StreamEvent::Start(head) => self.write_start(head),
            StreamEvent::Open { kind, .. } => self.open_block(kind, out, notes),
            StreamEvent::Delta { delta, .. } => self.write_delta(delta, out, notes),
            StreamEvent::Close { .. } => self.close_block(out),
            StreamEvent::Usage(_) => {}
            // Usage may still follow, and belongs to the same event.
            StreamEvent::Stop(stop) => self.stop = Some(owned_stop(stop)),
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    /// Writes the first event with the usage known so far.
    pub(crate) fn end_frame(&mut self, out: &mut Vec<u8>) {
        let Some(mut line) = self.pending_start.take() else { return };
        crate::conversation::token_usage::write(WIRE, &self.usage, &mut line);
        line.push_str("}}\n\n");
        out.extend_from_slice(line.as_bytes());
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        let waiting = self.pending_start.as_ref().map_or(0, String::capacity);
        self.line.capacity() + self.scratch.capacity() + waiting
    }

    fn write_start(&mut self, head: &ReplyHead<'_>) {
        let mut line = String::from("event: message_start\ndata: {\"type\":\"message_start\"");
        line.push_str(",\"message\":{\"id\":");
        let id = reply_id(WIRE, head.id.as_deref(), &self.options.seed);
        JsonText::from(id).write(&mut line);
        line.push_str(",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
        write_string(&mut line, head.model.as_ref(), "unknown");
        line.push_str(",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
        self.pending_start = Some(line);
    }

    fn open_block(&mut self, kind: &BlockStart<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match kind {
            BlockStart::Text => self.kind = AnthropicBlockKind::Text,
            BlockStart::Refusal => {
                notes.add(LossKind::Refusal, UNMARKED);
                self.kind = AnthropicBlockKind::Text;
            }
            BlockStart::Reasoning => self.kind = AnthropicBlockKind::Thinking,
            BlockStart::Redacted(data) => {
                self.kind = AnthropicBlockKind::Redacted;
                self.begin_block(out, |line| {
                    line.push_str("redacted_thinking\",\"data\":");
                    data.write(line);
                });
            }
            BlockStart::Call { id, name, family, signature } => {
                if signature.is_some() {
                    notes.add(LossKind::Signature, UNSIGNED_CALL);
                }
                self.called = true;
                self.kind = AnthropicBlockKind::Call;
                self.begin_block(out, |line| {
                    line.push_str("tool_use\",\"id\":");
                    write_string(line, id.as_ref(), "");
                    line.push_str(",\"name\":");
                    name.write(line);
                    line.push_str(",\"input\":{}");
                });
                if *family == CallFamily::Custom {
                    self.kind = AnthropicBlockKind::FreeText;
                    self.write_delta_event(JSON, out, |line, _| {
                        line.push_str("{\\\"input\\\":\\\"")
                    });
                }
            }
        }
    }

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match delta {
            BlockDelta::Text(text) => {
                let kind = self.kind;
                let key = match kind {
                    AnthropicBlockKind::Text => "text_delta\",\"text",
                    AnthropicBlockKind::Thinking => "thinking_delta\",\"thinking",
                    AnthropicBlockKind::Call | AnthropicBlockKind::FreeText => JSON,
                    AnthropicBlockKind::Redacted => return,
                };
                self.write_delta_event(key, out, |line, scratch| match kind {
                    AnthropicBlockKind::FreeText => write_double_escaped(line, text, scratch),
                    _ => text.write_unquoted(line),
                });
            }
            BlockDelta::Signature(text) if carries_signature(self.options.from, WIRE) => {
                self.write_delta_event("signature_delta\",\"signature", out, |line, _| {
                    text.write_unquoted(line);
                });
            }
            BlockDelta::Signature(_) => notes.add(LossKind::Signature, UNSIGNED),
            BlockDelta::Encrypted(_) => notes.add(LossKind::Signature, ENCRYPTED),
            BlockDelta::Citation(citation) => self.write_citation(citation, out, notes),
        }
    }

    fn write_citation(
        &mut self,
        citation: &TextCitation<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        let Some(url) = &citation.url else { return notes.add(LossKind::Citation, NAMELESS) };
        if citation.span.is_some() {
            notes.add(LossKind::Citation, UNPLACED);
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
        write_string(line, citation.quote.as_ref(), "");
        // Only Anthropic can create one, but clients require the field.
        line.push_str(",\"encrypted_index\":\"\"}}");
        self.end_event(out);
    }

    fn close_block(&mut self, out: &mut Vec<u8>) {
        if self.kind == AnthropicBlockKind::FreeText {
            self.write_delta_event(JSON, out, |line, _| line.push_str("\\\"}"));
        }
        if std::mem::take(&mut self.started) {
            self.begin_event("content_block_stop");
            self.write_index();
            self.end_event(out);
            self.block += 1;
        }
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        let stop = match self.stop.take().unwrap_or(StopReason::End) {
            // Some servers send a plain end after a call. This format has a stop reason for calls.
            StopReason::End if self.called => StopReason::ToolCalls,
            stop => stop,
        };
        self.begin_event("message_delta");
        self.line.push_str(",\"delta\":{\"stop_reason\":\"");
        self.line.push_str(stop_word(WIRE, &stop, notes));
        self.line.push_str("\",\"stop_sequence\":");
        match &stop {
            StopReason::Sequence(Some(text)) => text.write(&mut self.line),
            _ => self.line.push_str("null"),
        }
        self.line.push_str("},\"usage\":");
        write_usage(WIRE, &self.usage, &mut self.line, notes);
        self.end_event(out);
        self.begin_event("message_stop");
        self.end_event(out);
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        self.line.clear();
        self.line.push_str("event: error\ndata: ");
        write_error(WIRE, error, &mut self.line, notes);
        self.line.push_str("\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }

    /// Writes the start of a block: its type and its fields.
    fn begin_block(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.started = true;
        self.begin_event("content_block_start");
        self.write_index();
        self.line.push_str(",\"content_block\":{\"type\":\"");
        fields(&mut self.line);
        self.line.push('}');
        self.end_event(out);
    }

    /// Writes a delta: its type and the key of its text.
    fn write_delta_event(
        &mut self,
        key: &str,
        out: &mut Vec<u8>,
        text: impl FnOnce(&mut String, &mut String),
    ) {
        self.begin_delta(out);
        self.line.push_str(key);
        self.line.push_str("\":\"");
        text(&mut self.line, &mut self.scratch);
        self.line.push_str("\"}");
        self.end_event(out);
    }

    /// Starts a delta, and its block if that is not started.
    fn begin_delta(&mut self, out: &mut Vec<u8>) {
        if !self.started {
            let thinking = self.kind == AnthropicBlockKind::Thinking;
            self.begin_block(out, |line| match thinking {
                true => line.push_str("thinking\",\"thinking\":\"\",\"signature\":\"\""),
                false => line.push_str("text\",\"text\":\"\""),
            });
        }
        self.begin_event("content_block_delta");
        self.write_index();
        self.line.push_str(",\"delta\":{\"type\":\"");
    }

    fn write_index(&mut self) {
        self.line.push_str(",\"index\":");
        write_number(&mut self.line, self.block);
    }

    fn begin_event(&mut self, name: &str) {
        self.line.clear();
        self.line.push_str("event: ");
        self.line.push_str(name);
        self.line.push_str("\ndata: {\"type\":\"");
        self.line.push_str(name);
        self.line.push('"');
    }

    fn end_event(&mut self, out: &mut Vec<u8>) {
        self.line.push_str("}\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }
}
