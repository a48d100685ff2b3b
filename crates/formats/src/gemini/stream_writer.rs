//! Writes Gemini: every chunk is a whole response with its new parts.
//!
//! A call is one part, so its arguments are buffered until it is closed. If they are not a JSON
//! object, the call is left out, and the stop reason becomes a malformed call. Calls in a row are
//! sent in one chunk, at the end with the stop reason: clients keep each chunk as a message, and a
//! message behind calls would separate them from their results.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, StopReason, TokenUsage, media::is_base64,
        response::carries_signature,
    },
    event::{
        BlockDelta, BlockStart, ReplyHead, StreamEvent, StreamWriterOptions,
        json_writer::write_frame,
        loss_notes::{ENCRYPTED, LossNotes, UNMARKED, UNREADABLE, UNSIGNED},
        owned::owned_stop,
        reply_end::{stop_word, truncation_error, write_error, write_usage},
    },
    outline::is_json_object,
};
use foxwedge_json::unescape;

pub(crate) struct GeminiStreamWriter {
    options: StreamWriterOptions,
    line: String,
    /// The end of every chunk, after its candidates.
    tail: String,
    usage: TokenUsage,
    stop: Option<StopReason<'static>>,
    kind: GeminiBlockKind,
    /// The fields of an open call before its arguments.
    call: String,
    /// Its arguments, JSON-escaped.
    arguments: String,
    signature: Option<JsonText<'static>>,
    /// Parts with calls that are not sent yet.
    calls: String,
    /// A call was left out as malformed.
    malformed: bool,
}

/// How many bytes of calls may wait for those behind them.
const MAX_HELD_CALLS: usize = 256 << 10;

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GeminiBlockKind {
    Text,
    Thought,
    Redacted,
    Call,
    FreeText,
}

