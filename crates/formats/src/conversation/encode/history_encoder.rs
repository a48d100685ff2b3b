//! State and functions that the encoders of all formats share.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_core::{Format, MessageLayout, PlaceholderLanguage, is_placeholder, media_heading};

use super::{
    EncodeTarget, OutlineRecorder,
    arguments::write_arguments_object,
    json_writer::compact_json,
    late_results::{LATE_RESULT, late_results},
};
use crate::conversation::{
    CallPairs, ContentPart, JsonText, Loss, LossKind, LossLocation, MediaKind, MediaPart,
    MediaSource, ModelHistory, ModelMessage, ModelPart, ModelRole, PartIndex, PartOrigin,
    PartPlacement, ToolCallPart, ToolResultPart,
    call_id_map::{CallIdMap, CallIdentity},
    media::{plain_document_name, titled_document},
};

/// Encodes a history in a format.
pub(crate) struct HistoryEncoder<'h, 'a> {
    pub(crate) history: &'h ModelHistory<'a>,
    pub(crate) wire: Format,
    pub(crate) target: &'h EncodeTarget,
    pub(crate) call_ids: CallIdMap<'h>,
    /// Number of instruction messages at the start.
    pub(crate) leading_instructions: usize,
    pub(crate) losses: Vec<Loss>,
    /// How often each document name was used.
    document_names: HashMap<String, usize>,
    /// Outline of the written text.
    pub(crate) outline: OutlineRecorder<'h>,
}

/// A part of content, ready to be written.
pub(crate) enum ContentPiece<'h> {
    /// Text from the history.
    Text(&'h JsonText<'h>),
    /// Text that we generate.
    Generated(JsonText<'h>),
    /// A complete block as JSON.
    Block(Cow<'h, str>),
}

impl<'h> ContentPiece<'h> {
    /// The text, unless it is a block.
    pub(crate) fn text(&self) -> Option<&JsonText<'h>> {
        match self {
            ContentPiece::Text(text) => Some(text),
            ContentPiece::Generated(text) => Some(text),
            ContentPiece::Block(_) => None,
        }
    }
}

/// The content of a tool result, and the blocks that must follow the run of results.
pub(crate) struct ResultPieces<'h> {
    pub(crate) pieces: Vec<ContentPiece<'h>>,
    pub(crate) trailing_blocks: Vec<String>,
}

