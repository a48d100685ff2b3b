//! The clients that talk to the gateway, and the errors that they raise.

use crate::acceptance::install::Language;

/// Which endpoint a client uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ClientEndpoint {
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl ClientEndpoint {
    pub(super) fn name(self) -> &'static str {
        match self {
            ClientEndpoint::Chat => "chat",
            ClientEndpoint::Responses => "responses",
            ClientEndpoint::Messages => "messages",
            ClientEndpoint::Gemini => "gemini",
        }
    }
}

/// A client at one of its endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GatewayClient {
    pub(super) language: Language,
    /// Its file in `clients/`.
    pub(super) module: &'static str,
    /// What it is made of, as the pinned list calls it.
    pub(super) packages: &'static [&'static str],
    pub(super) endpoint: ClientEndpoint,
    /// What it raises at 429.
    pub(super) limited: &'static str,
    /// What it raises at 400.
    pub(super) refused: &'static str,
    /// What it raises when a reply breaks off; nothing if it throws what is no class of its own.
    pub(super) broke: Option<&'static str>,
    pub(super) habit: ClientHabit,
}

/// How a client changes what it sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientHabit {
    /// Nothing.
    Plain,
    /// It repairs histories itself, and repeats reasoning as text where it cannot send it back, which
    /// makes it another conversation.
    Rewrites,
}

use ClientEndpoint::{Chat, Gemini, Messages, Responses};
use Language::{Python, TypeScript};

/// All of them.
pub(super) const CLIENTS: [GatewayClient; 22] = [
    sdk(Python, "openai_sdk", &["openai"], Chat),
    sdk(Python, "openai_sdk", &["openai"], Responses),
    sdk(Python, "anthropic_sdk", &["anthropic"], Messages),
    sdk(Python, "openai_agents", &["openai-agents"], Chat),
    sdk(Python, "openai_agents", &["openai-agents"], Responses),
    pydantic(Chat),
    pydantic(Responses),
    pydantic(Messages),
    sdk(Python, "langchain_chat", &["langchain-openai"], Chat),
    sdk(Python, "langchain_chat", &["langchain-openai"], Responses),
    sdk(Python, "langchain_chat", &["langchain-anthropic"], Messages),
    sdk(TypeScript, "openai_sdk", &["openai"], Chat),
    sdk(TypeScript, "openai_sdk", &["openai"], Responses),
    sdk(TypeScript, "anthropic_sdk", &["@anthropic-ai/sdk"], Messages),
    vercel("vercel_ai", &["ai", "@ai-sdk/openai"], Chat),
    vercel("vercel_ai", &["ai", "@ai-sdk/openai"], Responses),
    vercel("vercel_ai", &["ai", "@ai-sdk/anthropic"], Messages),
    vercel("vercel_compatible", &["ai", "@ai-sdk/openai-compatible"], Chat),
    sdk(TypeScript, "langchain_chat", &["@langchain/openai"], Chat),
    sdk(TypeScript, "langchain_chat", &["@langchain/openai"], Responses),
    google(Python, &["google-genai"], "ClientError"),
    google(TypeScript, &["@google/genai"], "ApiError"),
];

/// An SDK of a provider, or something that raises its errors.
const fn sdk(
    language: Language,
    module: &'static str,
    packages: &'static [&'static str],
    endpoint: ClientEndpoint,
) -> GatewayClient {
    GatewayClient {
        language,
        module,
        packages,
        endpoint,
        limited: "RateLimitError",
        refused: "BadRequestError",
        broke: Some("APIError"),
        habit: ClientHabit::Plain,
    }
}

const fn pydantic(endpoint: ClientEndpoint) -> GatewayClient {
    GatewayClient {
        limited: "ModelRateLimitError",
        refused: "ModelRequestRejectedError",
        broke: Some("ModelAPIError"),
        habit: ClientHabit::Rewrites,
        ..sdk(Python, "pydantic_agents", &["pydantic-ai-slim"], endpoint)
    }
}

const fn google(
    language: Language,
    packages: &'static [&'static str],
    error: &'static str,
) -> GatewayClient {
    let broke = None;
    let sdk = sdk(language, "google_genai", packages, Gemini);
    GatewayClient { limited: error, refused: error, broke, ..sdk }
}

const fn vercel(
    module: &'static str,
    packages: &'static [&'static str],
    endpoint: ClientEndpoint,
) -> GatewayClient {
    let (limited, refused) = ("AI_APICallError", "AI_APICallError");
    GatewayClient { limited, refused, broke: None, ..sdk(TypeScript, module, packages, endpoint) }
}
