//! The outline of a conversation: its messages, calls and answers, and where each is in the input.
//!
//! A [`Draft`] is a history as it arrived, in any order and with any gaps. It copies no content:
//! ids and names borrow from the input (unless they contain escapes); everything else is a span.

use std::{borrow::Cow, sync::Arc};

use crate::sorting::sort_by_key;
use crate::{Span, rules::RuleSet};

mod features;
mod defect;
mod kinds;
mod message_flags;
mod optional_text;
mod owned_call;
mod part_table;
mod unresolved_reference;
mod builder;

pub use builder::DraftBuilder;
pub use defect::{DefectHarm, DefectText, FileDefect};
pub use features::DraftFeatures;
pub use message_flags::MessageFlags;
pub use optional_text::OptionalText;
pub use owned_call::OwnedCall;
pub use part_table::PartTable;
pub use unresolved_reference::UnresolvedReference;

/// A parsed history, not yet checked: any order, any gaps. Rules read it; it is never sent.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The whole input text; spans point into it.
    pub source: &'a str,
    /// The format it is written in.
    pub format: Format,
    /// The document around the list of messages.
    pub body: DraftBody<'a>,
    /// Messages (contents, items) in order.
    pub messages: Vec<Message>,
    /// Parts of all messages, in order.
    pub parts: PartTable<'a>,
    /// What occurs in the draft. Rules about rare things are skipped on common input.
    pub features: DraftFeatures,
}

/// A provider's API format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Format {
    /// OpenAI Chat Completions and everything shaped like it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini `contents`.
    Gemini,
    /// Amazon Bedrock Converse.
    Bedrock,
    /// Google Gemini Interactions: a list of steps.
    GeminiInteractions,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 6] = [
        Format::OpenaiChat,
        Format::OpenaiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Bedrock,
        Format::GeminiInteractions,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::OpenaiChat => "openai-chat",
            Format::OpenaiResponses => "openai-responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::Bedrock => "bedrock",
            Format::GeminiInteractions => "gemini-interactions",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether the arguments of a call are an object, not a string that holds one.
    pub fn has_object_arguments(self) -> bool {
        match self {
            Format::OpenaiChat | Format::OpenaiResponses => false,
            Format::Anthropic | Format::Gemini | Format::Bedrock | Format::GeminiInteractions => {
                true
            }
        }
    }

    /// How it lays out calls and answers.
    pub fn layout(self) -> MessageLayout {
        match self {
            Format::OpenaiChat => MessageLayout::Chat,
            Format::OpenaiResponses | Format::GeminiInteractions => MessageLayout::Items,
            Format::Anthropic | Format::Gemini | Format::Bedrock => MessageLayout::Blocks,
        }
    }
}

/// How a format lays out calls and answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MessageLayout {
    /// Each answer is a separate message.
    Chat,
    /// Calls and answers are blocks inside messages; answers are in user messages.
    Blocks,
    /// One flat list: each call and each answer is an item.
    Items,
}

/// The document around the list of messages.
#[derive(Clone, Debug, Default)]
pub struct DraftBody<'a> {
    /// The document is a request: an object with other fields beside the list.
    pub request: bool,
    /// The document is an object around the list, with or without other fields.
    pub wrapped: bool,
    /// Earlier history is stored on the server, so a call may be missing here.
    pub stateful: bool,
    /// The model that the request names.
    pub model: Option<Cow<'a, str>>,
    /// The request enables (manual) thinking.
    pub thinking: bool,
    /// The provider removes old thinking by an edit that requires thinking.
    pub clears_thinking: bool,
    /// The request turns off storage on the server.
    pub unstored: bool,
    /// The request declares tools.
    pub tools: bool,
    /// Strings with lone surrogates, anywhere in the document, in order. A span covers the escapes
    /// of one string, from the first lone surrogate to the last.
    pub surrogates: Vec<Span>,
    /// Defects of the file around the conversation; only session files have any.
    pub defects: Vec<FileDefect>,
    /// Rules whose findings do not stop the agent. Their repair must not remove thinking.
    pub optional: RuleSet,
    /// Nothing is left of the messages of the document that this one was converted from.
    pub emptied: bool,
    /// The open calls at the end wait on purpose: the agent noted that it will answer them later.
    pub tail_waits: bool,
    /// Calls that another call made, or that belong to a toolset, in the order of their positions.
    pub owned_calls: Arc<Vec<OwnedCall<'a>>>,
    /// References to tools that the request does not declare, in order.
    pub references: Arc<Vec<UnresolvedReference>>,
}