/// Encodes media; `None` if the format does not support it there.
pub(crate) type MediaEncoder = fn(&MediaPart<'_>) -> Option<String>;

impl<'h, 'a> HistoryEncoder<'h, 'a> {
    pub(crate) fn new(
        history: &'h ModelHistory<'a>,
        target: &'h EncodeTarget,
        pairs: CallPairs,
    ) -> HistoryEncoder<'h, 'a> {
        let call_ids =
            CallIdMap::new(history, target.wire, target.profile, &target.restored_ids, pairs);
        let outline = OutlineRecorder::new(target.wire);
        HistoryEncoder {
            history,
            wire: target.wire,
            target,
            call_ids,
            leading_instructions: count_leading_instructions(history),
            losses: Vec::new(),
            document_names: HashMap::new(),
            outline,
        }
    }

    pub(crate) fn record_loss(&mut self, message: usize, kind: LossKind, note: impl Into<String>) {
        self.losses.push(Loss {
            kind,
            location: LossLocation::Message(message),
            note: note.into(),
        });
    }

    /// Records the results that are moved before messages of others. The turn of their calls ends
    /// before the message at `end`.
    pub(crate) fn record_late_results(&mut self, results: &[PartIndex], end: usize) {
        for at in late_results(self.history, results, end) {
            self.record_loss(at.message, LossKind::Order, LATE_RESULT);
        }
    }

    /// The identity to write for a call or a result.
    pub(crate) fn identity(&self, at: PartIndex) -> Option<CallIdentity<'h>> {
        self.call_ids.identity(at).cloned()
    }

    /// The original JSON of a part from this format, unless the part needs another id.
    pub(crate) fn reusable_origin<'r>(
        &self,
        at: PartIndex,
        part: &ModelPart<'r>,
    ) -> Option<PartOrigin<'r>> {
        let origin = part.origin_in(self.wire).copied();
        match part.content() {
            ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => origin.filter(|_| {
                self.call_ids.identity(at).is_some_and(|identity| identity.keeps_origin)
            }),
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => origin,
        }
    }

    /// Whether the format can represent a part; records a loss if not.
    pub(crate) fn accepts_part(
        &mut self,
        at: PartIndex,
        role: ModelRole,
        part: &ModelPart<'_>,
    ) -> bool {
        if part.origin_in(self.wire).is_some() {
            return true;
        }
        let accepted = match part.content() {
            ContentPart::ToolCall(call) => {
                if call.signature.is_some() && self.wire != Format::Gemini {
                    self.record_loss(at.message, LossKind::Signature, "a call loses its signature");
                }
                true
            }
            ContentPart::ToolResult(_) => true,
            ContentPart::Text(text) => match self.wire {
                // These formats reject an empty text block.
                Format::Anthropic | Format::Gemini | Format::GeminiInteractions => !text.is_empty(),
                Format::Bedrock => !text.trim().is_empty(),
                Format::OpenaiChat | Format::OpenaiResponses => true,
            },
            // Only Google accepts media from the model.
            ContentPart::Media(media)
                if role == ModelRole::Assistant
                    && !matches!(self.wire, Format::Gemini | Format::GeminiInteractions) =>
            {
                let what = media.kind.name();
                self.record_loss(
                    at.message,
                    LossKind::Media,
                    format!("the {what} in an assistant message is left out"),
                );
                false
            }
            ContentPart::Media(_) => true,
            ContentPart::Reasoning(reasoning) => self.accepts_reasoning(at, part, reasoning),
            ContentPart::Unknown(other) => {
                let what = match &*other.name {
                    "cachePoint" => LossKind::CacheMark,
                    name if is_server_tool(name) => LossKind::ServerCall,
                    _ => LossKind::Unknown,
                };
                let name = if other.name.is_empty() { "a value" } else { &other.name };
                self.record_loss(
                    at.message,
                    what,
                    format!("`{name}` has no equivalent in this format"),
                );
                false
            }
        };
        if accepted {
            self.record_note_losses(at, part);
        }
        accepted
    }

    /// Records the notes of a part that the format cannot represent.
    pub(crate) fn record_note_losses(&mut self, at: PartIndex, part: &ModelPart<'_>) {
        let Some(notes) = part.notes().filter(|_| part.origin_in(self.wire).is_none()) else {
            return;
        };
        if notes.cache_mark.is_some() && !self.takes_cache_marks() {
            self.record_loss(
                at.message,
                LossKind::CacheMark,
                "the cache mark of the prompt is lost",
            );
        }
        if notes.refusal && !matches!(self.wire, Format::OpenaiChat | Format::OpenaiResponses) {
            self.record_loss(at.message, LossKind::Refusal, "a refusal becomes plain text");
        }
        let is_openai = matches!(self.wire, Format::OpenaiChat | Format::OpenaiResponses);
        if notes.detail.is_some() && !is_openai {
            let note = "the image detail setting is not supported in this format";
            self.record_loss(at.message, LossKind::Setting, note);
        }
        if notes.summary {
            self.record_loss(at.message, LossKind::Unknown, SUMMARY_AS_TEXT);
        }
        if notes.has_signature {
            let note = match part.content() {
                ContentPart::Media(_) => "a file loses its signature",
                _ => "a text loses its signature",
            };
            self.record_loss(at.message, LossKind::Signature, note);
        }
        if !notes.citations.is_empty() {
            self.record_loss(at.message, LossKind::Citation, "a text loses its citations");
        }
        for key in &notes.unknown_fields {
            let note = format!("the field `{key}` is not supported in this format");
            self.record_loss(at.message, LossKind::Unknown, note);
        }
    }

    /// Records the fields of a message that the format cannot represent.
    pub(crate) fn record_field_losses(&mut self, index: usize, message: &ModelMessage<'_>) {
        if message.wire().is_none_or(|format| format == self.wire) {
            return;
        }
        for key in meaningful_fields(message) {
            let note = format!("the field `{key}` of a message is not supported in this format");
            self.record_loss(index, LossKind::Unknown, note);
        }
    }

    /// Writes the arguments of a call as a JSON object.
    pub(crate) fn write_arguments_object(
        &mut self,
        out: &mut String,
        at: PartIndex,
        call: &ToolCallPart<'_>,
    ) {
        let start = out.len();
        if let Some(note) = write_arguments_object(out, call) {
            self.record_loss(at.message, LossKind::Arguments, note);
        }
        // Arguments from a string may hold a lone surrogate; only a reader finds it.
        let written = out.get(start..).unwrap_or_default();
        if written.contains("\\ud") || written.contains("\\uD") {
            self.outline.mark_inexact();
        }
    }

    /// Encodes the content of a tool result. `inside` encodes media within a result, `beside` media
    /// after the results.
    pub(crate) fn encode_result(
        &mut self,
        at: PartIndex,
        result: &'h ToolResultPart<'a>,
        inside: MediaEncoder,
        beside: MediaEncoder,
    ) -> ResultPieces<'h> {
        let mut encoded = ResultPieces {
            pieces: Vec::with_capacity(result.parts.len()),
            trailing_blocks: Vec::new(),
        };
        for part in &result.parts {
            if part.is_inside_another(self.wire) {
                continue;
            }
            if let Some(origin) =
                part.origin_in(self.wire).filter(|origin| origin.placement == PartPlacement::Block)
            {
                encoded.pieces.push(ContentPiece::Block(compact_json(origin.json)));
                continue;
            }
            self.record_note_losses(at, part);
            // Only Anthropic supports cache markers inside a tool result.
            if self.wire == Format::Bedrock
                && self.takes_cache_marks()
                && part.notes().is_some_and(|notes| notes.cache_mark.is_some())
            {
                let note = "a cache mark inside a tool result is not supported in this format";
                self.record_loss(at.message, LossKind::CacheMark, note);
            }
            match part.content() {
                ContentPart::Text(text) => encoded.pieces.push(ContentPiece::Text(text)),
                ContentPart::Media(media) => {
                    match (inside(&self.with_valid_name(at, media)), beside(media)) {
                        (Some(block), _) => encoded.pieces.push(ContentPiece::Block(block.into())),
                        (None, _) if matches!(media.source, MediaSource::Text(_)) => {
                            encoded
                                .pieces
                                .extend(document_text(media).map(ContentPiece::Generated));
                        }
                        (None, Some(block)) => {
                            encoded.pieces.push(ContentPiece::Generated(MEDIA_FOLLOWS.into()));
                            encoded.trailing_blocks.push(block);
                        }
                        (None, None) => encoded.pieces.push(ContentPiece::Generated(
                            self.omitted_media_note(at, media).into(),
                        )),
                    }
                }
                // Unknown content is written as text, because the model was meant to read it.
                ContentPart::Unknown(other) => {
                    encoded.pieces.push(ContentPiece::Generated(compact_json(&other.json).into()))
                }
                ContentPart::Reasoning(_)
                | ContentPart::ToolCall(_)
                | ContentPart::ToolResult(_) => {
                    self.record_loss(
                        at.message,
                        LossKind::Unknown,
                        "a tool result holds content that is not allowed in a result",
                    );
                }
            }
        }
        if self.wire.layout() == MessageLayout::Blocks {
            encoded.pieces.retain(|piece| !piece.text().is_some_and(JsonText::is_empty));
        }
        encoded
    }

    /// Media with a name that the format accepts: Bedrock rejects two documents of the same name,
    /// and Google's files have no names.
    pub(crate) fn with_valid_name<'m>(
        &mut self,
        at: PartIndex,
        media: &'m MediaPart<'a>,
    ) -> Cow<'m, MediaPart<'a>> {
        if media.kind != MediaKind::File {
            return Cow::Borrowed(media);
        }
        let is_text = matches!(media.source, MediaSource::Text(_));
        let google = matches!(self.wire, Format::Gemini | Format::GeminiInteractions);
        if google && media.name.is_some() && !is_text {
            self.record_loss(
                at.message,
                LossKind::Unknown,
                "the name of a file is not supported in this format",
            );
        }
        if self.wire != Format::Bedrock || is_text {
            return Cow::Borrowed(media);
        }
        let name = plain_document_name(media.name.as_deref());
        let mut unique_name = name.clone();
        let count = self.document_names.entry(name.clone()).or_default();
        if *count > 0 {
            unique_name = format!("{name} {}", *count + 1);
        }
        *count += 1;
        Cow::Owned(MediaPart { name: Some(unique_name.into()), ..media.clone() })
    }

    /// A note in place of media that the format cannot represent.
    pub(crate) fn omitted_media_note(&mut self, at: PartIndex, media: &MediaPart<'_>) -> String {
        let what = media.kind.name();
        self.record_loss(
            at.message,
            LossKind::Media,
            format!("the {what} is not supported in this format"),
        );
        omitted_media_text(what)
    }

    /// Records the loss of the error flag of a tool result.
    pub(crate) fn record_error_mark_loss(&mut self, at: PartIndex, result: &ToolResultPart<'_>) {
        if result.error && !is_placeholder_result(result) {
            let note = "the error flag of a tool result is not supported in this format";
            self.record_loss(at.message, LossKind::ErrorMark, note);
        }
    }
}

