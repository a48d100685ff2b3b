//! The outline of a conversation: who called what, who answered, and where each lies in the input.
//!
//! A [`Draft`] is whatever arrived, in any order and with any gaps. It copies no content: ids and
//! names borrow from the input (unless they were spelled with escapes), everything else is a span.

use std::{borrow::Cow, sync::Arc};

use crate::{rules::RuleSet, span::Span};

mod features;
mod defect;
mod kinds;
mod optional_text;
mod surrogates;
mod builder;

pub use builder::DraftBuilder;
pub use defect::{DefectHarm, DefectText, FileDefect};
pub use features::DraftFeatures;
pub use optional_text::OptionalText;
pub use surrogates::lone_surrogates;

/// Whatever arrived: any order, any gaps. Rules read it; nobody sends it.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The whole input text; spans point into it.
    pub source: &'a str,
    /// The wire format it is written in.
    pub format: Format,
    /// What stands around the list of messages.
    pub body: DraftBody<'a>,
    /// Messages (contents, items) in order.
    pub messages: Vec<Message>,
    /// Parts of all messages, in order.
    pub parts: Vec<Part<'a>>,
    /// What occurs at all, so that rules about rare things cost nothing on common input.
    pub features: DraftFeatures,
}

/// A provider's wire format.
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
}

impl Format {
    /// Every wire format.
    pub const ALL: [Format; 5] = [
        Format::OpenaiChat,
        Format::OpenaiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Bedrock,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::OpenaiChat => "openai-chat",
            Format::OpenaiResponses => "openai-responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::Bedrock => "bedrock",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|wire| wire.name() == name)
    }

    /// How calls and answers are laid out in it.
    pub fn layout(self) -> MessageLayout {
        match self {
            Format::OpenaiChat => MessageLayout::Chat,
            Format::OpenaiResponses => MessageLayout::Items,
            Format::Anthropic | Format::Gemini | Format::Bedrock => MessageLayout::Blocks,
        }
    }
}

/// How a wire format lays out calls and answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MessageLayout {
    /// An answer is a message of its own.
    Chat,
    /// Calls and answers are blocks inside messages; answers live in user messages.
    Blocks,
    /// One flat list: each call and each answer is an item.
    Items,
}

/// What stands around the list of messages in the document.
#[derive(Clone, Debug, Default)]
pub struct DraftBody<'a> {
    /// The document is a request: an object with more in it than the list.
    pub request: bool,
    /// The document is an object around the list, with or without more in it.
    pub wrapped: bool,
    /// Earlier history lies on the server, so a call may be out of sight.
    pub stateful: bool,
    /// The model named by the request.
    pub model: Option<Cow<'a, str>>,
    /// The request asks for (manual) thinking.
    pub thinking: bool,
    /// The request says that nothing is stored.
    pub unstored: bool,
    /// Tools are declared.
    pub tools: bool,
    /// Strings with half characters (lone surrogates), anywhere in the document, in order: from the
    /// first such escape of a string to its last.
    pub surrogates: Vec<Span>,
    /// What is wrong with the file around the conversation; only session files have any.
    pub defects: Vec<FileDefect>,
    /// Rules whose findings keep nobody from going on: no repair of them may cost thinking.
    pub optional: RuleSet,
}

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// The person, or answers on its side.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, under OpenAI's newer name.
    Developer,
    /// An answer that is a message or item of its own.
    Answer,
    /// Known to the format and of no interest to pairing (legacy functions, references).
    Neutral,
    /// Missing, of the wrong type, or not known to the format.
    Unknown,
}

impl Role {
    /// On the model's side.
    pub fn is_assistant(self) -> bool {
        self == Role::Assistant
    }

    /// The user, or a message that can only be read as the user's.
    pub fn is_user(self) -> bool {
        matches!(self, Role::User | Role::Unknown)
    }

