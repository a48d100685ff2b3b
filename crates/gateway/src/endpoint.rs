//! The endpoints that clients can call.

use foxwedge_core::Format;
use foxwedge_upstream::send::UpstreamOperation;

/// Splits a path at its last colon, which may be escaped: the resource, and the method of Google's
/// APIs.
pub(crate) fn split_method(path: &str) -> Option<(&str, &str)> {
    let parts = [":", "%3A", "%3a"].into_iter().filter_map(|colon| path.rsplit_once(colon));
    parts.min_by_key(|(_, method)| method.len())
}

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
    /// `POST /v1beta/models/{model}:generateContent`.
    GenerateContent,
    /// `POST /v1beta/models/{model}:streamGenerateContent`.
    StreamGenerateContent,
    /// `POST /v1beta/models/{model}:countTokens`.
    GeminiCountTokens,
}

impl GatewayEndpoint {
    /// Every endpoint.
    pub const ALL: [GatewayEndpoint; 8] = [
        GatewayEndpoint::Chat,
        GatewayEndpoint::Responses,
        GatewayEndpoint::Messages,
        GatewayEndpoint::CountTokens,
        GatewayEndpoint::Interactions,
        GatewayEndpoint::GenerateContent,
        GatewayEndpoint::StreamGenerateContent,
        GatewayEndpoint::GeminiCountTokens,
    ];

    /// The URL path. The name of a model stands where it has `{model}`.
    pub fn path(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "/v1/chat/completions",
            GatewayEndpoint::Responses => "/v1/responses",
            GatewayEndpoint::Messages => "/v1/messages",
            GatewayEndpoint::CountTokens => "/v1/messages/count_tokens",
            GatewayEndpoint::Interactions => "/v1beta/interactions",
            GatewayEndpoint::GenerateContent => "/v1beta/models/{model}:generateContent",
            GatewayEndpoint::StreamGenerateContent => {
                "/v1beta/models/{model}:streamGenerateContent"
            }
            GatewayEndpoint::GeminiCountTokens => "/v1beta/models/{model}:countTokens",
        }
    }

    /// The endpoint of a path that names a model, in any version of Google's APIs, and that name as it is written there.
    pub(crate) fn with_model(path: &str) -> Option<(GatewayEndpoint, &str)> {
        // Most paths have no colon, and end here.
        let (before, method) = split_method(path)?;
        let (before, model) = before.rsplit_once("/models/")?;
        let endpoint = match method {
            "generateContent" => GatewayEndpoint::GenerateContent,
            "streamGenerateContent" => GatewayEndpoint::StreamGenerateContent,
            "countTokens" => GatewayEndpoint::GeminiCountTokens,
            _ => return None,
        };
        (before.starts_with("/v1") && !model.is_empty()).then_some((endpoint, model))
    }

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            GatewayEndpoint::Chat => "chat",
            GatewayEndpoint::Responses => "responses",
            GatewayEndpoint::Messages => "messages",
            GatewayEndpoint::CountTokens => "count_tokens",
            GatewayEndpoint::Interactions => "interactions",
            GatewayEndpoint::GenerateContent => "generate_content",
            GatewayEndpoint::StreamGenerateContent => "stream_generate_content",
            GatewayEndpoint::GeminiCountTokens => "gemini_count_tokens",
        }
    }

    /// What it requests from an upstream.
    pub(crate) fn operation(self) -> UpstreamOperation {
        match self {
            GatewayEndpoint::CountTokens | GatewayEndpoint::GeminiCountTokens => {
                UpstreamOperation::CountTokens
            }
            GatewayEndpoint::Chat
            | GatewayEndpoint::Responses
            | GatewayEndpoint::Messages
            | GatewayEndpoint::Interactions
            | GatewayEndpoint::GenerateContent
            | GatewayEndpoint::StreamGenerateContent => UpstreamOperation::Generate,
        }
    }

    /// Whether its replies are streams; `None` if a request says it.
    pub(crate) fn streams(self) -> Option<bool> {
        match self {
            GatewayEndpoint::Chat
            | GatewayEndpoint::Responses
            | GatewayEndpoint::Messages
            | GatewayEndpoint::Interactions => None,
            GatewayEndpoint::StreamGenerateContent => Some(true),
            GatewayEndpoint::GenerateContent
            | GatewayEndpoint::CountTokens
            | GatewayEndpoint::GeminiCountTokens => Some(false),
        }
    }

    /// The format of its requests and replies.
    pub fn format(self) -> Format {
        match self {
            GatewayEndpoint::Chat => Format::OpenaiChat,
            GatewayEndpoint::Responses => Format::OpenaiResponses,
            GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => Format::Anthropic,
            GatewayEndpoint::Interactions => Format::GeminiInteractions,
            GatewayEndpoint::GenerateContent
            | GatewayEndpoint::StreamGenerateContent
            | GatewayEndpoint::GeminiCountTokens => Format::Gemini,
        }
    }
}