/// The loss of the mark of a summary.
pub(crate) const SUMMARY_AS_TEXT: &str = "a summary of earlier messages becomes plain text";

/// The other fields of a message that a model may read.
pub(crate) fn meaningful_fields<'m>(
    message: &'m ModelMessage<'_>,
) -> impl Iterator<Item = &'m str> {
    message.all_members().iter().filter_map(|member| {
        let (key, value) = member.split_once(':').unwrap_or((member, ""));
        let key = key.trim().trim_matches('"');
        // Server-side ids, and fields without meaning for the model.
        let is_metadata = matches!(key, "id" | "status" | "type" | "index" | "object");
        let is_empty = matches!(value.trim(), "null" | "false" | "[]" | "{}" | "\"\"");
        (!is_metadata && !is_empty).then_some(key)
    })
}

/// The text in place of media that a format cannot represent.
pub(crate) fn omitted_media_text(what: &str) -> String {
    let article = if what.starts_with(['a', 'i']) { "An" } else { "A" };
    format!("[foxwedge] {article} {what} was left out: this format cannot hold it.")
}

/// Whether a result is a placeholder of the core. Its text already states that there is no result.
fn is_placeholder_result(result: &ToolResultPart<'_>) -> bool {
    let [part] = result.parts.as_slice() else { return false };
    let ContentPart::Text(text) = part.content() else { return false };
    if !text.starts_with("[foxwedge] ") {
        return false;
    }
    let mut json = String::new();
    text.write(&mut json);
    is_placeholder(&json)
}

