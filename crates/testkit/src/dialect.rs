//! The names of the five wire formats, as every module of this crate takes them.

/// The wire formats that shapes, generators and the oracle know.
pub const DIALECTS: [&str; 5] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"];

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Bedrock,
}

impl Dialect {
    /// Reads a name of [`DIALECTS`].
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "openai-chat" => Some(Self::Chat),
            "openai-responses" => Some(Self::Responses),
            "anthropic" => Some(Self::Anthropic),
            "gemini" => Some(Self::Gemini),
            "bedrock" => Some(Self::Bedrock),
            _ => None,
        }
    }

    /// The key under which a request carries its history.
    pub(crate) fn list_key(self) -> &'static str {
        match self {
            Self::Chat | Self::Anthropic | Self::Bedrock => "messages",
            Self::Responses => "input",
            Self::Gemini => "contents",
        }
    }
}
