//! The names of the six formats.

/// The formats that shapes, generators and the oracle support.
pub const DIALECTS: [&str; 6] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "gemini-interactions"];

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestFormat {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Bedrock,
    Interactions,
}

impl TestFormat {
    /// Parses a name of [`DIALECTS`].
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "openai-chat" => Some(Self::Chat),
            "openai-responses" => Some(Self::Responses),
            "anthropic" => Some(Self::Anthropic),
            "gemini" => Some(Self::Gemini),
            "bedrock" => Some(Self::Bedrock),
            "gemini-interactions" => Some(Self::Interactions),
            _ => None,
        }
    }

    /// The key of the history in a request.
    pub(crate) fn list_key(self) -> &'static str {
        match self {
            Self::Chat | Self::Anthropic | Self::Bedrock => "messages",
            Self::Responses | Self::Interactions => "input",
            Self::Gemini => "contents",
        }
    }
}