/// Number of instruction messages at the start.
fn count_leading_instructions(history: &ModelHistory<'_>) -> usize {
    let is_instructions = |message: &&ModelMessage<'_>| {
        matches!(message.role, ModelRole::System | ModelRole::Developer)
    };
    history.messages.iter().take_while(is_instructions).count()
}

/// Whether an unknown block is a server tool call or its result.
fn is_server_tool(name: &str) -> bool {
    name.ends_with("_call")
        || name.ends_with("_tool_result")
        || name.ends_with("_call_output")
        || matches!(
            name,
            "server_tool_use"
                | "mcp_tool_use"
                | "mcp_list_tools"
                | "mcp_approval_request"
                | "executableCode"
                | "codeExecutionResult"
                | "executable_code"
                | "code_execution_result"
                | "toolUse"
                | "toolResult"
                | "google_search_result"
                | "google_maps_result"
                | "url_context_result"
                | "file_search_result"
                | "retrieval_result"
                | "processing_result"
        )
}

/// The text of a plain text document.
fn document_text<'m>(media: &'m MediaPart<'_>) -> Option<JsonText<'m>> {
    let MediaSource::Text(text) = &media.source else { return None };
    Some(titled_document(media.name.as_deref(), text).into())
}

/// Replaces media in a tool result when the media follows the results.
pub(crate) const MEDIA_FOLLOWS: &str = "(the media follows behind the answers)";

/// The heading of the media of a result, after the run of results.
pub(crate) fn result_media_heading(identity: &CallIdentity<'_>) -> String {
    let id = identity.id.as_deref().unwrap_or(&identity.name);
    media_heading(Some(id), PlaceholderLanguage::English)
}
