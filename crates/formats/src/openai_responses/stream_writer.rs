//! Writes OpenAI Responses: numbered events of items.
//!
//! Consecutive text and refusals are parts of one message. Every other block is its own item, and
//! text after it starts a new message. The format repeats every text when it is complete, and all
//! items in the last event, so this writer buffers the reply. After a failure the last event has
//! only the complete items. Empty blocks are not written.

mod item;

use foxwedge_core::{CallFamily, Format};

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, ProviderError, ProviderErrorCode, ProviderErrorKind, StopReason,
        TextCitation, TokenUsage,
        provider_errors::CONTEXT_OVERFLOW,
        response::{item_id, reply_id},
    },
    event::{
        BlockDelta, BlockStart, ReplyHead, StreamEvent, StreamWriterOptions,
        held_citations::HeldCitations,
        json_writer::{count_characters, write_number, write_string, write_url_citation},
        loss_notes::{LossNotes, UNREADABLE, UNSIGNED, UNSIGNED_CALL},
        owned::{borrowed_text, owned_stop},
        reply_end::{stop_word, truncation_error, write_usage},
    },
};
use item::{ResponsesOutputItem, ResponsesOutputKind};

pub(crate) struct ResponsesStreamWriter {
    options: StreamWriterOptions,
    line: String,
    id: String,
    /// The constant fields of the response.
    about: String,
    sequence: u64,
    /// The complete items.
    output: String,
    items: usize,
    item: Option<ResponsesOutputItem>,
    /// An open block without content so far.
    waiting: Option<UnstartedBlock>,
    /// Citations of the open block that point at its whole text.
    held_citations: HeldCitations,
    usage: TokenUsage,
    stop: Option<StopReason<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum UnstartedBlock {
    Text,
    Refusal,
    Reasoning,
}

impl ResponsesStreamWriter {
    pub(crate) fn new(options: StreamWriterOptions) -> ResponsesStreamWriter {
        ResponsesStreamWriter {
            options,
            line: String::new(),
            id: String::new(),
            about: String::new(),
            sequence: 0,
            output: String::new(),
            items: 0,
            item: None,
            waiting: None,
            held_citations: HeldCitations::default(),
            usage: TokenUsage::default(),
            stop: None,
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
            StreamEvent::Close { .. } => self.close_block(out),
            StreamEvent::Usage(usage) => self.usage = *usage,
            // Usage may still follow, and belongs to the same event.
            StreamEvent::Stop(stop) => {
                self.finish_item(out);
                self.stop = Some(owned_stop(stop));
            }
            StreamEvent::End => self.write_end(out, notes),
            StreamEvent::Failed(error) => self.write_failure(error, out, notes),
            StreamEvent::Truncated => self.write_failure(&truncation_error(), out, notes),
        }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        let item = self.item.as_ref().map_or(0, ResponsesOutputItem::bytes);
        self.output.len() + item + self.held_citations.bytes()
    }

    fn write_start(&mut self, head: &ReplyHead<'_>, out: &mut Vec<u8>) {
        let id = reply_id(WIRE, head.id.as_deref(), &self.options.seed);
        self.id = id.into_owned();
        let about = &mut self.about;
        about.push_str("\"id\":");
        JsonText::from(&*self.id).write(about);
        about.push_str(",\"object\":\"response\",\"created_at\":");
        write_number(about, head.created.unwrap_or(0));
        about.push_str(",\"model\":");
        write_string(about, head.model.as_ref(), "unknown");
        about.push_str(",\"instructions\":null,\"metadata\":{},\"parallel_tool_calls\":true");
        about
            .push_str(",\"temperature\":null,\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null");
        for name in ["response.created", "response.in_progress"] {
            self.begin_event(name);
            self.write_response("in_progress", |line| {
                line.push_str("\"error\":null,\"incomplete_details\":null,\"usage\":null");
            });
            self.end_event(out);
        }
    }

