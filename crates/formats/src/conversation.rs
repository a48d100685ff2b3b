//! A conversation model that is independent of any provider format.
//!
//! A part keeps its original JSON, so encoding it back into the same format loses nothing, not even
//! unknown fields. This model is separate from the outline: the outline locates bytes for repair,
//! the model holds the content. It does not validate; validity is checked on the outline.
//!
//! [`decode`], [`encode`], [`request`] and [`response`] hold what the files of these names in the
//! folders of all formats share. Nothing here uses a format; [`crate::model`] chooses one.

mod json_text;
pub(crate) mod media;
mod error_code;
mod reply;
mod loss;
mod call_ids;
pub(crate) mod stop_reasons;
pub(crate) mod token_usage;
pub(crate) mod provider_errors;
mod settings;
mod call_pairs;
pub(crate) mod call_id_map;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};

pub(crate) use call_ids::CallIds;
pub use call_ids::IdentifierReplacement;
pub use call_pairs::{CallPairs, PartIndex};
pub(crate) use error_code::OpenaiErrorFields;
pub use error_code::ProviderErrorCode;
pub use json_text::JsonText;
pub use loss::{Loss, LossKind, LossLocation};
pub use media::{MediaKind, MediaPart, MediaSource};
pub use reply::{
    ModelReply, ModelResponse, ProviderError, ProviderErrorKind, StopReason, TokenUsage,
};
pub(crate) use settings::OriginalSettings;
pub use settings::{
    FormatSetting, ModelRequest, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
    ToolDeclaration, ToolInput,
};

/// The messages of a conversation, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelHistory<'a> {
    /// One entry for each message, content or item of the document.
    pub messages: Vec<ModelMessage<'a>>,
}

/// Role of a message. Tool results belong to the user role, in every format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ModelRole {
    /// Instructions.
    System,
    /// Instructions, under OpenAI's newer role name.
    Developer,
    /// User input and tool results.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelMessage<'a> {
    /// Role of the author.
    pub role: ModelRole,
    /// The content, in order.
    pub parts: Vec<ModelPart<'a>>,
    envelope: Option<MessageEnvelope<'a>>,
}

/// Origin of a [`ModelMessage`]: its format, and its other fields as `"key": value`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MessageEnvelope<'a> {
    wire: Format,
    members: Vec<&'a str>,
}

impl<'a> ModelMessage<'a> {
    /// A message that was not read from a document.
    pub fn new(role: ModelRole, parts: Vec<ModelPart<'a>>) -> ModelMessage<'a> {
        ModelMessage { role, parts, envelope: None }
    }

    pub(crate) fn read(
        role: ModelRole,
        parts: Vec<ModelPart<'a>>,
        format: Format,
        members: Vec<&'a str>,
    ) -> ModelMessage<'a> {
        ModelMessage { role, parts, envelope: Some(MessageEnvelope { wire: format, members }) }
    }

    /// Appends the parts and fields of a message of the same role.
    pub(crate) fn join(&mut self, other: ModelMessage<'a>) {
        self.parts.extend(other.parts);
        if let (Some(own), Some(other)) = (&mut self.envelope, other.envelope) {
            own.members.extend(other.members);
        }
    }

    /// The format that the message was read from.
    pub fn wire(&self) -> Option<Format> {
        self.envelope.as_ref().map(|envelope| envelope.wire)
    }

    /// The other fields of the message, whatever its format.
    pub(crate) fn all_members(&self) -> &[&'a str] {
        self.envelope.as_ref().map_or(&[], |envelope| &envelope.members)
    }

    /// The other fields of the message, if it was read from `format`.
    pub(crate) fn members(&self, format: Format) -> &[&'a str] {
        self.envelope
            .as_ref()
            .filter(|envelope| envelope.wire == format)
            .map_or(&[], |envelope| &envelope.members)
    }
}

/// One part of a message, and the JSON it was read from. Both must agree: to change the content,
/// create a new part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelPart<'a> {
    content: ContentPart<'a>,
    origin: Option<PartOrigin<'a>>,
    notes: Option<Box<PartNotes<'a>>>,
}

/// Annotations that some formats attach to a part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartNotes<'a> {
    /// Prompt cache marker, as JSON of its format. The prompt is cached up to this part.
    pub cache_mark: Option<&'a str>,
    /// The text is a refusal.
    pub refusal: bool,
    /// Resolution at which the model processes an image.
    pub detail: Option<JsonText<'a>>,
    /// The text is a summary of earlier messages, which has a mark of its own.
    pub summary: bool,
    /// The text or the file has a signature.
    pub has_signature: bool,
    /// Sources of the text.
    pub citations: Vec<TextCitation<'a>>,
    /// Names of unknown fields.
    pub unknown_fields: Vec<Cow<'a, str>>,
}

/// A source that a text cites.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextCitation<'a> {
    /// URL of the source.
    pub url: Option<JsonText<'a>>,
    /// Title of the source.
    pub title: Option<JsonText<'a>>,
    /// The cited text.
    pub quote: Option<JsonText<'a>>,
    /// Range of characters of the text that this source supports; the end is exclusive.
    pub span: Option<(u64, u64)>,
}

