//! Writes Bedrock Converse: binary messages, one block after the other.
//!
//! Only calls have a start event. An empty block is not written, because only its end could be.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        LossKind, ProviderError, ProviderErrorKind, StopReason, TextCitation, TokenUsage,
        media::is_base64, response::carries_signature,
    },
    event::{
        BlockDelta, BlockStart, StreamEvent, StreamWriterOptions,
        json_writer::{write_double_escaped, write_number, write_string},
        loss_notes::{ENCRYPTED, LossNotes, NAMELESS, UNMARKED, UNPLACED, UNSIGNED, UNSIGNED_CALL},
        reply_end::{stop_word, truncation_error, write_error, write_usage},
    },
    frame::binary::{self, BinaryMessageKind},
};

pub(crate) struct BedrockStreamWriter {
    options: StreamWriterOptions,
    line: String,
    scratch: String,
    usage: TokenUsage,
    kind: BedrockBlockKind,
    /// The index of the open block, or of the next one.
    block: u64,
    /// The open block has content.
    has_content: bool,
    called: bool,
}

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BedrockBlockKind {
    Text,
    Reasoning,
    Call,
    FreeText,
}

impl BedrockStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> BedrockStreamWriter {
        BedrockStreamWriter {
            options,
            line: String::new(),
            scratch: String::new(),
            usage: TokenUsage::default(),
            kind: BedrockBlockKind::Text,
            block: 0,
            has_content: false,
            called: false,
        }
    }

    pub(crate) fn write_event(
        &mut self,
        event: &StreamEvent<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        match event {
            StreamEvent::Start(_) => {
                binary::write(
                    out,
                    BinaryMessageKind::Event("messageStart"),
                    b"{\"role\":\"assistant\"}",
                );
            }
            StreamEvent::Open { kind, .. } => self.open_block(kind, out, notes),
            StreamEvent::Delta { delta, .. } => self.write_delta(delta, out, notes),
            StreamEvent::Close { .. } => self.close_block(out),
            StreamEvent::Usage(usage) => self.usage = *usage,
            // Some servers send a plain end after a call. This format has a stop reason for calls.
            StreamEvent::Stop(StopReason::End) if self.called => {
                self.write_stop(&StopReason::ToolCalls, out, notes)
            }
            StreamEvent::Stop(stop) => self.write_stop(stop, out, notes),
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.line.capacity() + self.scratch.capacity()
    }

    fn open_block(&mut self, kind: &BlockStart<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        self.kind = match kind {
            BlockStart::Text => BedrockBlockKind::Text,
            BlockStart::Refusal => {
                notes.add(LossKind::Refusal, UNMARKED);
                BedrockBlockKind::Text
            }
            BlockStart::Reasoning => BedrockBlockKind::Reasoning,
            BlockStart::Redacted(data) if is_base64(data) => {
                self.kind = BedrockBlockKind::Reasoning;
                return self.write_delta_event(
                    "reasoningContent\":{\"redactedContent",
                    "}",
                    out,
                    |line, _| {
                        data.write_unquoted(line);
                    },
                );
            }
            BlockStart::Redacted(_) => {
                return notes.add(
                    LossKind::Reasoning,
                    "redacted reasoning that is not valid data is left out",
                );
            }
            BlockStart::Call { family: CallFamily::Custom, .. } => BedrockBlockKind::FreeText,
            BlockStart::Call { .. } => BedrockBlockKind::Call,
        };
        let BlockStart::Call { id, name, signature, .. } = kind else { return };
        if signature.is_some() {
            notes.add(LossKind::Signature, UNSIGNED_CALL);
        }
        self.begin_block_event();
        self.line.push_str(",\"start\":{\"toolUse\":{\"toolUseId\":");
        write_string(&mut self.line, id.as_ref(), "");
        self.line.push_str(",\"name\":");
        name.write(&mut self.line);
        self.line.push_str("}}}");
        self.write_message("contentBlockStart", out);
        (self.has_content, self.called) = (true, true);
        if self.kind == BedrockBlockKind::FreeText {
            self.write_delta_event("toolUse\":{\"input", "}", out, |line, _| {
                line.push_str("{\\\"input\\\":\\\"");
            });
        }
    }

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match delta {
            BlockDelta::Text(text) => {
                let free = self.kind == BedrockBlockKind::FreeText;
                let (key, tail) = match self.kind {
                    BedrockBlockKind::Text => ("text", ""),
                    BedrockBlockKind::Reasoning => ("reasoningContent\":{\"text", "}"),
                    BedrockBlockKind::Call | BedrockBlockKind::FreeText => {
                        ("toolUse\":{\"input", "}")
                    }
                };
                self.write_delta_event(key, tail, out, |line, scratch| match free {
                    true => write_double_escaped(line, text, scratch),
                    false => text.write_unquoted(line),
                });
            }
            BlockDelta::Signature(text) if carries_signature(self.options.from, WIRE) => {
                self.write_delta_event("reasoningContent\":{\"signature", "}", out, |line, _| {
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
        self.begin_block_event();
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
        self.has_content = true;
        self.write_message("contentBlockDelta", out);
    }

    fn close_block(&mut self, out: &mut Vec<u8>) {
        if self.kind == BedrockBlockKind::FreeText {
            self.write_delta_event("toolUse\":{\"input", "}", out, |line, _| {
                line.push_str("\\\"}")
            });
        }
        if std::mem::take(&mut self.has_content) {
            self.begin_block_event();
            self.line.push('}');
            self.write_message("contentBlockStop", out);
            self.block += 1;
        }
    }

    fn write_stop(&mut self, stop: &StopReason<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        self.line.clear();
        self.line.push_str("{\"stopReason\":\"");
        self.line.push_str(stop_word(WIRE, stop, notes));
        self.line.push('"');
        if let StopReason::Sequence(Some(text)) = stop {
            self.line.push_str(",\"additionalModelResponseFields\":{\"stop_sequence\":");
            text.write(&mut self.line);
            self.line.push('}');
        }
        self.line.push('}');
        self.write_message("messageStop", out);
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        if self.usage.is_empty() {
            return;
        }
        self.line.clear();
        self.line.push_str("{\"usage\":");
        write_usage(WIRE, &self.usage, &mut self.line, notes);
        self.line.push_str(",\"metrics\":{\"latencyMs\":0}}");
        self.write_message("metadata", out);
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        // A stream has only five exceptions.
        let name = match error.kind {
            ProviderErrorKind::InvalidRequest
            | ProviderErrorKind::ContextOverflow
            | ProviderErrorKind::Authentication
            | ProviderErrorKind::Permission
            | ProviderErrorKind::NotFound
            | ProviderErrorKind::TooLarge => "validationException",
            ProviderErrorKind::RateLimit => "throttlingException",
            ProviderErrorKind::Overloaded => "serviceUnavailableException",
            ProviderErrorKind::Timeout => "modelStreamErrorException",
            ProviderErrorKind::Server => "internalServerException",
        };
        self.line.clear();
        write_error(WIRE, error, &mut self.line, notes);
        binary::write(out, BinaryMessageKind::Exception(name), self.line.as_bytes());
    }

    /// Writes a delta: its key, its text and the closing `tail`.
    fn write_delta_event(
        &mut self,
        key: &str,
        tail: &str,
        out: &mut Vec<u8>,
        text: impl FnOnce(&mut String, &mut String),
    ) {
        self.begin_block_event();
        self.line.push_str(",\"delta\":{\"");
        self.line.push_str(key);
        self.line.push_str("\":\"");
        text(&mut self.line, &mut self.scratch);
        self.line.push('"');
        self.line.push_str(tail);
        self.line.push_str("}}");
        self.has_content = true;
        self.write_message("contentBlockDelta", out);
    }

    /// Starts the JSON of an event of the open block.
    fn begin_block_event(&mut self) {
        self.line.clear();
        self.line.push_str("{\"contentBlockIndex\":");
        write_number(&mut self.line, self.block);
    }

    fn write_message(&self, name: &str, out: &mut Vec<u8>) {
        binary::write(out, BinaryMessageKind::Event(name), self.line.as_bytes());
    }
}