/// Its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// The user, or answers in a user message.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, under OpenAI's newer name.
    Developer,
    /// An answer that is a separate message or item.
    Answer,
    /// Known to the format but irrelevant to pairing (legacy functions, references).
    Neutral,
    /// Missing, of the wrong type, or not known to the format.
    Unknown,
}

impl Role {
    /// Whether the model sent it.
    pub fn is_assistant(self) -> bool {
        self == Role::Assistant
    }

    /// Whether the user sent it. An unknown role counts as the user.
    pub fn is_user(self) -> bool {
        matches!(self, Role::User | Role::Unknown)
    }

    /// Whether it holds instructions, under either name.
    pub fn is_system(self) -> bool {
        matches!(self, Role::System | Role::Developer)
    }
}

/// One message, content or item.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its role.
    pub role: Role,
    /// The whole message.
    pub span: Span,
    /// Index of its first part.
    pub first: u32,
    /// One past the index of its last part.
    pub last: u32,
    /// What its content field holds.
    pub content: ContentShape,
    /// Rare properties.
    pub flags: MessageFlags,
}

impl Message {
    /// Whether results can be blocks of this message.
    pub fn can_hold_results(&self) -> bool {
        self.role.is_user() && !self.flags.has(MessageFlags::NO_RESULTS)
    }

    /// The indices of its parts.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.last as usize
    }
}

/// What a content field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContentShape {
    /// No such field, or a kind of message that never has one.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// A string.
    Text,
    /// A list of blocks.
    List,
    /// A value that no provider accepts.
    Other,
}

/// One part of a message: a block, or a field that acts as one.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Its position in the input; [`Span::NOWHERE`] if a repair created it.
    pub span: Span,
    /// Its kind.
    pub kind: PartKind<'a>,
}

/// The kind of a part. It is small because most parts are texts. Calls and answers are reference
/// counted: all outlines of a history share them, also across repairs.
#[derive(Clone, Debug)]
pub enum PartKind<'a> {
    /// Text.
    Text(TextShape),
    /// An image, a file, audio.
    Media,
    /// The model's reasoning.
    Reasoning(SignatureState),
    /// A call that the client answers.
    Call(Arc<DraftCall<'a>>),
    /// An answer from the client.
    Answer(Arc<DraftAnswer<'a>>),
    /// A call that the provider runs itself.
    ServerCall(Option<Box<Cow<'a, str>>>),
    /// The answer to a call that the provider ran itself.
    ServerAnswer(Option<Box<Cow<'a, str>>>),
    /// Where the output of one model ends and that of another begins. It keeps its place.
    Fallback,
    /// Something known that takes no part in pairing: kept unchanged.
    Other,
    /// Something of an unknown type, which may take part in pairing: the turn around it is left
    /// as it is.
    Unknown,
}

/// How much a text contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextShape {
    /// No characters.
    Empty,
    /// White space only.
    Blank,
    /// Content.
    Full,
    /// Content that ends in white space.
    Trailing,
    /// No text, but a signature.
    Signature,
    /// A text block that has no text at all.
    Missing,
}

/// Whether reasoning is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureState {
    /// Signed, redacted or encrypted: bound to the model and the messages before it.
    Signed,
    /// The format requires a signature and there is none.
    Unsigned,
    /// The format requires none.
    Plain,
}

/// A call that the client answers.
#[derive(Clone, Debug)]
pub struct DraftCall<'a> {
    /// Its id; `NONE` if missing, empty, or not a string.
    pub id: OptionalText<'a>,
    /// The tool's name, where the format carries one.
    pub name: OptionalText<'a>,
    /// The kind of call: answers of another family do not match.
    pub family: CallFamily,
    /// What its arguments look like.
    pub arguments: ArgumentsShape,
    /// Carries a thought signature.
    pub signed: bool,
    /// States its type, where the format requires that. For a tool search: states who runs it. For
    /// a Responses call: the model waits for its output.
    pub typed: bool,
}

/// An answer from the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftAnswer<'a> {
    /// The id of the call it answers; `NONE` if missing, empty, or not a string.
    pub id: OptionalText<'a>,
    /// The tool's name; most formats carry none.
    pub name: Option<Box<Cow<'a, str>>>,
    /// The kind of call it answers.
    pub family: CallFamily,
    /// The shape of its content.
    pub output: AnswerShape,
    /// The position of its content.
    pub content: Span,
    /// Holds content other than text.
    pub media: bool,
    /// Written as in another format.
    pub foreign: bool,
}