impl<'a> ModelPart<'a> {
    /// A part that was not read from a document.
    pub fn new(content: ContentPart<'a>) -> ModelPart<'a> {
        ModelPart { content, origin: None, notes: None }
    }

    pub(crate) fn read(
        content: ContentPart<'a>,
        format: Format,
        placement: PartPlacement,
        json: &'a str,
    ) -> ModelPart<'a> {
        ModelPart {
            content,
            origin: Some(PartOrigin { wire: format, placement, json }),
            notes: None,
        }
    }

    /// Returns the part with these notes.
    pub fn with_notes(mut self, notes: PartNotes<'a>) -> ModelPart<'a> {
        self.notes = (notes != PartNotes::default()).then(|| Box::new(notes));
        self
    }

    /// Annotations of the part.
    pub fn notes(&self) -> Option<&PartNotes<'a>> {
        self.notes.as_deref()
    }

    pub(crate) fn notes_mut(&mut self) -> &mut PartNotes<'a> {
        self.notes.get_or_insert_default()
    }

    /// The content.
    pub fn content(&self) -> &ContentPart<'a> {
        &self.content
    }

    /// The content, without the original JSON.
    pub fn into_content(self) -> ContentPart<'a> {
        self.content
    }

    /// The JSON that the part was read from.
    pub fn origin(&self) -> Option<&PartOrigin<'a>> {
        self.origin.as_ref()
    }

    /// The JSON that the part was read from, if that was in `format`.
    pub(crate) fn origin_in(&self, format: Format) -> Option<&PartOrigin<'a>> {
        self.origin.as_ref().filter(|origin| origin.wire == format)
    }

    /// Whether the part before it contains this part when both are written in `format`.
    pub(crate) fn is_inside_another(&self, format: Format) -> bool {
        self.origin_in(format).is_some_and(|origin| origin.placement == PartPlacement::Inside)
    }
}

impl<'a> From<ContentPart<'a>> for ModelPart<'a> {
    fn from(content: ContentPart<'a>) -> ModelPart<'a> {
        ModelPart::new(content)
    }
}

/// The JSON a part was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartOrigin<'a> {
    /// The format.
    pub wire: Format,
    /// Where this JSON goes in a message.
    pub placement: PartPlacement,
    /// The JSON text, unchanged.
    pub json: &'a str,
}

/// Where the JSON of a part goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartPlacement {
    /// In a list of its message: a block, a part or a call.
    Block,
    /// As a field of its message: `"key": value`.
    Field,
    /// As a message or item of its own.
    Message,
    /// Nowhere: the JSON of the part before it contains it.
    Inside,
}

/// The content of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContentPart<'a> {
    /// Text.
    Text(JsonText<'a>),
    /// An image, a file, audio or video.
    Media(MediaPart<'a>),
    /// The model's reasoning.
    Reasoning(ReasoningPart<'a>),
    /// A tool call that the client runs.
    ToolCall(ToolCallPart<'a>),
    /// A tool result from the client.
    ToolResult(ToolResultPart<'a>),
    /// Anything else.
    Unknown(UnknownPart<'a>),
}

/// The model's reasoning. It is only sent back to the format it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReasoningPart<'a> {
    /// The readable part; may be empty.
    pub text: JsonText<'a>,
    /// Proof of the provider that made it.
    pub signature: ReasoningSignature<'a>,
}

impl ReasoningPart<'_> {
    /// Whether the reasoning is signed, redacted or encrypted, and so only valid for its provider.
    pub fn is_provider_bound(&self) -> bool {
        self.signature != ReasoningSignature::Unsigned
    }
}

/// What ties reasoning to the provider that made it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ReasoningSignature<'a> {
    /// Nothing. Its origin cannot be verified.
    #[default]
    Unsigned,
    /// A signature over the text.
    Signed(JsonText<'a>),
    /// Redacted data without readable text.
    Redacted(JsonText<'a>),
    /// The encrypted reasoning; the text is only a summary.
    Encrypted(JsonText<'a>),
}

/// A tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolCallPart<'a> {
    /// Its id, if it has one.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name; empty if the document names none.
    pub name: Cow<'a, str>,
    /// The kind of tool. Free-text tools are [`CallFamily::Custom`].
    pub family: CallFamily,
    /// Usually the text of a JSON object; free text for free-text tools. May be truncated or
    /// malformed, as the model wrote it.
    pub arguments: JsonText<'a>,
    /// Gemini's signature of the reasoning that led to the call.
    pub signature: Option<JsonText<'a>>,
}

impl ToolCallPart<'_> {
    /// Whether the arguments are plain text instead of JSON.
    pub fn is_free_text(&self) -> bool {
        self.family == CallFamily::Custom
    }
}

/// A tool result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolResultPart<'a> {
    /// The id of its call, if present.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, if present.
    pub name: Option<Cow<'a, str>>,
    /// The kind of tool.
    pub family: CallFamily,
    /// The content of the result.
    pub parts: Vec<ModelPart<'a>>,
    /// Whether the result is marked as an error.
    pub error: bool,
}

/// Content of a type that we do not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPart<'a> {
    /// Its type in the source format; may be empty.
    pub name: Cow<'a, str>,
    /// Its JSON.
    pub json: Cow<'a, str>,
}
