//! The kinds of upstreams, and what each of them takes for granted.

use foxwedge_core::Wire;

use super::{address::Style, values::Word};

/// What an upstream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Openai,
    Compatible,
    Anthropic,
    Gemini,
    Scripted,
    ClaudeCode,
}

impl Word for Kind {
    fn words() -> Vec<(&'static str, Kind)> {
        vec![
            ("openai", Kind::Openai),
            ("openai-compatible", Kind::Compatible),
            ("anthropic", Kind::Anthropic),
            ("gemini", Kind::Gemini),
            ("scripted", Kind::Scripted),
            ("claude-code", Kind::ClaudeCode),
        ]
    }
}

impl Kind {
    /// As a file says it.
    pub(super) fn name(self) -> &'static str {
        Kind::words().into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }

    /// The models that are known to live there.
    pub(super) fn models(self) -> &'static [&'static str] {
        match self {
            Kind::Openai => &["gpt-*", "o1*", "o3*", "o4*", "chatgpt-*", "codex-*"],
            Kind::Compatible => &[],
            Kind::Anthropic => &["claude-*"],
            Kind::Gemini => &["gemini-*"],
            Kind::Scripted => &["scripted*"],
            Kind::ClaudeCode => &["claude-code"],
        }
    }

    /// The formats it speaks, the preferred one first.
    pub(super) fn speaks(self) -> Vec<Wire> {
        match self {
            Kind::Openai => vec![Wire::OpenaiChat, Wire::OpenaiResponses],
            Kind::Compatible => vec![Wire::OpenaiChat],
            Kind::Anthropic | Kind::ClaudeCode => vec![Wire::Anthropic],
            Kind::Gemini => vec![Wire::Gemini],
            Kind::Scripted => {
                vec![Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini]
            }
        }
    }

    /// How its address is split.
    pub(super) fn style(self) -> Style {
        match self {
            Kind::Openai | Kind::Compatible => Style::Openai,
            Kind::Anthropic => Style::Anthropic,
            Kind::Gemini => Style::Gemini,
            Kind::Scripted | Kind::ClaudeCode => Style::Plain,
        }
    }

    /// Its address, if nobody says so.
    pub(super) fn usual(self) -> Option<&'static str> {
        match self {
            Kind::Openai => Some("https://api.openai.com/v1"),
            Kind::Anthropic => Some("https://api.anthropic.com"),
            Kind::Gemini => Some("https://generativelanguage.googleapis.com"),
            Kind::Compatible | Kind::Scripted | Kind::ClaudeCode => None,
        }
    }

    /// Variables in which its key usually lies, the strongest first.
    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Kind::Openai => &["OPENAI_API_KEY"],
            Kind::Anthropic => &["ANTHROPIC_API_KEY"],
            Kind::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Kind::Compatible | Kind::Scripted | Kind::ClaudeCode => &[],
        }
    }
}
