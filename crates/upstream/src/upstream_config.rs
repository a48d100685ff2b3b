//! An upstream: where it is, what it supports and which key it needs.

use std::sync::Arc;

use foxwedge_core::{Format, Profile, is_openai_model};
use foxwedge_formats::convert::ChatServer;
use http::{HeaderName, HeaderValue};

use crate::{
    AccessTokenSource, AddressError, AddressPolicy, AwsCredentials, CloudPlatform, NetworkTarget,
    SecretText, UpstreamKind, parse_base_url,
};

/// The name of the built-in model.
pub const SCRIPTED_NAME: &str = "scripted";

/// How often a request is tried by default.
pub const DEFAULT_ATTEMPTS: u32 = 3;

/// An upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Its name.
    pub name: Arc<str>,
    /// How it is reached.
    pub transport: UpstreamTransport,
    /// The path between the address and `/chat/completions` or `/messages`: `/v1` for most, empty
    /// where the address is complete, `/v1beta` for Gemini.
    pub version: Box<str>,
    /// The cloud that serves its models, if that has paths and keys of its own.
    pub platform: Option<CloudPlatform>,
    /// The supported formats, the preferred one first.
    pub formats: Vec<Format>,
    /// The profile that its histories must satisfy; by default that of the format.
    pub profile: Option<Profile>,
    /// The key for requests.
    pub key: UpstreamKey,
    /// Headers that are added to every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How often a request is tried in total, before anything is streamed.
    pub attempts: u32,
}

impl UpstreamConfig {
    /// The format of a request: the client's own, if the upstream supports it for that model.
    pub fn request_format(&self, model: &str, client_format: Format) -> Format {
        let only = self.platform.as_ref().and_then(|platform| platform.format_of_model(model));
        let supported = |format: &Format| self.formats.contains(format);
        let format = only.filter(supported).or(Some(client_format).filter(supported));
        format.or(self.formats.first().copied()).unwrap_or(client_format)
    }

    /// The profile that a history in this format must satisfy. Without a configured one it is that
    /// of the format; OpenAI-compatible providers with other rules are known by their hosts and the
    /// names of their models.
    pub fn profile(&self, format: Format, model: &str) -> Profile {
        let host = match &self.transport {
            UpstreamTransport::Network(target) => &*target.host,
            UpstreamTransport::Scripted | UpstreamTransport::Agent => "",
        };
        let is_named = |name: &str| {
            let has_name = |text: &str| {
                let mut parts = text.as_bytes().windows(name.len());
                parts.any(|part| part.eq_ignore_ascii_case(name.as_bytes()))
            };
            has_name(model) || has_name(host)
        };
        self.profile.unwrap_or_else(|| match format {
            Format::OpenaiChat if is_named("deepseek") => Profile::Deepseek,
            Format::OpenaiChat if is_named("mistral") => Profile::Mistral,
            format => Profile::for_format(format),
        })
    }

    /// What the server of a model takes beyond Chat Completions.
    pub fn chat_server(&self, model: &str) -> ChatServer {
        let UpstreamTransport::Network(target) = &self.transport else {
            return ChatServer::default();
        };
        let host = &*target.host;
        let is_at = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        // Others that have taken on the newer name of the token limit take the older one, too.
        let is_azure = matches!(self.platform, Some(CloudPlatform::Azure { .. }));
        let knows_newer =
            is_azure || is_at("openai.com") || is_at("azure.com") || is_openai_model(Some(model));
        ChatServer {
            older_token_limit: !knows_newer,
            refuses_reasoning: is_at("groq.com") || is_at("cerebras.ai"),
        }
    }

    /// Removes the configured key and headers from an error of the provider.
    pub fn redact_secrets(&self, error: String) -> String {
        // Shorter values keep no secret, and are parts of words.
        const MIN_BYTES: usize = 8;
        let key = match &self.key {
            UpstreamKey::Configured(secret) => Some(secret.reveal()),
            UpstreamKey::FromCaller
            | UpstreamKey::Token(_)
            | UpstreamKey::Signature(_)
            | UpstreamKey::None => None,
        };
        let headers = self.headers.iter().filter_map(|(_, value)| value.to_str().ok());
        let secrets = key.into_iter().chain(headers).filter(|it| it.len() >= MIN_BYTES);
        secrets.fold(error, |error, secret| match error.contains(secret) {
            true => error.replace(secret, "[secret]"),
            false => error,
        })
    }
}

