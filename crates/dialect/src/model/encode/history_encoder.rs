//! What the writers of all formats share.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_core::{
    ArgumentsFix, Format, MessageLayout, PlaceholderLanguage, Profile, Span, is_placeholder,
    media_heading,
};

use super::{
    EncodeTarget, Loss, LossKind, LossLocation, OutlineRecorder,
    bedrock::plain_document_name,
    blocks::titled_document,
    json_writer::{compact_json, is_too_deep, write_compact, write_string},
    system::count_leading_instructions,
};
use crate::{
    model::{
        CallPairs, ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelHistory,
        ModelMessage, ModelPart, ModelRole, PartIndex, PartOrigin, PartPlacement, ReasoningPart,
        ReasoningSignature, ToolCallPart, ToolResultPart,
        call_id_map::{CallIdMap, CallIdentity},
    },
    outline::is_json_object,
    splice::{ArgumentsEncoding, encode_arguments},
};

/// A history on its way into a format.
pub(super) struct HistoryEncoder<'h, 'a> {
    pub(super) history: &'h ModelHistory<'a>,
    pub(super) wire: Format,
    pub(super) target: &'h EncodeTarget,
    pub(super) call_ids: CallIdMap<'h>,
    /// How many messages at the beginning are instructions.
    pub(super) leading_instructions: usize,
    pub(super) losses: Vec<Loss>,
    /// How often the name of a document was used.
    document_names: HashMap<String, usize>,
    /// What is written, as a reader would see it.
    pub(super) outline: OutlineRecorder<'h>,
}

/// A piece of content.
pub(super) enum ContentPiece<'h> {
    /// Text, as it was spelled.
    Text(&'h JsonText<'h>),
    /// Text that we say ourselves.
    Generated(JsonText<'h>),
    /// A finished block.
    Block(Cow<'h, str>),
}

impl<'h> ContentPiece<'h> {
    /// What a text says.
    pub(super) fn text(&self) -> Option<&JsonText<'h>> {
        match self {
            ContentPiece::Text(words) => Some(words),
            ContentPiece::Generated(words) => Some(words),
            ContentPiece::Block(_) => None,
        }
    }
}

/// An answer, told in pieces, and the blocks that have to stand behind the run of answers.
pub(super) struct ResultPieces<'h> {
    pub(super) pieces: Vec<ContentPiece<'h>>,
    pub(super) trailing_blocks: Vec<String>,
}

