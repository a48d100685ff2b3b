//! What a provider answers: one message of the model, why it ended, what it cost; or a failure.

use foxwedge_core::Format;

use super::{JsonText, ModelPart};

/// One answer of a provider.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelReply<'a> {
    /// The format it was read from.
    pub wire: Option<Format>,
    /// The provider's name for it.
    pub id: Option<JsonText<'a>>,
    /// The model that spoke.
    pub model: Option<JsonText<'a>>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// What the model says.
    pub parts: Vec<ModelPart<'a>>,
    /// Why it stopped; `None` if it was cut off.
    pub stop: Option<StopReason<'a>>,
    /// What it cost.
    pub usage: TokenUsage,
}

/// Why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopReason<'a> {
    /// It has said what it had to say.
    End,
    /// It waits for the answers to its calls.
    ToolCalls,
    /// It was not allowed to say more.
    Length,
    /// The context is full.
    ContextFull,
    /// It came upon a text at which it was told to stop; `None` if the format does not say which.
    Sequence(Option<JsonText<'a>>),
    /// It refused, or a filter took the answer away.
    Refusal,
    /// It is working on the provider's side and wants to be asked again.
    Pause,
    /// It tried to call a tool and failed to.
    MalformedCall,
    /// Anything else, in the words of its format.
    Other(JsonText<'a>),
}

/// What an answer cost, in tokens. Formats that do not tell leave out a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenUsage {
    /// Everything that was read, cached or not.
    pub input: Option<u64>,
    /// Everything that was written, reasoning included.
    pub output: Option<u64>,
    /// How much of the input came from a cache.
    pub cache_read: Option<u64>,
    /// How much of the input was put into a cache.
    pub cache_written: Option<u64>,
    /// How much of the output is reasoning.
    pub reasoning: Option<u64>,
}

impl TokenUsage {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == TokenUsage::default()
    }

    /// Takes over the figures that are known there.
    pub fn update(&mut self, newer: TokenUsage) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_written = newer.cache_written.or(self.cache_written);
        self.reasoning = newer.reasoning.or(self.reasoning);
    }
}

/// What a provider answers instead, or in the middle of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderError<'a> {
    /// What kind of trouble.
    pub kind: ProviderErrorKind,
    /// The provider's own words.
    pub message: JsonText<'a>,
    /// The provider's name for it, as it is spelled there.
    pub code: Option<JsonText<'a>>,
}

/// What kind of trouble a provider is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ProviderErrorKind {
    /// The request is wrong.
    InvalidRequest,
    /// No or wrong credentials.
    Authentication,
    /// Not allowed.
    Permission,
    /// No such model, no such thing.
    NotFound,
    /// Too large a request.
    TooLarge,
    /// Too many requests.
    RateLimit,
    /// The provider has too much to do.
    Overloaded,
    /// It took too long.
    Timeout,
    /// Anything on the provider's side.
    Server,
}

/// A whole response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelResponse<'a> {
    /// An answer.
    Reply(ModelReply<'a>),
    /// None.
    Error(ProviderError<'a>),
}
