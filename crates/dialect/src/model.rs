//! A conversation independent of any wire format.
//!
//! [`decode()`] reads what was said out of a document, [`encode()`] writes it for any format and
//! lists what that format cannot hold. A part remembers how its own format spelled it, so that the way
//! back into the same format loses nothing, not even fields we do not know.
//!
//! This is a second, fuller reading beside the outline: the outline repairs bytes, this one tells
//! what they say. It judges nothing; whether a history is sound is asked of the outline.

mod json_text;
mod media;
mod reply;
mod call_ids;
pub(crate) mod stop_reasons;
pub(crate) mod token_usage;
pub(crate) mod provider_errors;
mod settings;
pub(crate) mod requests;
pub(crate) mod decode;
mod call_pairs;
mod call_id_map;
pub(crate) mod encode;
pub(crate) mod replies;
mod message;

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};

pub(crate) use call_ids::CallIds;
pub use call_ids::IdentifierReplacement;
pub use call_pairs::{CallPairs, PartIndex};
pub use decode::{decode, decode_message, decode_request};
pub use encode::{Loss, LossKind, LossLocation, encode};
pub use json_text::JsonText;
pub use media::{MediaKind, MediaPart, MediaSource};
pub use message::{decode_turn, encode_turn};
pub use replies::{DecodedReply, EncodedReply, decode_reply, encode_reply};
pub use reply::{
    ModelReply, ModelResponse, ProviderError, ProviderErrorKind, StopReason, TokenUsage,
};
pub use settings::{
    FormatSetting, ModelRequest, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
    ToolDeclaration, ToolInput,
};

/// What was said, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelHistory<'a> {
    /// The messages. One for each message, content or item of the document.
    pub messages: Vec<ModelMessage<'a>>,
}

/// Who speaks. Answers stand on the user's side, in every format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ModelRole {
    /// Instructions.
    System,
    /// Instructions, under OpenAI's newer name.
    Developer,
    /// The person, and the answers.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelMessage<'a> {
    /// Who speaks.
    pub role: ModelRole,
    /// What is said.
    pub parts: Vec<ModelPart<'a>>,
    envelope: Option<MessageEnvelope<'a>>,
}

/// The message that a [`Said`] was read from: its format, and the fields that stand beside what it
/// says, as `"key": value`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MessageEnvelope<'a> {
    wire: Format,
    members: Vec<&'a str>,
}

impl<'a> ModelMessage<'a> {
    /// A message that comes from no document.
    pub fn new(role: ModelRole, parts: Vec<ModelPart<'a>>) -> ModelMessage<'a> {
        ModelMessage { role, parts, envelope: None }
    }

    fn read(
        role: ModelRole,
        parts: Vec<ModelPart<'a>>,
        wire: Format,
        members: Vec<&'a str>,
    ) -> ModelMessage<'a> {
        ModelMessage { role, parts, envelope: Some(MessageEnvelope { wire, members }) }
    }

    /// The format whose list of messages it was read from.
    pub fn wire(&self) -> Option<Format> {
        self.envelope.as_ref().map(|envelope| envelope.wire)
    }

    /// The fields that stand beside what it says, whatever its format.
    fn all_members(&self) -> &[&'a str] {
        self.envelope.as_ref().map_or(&[], |of| &of.members)
    }

    /// The fields that belong into a message of that format.
    fn members(&self, wire: Format) -> &[&'a str] {
        self.envelope.as_ref().filter(|of| of.wire == wire).map_or(&[], |of| &of.members)
    }
}

/// One part of a message, and how its format spelled it. Both say the same: whoever changes what a
/// part says makes a new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelPart<'a> {
    content: ContentPart<'a>,
    origin: Option<PartOrigin<'a>>,
    notes: Option<Box<PartNotes<'a>>>,
}

/// What some formats say beside a part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartNotes<'a> {
    /// The prompt is cached up to here: the mark, as its format spells it.
    pub cache_mark: Option<&'a str>,
    /// The text is a refusal.
    pub refusal: bool,
    /// How closely an image is to be looked at.
    pub detail: Option<JsonText<'a>>,
    /// The text has a signature.
    pub has_signature: bool,
    /// Where a text comes from.
    pub citations: Vec<TextCitation<'a>>,
    /// Names of the fields that we know nothing about.
    pub unknown_fields: Vec<Cow<'a, str>>,
}

/// Where a text comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextCitation<'a> {
    /// The address of the source.
    pub url: Option<JsonText<'a>>,
    /// The name of the source.
    pub title: Option<JsonText<'a>>,
    /// What the source says.
    pub quote: Option<JsonText<'a>>,
    /// The characters of the text that rest on it: the first, and the one behind the last.
    pub span: Option<(u64, u64)>,
}