/// Spells media, if the format can hold it there.
pub(super) type MediaEncoder = fn(&MediaPart<'_>) -> Option<String>;

impl<'h, 'a> HistoryEncoder<'h, 'a> {
    pub(super) fn new(
        history: &'h ModelHistory<'a>,
        target: &'h EncodeTarget,
        pairs: CallPairs,
    ) -> HistoryEncoder<'h, 'a> {
        let ledger =
            CallIdMap::new(history, target.wire, target.profile, &target.restored_ids, pairs);
        let outline = OutlineRecorder::new(target.wire);
        HistoryEncoder {
            history,
            wire: target.wire,
            target,
            call_ids: ledger,
            leading_instructions: count_leading_instructions(history),
            losses: Vec::new(),
            document_names: HashMap::new(),
            outline,
        }
    }

    pub(super) fn record_loss(&mut self, message: usize, what: LossKind, note: impl Into<String>) {
        self.losses.push(Loss {
            kind: what,
            location: LossLocation::Message(message),
            note: note.into(),
        });
    }

    /// What is written for a call or an answer.
    pub(super) fn identity(&self, at: PartIndex) -> Option<CallIdentity<'h>> {
        self.call_ids.identity(at).cloned()
    }

    /// How this format spelled a part, unless it needs another id now.
    pub(super) fn reusable_origin<'r>(
        &self,
        at: PartIndex,
        part: &ModelPart<'r>,
    ) -> Option<PartOrigin<'r>> {
        let raw = part.origin_in(self.wire).copied();
        match part.content() {
            ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
                raw.filter(|_| self.call_ids.identity(at).is_some_and(|entry| entry.keeps_origin))
            }
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => raw,
        }
    }

    /// Whether a part has a place in the format; notes it if not.
    pub(super) fn accepts_part(
        &mut self,
        at: PartIndex,
        role: ModelRole,
        part: &ModelPart<'_>,
    ) -> bool {
        if part.origin_in(self.wire).is_some() {
            return true;
        }
        let takes = match part.content() {
            ContentPart::ToolCall(call) => {
                if call.signature.is_some() && self.wire != Format::Gemini {
                    self.record_loss(at.message, LossKind::Signature, "a call loses its signature");
                }
                true
            }
            ContentPart::ToolResult(_) => true,
            ContentPart::Text(text) => match self.wire {
                // Refused as a block of its own, and it says nothing.
                Format::Anthropic | Format::Gemini => !text.is_empty(),
                Format::Bedrock => !text.trim().is_empty(),
                Format::OpenaiChat | Format::OpenaiResponses => true,
            },
            // Only Gemini shows what the model drew.
            ContentPart::Media(media)
                if role == ModelRole::Assistant && self.wire != Format::Gemini =>
            {
                let what = media.kind.name();
                self.record_loss(
                    at.message,
                    LossKind::Media,
                    format!("the model's own {what} is left out"),
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
                    format!("`{name}` has no meaning in this format"),
                );
                false
            }
        };
        if takes {
            self.record_note_losses(at, part);
        }
        takes
    }

    /// Whether reasoning goes over.
    fn accepts_reasoning(
        &mut self,
        at: PartIndex,
        part: &ModelPart<'_>,
        reasoning: &ReasoningPart<'_>,
    ) -> bool {
        let from = part.origin().map(|raw| raw.wire);
        let claude = |wire: Format| matches!(wire, Format::Anthropic | Format::Bedrock);
        // The same models sign at both places.
        if from.is_some_and(claude) && claude(self.wire) && reasoning.is_provider_bound() {
            return true;
        }
        // Mistral refuses the field; the rest pass over it, or want it.
        let known = !matches!(self.target.profile, Profile::Mistral | Profile::Strict);
        let chat = self.wire == Format::OpenaiChat && known && !reasoning.text.is_empty();
        let carried = chat && (self.target.reasoning || !reasoning.is_provider_bound());
        match (carried, &reasoning.signature) {
            (true, ReasoningSignature::Unsigned) => {}
            (
                true,
                ReasoningSignature::Signed(_)
                | ReasoningSignature::Redacted(_)
                | ReasoningSignature::Encrypted(_),
            ) => {
                self.record_loss(at.message, LossKind::Signature, "reasoning loses its signature");
            }
            (false, _) => {
                let note = "reasoning goes back to its own format only";
                self.record_loss(at.message, LossKind::Reasoning, note);
            }
        }
        carried
    }

    /// Tells which notes of a part the format has no place for.
    pub(super) fn record_note_losses(&mut self, at: PartIndex, part: &ModelPart<'_>) {
        let Some(notes) = part.notes().filter(|_| part.origin_in(self.wire).is_none()) else {
            return;
        };
        if notes.cache_mark.is_some() && !matches!(self.wire, Format::Anthropic | Format::Bedrock) {
            self.record_loss(
                at.message,
                LossKind::CacheMark,
                "the prompt is not marked for caching any more",
            );
        }
        if notes.refusal && !matches!(self.wire, Format::OpenaiChat | Format::OpenaiResponses) {
            self.record_loss(at.message, LossKind::Refusal, "a refusal becomes plain text");
        }
        let openai = matches!(self.wire, Format::OpenaiChat | Format::OpenaiResponses);
        if notes.detail.is_some() && !openai {
            let note = "how closely an image is to be looked at cannot be said in this format";
            self.record_loss(at.message, LossKind::Setting, note);
        }
        if notes.has_signature {
            self.record_loss(at.message, LossKind::Signature, "a text loses its signature");
        }
        if !notes.citations.is_empty() {
            self.record_loss(
                at.message,
                LossKind::Citation,
                "a text does not say any more where it comes from",
            );
        }
        for key in &notes.unknown_fields {
            let note = format!("the field `{key}` has no place in this format");
            self.record_loss(at.message, LossKind::Unknown, note);
        }
    }

    /// Tells which fields of a message the format has no place for.
    pub(super) fn record_field_losses(&mut self, index: usize, said: &ModelMessage<'_>) {
        if said.wire().is_none_or(|wire| wire == self.wire) {
            return;
        }
        for member in said.all_members() {
            let (key, value) = member.split_once(':').unwrap_or((member, ""));
            let key = key.trim().trim_matches('"');
            // Numbers of what lies on a server, and what says nothing.
            let idle = matches!(key, "id" | "status" | "type" | "index" | "object");
            if !idle && !matches!(value.trim(), "null" | "[]" | "{}" | "\"\"") {
                let note = format!("the field `{key}` of a message has no place in this format");
                self.record_loss(index, LossKind::Unknown, note);
            }
        }
    }

    /// Adds the arguments of a call as a JSON object.
    pub(super) fn write_arguments_object(
        &mut self,
        out: &mut String,
        at: PartIndex,
        call: &ToolCallPart<'_>,
    ) {
        let start = out.len();
        if let Some(note) = write_arguments_object(out, call) {
            self.record_loss(at.message, LossKind::Arguments, note);
        }
        // What was the text of a string before may hold half a character: a reader sees it.
        let written = out.get(start..).unwrap_or_default();
        if written.contains("\\ud") || written.contains("\\uD") {
            self.outline.mark_inexact();
        }
    }

    /// What an answer says and shows, for a format that holds media inside answers by `inside`
    /// and beside them by `beside`.
    pub(super) fn encode_result(
        &mut self,
        at: PartIndex,
        answer: &'h ToolResultPart<'a>,
        inside: MediaEncoder,
        beside: MediaEncoder,
    ) -> ResultPieces<'h> {
        let mut told = ResultPieces {
            pieces: Vec::with_capacity(answer.parts.len()),
            trailing_blocks: Vec::new(),
        };
        for part in &answer.parts {
            if let Some(raw) =
                part.origin_in(self.wire).filter(|raw| raw.placement == PartPlacement::Block)
            {
                told.pieces.push(ContentPiece::Block(compact_json(raw.json)));
                continue;
            }
            self.record_note_losses(at, part);
            // Nothing inside an answer can be marked, but by Anthropic.
            if self.wire == Format::Bedrock
                && part.notes().is_some_and(|notes| notes.cache_mark.is_some())
            {
                let note = "a mark for caching inside an answer has no place in this format";
                self.record_loss(at.message, LossKind::CacheMark, note);
            }
            match part.content() {
                ContentPart::Text(text) => told.pieces.push(ContentPiece::Text(text)),
                ContentPart::Media(media) => {
                    match (inside(&self.with_valid_name(at, media)), beside(media)) {
                        (Some(block), _) => told.pieces.push(ContentPiece::Block(block.into())),
                        (None, _) if matches!(media.source, MediaSource::Text(_)) => {
                            told.pieces.extend(document_text(media).map(ContentPiece::Generated));
                        }
                        (None, Some(block)) => {
                            told.pieces.push(ContentPiece::Generated(MEDIA_FOLLOWS.into()));
                            told.trailing_blocks.push(block);
                        }
                        (None, None) => told.pieces.push(ContentPiece::Generated(
                            self.omitted_media_note(at, media).into(),
                        )),
                    }
                }
                // Whatever it is, the model was meant to read it.
                ContentPart::Unknown(other) => {
                    told.pieces.push(ContentPiece::Generated(compact_json(&other.json).into()))
                }
                ContentPart::Reasoning(_)
                | ContentPart::ToolCall(_)
                | ContentPart::ToolResult(_) => {
                    self.record_loss(
                        at.message,
                        LossKind::Unknown,
                        "an answer holds more than an answer can",
                    );
                }
            }
        }
        if self.wire.layout() == MessageLayout::Blocks {
            told.pieces.retain(|piece| !piece.text().is_some_and(JsonText::is_empty));
        }
        told
    }

    /// Media under a name that the format takes: Bedrock refuses two documents of one name, and
    /// Gemini's files have none.
    pub(super) fn with_valid_name<'m>(
        &mut self,
        at: PartIndex,
        media: &'m MediaPart<'a>,
    ) -> Cow<'m, MediaPart<'a>> {
        if media.kind != MediaKind::File {
            return Cow::Borrowed(media);
        }
        let said = matches!(media.source, MediaSource::Text(_));
        if self.wire == Format::Gemini && media.name.is_some() && !said {
            self.record_loss(
                at.message,
                LossKind::Unknown,
                "the name of a file has no place in this format",
            );
        }
        if self.wire != Format::Bedrock || said {
            return Cow::Borrowed(media);
        }
        let name = plain_document_name(media.name.as_deref());
        let mut free = name.clone();
        let count = self.document_names.entry(name.clone()).or_default();
        if *count > 0 {
            free = format!("{name} {}", *count + 1);
        }
        *count += 1;
        Cow::Owned(MediaPart { name: Some(free.into()), ..media.clone() })
    }

    /// A note in the place of media that the format cannot hold.
    pub(super) fn omitted_media_note(&mut self, at: PartIndex, media: &MediaPart<'_>) -> String {
        let what = media.kind.name();
        self.record_loss(
            at.message,
            LossKind::Media,
            format!("the {what} has no place in this format"),
        );
        let article = if what.starts_with(['a', 'i']) { "An" } else { "A" };
        format!("[foxwedge] {article} {what} was left out: this format cannot hold it.")
    }

    /// Notes that the mark of a failed answer is gone.
    pub(super) fn record_error_mark_loss(&mut self, at: PartIndex, answer: &ToolResultPart<'_>) {
        if answer.error && !is_placeholder_result(answer) {
            let note = "the mark of a failed answer has no place in this format";
            self.record_loss(at.message, LossKind::ErrorMark, note);
        }
    }
}

