//! The endpoints that clients can call.

use foxwedge_core::Format;
use foxwedge_upstream::send::UpstreamOperation;

/// An endpoint in the format of a provider.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum GatewayEndpoint {
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/messages/count_tokens`.
    CountTokens,
    /// `POST /v1beta/interactions`.
    Interactions,
}

impl GatewayEndpoint {
    /// Every endpoint.
    pub const ALL: [GatewayEndpoint; 5] = [
        GatewayEndpoint::Chat,
        GatewayEndpoint::Responses,
        GatewayEndpoint::Messages,
        GatewayEndpoint::CountTokens,
        GatewayEndpoint::Interactions,
    ];

    /// The URL path.
    pub fn path(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "/v1/chat/completions",
            GatewayEndpoint::Responses => "/v1/responses",
            GatewayEndpoint::Messages => "/v1/messages",
            GatewayEndpoint::CountTokens => "/v1/messages/count_tokens",
            GatewayEndpoint::Interactions => "/v1beta/interactions",
        }
    }

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "chat",
            GatewayEndpoint::Responses => "responses",
            GatewayEndpoint::Messages => "messages",
            GatewayEndpoint::CountTokens => "count_tokens",
            GatewayEndpoint::Interactions => "interactions",
        }
    }

    /// What it requests from an upstream.
    pub(crate) fn operation(self) -> UpstreamOperation {
        match self {
            GatewayEndpoint::CountTokens => UpstreamOperation::CountTokens,
            GatewayEndpoint::Chat
            | GatewayEndpoint::Responses
            | GatewayEndpoint::Messages
            | GatewayEndpoint::Interactions => UpstreamOperation::Generate,
        }
    }

    /// The format of its requests and replies.
    pub fn format(self) -> Format {
        match self {
            GatewayEndpoint::Chat => Format::OpenaiChat,
            GatewayEndpoint::Responses => Format::OpenaiResponses,
            GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => Format::Anthropic,
            GatewayEndpoint::Interactions => Format::GeminiInteractions,
        }
    }
}
