//! Profiles: the rules of provider APIs.

use crate::draft::{Draft, Format};

/// The rules of one provider API.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Profile {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini and Vertex.
    Gemini,
    /// Amazon Bedrock Converse.
    Bedrock,
    /// Google Gemini Interactions.
    GeminiInteractions,
    /// Mistral's hosted API.
    Mistral,
    /// DeepSeek.
    Deepseek,
    /// All of them at once.
    Strict,
}

/// The evidence that a provider refuses something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleEvidence {
    /// Documented, measured, or seen in an error message.
    Documented,
    /// Inferred from a compatible provider.
    Inferred,
}

/// Which call ids a provider accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdRule {
    /// Minimum number of characters.
    pub min_length: usize,
    /// Maximum number of characters.
    pub max_length: usize,
    /// Characters allowed beside letters and digits; `None` allows every character.
    pub extra_chars: Option<&'static str>,
}

/// Letters and digits, one bit each.
const ALPHANUMERIC: u128 = {
    let mut set = 0;
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            set |= 1 << byte;
        }
        byte += 1;
    }
    set
};

impl IdRule {
    /// Describes what is allowed.
    pub(crate) fn describe(&self) -> String {
        let characters = match self.extra_chars {
            None => "characters".to_owned(),
            Some("") => "letters and digits".to_owned(),
            Some(extra) => format!("letters, digits and any of `{extra}`"),
        };
        match (self.min_length, self.max_length) {
            (least, most) if least == most => format!("exactly {most} {characters}"),
            (_, usize::MAX) => characters,
            (_, most) => format!("at most {most} {characters}"),
        }
    }

