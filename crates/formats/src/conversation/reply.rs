//! A provider response: a model message with its stop reason and usage, or an error.

use foxwedge_core::Format;

use super::{JsonText, ModelPart, ProviderErrorCode};

/// One model response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModelReply<'a> {
    /// The format it was read from.
    pub wire: Option<Format>,
    /// Response id of the provider.
    pub id: Option<JsonText<'a>>,
    /// The model that generated it.
    pub model: Option<JsonText<'a>>,
    /// Creation time in Unix seconds.
    pub created: Option<u64>,
    /// The content.
    pub parts: Vec<ModelPart<'a>>,
    /// The stop reason; `None` if the response was cut off.
    pub stop: Option<StopReason<'a>>,
    /// Token usage.
    pub usage: TokenUsage,
}

/// Why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopReason<'a> {
    /// The turn is complete.
    End,
    /// The model waits for tool results.
    ToolCalls,
    /// The token limit was reached.
    Length,
    /// The context window is full.
    ContextFull,
    /// A stop sequence was generated; `None` if the format does not report which.
    Sequence(Option<JsonText<'a>>),
    /// The model refused, or a filter removed the output.
    Refusal,
    /// The provider paused a long turn; the client must send another request to continue.
    Pause,
    /// The model generated a malformed tool call.
    MalformedCall,
    /// Any other reason, as the format names it.
    Other(JsonText<'a>),
}

/// Token usage of a response. A count that the format does not report is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokenUsage {
    /// All input tokens, cached or not.
    pub input: Option<u64>,
    /// All output tokens, including reasoning.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_written: Option<u64>,
    /// Output tokens spent on reasoning.
    pub reasoning: Option<u64>,
}

impl TokenUsage {
    /// Whether no count is known.
    pub fn is_empty(&self) -> bool {
        *self == TokenUsage::default()
    }

    /// Takes over every count that is known in `newer`.
    pub fn update(&mut self, newer: TokenUsage) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_written = newer.cache_written.or(self.cache_written);
        self.reasoning = newer.reasoning.or(self.reasoning);
    }
}

/// An error that a provider returns instead of a response, or in the middle of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderError<'a> {
    /// Kind of error.
    pub kind: ProviderErrorKind,
    /// The provider's message.
    pub message: JsonText<'a>,
    /// The provider's error code, unchanged.
    pub code: Option<ProviderErrorCode<'a>>,
}

/// Kind of a provider error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ProviderErrorKind {
    /// The request is invalid.
    InvalidRequest,
    /// The conversation exceeds the context window of the model.
    ContextOverflow,
    /// Missing or wrong credentials.
    Authentication,
    /// The credentials lack permission.
    Permission,
    /// The model or another resource does not exist.
    NotFound,
    /// The request is too large.
    TooLarge,
    /// Too many requests.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The request timed out.
    Timeout,
    /// Any other server error.
    Server,
}

/// A whole response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelResponse<'a> {
    /// A model response.
    Reply(ModelReply<'a>),
    /// A provider error.
    Error(ProviderError<'a>),
}