/// Adds the arguments of a call as a JSON object, and says so if they had to be mended.
pub(crate) fn write_arguments_object(out: &mut String, call: &ToolCallPart<'_>) -> Option<String> {
    let text = &*call.arguments;
    if call.is_free_text() {
        out.push_str("{\"input\":");
        call.arguments.write(out);
        out.push('}');
        return None;
    }
    if is_json_object(text) && !is_too_deep(text) {
        write_compact(out, text);
        return None;
    }
    if text.trim().is_empty() {
        out.push_str("{}");
        return None;
    }
    let whole = Some(Span::new(0, text.len()));
    let mended =
        encode_arguments(text, whole, ArgumentsFix::CompleteObject, ArgumentsEncoding::Object);
    if is_too_deep(&mended) {
        out.push_str("{\"value\":");
        write_string(out, text);
        out.push('}');
    } else {
        write_compact(out, &mended);
    }
    Some(format!("the arguments of `{}` are no JSON object and are mended", call.name))
}

/// Whether an answer is one of the engine's placeholders, which say themselves that nothing came.
fn is_placeholder_result(answer: &ToolResultPart<'_>) -> bool {
    let [part] = answer.parts.as_slice() else { return false };
    let ContentPart::Text(words) = part.content() else { return false };
    if !words.starts_with("[foxwedge] ") {
        return false;
    }
    let mut spelled = String::new();
    words.write(&mut spelled);
    is_placeholder(&spelled)
}

/// Whether a block we do not know is a call that the provider runs itself, or its answer.
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
        )
}

/// The text of a document that is text.
fn document_text<'m>(media: &'m MediaPart<'_>) -> Option<JsonText<'m>> {
    let MediaSource::Text(words) = &media.source else { return None };
    Some(titled_document(media.name.as_deref(), words).into())
}

/// Stands in an answer whose media stands behind it.
pub(crate) const MEDIA_FOLLOWS: &str = "(the media follows behind the answers)";

/// Heads the media of an answer behind the run of answers.
pub(super) fn result_media_heading(entry: &CallIdentity<'_>) -> String {
    let id = entry.id.as_deref().unwrap_or(&entry.name);
    media_heading(Some(id), PlaceholderLanguage::English)
}