/// Kinds of call; an answer matches only a call of its own family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum CallFamily {
    /// Ordinary function tools.
    Function,
    /// Free-text tools.
    Custom,
    /// The local shell tool.
    LocalShell,
    /// The shell tool.
    Shell,
    /// The patch tool.
    ApplyPatch,
    /// Computer use.
    Computer,
    /// Tool search run by the client.
    ToolSearch,
}

/// What the arguments of a call look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentsShape {
    /// As the format requires (and an object, where the profile parses them).
    Valid,
    /// Missing.
    Missing,
    /// An object where the format requires a string.
    RawObject,
    /// A string where the format requires an object.
    RawString,
    /// A string that does not parse to an object.
    Broken,
    /// Another wrong type.
    WrongType,
    /// The free text of a custom call is missing.
    NoInput,
    /// The free text of a custom call is not a string.
    MalformedInput,
}

/// The shape of an answer's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerShape {
    /// Content.
    Full,
    /// An empty string or an empty list.
    Empty,
    /// An empty list beside an error status.
    EmptyError,
    /// `null`.
    Null,
    /// No such field.
    Missing,
    /// Content in a form that the format does not accept.
    Malformed,
}

impl CallFamily {
    /// Whether text can serve as an answer; some families require a screenshot.
    pub fn accepts_text(self) -> bool {
        match self {
            CallFamily::Function
            | CallFamily::Custom
            | CallFamily::LocalShell
            | CallFamily::Shell
            | CallFamily::ApplyPatch
            // A plain function output also answers a search.
            | CallFamily::ToolSearch => true,
            CallFamily::Computer => false,
        }
    }

    /// The families of calls for which programs write outputs of this family.
    pub(crate) fn confused_with(self) -> &'static [CallFamily] {
        use CallFamily::{ApplyPatch, Computer, Custom, Function, Shell};
        match self {
            Function => &[Custom, Shell, ApplyPatch, Computer],
            Custom => &[Function, Shell, ApplyPatch, Computer],
            _ => &[],
        }
    }
}

impl<'a> Draft<'a> {
    /// The parts of one message.
    pub fn parts_of(&self, message: &Message) -> &[Part<'a>] {
        self.parts.slice(message.range())
    }

    /// The parts of all messages, in order.
    pub(crate) fn message_parts(&self) -> impl Iterator<Item = &Part<'a>> {
        self.messages.iter().flat_map(|message| self.parts_of(message))
    }

    /// Whether a message holds reasoning and nothing else.
    pub(crate) fn holds_only_reasoning(&self, message: &Message) -> bool {
        let parts = self.parts_of(message);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Reasoning(_)))
    }

    /// Whether results in this message are misplaced: they are blocks, and it is not the user's.
    pub(crate) fn misplaces_results(&self, message: usize) -> bool {
        self.layout() == MessageLayout::Blocks && !self.messages[message].role.is_user()
    }

    /// Whether a message holds client calls.
    pub fn has_calls(&self, message: &Message) -> bool {
        self.parts_of(message).iter().any(|part| matches!(part.kind, PartKind::Call(_)))
    }

    /// Whether a message holds answers.
    pub fn has_answers(&self, message: &Message) -> bool {
        self.parts_of(message).iter().any(|part| matches!(part.kind, PartKind::Answer(_)))
    }

    /// The message that contains a position of the input; `None` if it is outside the list.
    pub fn message_at(&self, span: Span) -> Option<usize> {
        let at = self.messages.partition_point(|message| message.span.end <= span.start);
        self.messages.get(at).filter(|message| message.span.start <= span.start).map(|_| at)
    }

    /// The messages that contain some positions, given in order. A message composed of several
    /// records of a file is located by its parts.
    pub fn messages_at(&self, spans: &[Span]) -> Vec<Option<usize>> {
        let mut found: Vec<Option<usize>> =
            spans.iter().map(|&span| self.message_at(span)).collect();
        if self.body.wrapped || found.iter().all(Option::is_some) {
            return found;
        }
        let mut parts: Vec<(Span, usize)> = Vec::with_capacity(self.parts.len());
        for (at, message) in self.messages.iter().enumerate() {
            parts.extend(self.parts_of(message).iter().map(|part| (part.span, at)));
        }
        sort_by_key(&mut parts, |(span, _)| span.start);
        for (span, found) in spans.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let after = parts.partition_point(|(part, _)| part.start <= span.start);
            let nearest = after.checked_sub(1).and_then(|at| parts.get(at));
            *found = nearest.filter(|(part, _)| span.start < part.end).map(|(_, at)| *at);
        }
        found
    }

    /// The layout of its format.
    pub fn layout(&self) -> MessageLayout {
        self.format.layout()
    }
}
