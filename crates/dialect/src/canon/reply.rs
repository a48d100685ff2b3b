//! What a provider answers: one message of the model, why it ended, what it cost; or a failure.

use foxwedge_core::Wire;

use super::{Part, Words};

/// One answer of a provider.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply<'a> {
    /// The format it was read from.
    pub wire: Option<Wire>,
    /// The provider's name for it.
    pub id: Option<Words<'a>>,
    /// The model that spoke.
    pub model: Option<Words<'a>>,
    /// When it was made, in seconds since 1970.
    pub created: Option<u64>,
    /// What the model says.
    pub parts: Vec<Part<'a>>,
    /// Why it stopped; `None` if it was cut off.
    pub stop: Option<Stop<'a>>,
    /// What it cost.
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop<'a> {
    /// It has said what it had to say.
    End,
    /// It waits for the answers to its calls.
    Calls,
    /// It was not allowed to say more.
    Length,
    /// The context is full.
    ContextFull,
    /// It came upon a text at which it was told to stop; `None` if the format does not say which.
    Sequence(Option<Words<'a>>),
    /// It refused, or a filter took the answer away.
    Refusal,
    /// It is working on the provider's side and wants to be asked again.
    Pause,
    /// It tried to call a tool and failed to.
    Malformed,
    /// Anything else, in the words of its format.
    Other(Words<'a>),
}

/// What an answer cost, in tokens. Formats that do not tell leave out a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Everything that was read, cached or not.
    pub input: Option<u64>,
    /// Everything that was written, reasoning included.
    pub output: Option<u64>,
    /// How much of the input came from a cache.
    pub cached: Option<u64>,
    /// How much of the input was put into a cache.
    pub stored: Option<u64>,
    /// How much of the output is reasoning.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }

    /// Takes over the figures that are known there.
    pub fn update(&mut self, newer: Usage) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.cached = newer.cached.or(self.cached);
        self.stored = newer.stored.or(self.stored);
        self.reasoning = newer.reasoning.or(self.reasoning);
    }
}

/// What a provider answers instead, or in the middle of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<'a> {
    /// What kind of trouble.
    pub kind: Trouble,
    /// The provider's own words.
    pub message: Words<'a>,
    /// The provider's name for it, as it is spelled there.
    pub code: Option<Words<'a>>,
}

/// What kind of trouble a provider is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Trouble {
    /// The request is wrong.
    Request,
    /// No or wrong credentials.
    Credentials,
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
pub enum Outcome<'a> {
    /// An answer.
    Reply(Reply<'a>),
    /// None.
    Failure(Failure<'a>),
}
