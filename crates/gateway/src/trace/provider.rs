//! The names of providers in the conventions.

use foxwedge_core::{Format, Profile};
use foxwedge_upstream::{UpstreamConfig, UpstreamTransport};

/// The name of the provider behind an upstream: that of the API whose rules it has. An upstream
/// without such an API keeps its own name.
pub(crate) fn provider_name<'u>(
    upstream: &'u UpstreamConfig,
    format: Format,
    model: &str,
) -> &'u str {
    match upstream.transport {
        UpstreamTransport::Scripted => &upstream.name,
        UpstreamTransport::Network(_) | UpstreamTransport::Agent => {
            match upstream.profile(format, model) {
                Profile::OpenaiChat | Profile::OpenaiResponses => "openai",
                Profile::Anthropic => "anthropic",
                Profile::Gemini | Profile::GeminiInteractions => "gcp.gemini",
                Profile::Bedrock => "aws.bedrock",
                Profile::Mistral => "mistral_ai",
                Profile::Deepseek => "deepseek",
                Profile::Strict => &upstream.name,
            }
        }
    }
}
