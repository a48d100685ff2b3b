//! Writes Interactions: named events, one step after the other.
//!
//! Steps without content are not written: they would mean nothing in the next request.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, StopReason, TextCitation, TokenUsage, provider_errors,
        response::{carries_signature, reply_id},
    },
    event::{
        BlockDelta, BlockStart, ReplyHead, StreamEvent, StreamWriterOptions,
        json_writer::{write_double_escaped, write_frame, write_number, write_string},
        loss_notes::{
            ENCRYPTED, LossNotes, NAMELESS, UNMARKED, UNPLACED, UNQUOTED, UNREADABLE, UNSIGNED,
            UNSIGNED_CALL,
        },
        owned::owned_stop,
        reply_end::{stop_word, truncation_error, write_usage},
    },
};

pub(crate) struct InteractionStreamWriter {
    options: StreamWriterOptions,
    line: String,
    scratch: String,
    /// The id and the model of the interaction, as fields.
    head: String,
    usage: TokenUsage,
    stop: Option<StopReason<'static>>,
    kind: StepContent,
    /// The index of the open step, or of the next one.
    index: u64,
    /// The start of the open step is written.
    started: bool,
    called: bool,
}

/// What the open step holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepContent {
    Text,
    Thought,
    /// Redacted reasoning, which is left out.
    Redacted,
    /// A call with JSON arguments.
    Call,
    /// A call with free text, wrapped in an object.
    FreeText,
}

impl InteractionStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> InteractionStreamWriter {
        InteractionStreamWriter {
            options,
            line: String::new(),
            scratch: String::new(),
            head: String::new(),
            usage: TokenUsage::default(),
            stop: None,
            kind: StepContent::Text,
            index: 0,
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
        match event {
            StreamEvent::Start(head) => self.write_start(head, out),
            StreamEvent::Open { kind, .. } => self.open_step(kind, out, notes),
            StreamEvent::Delta { delta, .. } => self.write_delta(delta, out, notes),
            StreamEvent::Close { .. } => self.close_step(out),
            StreamEvent::Usage(usage) => self.usage = *usage,
            // Usage may still follow, and belongs to the same event.
            StreamEvent::Stop(stop) => self.stop = Some(owned_stop(stop)),
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.line.capacity() + self.scratch.capacity() + self.head.capacity()
    }

    fn write_start(&mut self, head: &ReplyHead<'_>, out: &mut Vec<u8>) {
        self.head.push_str("\"id\":");
        let id = reply_id(WIRE, head.id.as_deref(), &self.options.seed);
        JsonText::from(id).write(&mut self.head);
        self.head.push_str(",\"object\":\"interaction\",\"model\":");
        write_string(&mut self.head, head.model.as_ref(), "unknown");
        self.begin_event("interaction.created");
        self.line.extend([",\"interaction\":{", &self.head, ",\"status\":\"in_progress\"}"]);
        self.end_event(out);
    }

    fn open_step(&mut self, kind: &BlockStart<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        self.kind = match kind {
            BlockStart::Text => StepContent::Text,
            BlockStart::Refusal => {
                notes.add(LossKind::Refusal, UNMARKED);
                StepContent::Text
            }
            BlockStart::Reasoning => StepContent::Thought,
            BlockStart::Redacted(_) => {
                notes.add(LossKind::Reasoning, UNREADABLE);
                StepContent::Redacted
            }
            BlockStart::Call { id, name, family, signature } => {
                if signature.is_some() {
                    notes.add(LossKind::Signature, UNSIGNED_CALL);
                }
                self.called = true;
                self.begin_step("function_call", out, |line| {
                    line.push_str(",\"id\":");
                    write_string(line, id.as_ref(), "");
                    line.push_str(",\"name\":");
                    name.write(line);
                    line.push_str(",\"arguments\":{}");
                });
                match family {
                    CallFamily::Custom => {
                        self.write_arguments(out, |line, _| line.push_str("{\\\"input\\\":\\\""));
                        StepContent::FreeText
                    }
                    _ => StepContent::Call,
                }
            }
        };
    }

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match (delta, self.kind) {
            (BlockDelta::Text(text), StepContent::Text) => {
                self.write_step_delta("text", out, |line| {
                    line.push_str(",\"text\":");
                    text.write(line);
                });
            }
            (BlockDelta::Text(text), StepContent::Thought) => {
                self.write_step_delta("thought_summary", out, |line| {
                    line.push_str(",\"content\":{\"type\":\"text\",\"text\":");
                    text.write(line);
                    line.push('}');
                });
            }
            (BlockDelta::Text(text), StepContent::Call) => {
                self.write_arguments(out, |line, _| text.write_unquoted(line));
            }
            (BlockDelta::Text(text), StepContent::FreeText) => {
                self.write_arguments(out, |line, scratch| {
                    write_double_escaped(line, text, scratch)
                });
            }
            (BlockDelta::Text(_), StepContent::Redacted) => {}
            (BlockDelta::Signature(text), _) if carries_signature(self.options.from, WIRE) => {
                self.write_step_delta("thought_signature", out, |line| {
                    line.push_str(",\"signature\":");
                    text.write(line);
                });
            }
            (BlockDelta::Signature(_), _) => notes.add(LossKind::Signature, UNSIGNED),
            (BlockDelta::Encrypted(_), _) => notes.add(LossKind::Signature, ENCRYPTED),
            (BlockDelta::Citation(citation), _) => self.write_citation(citation, out, notes),
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
        if citation.quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
            notes.add(LossKind::Citation, UNQUOTED);
        }
        self.write_step_delta("text_annotation_delta", out, |line| {
            line.push_str(",\"annotations\":[{\"type\":\"url_citation\",\"url\":");
            url.write(line);
            if let Some(title) = &citation.title {
                line.push_str(",\"title\":");
                title.write(line);
            }
            line.push_str("}]");
        });
    }