    /// Instructions of either name.
    pub fn is_system(self) -> bool {
        matches!(self, Role::System | Role::Developer)
    }
}

/// One message, content or item.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Who speaks.
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
    /// The indices of its parts.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.last as usize
    }
}

/// What a content field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContentShape {
    /// No such field, or a message that has none by its nature.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// A string.
    Text,
    /// A list of blocks.
    List,
    /// Something no provider takes.
    Other,
}

/// Rare properties of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageFlags(pub u16);

impl MessageFlags {
    /// Marked as a prefix the model should continue (Mistral).
    pub const PREFIX: MessageFlags = MessageFlags(1);
    /// Carries something beside content and calls that makes it meaningful (refusal, audio).
    pub const OTHER_BODY: MessageFlags = MessageFlags(2);
    /// Carries an empty list of calls.
    pub const EMPTY_CALLS: MessageFlags = MessageFlags(4);
    /// Carries an item id with the wrong prefix.
    pub const BAD_ITEM_ID: MessageFlags = MessageFlags(8);
    /// A reasoning item that can only be resolved from the server's store.
    pub const UNSTORED: MessageFlags = MessageFlags(16);
    /// Carries an item id at all.
    pub const ITEM_ID: MessageFlags = MessageFlags(32);
    /// A list of calls stands on a message that may not hold one.
    pub const STRAY_CALLS: MessageFlags = MessageFlags(64);

    /// The role is unknown here, but another format's word for the model.
    pub const MODEL: MessageFlags = MessageFlags(128);

    /// Carries fields we do not know, which may hold what it says.
    pub const UNKNOWN_BODY: MessageFlags = MessageFlags(512);
    /// Holds a summary that the provider made of what came before it.
    pub const COMPACTION: MessageFlags = MessageFlags(256);

    /// Its signed reasoning is not bound to what stands before it: the model that made it is known.
    pub const UNBOUND: MessageFlags = MessageFlags(1 << 15);

    /// Only names something that lies on the server.
    pub const REFERENCE: MessageFlags = MessageFlags(1024);

    /// Whether all marks of `other` are set.
    pub fn has(self, other: MessageFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: MessageFlags) -> MessageFlags {
        MessageFlags(self.0 | other.0)
    }

    /// Without those of `other`.
    #[must_use]
    pub fn without(self, other: MessageFlags) -> MessageFlags {
        MessageFlags(self.0 & !other.0)
    }
}

/// One part of a message: a block, or a field that plays the role of one.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Where it lies; [`Span::NOWHERE`] if it was invented.
    pub span: Span,
    /// What it is.
    pub kind: PartKind<'a>,
}

/// What a part is. It is small, as most parts are texts; what is known about a call or an answer is
/// shared by all outlines of a history, whatever a repair does to the rest of it.
#[derive(Clone, Debug)]
pub enum PartKind<'a> {
    /// Text.
    Text(TextShape),
    /// An image, a file, a sound.
    Media,
    /// The model's reasoning.
    Reasoning(SignatureState),
    /// A call that the client answers.
    Call(Arc<DraftCall<'a>>),
    /// An answer of the client.
    Answer(Arc<DraftAnswer<'a>>),
    /// A call that the provider runs itself.
    ServerCall(Option<Box<Cow<'a, str>>>),
    /// The provider's own answer.
    ServerAnswer(Option<Box<Cow<'a, str>>>),
    /// Anything we do not know: kept as it is.
    Other,
}

/// How much a text says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextShape {
    /// Nothing.
    Empty,
    /// White space only.
    Blank,
    /// Something.
    Full,
    /// Something, and white space at its end.
    Trailing,
    /// Nothing, but it carries a signature.
    Signature,
    /// A text block that has no text at all.
    Missing,
}

/// How reasoning is bound to its maker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignatureState {
    /// Signed, redacted or encrypted: bound to model and prefix.
    Signed,
    /// The format wants a signature and there is none.
    Unsigned,
    /// The format asks for none.
    Plain,
}

/// A call that the client answers.
#[derive(Clone, Debug)]
pub struct DraftCall<'a> {
    /// Its id; none if missing, empty, or not a string.
    pub id: OptionalText<'a>,
    /// The tool's name, where the format carries one.
    pub name: OptionalText<'a>,
    /// Which kind of call it is: answers of another family do not match.
    pub family: CallFamily,
    /// What its arguments look like.
    pub arguments: ArgumentsShape,
    /// Carries a thought signature.
    pub signed: bool,
    /// Says of which type it is, where the format asks for that; a tool search says who runs it; the
    /// model waits for the output of a Responses call.
    pub typed: bool,
}