    /// Whether an id obeys the rule.
    pub fn allows(&self, id: &str) -> bool {
        // Limits count characters; a string never has more characters than bytes.
        let fits_in_chars = |id: &str| {
            id.chars().take(self.max_length.saturating_add(1)).count() <= self.max_length
        };
        let long_enough = id.len() >= self.min_length;
        let short_enough = id.len() <= self.max_length || !id.is_ascii() && fits_in_chars(id);
        long_enough
            && short_enough
            && self.extra_chars.is_none_or(|extra| {
                // One bit for each ASCII character that is allowed.
                let extra = extra.bytes().fold(ALPHANUMERIC, |set, byte| set | 1 << (byte & 127));
                id.bytes().all(|byte| byte < 128 && extra >> byte & 1 == 1)
            })
    }
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 9] = [
        Profile::OpenaiChat,
        Profile::OpenaiResponses,
        Profile::Anthropic,
        Profile::Gemini,
        Profile::Bedrock,
        Profile::GeminiInteractions,
        Profile::Mistral,
        Profile::Deepseek,
        Profile::Strict,
    ];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Profile::OpenaiChat => "openai-chat",
            Profile::OpenaiResponses => "openai-responses",
            Profile::Anthropic => "anthropic",
            Profile::Gemini => "gemini",
            Profile::Bedrock => "bedrock",
            Profile::GeminiInteractions => "gemini-interactions",
            Profile::Mistral => "mistral",
            Profile::Deepseek => "deepseek",
            Profile::Strict => "strict",
        }
    }

    /// The profile of that name.
    pub fn parse(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// The profile of the provider that defines a format.
    pub fn for_format(format: Format) -> Profile {
        match format {
            Format::OpenaiChat => Profile::OpenaiChat,
            Format::OpenaiResponses => Profile::OpenaiResponses,
            Format::Anthropic => Profile::Anthropic,
            Format::Gemini => Profile::Gemini,
            Format::Bedrock => Profile::Bedrock,
            Format::GeminiInteractions => Profile::GeminiInteractions,
        }
    }

    /// Which call ids it accepts.
    pub fn id_rule(self) -> IdRule {
        let free = IdRule { min_length: 1, max_length: usize::MAX, extra_chars: None };
        match self {
            Profile::OpenaiChat => IdRule { max_length: 40, ..free },
            Profile::OpenaiResponses => IdRule { max_length: 64, ..free },
            Profile::Anthropic => IdRule { extra_chars: Some("_-"), ..free },
            Profile::Bedrock => IdRule { max_length: 64, extra_chars: Some("_.:-"), ..free },
            Profile::Mistral | Profile::Strict => {
                IdRule { min_length: 9, max_length: 9, extra_chars: Some("") }
            }
            Profile::Gemini | Profile::GeminiInteractions | Profile::Deepseek => free,
        }
    }

    /// Which tool names it accepts.
    pub fn name_rule(self) -> IdRule {
        match self {
            Profile::Anthropic | Profile::OpenaiResponses => {
                IdRule { min_length: 1, max_length: 128, extra_chars: Some("_-") }
            }
            Profile::Gemini | Profile::GeminiInteractions => {
                IdRule { min_length: 1, max_length: 128, extra_chars: Some("_.:-") }
            }
            Profile::OpenaiChat
            | Profile::Bedrock
            | Profile::Mistral
            | Profile::Deepseek
            | Profile::Strict => IdRule { min_length: 1, max_length: 64, extra_chars: Some("_-") },
        }
    }

    /// Whether it accepts a tool name.
    pub fn accepts_name(self, name: &str) -> bool {
        let first = name.chars().next();
        self.name_rule().allows(name)
            && (!matches!(self, Profile::Gemini | Profile::GeminiInteractions | Profile::Strict)
                || first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_'))
    }

    /// Whether a result may stand anywhere after its call, in a flat list of items.
    pub(crate) fn allows_late_results(self) -> bool {
        !matches!(self, Profile::GeminiInteractions | Profile::Deepseek | Profile::Strict)
    }

    /// Whether the profile parses argument strings.
    pub fn parses_arguments(self) -> bool {
        self == Profile::Strict
    }
}

/// Whether a message with answers may hold nothing else: in the strict profile, and on Bedrock for
/// models that are known to be no Claude.
pub(crate) fn requires_answers_alone(profile: Profile, draft: &Draft<'_>) -> bool {
    let other_model = || {
        let model = draft.body.model.as_deref();
        draft.format == Format::Bedrock && model.is_some_and(|model| !may_be_claude(model))
    };
    match profile {
        Profile::Strict => true,
        Profile::Bedrock => other_model(),
        _ => false,
    }
}

/// Whether a model on Bedrock may be Claude. The name of an application inference profile does not show
/// it.
pub(crate) fn may_be_claude(model: &str) -> bool {
    model.contains("claude") || model.starts_with("arn:") && !is_other_maker(model)
}

/// Whether the name of a model on Bedrock names another maker than Anthropic.
pub fn is_other_maker(model: &str) -> bool {
    const MAKERS: [&str; 15] = [
        "ai21.",
        "amazon.",
        "cohere.",
        "deepseek.",
        "google.",
        "meta.",
        "minimax.",
        "mistral.",
        "moonshot",
        "nvidia.",
        "openai.",
        "qwen.",
        "stability.",
        "writer.",
        "zai.",
    ];
    !model.contains("claude") && MAKERS.iter().any(|maker| model.contains(maker))
}

/// Whether OpenAI itself serves a model. Names with a slash belong to routers; open models can be
/// served by any provider.
pub fn is_openai_model(model: Option<&str>) -> bool {
    let Some(model) = model.map(str::to_ascii_lowercase) else { return false };
    let prefixes = ["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4", "ft:gpt-", "ft:o"];
    !model.contains('/')
        && !model.starts_with("gpt-oss")
        && prefixes.iter().any(|prefix| model.starts_with(prefix))
}

/// Whether the provider may accept ids beyond the profile's limits: the limits are OpenAI's own,
/// and the model is not known to be served by OpenAI. Many OpenAI-compatible providers accept
/// longer ids.
pub(crate) fn may_take_any_id(profile: Profile, draft: &Draft<'_>) -> bool {
    matches!(profile, Profile::OpenaiChat | Profile::OpenaiResponses)
        && !is_openai_model(draft.body.model.as_deref())
}

/// Whether a model name is a Claude that accepts no assistant prefill (4.6 and later).
pub(crate) fn claude_without_prefill(model: &str) -> bool {
    claude_version(model).is_some_and(|version| version >= (4, 6))
}

/// Whether thinking blocks of this model may be bound to the exact messages before them. True for
/// unknown names.
pub fn binds_thinking(model: Option<&str>) -> bool {
    match model.and_then(claude_version) {
        Some(version) => version >= (5, 1),
        None => true,
    }
}

/// The version in names like `claude-opus-4-6`, `claude-3-7-sonnet-20250219`, `claude-sonnet-4.5`.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let lower = model.to_ascii_lowercase();
    let rest = lower.get(lower.find("claude")?..)?;
    // Digits of a date are not a version.
    let mut numbers = rest
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty() && digits.len() <= 2)
        .filter_map(|digits| digits.parse().ok());
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_versions_are_read_from_names() {
        let table = [
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-opus-4-6", Some((4, 6))),
            ("us.anthropic.claude-sonnet-4.5-v1:0", Some((4, 5))),
            ("claude-fable-5-1", Some((5, 1))),
            ("gpt-4o", None),
        ];
        for (model, expected) in table {
            assert_eq!(claude_version(model), expected, "{model}");
        }
    }

    #[test]
    fn ids_are_judged_by_length_and_alphabet() {
        let table = [
            (Profile::Anthropic, "toolu_01-A", true),
            (Profile::Anthropic, "functions.get:0", false),
            (Profile::Mistral, "abcdefgh1", true),
            (Profile::Mistral, "abcdefgh", false),
            (Profile::Bedrock, "a.b:c-d_e", true),
            (Profile::OpenaiChat, "call with any character é", true),
        ];
        for (profile, id, expected) in table {
            assert_eq!(profile.id_rule().allows(id), expected, "{} {id}", profile.name());
        }
        assert!(!Profile::OpenaiChat.id_rule().allows(&"x".repeat(41)));
    }
}
