//! Who talks to the gateway, and what they call what goes wrong.

/// The language of a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Language {
    Python,
    TypeScript,
}

impl Language {
    pub(super) const ALL: [Language; 2] = [Language::Python, Language::TypeScript];

    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::TypeScript => "TypeScript",
        }
    }
}

/// Which endpoint a client uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Face {
    Chat,
    Responses,
    Messages,
}

impl Face {
    pub(super) fn name(self) -> &'static str {
        match self {
            Face::Chat => "chat",
            Face::Responses => "responses",
            Face::Messages => "messages",
        }
    }
}

/// A client at one of its endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Client {
    pub(super) language: Language,
    /// Its file in `clients/`.
    pub(super) module: &'static str,
    /// What it is made of, as the pinned list calls it.
    pub(super) packages: &'static [&'static str],
    pub(super) face: Face,
    /// What it raises at 429.
    pub(super) limited: &'static str,
    /// What it raises at 400.
    pub(super) refused: &'static str,
    /// What it raises when a reply breaks off; nothing if it throws what is no class of its own.
    pub(super) broke: Option<&'static str>,
    pub(super) habit: Habit,
}

/// What a client does with what it sends that others do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Habit {
    /// Nothing.
    Plain,
    /// It repairs histories itself, and repeats reasoning as text where it cannot send it back: the
    /// conversation is another one then.
    Rewrites,
}

use Face::{Chat, Messages, Responses};
use Language::{Python, TypeScript};

/// Everybody.
pub(super) const CLIENTS: [Client; 20] = [
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
];

/// An SDK of a provider, or something that raises its errors.
const fn sdk(
    language: Language,
    module: &'static str,
    packages: &'static [&'static str],
    face: Face,
) -> Client {
    Client {
        language,
        module,
        packages,
        face,
        limited: "RateLimitError",
        refused: "BadRequestError",
        broke: Some("APIError"),
        habit: Habit::Plain,
    }
}

const fn pydantic(face: Face) -> Client {
    Client {
        limited: "ModelRateLimitError",
        refused: "ModelRequestRejectedError",
        broke: Some("ModelAPIError"),
        habit: Habit::Rewrites,
        ..sdk(Python, "pydantic_agents", &["pydantic-ai-slim"], face)
    }
}

const fn vercel(module: &'static str, packages: &'static [&'static str], face: Face) -> Client {
    let (limited, refused) = ("AI_APICallError", "AI_APICallError");
    Client { limited, refused, broke: None, ..sdk(TypeScript, module, packages, face) }
}
