//! The profile of the provider that a span names.

use foxwedge_core::{Format, Profile, RuleSet, rules};
use foxwedge_formats::otel_messages::{is_judged, outline_format};

use super::otlp::RequestAttributes;

/// How the history of a request is read and judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TraceProfile {
    pub(super) profile: Profile,
    /// Whether the provider is known. The rules of another one may be different.
    pub(super) is_known: bool,
}

impl TraceProfile {
    /// The profile that the user chose, or that of the span's provider.
    pub(super) fn of(attributes: &RequestAttributes<'_>, chosen: Option<Profile>) -> TraceProfile {
        let model = attributes.model().unwrap_or_default();
        let by_name = attributes
            .provider_name()
            .and_then(|name| provider_profile(name, model, attributes.api.as_deref()));
        match chosen.or(by_name) {
            Some(profile) => TraceProfile { profile, is_known: true },
            None => TraceProfile { profile: Profile::OpenaiChat, is_known: false },
        }
    }

    /// The format whose layout the outline has.
    pub(super) fn format(self) -> Format {
        outline_format(self.profile)
    }

    /// The rules that can be judged. Of a provider that is not known only what every provider
    /// requires: no call without a result, no result without a call.
    pub(super) fn rules(self) -> RuleSet {
        let mut set = RuleSet::default();
        for code in rules::ALL.iter().map(|rule| rule.code) {
            let applies = if self.is_known {
                is_judged(self.profile, code)
            } else {
                matches!(code, 101 | 102)
            };
            if applies {
                set.add(code);
            }
        }
        set
    }

    /// Whether earlier messages may be stored on the server: a span does not show that.
    pub(super) fn may_be_stateful(self) -> bool {
        self.profile == Profile::OpenaiResponses
    }
}

/// The profile of a provider, by its name in the current or an earlier version of the conventions,
/// or in a common instrumentation.
fn provider_profile(name: &str, model: &str, api: Option<&str>) -> Option<Profile> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "openai" | "azure.ai.openai" | "az.ai.openai" | "azure" | "azure_openai" => match api {
            Some("responses") => Profile::OpenaiResponses,
            _ => Profile::OpenaiChat,
        },
        "anthropic" => Profile::Anthropic,
        // Vertex also serves Claude.
        "gcp.vertex_ai" | "vertex_ai" | "google_vertexai" | "google-vertex"
            if model.contains("claude") =>
        {
            Profile::Anthropic
        }
        "gcp.gemini" | "gcp.gen_ai" | "gcp.vertex_ai" | "vertex_ai" | "gemini" | "google"
        | "google_genai" | "google_vertexai" | "google-vertex" | "google-gla" => Profile::Gemini,
        "aws.bedrock" | "aws_bedrock" | "bedrock" => Profile::Bedrock,
        "mistral_ai" | "mistralai" | "mistral" => Profile::Mistral,
        "deepseek" => Profile::Deepseek,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_providers_lead_to_their_profiles() {
        let table = [
            ("openai", "gpt-5", None, Some(Profile::OpenaiChat)),
            ("openai", "gpt-5", Some("responses"), Some(Profile::OpenaiResponses)),
            ("OpenAI", "gpt-5", Some("chat_completions"), Some(Profile::OpenaiChat)),
            ("az.ai.openai", "", None, Some(Profile::OpenaiChat)),
            ("anthropic", "claude-opus-4-6", None, Some(Profile::Anthropic)),
            ("gcp.vertex_ai", "claude-opus-4-6", None, Some(Profile::Anthropic)),
            ("gcp.vertex_ai", "gemini-3-pro", None, Some(Profile::Gemini)),
            ("gcp.gemini", "", None, Some(Profile::Gemini)),
            ("aws.bedrock", "us.anthropic.claude", None, Some(Profile::Bedrock)),
            ("mistral_ai", "", None, Some(Profile::Mistral)),
            ("deepseek", "", None, Some(Profile::Deepseek)),
            ("groq", "", None, None),
            ("", "gpt-5", None, None),
        ];
        for (name, model, api, expected) in table {
            assert_eq!(provider_profile(name, model, api), expected, "{name} {model}");
        }
    }
}