    fn open_block(&mut self, kind: &BlockStart<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match kind {
            BlockStart::Text => self.waiting = Some(UnstartedBlock::Text),
            BlockStart::Refusal => self.waiting = Some(UnstartedBlock::Refusal),
            BlockStart::Reasoning => {
                self.finish_item(out);
                self.waiting = Some(UnstartedBlock::Reasoning);
            }
            BlockStart::Redacted(_) => {
                self.finish_item(out);
                notes.add(LossKind::Reasoning, UNREADABLE);
            }
            BlockStart::Call { id, name, family, signature } => {
                if signature.is_some() {
                    notes.add(LossKind::Signature, UNSIGNED_CALL);
                }
                let mut about = String::from("\"call_id\":");
                write_string(&mut about, id.as_ref(), "");
                about.push_str(",\"name\":");
                name.write(&mut about);
                let custom = *family == CallFamily::Custom;
                // Other formats have one kind of call, and so nothing to lose here.
                let plain = custom || *family == CallFamily::Function;
                if !plain && self.options.from == Some(WIRE) {
                    notes.add(LossKind::Tool, "a call of a built-in tool becomes a function call");
                }
                self.begin_item(
                    if custom {
                        ResponsesOutputKind::Custom
                    } else {
                        ResponsesOutputKind::Function
                    },
                    about,
                    out,
                );
            }
        }
    }

    /// Starts an item.
    fn begin_item(&mut self, kind: ResponsesOutputKind, about: String, out: &mut Vec<u8>) {
        self.finish_item(out);
        let item =
            ResponsesOutputItem::new(kind, item_id(kind.prefix(), &self.id, self.items), about);
        self.begin_event("response.output_item.added");
        self.write_output_index();
        self.line.push_str(",\"item\":");
        item.write(&mut self.line, "in_progress");
        self.end_event(out);
        self.item = Some(item);
    }

    /// Starts the block that waited for its first content.
    fn begin_block(&mut self, out: &mut Vec<u8>) {
        match self.waiting.take() {
            None => {}
            Some(UnstartedBlock::Reasoning) => {
                self.begin_item(ResponsesOutputKind::Reasoning, String::new(), out)
            }
            Some(part @ (UnstartedBlock::Text | UnstartedBlock::Refusal)) => {
                if self.item.as_ref().is_none_or(|item| item.kind != ResponsesOutputKind::Message) {
                    self.begin_item(ResponsesOutputKind::Message, String::new(), out);
                }
                self.open_part(part == UnstartedBlock::Refusal, out);
            }
        }
    }

    fn open_part(&mut self, refusal: bool, out: &mut Vec<u8>) {
        let Some(item) = &mut self.item else { return };
        item.open_part(refusal);
        self.write_part_event("response.content_part.added", out, |line, item| {
            line.push_str(",\"part\":");
            item.write_part(line);
        });
    }

    fn write_delta(&mut self, delta: &BlockDelta<'_>, out: &mut Vec<u8>, notes: &mut LossNotes) {
        match delta {
            BlockDelta::Text(text) => {
                self.begin_block(out);
                self.write_text(text, out);
            }
            BlockDelta::Encrypted(text) => {
                self.begin_block(out);
                let Some(item) = &mut self.item else { return };
                item.encrypted.clear();
                text.write_unquoted(&mut item.encrypted);
            }
            BlockDelta::Signature(_) => notes.add(LossKind::Signature, UNSIGNED),
            BlockDelta::Citation(citation) => {
                if let Some(placed) = self.held_citations.accept(citation, notes) {
                    self.write_citation(placed, out);
                }
            }
        }
    }

    fn write_text(&mut self, text: &JsonText<'_>, out: &mut Vec<u8>) {
        let Some(item) = &mut self.item else { return };
        let (kind, refusal) = (item.kind, item.refusal);
        if kind == ResponsesOutputKind::Reasoning && !item.open {
            item.open_part(false);
            self.write_part_event("response.reasoning_summary_part.added", out, |line, item| {
                line.push_str(",\"part\":");
                item.write_part(line);
            });
        }
        let name = match kind {
            ResponsesOutputKind::Message if refusal => "response.refusal.delta",
            ResponsesOutputKind::Message => "response.output_text.delta",
            ResponsesOutputKind::Reasoning => "response.reasoning_summary_text.delta",
            ResponsesOutputKind::Function => "response.function_call_arguments.delta",
            ResponsesOutputKind::Custom => "response.custom_tool_call_input.delta",
        };
        self.write_part_event(name, out, |line, item| {
            line.push_str(",\"delta\":\"");
            let start = line.len();
            text.write_unquoted(line);
            item.text.push_str(line.get(start..).unwrap_or(""));
            line.push('"');
            if kind == ResponsesOutputKind::Message && !refusal {
                line.push_str(",\"logprobs\":[]");
            }
        });
    }