/// How an upstream is reached.
#[derive(Clone, Debug)]
pub enum UpstreamTransport {
    /// Over the network.
    Network(NetworkTarget),
    /// The built-in model.
    Scripted,
    /// An agent process that lives as long as its conversation. The gateway runs it; no request
    /// is sent to it from here.
    Agent,
}

/// The key for requests to an upstream.
#[derive(Clone, Debug)]
pub enum UpstreamKey {
    /// A key from the configuration.
    Configured(SecretText),
    /// The key that the client sent.
    FromCaller,
    /// Access tokens that are fetched.
    Token(Arc<AccessTokenSource>),
    /// No key: requests are signed.
    Signature(Arc<AwsCredentials>),
    /// No key.
    None,
}

/// An upstream with default settings that supports a format. Without an address it is that of the
/// format's provider; a given address may also be private.
///
/// # Errors
/// If the address cannot be used: the reason, and what to do.
pub fn single_upstream(
    name: &str,
    format: Format,
    base_url: Option<&str>,
    key: UpstreamKey,
) -> Result<UpstreamConfig, AddressError> {
    let kind = match format {
        Format::OpenaiChat | Format::OpenaiResponses => UpstreamKind::Openai,
        Format::Anthropic => UpstreamKind::Anthropic,
        Format::Gemini | Format::GeminiInteractions => UpstreamKind::Gemini,
        Format::Bedrock => {
            return Err(("requests in the Bedrock format are not supported", "use another format"));
        }
    };
    let addresses = if base_url.is_some() { AddressPolicy::Private } else { AddressPolicy::Public };
    let text = base_url.or(kind.default_url()).unwrap_or_default();
    let base = parse_base_url(text, kind.style(), addresses)?;
    let mut formats = kind.formats();
    formats.sort_by_key(|supported| *supported != format);
    Ok(UpstreamConfig {
        name: name.into(),
        transport: UpstreamTransport::Network(base.target),
        version: base.version,
        platform: None,
        formats,
        profile: None,
        key,
        headers: Vec::new(),
        attempts: DEFAULT_ATTEMPTS,
    })
}

/// The built-in model, in one format.
pub fn builtin_upstream(format: Format) -> UpstreamConfig {
    UpstreamConfig {
        name: SCRIPTED_NAME.into(),
        transport: UpstreamTransport::Scripted,
        version: "/v1".into(),
        platform: None,
        formats: vec![format],
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        attempts: DEFAULT_ATTEMPTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_other_than_openai_get_the_older_token_limit() {
        for (url, model, older, refuses) in [
            ("https://api.openai.com/v1", "my-model", false, false),
            ("https://eu.api.openai.com/v1", "my-model", false, false),
            ("https://x.openai.azure.com/openai/v1", "deployment", false, false),
            // A proxy in front of OpenAI: its newer models refuse the older name.
            ("https://proxy.example/v1", "gpt-5", false, false),
            ("https://openrouter.ai/api/v1", "openai/gpt-5", true, false),
            ("http://127.0.0.1:11434/v1", "qwen3", true, false),
            ("https://api.groq.com/openai/v1", "openai/gpt-oss-120b", true, true),
            ("https://api.cerebras.ai/v1", "qwen-3", true, true),
            ("https://notopenai.com/v1", "m", true, false),
        ] {
            let key = UpstreamKey::None;
            let upstream = single_upstream("test", Format::OpenaiChat, Some(url), key);
            let found = upstream.expect("an upstream").chat_server(model);
            let expected = ChatServer { older_token_limit: older, refuses_reasoning: refuses };
            assert_eq!(found, expected, "{url} {model}");
        }
    }
}