/// An answer of the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftAnswer<'a> {
    /// The id of the call it answers; none if missing, empty, or not a string.
    pub id: OptionalText<'a>,
    /// The tool's name; only one format carries any.
    pub name: Option<Box<Cow<'a, str>>>,
    /// Which kind of call it answers.
    pub family: CallFamily,
    /// What it says.
    pub output: AnswerShape,
    /// Where its content lies.
    pub content: Span,
    /// Holds something that is not text.
    pub media: bool,
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
    /// As the format wants them (and, where looked into, an object).
    Valid,
    /// Not there.
    Missing,
    /// An object where the format wants a string.
    RawObject,
    /// A string where the format wants an object.
    RawString,
    /// A string that does not parse to an object.
    Broken,
    /// Of another wrong type.
    WrongType,
    /// The free text of a custom call is not there.
    NoInput,
    /// The free text of a custom call is no text.
    MalformedInput,
}

/// What an answer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerShape {
    /// Something.
    Full,
    /// An empty string or an empty list.
    Empty,
    /// An empty list beside an error status.
    EmptyError,
    /// `null`.
    Null,
    /// No such field.
    Missing,
    /// Something, in a form that the format does not take.
    Malformed,
}

impl CallFamily {
    /// Whether words can stand in for an answer; some demand a screenshot.
    pub fn accepts_text(self) -> bool {
        match self {
            CallFamily::Function
            | CallFamily::Custom
            | CallFamily::LocalShell
            | CallFamily::Shell
            | CallFamily::ApplyPatch
            // A plain function output answers a search, too.
            | CallFamily::ToolSearch => true,
            CallFamily::Computer => false,
        }
    }
}

impl<'a> Draft<'a> {
    /// The parts of one message.
    pub fn parts_of(&self, message: &Message) -> &[Part<'a>] {
        self.parts.get(message.range()).unwrap_or(&[])
    }

    /// Whether a message holds client calls.
    pub fn has_calls(&self, message: &Message) -> bool {
        self.parts_of(message).iter().any(|part| matches!(part.kind, PartKind::Call(_)))
    }

    /// Whether a message holds answers.
    pub fn has_answers(&self, message: &Message) -> bool {
        self.parts_of(message).iter().any(|part| matches!(part.kind, PartKind::Answer(_)))
    }

    /// The message around a place of the input; `None` if it lies outside the list.
    pub fn message_at(&self, span: Span) -> Option<usize> {
        let at = self.messages.partition_point(|message| message.span.end <= span.start);
        self.messages.get(at).filter(|message| message.span.start <= span.start).map(|_| at)
    }

    /// The messages around some places, which come in order. A message that is put together from
    /// several records of a file is where its parts are.
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
        parts.sort_unstable_by_key(|(span, _)| span.start);
        for (span, found) in spans.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let after = parts.partition_point(|(part, _)| part.start <= span.start);
            let near = after.checked_sub(1).and_then(|at| parts.get(at));
            *found = near.filter(|(part, _)| span.start < part.end).map(|(_, at)| *at);
        }
        found
    }

    /// The layout of its wire format.
    pub fn layout(&self) -> MessageLayout {
        self.format.layout()
    }
}
