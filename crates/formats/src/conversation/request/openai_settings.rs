//! Settings that mean the same in the formats of OpenAI, and the servers that take them.

use foxwedge_core::{Format, Profile};

use crate::conversation::FormatSetting;

/// Whether a server takes all settings of OpenAI: Mistral's refuses a request with one that it does not
/// know.
pub(crate) fn takes_openai_settings(profile: Profile) -> bool {
    profile != Profile::Mistral
}

/// Whether a setting of one OpenAI format means the same in the other.
pub(crate) fn is_shared(setting: &FormatSetting<'_>, to: Format, profile: Profile) -> bool {
    let other = match to {
        Format::OpenaiChat => Format::OpenaiResponses,
        Format::OpenaiResponses => Format::OpenaiChat,
        Format::Anthropic | Format::Gemini | Format::Bedrock | Format::GeminiInteractions => {
            return false;
        }
    };
    let known = matches!(
        &*setting.key,
        "metadata"
            | "store"
            | "service_tier"
            | "safety_identifier"
            | "prompt_cache_key"
            | "prompt_cache_retention"
            | "moderation"
    );
    let is_taken = takes_openai_settings(profile) || setting.key == "metadata";
    known
        && is_taken
        && setting.wire == other
        && setting.parent.is_empty()
        && setting.value != "null"
}