    fn write_citation(&mut self, citation: &TextCitation<'_>, out: &mut Vec<u8>) {
        self.begin_block(out);
        self.write_part_event("response.output_text.annotation.added", out, |line, item| {
            line.push_str(",\"annotation_index\":");
            write_number(line, item.annotated);
            line.push_str(",\"annotation\":");
            let start = line.len();
            line.push_str("{\"type\":\"url_citation\",");
            write_url_citation(line, citation, 0, count_characters(&item.text));
            line.push('}');
            item.annotate(line.get(start..).unwrap_or(""));
        });
    }

    /// Closes the open block.
    fn close_block(&mut self, out: &mut Vec<u8>) {
        for citation in self.held_citations.take() {
            self.write_citation(&citation, out);
        }
        let Some(item) = self.item.as_ref().filter(|_| self.waiting.is_none()) else {
            self.waiting = None;
            return;
        };
        let events: &[&str] = match item.kind {
            ResponsesOutputKind::Message if item.refusal => {
                &["response.refusal.done", "response.content_part.done"]
            }
            ResponsesOutputKind::Message => {
                &["response.output_text.done", "response.content_part.done"]
            }
            ResponsesOutputKind::Reasoning if !item.open => &[],
            ResponsesOutputKind::Reasoning => {
                &["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"]
            }
            ResponsesOutputKind::Function => &["response.function_call_arguments.done"],
            ResponsesOutputKind::Custom => &["response.custom_tool_call_input.done"],
        };
        for name in events {
            self.write_part_event(name, out, |line, item| {
                item.write_completed(line, name.ends_with("part.done"))
            });
        }
        let Some(item) = &mut self.item else { return };
        item.close_part();
        // A message may continue with the next block.
        if item.kind != ResponsesOutputKind::Message {
            self.finish_item(out);
        }
    }

    /// Closes the open item.
    fn finish_item(&mut self, out: &mut Vec<u8>) {
        let Some(item) = self.item.take() else { return };
        self.begin_event("response.output_item.done");
        self.write_output_index();
        self.line.push_str(",\"item\":");
        let start = self.line.len();
        item.write(&mut self.line, if item.is_broken() { "incomplete" } else { "completed" });
        if self.items > 0 {
            self.output.push(',');
        }
        self.output.push_str(self.line.get(start..).unwrap_or(""));
        self.items += 1;
        self.end_event(out);
    }

    fn write_end(&mut self, out: &mut Vec<u8>, notes: &mut LossNotes) {
        self.finish_item(out);
        let stop = self.stop.take().unwrap_or(StopReason::End);
        let (name, status, reason) = match stop_word(WIRE, &stop, notes) {
            "completed" => ("response.completed", "completed", None),
            reason => ("response.incomplete", "incomplete", Some(reason)),
        };
        let mut usage = String::new();
        self.item_usage(&mut usage, notes);
        self.begin_event(name);
        self.write_response(status, |line| {
            line.push_str("\"error\":null,\"incomplete_details\":");
            match reason {
                Some(reason) => {
                    line.push_str("{\"reason\":\"");
                    line.push_str(reason);
                    line.push_str("\"}");
                }
                None => line.push_str("null"),
            }
            line.push_str(",\"usage\":");
            line.push_str(&usage);
        });
        self.end_event(out);
    }