impl GeminiStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> GeminiStreamWriter {
        GeminiStreamWriter {
            options,
            line: String::new(),
            tail: String::new(),
            usage: TokenUsage::default(),
            stop: None,
            kind: GeminiBlockKind::Text,
            call: String::new(),
            arguments: String::new(),
            signature: None,
            calls: String::new(),
            malformed: false,
        }
    }

    pub(crate) fn write_event(
        &mut self,
        event: &StreamEvent<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        match event {
            StreamEvent::Start(head) => self.write_start(head),
            StreamEvent::Open { kind, .. } => self.open_block(kind, notes),
            StreamEvent::Delta { delta, .. } => self.write_delta(delta, out, notes),
            StreamEvent::Close { .. } => self.close_block(out, notes),
            StreamEvent::Usage(usage) => self.usage = *usage,
            // Usage may still follow, and belongs to the same chunk.
            StreamEvent::Stop(stop) => self.stop = Some(owned_stop(stop)),
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.call.len() + self.arguments.len() + self.calls.len()
    }

    fn write_start(&mut self, head: &ReplyHead<'_>) {
        for (key, text) in [("modelVersion", &head.model), ("responseId", &head.id)] {
            let Some(text) = text else { continue };
            self.tail.extend([",\"", key, "\":"]);
            text.write(&mut self.tail);
        }
        self.tail.push_str("}\n\n");
    }

    fn open_block(&mut self, kind: &BlockStart<'_>, notes: &mut LossNotes) {
        self.kind = match kind {
            BlockStart::Text => GeminiBlockKind::Text,
            BlockStart::Refusal => {
                notes.add(LossKind::Refusal, UNMARKED);
                GeminiBlockKind::Text
            }
            BlockStart::Reasoning => GeminiBlockKind::Thought,
            BlockStart::Redacted(_) => {
                notes.add(LossKind::Reasoning, UNREADABLE);
                GeminiBlockKind::Redacted
            }
            BlockStart::Call { id, name, family, signature } => {
                self.call.push('{');
                if let Some(id) = id {
                    self.call.push_str("\"id\":");
                    id.write(&mut self.call);
                    self.call.push(',');
                }
                self.call.push_str("\"name\":");
                name.write(&mut self.call);
                self.signature = signature.as_ref().map(JsonText::to_static);
                if *family == CallFamily::Custom {
                    GeminiBlockKind::FreeText
                } else {
                    GeminiBlockKind::Call
                }
            }
        };
    }

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match (delta, self.kind) {
            (BlockDelta::Text(text), GeminiBlockKind::Text) => self.write_part(out, |line| {
                line.push_str("\"text\":");
                text.write(line);
            }),
            (BlockDelta::Text(text), GeminiBlockKind::Thought) => self.write_part(out, |line| {
                line.push_str("\"text\":");
                text.write(line);
                line.push_str(",\"thought\":true");
            }),
            (BlockDelta::Text(text), GeminiBlockKind::Call | GeminiBlockKind::FreeText) => {
                text.write_unquoted(&mut self.arguments);
            }
            (BlockDelta::Text(_), GeminiBlockKind::Redacted) => {}
            (BlockDelta::Signature(text), _)
                if carries_signature(self.options.from, WIRE) && is_base64(text) =>
            {
                self.write_part(out, |line| {
                    line.push_str("\"text\":\"\",\"thought\":true,\"thoughtSignature\":");
                    text.write(line);
                });
            }
            (BlockDelta::Signature(_), _) => notes.add(LossKind::Signature, UNSIGNED),
            (BlockDelta::Encrypted(_), _) => notes.add(LossKind::Signature, ENCRYPTED),
            (BlockDelta::Citation(_), _) => {
                let note = "citations are not supported in this format";
                notes.add(LossKind::Citation, note);
            }
        }
    }

    fn close_block(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        let free = match self.kind {
            GeminiBlockKind::Text | GeminiBlockKind::Thought | GeminiBlockKind::Redacted => return,
            GeminiBlockKind::Call => false,
            GeminiBlockKind::FreeText => true,
        };
        let call = std::mem::take(&mut self.call);
        let arguments = std::mem::take(&mut self.arguments);
        let object =
            if free { format!("{{\"input\":\"{arguments}\"}}") } else { unescape(&arguments) };
        if !is_json_object(&object) {
            self.malformed = true;
            return notes.add(
                LossKind::Arguments,
                "a call whose arguments are not a JSON object is left out",
            );
        }
        let signature = self.signature.take().filter(|signature| {
            let is_valid = is_base64(signature);
            if !is_valid {
                notes.add(LossKind::Signature, "a signature that is not Google's is left out");
            }
            is_valid
        });
        if self.calls.len() + object.len() > MAX_HELD_CALLS {
            self.write_calls(out);
        }
        let parts = &mut self.calls;
        if !parts.is_empty() {
            parts.push(',');
        }
        parts.push_str("{\"functionCall\":");
        parts.push_str(&call);
        parts.push_str(",\"args\":");
        // The data must not contain line ends. Between JSON values a space means the same.
        parts.extend(object.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        parts.push('}');
        if let Some(signature) = &signature {
            parts.push_str(",\"thoughtSignature\":");
            signature.write(parts);
        }
        parts.push('}');
    }

    /// Writes a chunk with the calls that wait.
    fn write_calls(&mut self, out: &mut Vec<u8>) {
        if self.calls.is_empty() {
            return;
        }
        self.begin_chunk();
        self.line.push_str(&std::mem::take(&mut self.calls));
        self.line.push_str("]},\"index\":0}]");
        self.end_chunk(out);
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        let stop = match self.stop.take().unwrap_or(StopReason::End) {
            StopReason::End | StopReason::ToolCalls if self.malformed => StopReason::MalformedCall,
            stop => stop,
        };
        self.begin_chunk();
        // Clients treat a chunk without parts as broken.
        let calls = std::mem::take(&mut self.calls);
        self.line.push_str(if calls.is_empty() { "{\"text\":\"\"}" } else { &calls });
        self.line.push_str("]},\"finishReason\":\"");
        self.line.push_str(stop_word(WIRE, &stop, notes));
        self.line.push_str("\",\"index\":0}]");
        if !self.usage.is_empty() {
            self.line.push_str(",\"usageMetadata\":");
            write_usage(WIRE, &self.usage, &mut self.line, notes);
        }
        self.end_chunk(out);
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        if !self.call.is_empty() {
            notes.add(LossKind::Arguments, "a call that was cut off is left out");
        }
        self.write_calls(out);
        self.line.clear();
        self.line.push_str("data: ");
        write_error(WIRE, error, &mut self.line, notes);
        self.line.push_str("\n\n");
        write_frame(out, &self.line);
    }

    /// Writes a chunk with a part of these fields.
    fn write_part(&mut self, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.write_calls(out);
        self.begin_chunk();
        self.line.push('{');
        fields(&mut self.line);
        self.line.push_str("}]},\"index\":0}]");
        self.end_chunk(out);
    }

    fn begin_chunk(&mut self) {
        self.line.clear();
        self.line.push_str("data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[");
    }

    fn end_chunk(&mut self, out: &mut Vec<u8>) {
        self.line.push_str(&self.tail);
        write_frame(out, &self.line);
    }
}