    fn close_step(&mut self, out: &mut Vec<u8>) {
        if self.kind == StepContent::FreeText {
            self.write_arguments(out, |line, _| line.push_str("\\\"}"));
        }
        if std::mem::take(&mut self.started) {
            self.begin_event("step.stop");
            self.write_index();
            self.end_event(out);
            self.index += 1;
        }
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        let stop = match self.stop.take().unwrap_or(StopReason::End) {
            // Some servers send a plain end after a call. This format has a status for calls.
            StopReason::End if self.called => StopReason::ToolCalls,
            stop => stop,
        };
        self.begin_event("interaction.completed");
        self.line.extend([",\"interaction\":{", &self.head, ",\"status\":\""]);
        self.line.push_str(stop_word(WIRE, &stop, notes));
        self.line.push('"');
        if !self.usage.is_empty() {
            self.line.push_str(",\"usage\":");
            write_usage(WIRE, &self.usage, &mut self.line, notes);
        }
        self.line.push('}');
        self.end_event(out);
        out.extend_from_slice(b"event: done\ndata: [DONE]\n\n");
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        if let Some(note) = provider_errors::loss_note(WIRE, error) {
            notes.add(LossKind::Unknown, &note);
        }
        self.begin_event("error");
        let code = provider_errors::error_name(WIRE, error).to_ascii_lowercase();
        self.line.extend([",\"error\":{\"code\":\"", &code, "\",\"message\":"]);
        error.message.write(&mut self.line);
        self.line.push('}');
        self.end_event(out);
    }

    /// Writes the start of a step: its type and its fields.
    fn begin_step(&mut self, kind: &str, out: &mut Vec<u8>, fields: impl FnOnce(&mut String)) {
        self.started = true;
        self.begin_event("step.start");
        self.write_index();
        self.line.extend([",\"step\":{\"type\":\"", kind, "\""]);
        fields(&mut self.line);
        self.line.push('}');
        self.end_event(out);
    }

    /// Writes a part of the arguments, which are JSON inside a string.
    fn write_arguments(&mut self, out: &mut Vec<u8>, text: impl FnOnce(&mut String, &mut String)) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.write_step_delta("arguments_delta", out, |line| {
            line.push_str(",\"arguments\":\"");
            text(line, &mut scratch);
            line.push('"');
        });
        self.scratch = scratch;
    }

    /// Writes a delta: its type and its fields. Starts its step if that is not started.
    fn write_step_delta(
        &mut self,
        kind: &str,
        out: &mut Vec<u8>,
        fields: impl FnOnce(&mut String),
    ) {
        if !self.started {
            let step = match self.kind {
                StepContent::Thought => "thought",
                _ => "model_output",
            };
            self.begin_step(step, out, |_| {});
        }
        self.begin_event("step.delta");
        self.write_index();
        self.line.extend([",\"delta\":{\"type\":\"", kind, "\""]);
        fields(&mut self.line);
        self.line.push('}');
        self.end_event(out);
    }

    fn write_index(&mut self) {
        self.line.push_str(",\"index\":");
        write_number(&mut self.line, self.index);
    }

    fn begin_event(&mut self, name: &str) {
        self.line.clear();
        self.line.extend(["event: ", name, "\ndata: {\"event_type\":\"", name, "\""]);
    }

    fn end_event(&mut self, out: &mut Vec<u8>) {
        self.line.push_str("}\n\n");
        write_frame(out, &self.line);
    }
}