    fn write_failure(
        &mut self,
        error: &ProviderError<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        match &self.item {
            // All its parts are complete.
            Some(item) if item.kind == ResponsesOutputKind::Message && !item.open => {
                self.finish_item(out)
            }
            Some(_) => {
                notes.add(
                    LossKind::Unknown,
                    "a block that was cut off is missing from the last event",
                );
            }
            None => {}
        }
        let code = error_code(self.options.from, error);
        if let Some(provider_code) =
            error.code.as_ref().filter(|provider_code| ***provider_code != *code)
        {
            let note = format!("the error `{provider_code}` becomes `{code}` in this format");
            notes.add(LossKind::Unknown, &note);
        }
        let mut usage = String::new();
        self.item_usage(&mut usage, notes);
        self.begin_event("response.failed");
        self.write_response("failed", |line| {
            line.push_str("\"error\":{\"code\":");
            code.write(line);
            line.push_str(",\"message\":");
            error.message.write(line);
            line.push_str("},\"incomplete_details\":null,\"usage\":");
            line.push_str(&usage);
        });
        self.end_event(out);
    }

    fn item_usage(&self, usage: &mut String, notes: &mut LossNotes) {
        if self.usage.is_empty() {
            usage.push_str("null");
        } else {
            write_usage(WIRE, &self.usage, usage, notes);
        }
    }

    /// Appends the response object with the items so far.
    fn write_response(&mut self, status: &str, fields: impl FnOnce(&mut String)) {
        let line = &mut self.line;
        line.push_str(",\"response\":{");
        line.push_str(&self.about);
        line.push_str(",\"status\":\"");
        line.push_str(status);
        line.push_str("\",\"output\":[");
        line.push_str(&self.output);
        line.push_str("],");
        fields(line);
        line.push('}');
    }

    /// Writes an event of the open item and its open part.
    fn write_part_event(
        &mut self,
        name: &str,
        out: &mut Vec<u8>,
        fields: impl FnOnce(&mut String, &mut ResponsesOutputItem),
    ) {
        self.begin_event(name);
        self.write_output_index();
        let Some(item) = &mut self.item else { return };
        item.write_place(&mut self.line);
        fields(&mut self.line, item);
        self.end_event(out);
    }

    fn write_output_index(&mut self) {
        self.line.push_str(",\"output_index\":");
        write_number(&mut self.line, self.items as u64);
    }

    fn begin_event(&mut self, name: &str) {
        self.line.clear();
        self.line.push_str("event: ");
        self.line.push_str(name);
        self.line.push_str("\ndata: {\"type\":\"");
        self.line.push_str(name);
        self.line.push_str("\",\"sequence_number\":");
        write_number(&mut self.line, self.sequence);
    }

    fn end_event(&mut self, out: &mut Vec<u8>) {
        self.sequence += 1;
        self.line.push_str("}\n\n");
        out.extend_from_slice(self.line.as_bytes());
    }
}

/// The error codes that OpenAI's SDKs know.
const CODES: [&str; 19] = [
    "server_error",
    "rate_limit_exceeded",
    // Not in their lists, but sent, and compared by programs.
    "insufficient_quota",
    "invalid_prompt",
    "vector_store_timeout",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_content_policy_violation",
    "invalid_image_mode",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
];

/// The error code. Strict clients accept only OpenAI's own codes.
fn error_code<'f>(from: Option<Format>, error: &'f ProviderError<'_>) -> JsonText<'f> {
    let known = |code: &&JsonText<'_>| match from {
        Some(WIRE) => true,
        Some(Format::OpenaiChat) => CODES.contains(&&***code),
        _ => false,
    };
    let code = error.code.as_ref().map(ProviderErrorCode::name);
    match (code.filter(known), error.kind) {
        (Some(code), _) => borrowed_text(code),
        (None, ProviderErrorKind::ContextOverflow) => CONTEXT_OVERFLOW.into(),
        (None, ProviderErrorKind::RateLimit) => "rate_limit_exceeded".into(),
        (None, ProviderErrorKind::InvalidRequest | ProviderErrorKind::TooLarge) => {
            "invalid_prompt".into()
        }
        (
            None,
            ProviderErrorKind::Authentication
            | ProviderErrorKind::Permission
            | ProviderErrorKind::NotFound
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Timeout
            | ProviderErrorKind::Server,
        ) => "server_error".into(),
    }
}
