//! The kinds of upstreams, and their defaults.

use foxwedge_core::Format;

use crate::BaseUrlStyle;

/// The kind of an upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpstreamKind {
    /// OpenAI.
    Openai,
    /// A provider with an OpenAI-compatible API.
    OpenaiCompatible,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
    /// Azure OpenAI.
    Azure,
    /// Google Vertex AI.
    Vertex,
    /// Amazon Bedrock.
    Bedrock,
    /// The built-in model.
    Scripted,
    /// Claude Code as a live agent.
    ClaudeCode,
}

impl UpstreamKind {
    /// Every kind.
    pub const ALL: [UpstreamKind; 9] = [
        UpstreamKind::Openai,
        UpstreamKind::OpenaiCompatible,
        UpstreamKind::Anthropic,
        UpstreamKind::Gemini,
        UpstreamKind::Azure,
        UpstreamKind::Vertex,
        UpstreamKind::Bedrock,
        UpstreamKind::Scripted,
        UpstreamKind::ClaudeCode,
    ];

    /// The name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            UpstreamKind::Openai => "openai",
            UpstreamKind::OpenaiCompatible => "openai-compatible",
            UpstreamKind::Anthropic => "anthropic",
            UpstreamKind::Gemini => "gemini",
            UpstreamKind::Azure => "azure",
            UpstreamKind::Vertex => "vertex",
            UpstreamKind::Bedrock => "bedrock",
            UpstreamKind::Scripted => "scripted",
            UpstreamKind::ClaudeCode => "claude-code",
        }
    }

    /// The models that this kind is known to serve.
    pub fn models(self) -> &'static [&'static str] {
        match self {
            UpstreamKind::Openai => &[
                "gpt-*",
                "o1*",
                "o3*",
                "o4*",
                "chatgpt-*",
                "codex-*",
                "text-embedding-*",
                "omni-moderation-*",
                "whisper-*",
                "tts-*",
                "dall-e-*",
            ],
            UpstreamKind::OpenaiCompatible
            | UpstreamKind::Azure
            | UpstreamKind::Vertex
            | UpstreamKind::Bedrock => &[],
            UpstreamKind::Anthropic => &["claude-*"],
            UpstreamKind::Gemini => &["gemini-*"],
            UpstreamKind::Scripted => &["scripted*"],
            UpstreamKind::ClaudeCode => &["claude-code"],
        }
    }

    /// The supported formats, the preferred one first.
    pub fn formats(self) -> Vec<Format> {
        match self {
            UpstreamKind::Openai | UpstreamKind::Azure => {
                vec![Format::OpenaiChat, Format::OpenaiResponses]
            }
            UpstreamKind::Vertex => vec![Format::Gemini, Format::Anthropic, Format::OpenaiChat],
            UpstreamKind::Bedrock => vec![Format::Bedrock],
            UpstreamKind::OpenaiCompatible => vec![Format::OpenaiChat],
            UpstreamKind::Anthropic | UpstreamKind::ClaudeCode => vec![Format::Anthropic],
            UpstreamKind::Gemini => vec![Format::Gemini, Format::GeminiInteractions],
            UpstreamKind::Scripted => vec![
                Format::OpenaiChat,
                Format::OpenaiResponses,
                Format::Anthropic,
                Format::Gemini,
                Format::GeminiInteractions,
            ],
        }
    }

    /// How its address is split.
    pub fn style(self) -> BaseUrlStyle {
        match self {
            UpstreamKind::Openai | UpstreamKind::OpenaiCompatible => BaseUrlStyle::Openai,
            UpstreamKind::Anthropic => BaseUrlStyle::Anthropic,
            UpstreamKind::Gemini => BaseUrlStyle::Gemini,
            UpstreamKind::Azure
            | UpstreamKind::Vertex
            | UpstreamKind::Bedrock
            | UpstreamKind::Scripted
            | UpstreamKind::ClaudeCode => BaseUrlStyle::Plain,
        }
    }

    /// The default address, if there is one.
    pub fn default_url(self) -> Option<&'static str> {
        match self {
            UpstreamKind::Openai => Some("https://api.openai.com/v1"),
            UpstreamKind::Anthropic => Some("https://api.anthropic.com"),
            UpstreamKind::Gemini => Some("https://generativelanguage.googleapis.com"),
            UpstreamKind::OpenaiCompatible
            | UpstreamKind::Azure
            | UpstreamKind::Vertex
            | UpstreamKind::Bedrock
            | UpstreamKind::Scripted
            | UpstreamKind::ClaudeCode => None,
        }
    }

    /// The usual environment variables of its key, by priority.
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            UpstreamKind::Openai => &["OPENAI_API_KEY"],
            UpstreamKind::Anthropic => &["ANTHROPIC_API_KEY"],
            UpstreamKind::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            UpstreamKind::Azure => &["AZURE_OPENAI_API_KEY"],
            UpstreamKind::Bedrock => &["AWS_BEARER_TOKEN_BEDROCK"],
            UpstreamKind::OpenaiCompatible
            | UpstreamKind::Vertex
            | UpstreamKind::Scripted
            | UpstreamKind::ClaudeCode => &[],
        }
    }
}
