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
}

impl GatewayEndpoint {
    /// Every endpoint.
    pub const ALL: [GatewayEndpoint; 4] = [
        GatewayEndpoint::Chat,
        GatewayEndpoint::Responses,
        GatewayEndpoint::Messages,
        GatewayEndpoint::CountTokens,
    ];

    /// The URL path.
    pub fn path(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "/v1/chat/completions",
            GatewayEndpoint::Responses => "/v1/responses",
            GatewayEndpoint::Messages => "/v1/messages",
            GatewayEndpoint::CountTokens => "/v1/messages/count_tokens",
        }
    }

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "chat",
            GatewayEndpoint::Responses => "responses",
            GatewayEndpoint::Messages => "messages",
            GatewayEndpoint::CountTokens => "count_tokens",
        }
    }

    /// What it requests from an upstream.
    pub(crate) fn operation(self) -> UpstreamOperation {
        match self {
            GatewayEndpoint::CountTokens => UpstreamOperation::CountTokens,
            GatewayEndpoint::Chat | GatewayEndpoint::Responses | GatewayEndpoint::Messages => {
                UpstreamOperation::Generate
            }
        }
    }

    /// The format of its requests and replies.
    pub fn format(self) -> Format {
        match self {
            GatewayEndpoint::Chat => Format::OpenaiChat,
            GatewayEndpoint::Responses => Format::OpenaiResponses,
            GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => Format::Anthropic,
        }
    }
}
