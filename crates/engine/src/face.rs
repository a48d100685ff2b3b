//! The endpoints that a client may speak to.

use foxwedge_core::Wire;

/// An endpoint in the form of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Face {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
}

impl Face {
    /// Every face.
    pub const ALL: [Face; 4] = [Face::Chat, Face::Responses, Face::Messages, Face::CountTokens];

    /// Its path.
    pub fn path(self) -> &'static str {
        match self {
            Face::Chat => "/v1/chat/completions",
            Face::Responses => "/v1/responses",
            Face::Messages => "/v1/messages",
            Face::CountTokens => "/v1/messages/count_tokens",
        }
    }

    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Face::Chat => "chat",
            Face::Responses => "responses",
            Face::Messages => "messages",
            Face::CountTokens => "count_tokens",
        }
    }

    /// The format of its requests and replies.
    pub fn wire(self) -> Wire {
        match self {
            Face::Chat => Wire::OpenaiChat,
            Face::Responses => Wire::OpenaiResponses,
            Face::Messages | Face::CountTokens => Wire::Anthropic,
        }
    }
}