impl<'a> ModelPart<'a> {
    /// A part that comes from no document.
    pub fn new(bit: ContentPart<'a>) -> ModelPart<'a> {
        ModelPart { content: bit, origin: None, notes: None }
    }

    fn read(
        bit: ContentPart<'a>,
        wire: Format,
        form: PartPlacement,
        json: &'a str,
    ) -> ModelPart<'a> {
        ModelPart {
            content: bit,
            origin: Some(PartOrigin { wire, placement: form, json }),
            notes: None,
        }
    }

    /// The same part, with notes.
    pub fn with_notes(mut self, notes: PartNotes<'a>) -> ModelPart<'a> {
        self.notes = (notes != PartNotes::default()).then(|| Box::new(notes));
        self
    }

    /// What is said beside it.
    pub fn notes(&self) -> Option<&PartNotes<'a>> {
        self.notes.as_deref()
    }

    fn notes_mut(&mut self) -> &mut PartNotes<'a> {
        self.notes.get_or_insert_default()
    }

    /// What it says.
    pub fn content(&self) -> &ContentPart<'a> {
        &self.content
    }

    /// What it says, without its spelling.
    pub fn into_content(self) -> ContentPart<'a> {
        self.content
    }

    /// How it was spelled.
    pub fn origin(&self) -> Option<&PartOrigin<'a>> {
        self.origin.as_ref()
    }

    /// How that format spelled it.
    fn origin_in(&self, wire: Format) -> Option<&PartOrigin<'a>> {
        self.origin.as_ref().filter(|raw| raw.wire == wire)
    }
}

impl<'a> From<ContentPart<'a>> for ModelPart<'a> {
    fn from(bit: ContentPart<'a>) -> ModelPart<'a> {
        ModelPart::new(bit)
    }
}

/// The JSON a part was read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartOrigin<'a> {
    /// The format.
    pub wire: Format,
    /// Where such a text stands.
    pub placement: PartPlacement,
    /// The text, as it stood there.
    pub json: &'a str,
}

/// Where the JSON of a part stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartPlacement {
    /// In a list of its message: a block, a part, a call.
    Block,
    /// As a field of its message: `"key": value`.
    Field,
    /// As a message or item of its own.
    Message,
}

/// What a part says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContentPart<'a> {
    /// Text.
    Text(JsonText<'a>),
    /// An image, a file, a sound.
    Media(MediaPart<'a>),
    /// The model's reasoning.
    Reasoning(ReasoningPart<'a>),
    /// A call that the client answers.
    ToolCall(ToolCallPart<'a>),
    /// The client's answer.
    ToolResult(ToolResultPart<'a>),
    /// Anything else.
    Unknown(UnknownPart<'a>),
}

/// The model's reasoning. It goes back to the format it came from, or nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReasoningPart<'a> {
    /// What can be read of it; may be empty.
    pub text: JsonText<'a>,
    /// What binds it to its maker.
    pub signature: ReasoningSignature<'a>,
}

impl ReasoningPart<'_> {
    /// Signed, redacted or encrypted: bound to its maker.
    pub fn is_provider_bound(&self) -> bool {
        self.signature != ReasoningSignature::Unsigned
    }
}

/// What binds reasoning to its maker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ReasoningSignature<'a> {
    /// Nothing: anybody may have written it.
    #[default]
    Unsigned,
    /// A signature under its text.
    Signed(JsonText<'a>),
    /// There is nothing to read but this.
    Redacted(JsonText<'a>),
    /// All of it, encrypted; the text is a summary.
    Encrypted(JsonText<'a>),
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolCallPart<'a> {
    /// Its id, if it has one.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name; empty if the document names none.
    pub name: Cow<'a, str>,
    /// Which kind of tool. Free-text tools are [`Family::Custom`].
    pub family: CallFamily,
    /// The text of a JSON object as a rule; free text for free-text tools. May be cut off or odd,
    /// as the model wrote it.
    pub arguments: JsonText<'a>,
    /// Gemini's signature of the reasoning behind the call.
    pub signature: Option<JsonText<'a>>,
}

impl ToolCallPart<'_> {
    /// Whether its arguments are plain text and no JSON.
    pub fn is_free_text(&self) -> bool {
        self.family == CallFamily::Custom
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolResultPart<'a> {
    /// The id of its call, if it names one.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, if it names one.
    pub name: Option<Cow<'a, str>>,
    /// Which kind of tool it is of.
    pub family: CallFamily,
    /// What it says and shows.
    pub parts: Vec<ModelPart<'a>>,
    /// Marked as a failure.
    pub error: bool,
}

/// Something we do not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPart<'a> {
    /// What its format calls it; may be empty.
    pub name: Cow<'a, str>,
    /// The JSON of it.
    pub json: Cow<'a, str>,
}

#[cfg(test)]
mod tests;
