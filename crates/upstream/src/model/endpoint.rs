//! A model of an upstream, or the built-in one.

use std::{sync::Arc, time::Duration};

use foxwedge_core::{CheckOptions, Format, Policy, Profile, RuleSet};
use foxwedge_formats::{read_envelope, text};
use foxwedge_tokens::models;
use http::{HeaderName, HeaderValue};

use super::{
    ChatModel, ModelDescription, ModelError, ReplyStream, ValidRequest,
    endpoint_stream::{EndpointRequest, EndpointStream},
};
use crate::{
    SecretText, UpstreamConfig, UpstreamKey, UpstreamTransport, builtin_upstream,
    http::{HttpClient, HttpSettings},
    single_upstream,
};

/// Header with the session ID, for our own gateway.
const SESSION_HEADER: HeaderName = HeaderName::from_static("x-foxwedge-session");

/// A model behind an endpoint.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    client: HttpClient,
    upstream: Arc<UpstreamConfig>,
    /// The policy for the repair of a history that the provider refuses; `None` if it is not
    /// repaired.
    repair: Option<Policy>,
    about: ModelDescription,
    /// How long errors of the provider are outlasted; `None` to give up after a few attempts.
    patience: Option<Duration>,
}

/// Why a model endpoint cannot be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelEndpointError {
    /// The upstream is an agent.
    #[error("`{0}` is an agent that runs its own tools, not a model")]
    Agent(Arc<str>),
    /// The upstream does not support the format.
    #[error("`{upstream}` does not support the format `{wire}`")]
    Format {
        /// The upstream.
        upstream: Arc<str>,
        /// The format.
        wire: &'static str,
    },
    /// The address is invalid.
    #[error("the address of the model cannot be used: {what}")]
    Address {
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The key or the session ID is not a valid header value.
    #[error("the {0} cannot be sent: it is empty, or holds what no header can hold")]
    Header(&'static str),
}

impl ModelEndpoint {
    /// A model of an upstream, in the format that the upstream prefers. `window` is its context
    /// window in tokens, if configured; `repair` is the policy for the repair of a history that
    /// the provider refuses.
    ///
    /// # Errors
    /// If the upstream is an agent, or supports no format.
    pub fn of_upstream(
        client: HttpClient,
        upstream: Arc<UpstreamConfig>,
        model: &str,
        window: Option<u64>,
        repair: Option<Policy>,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        if let UpstreamTransport::Agent = upstream.transport {
            return Err(ModelEndpointError::Agent(upstream.name.clone()));
        }
        let first = upstream.formats.first();
        let Some(wire) = first.map(|first| upstream.request_format(model, *first)) else {
            return Err(ModelEndpointError::Format {
                upstream: upstream.name.clone(),
                wire: "any",
            });
        };
        let name = model.into();
        let about = ModelDescription { name, wire, profile: Profile::for_format(wire), window };
        let endpoint = ModelEndpoint { client, upstream, repair, about, patience: None };
        Ok(endpoint.with_model_defaults())
    }

    /// A model of OpenAI, or of an OpenAI-compatible provider.
    ///
    /// # Errors
    /// If the address is invalid, or the key cannot be sent.
    pub fn openai(
        base_url: &str,
        key: Option<SecretText>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address("openai", Format::OpenaiChat, Some(base_url), key, model)
    }

    /// A model of DeepSeek.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn deepseek(key: SecretText, model: &str) -> Result<ModelEndpoint, ModelEndpointError> {
        let url = Some("https://api.deepseek.com");
        ModelEndpoint::from_address("deepseek", Format::OpenaiChat, url, Some(key), model)
    }

    /// A model of Anthropic.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn anthropic(key: SecretText, model: &str) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address("anthropic", Format::Anthropic, None, Some(key), model)
    }

    /// A model of Google.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn gemini(key: SecretText, model: &str) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address("gemini", Format::Gemini, None, Some(key), model)
    }

    /// A model behind a Foxwedge gateway, under its name there.
    ///
    /// # Errors
    /// If the address is invalid, or the token cannot be sent.
    pub fn gateway(
        base_url: &str,
        token: Option<SecretText>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address("gateway", Format::OpenaiChat, Some(base_url), token, model)
    }

    /// A model at any address, in the format of that endpoint.
    ///
    /// # Errors
    /// If the address is invalid, the key cannot be sent, or the format is not supported.
    pub fn at_address(
        wire: Format,
        base_url: &str,
        key: Option<SecretText>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address(wire.name(), wire, Some(base_url), key, model)
    }

    /// The built-in model, which needs no network. Its name may carry faults, such as
    /// `scripted?cut=3`.
    pub fn scripted(model: &str) -> ModelEndpoint {
        ModelEndpoint::scripted_in(Format::OpenaiChat, model)
    }

    /// The built-in model in any format; the format also selects the rules that it checks.
    pub fn scripted_in(wire: Format, model: &str) -> ModelEndpoint {
        ModelEndpoint::from_upstream(builtin_upstream(wire), wire, model)
    }

    /// Uses the connections of that client.
    #[must_use]
    pub fn with_client(self, client: HttpClient) -> ModelEndpoint {
        ModelEndpoint { client, ..self }
    }

    /// Sets the total attempts of a request with transient errors.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> ModelEndpoint {
        self.upstream_mut().attempts = attempts;
        self
    }

    /// Retries errors of the provider, such as a rate limit, for this long, whatever the number of
    /// attempts. A delay that the provider requests is obeyed.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> ModelEndpoint {
        ModelEndpoint { patience: Some(patience), ..self }
    }

    /// Sets the context window in tokens.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> ModelEndpoint {
        self.about.window = Some(tokens);
        self
    }

    /// Uses another format that the upstream supports.
    ///
    /// # Errors
    /// If the upstream does not support it.
    pub fn with_wire(mut self, wire: Format) -> Result<ModelEndpoint, ModelEndpointError> {
        if !self.upstream.formats.contains(&wire) {
            let upstream = self.upstream.name.clone();
            return Err(ModelEndpointError::Format { upstream, wire: wire.name() });
        }
        self.about.wire = wire;
        Ok(self.with_model_defaults())
    }

    /// Sends every request in a session of that ID: for Foxwedge gateways.
    ///
    /// # Errors
    /// If the ID is not a valid header value.
    pub fn with_session(mut self, session: &str) -> Result<ModelEndpoint, ModelEndpointError> {
        let value = HeaderValue::from_str(session).ok().filter(|value| !value.is_empty());
        let value = value.ok_or(ModelEndpointError::Header("name of the session"))?;
        let headers = &mut self.upstream_mut().headers;
        headers.retain(|(name, _)| *name != SESSION_HEADER);
        headers.push((SESSION_HEADER, value));
        Ok(self)
    }

    /// The rules for histories that are sent to it.
    pub fn check_options(&self) -> CheckOptions {
        let profile = self.about.profile;
        CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }

    fn from_address(
        name: &str,
        wire: Format,
        base_url: Option<&str>,
        key: Option<SecretText>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        let key = match key {
            None => UpstreamKey::None,
            Some(key) if key.is_empty() || HeaderValue::from_str(key.reveal()).is_err() => {
                return Err(ModelEndpointError::Header("key"));
            }
            Some(key) => UpstreamKey::Configured(key),
        };
        let upstream = single_upstream(name, wire, base_url, key)
            .map_err(|(what, hint)| ModelEndpointError::Address { what, hint })?;
        Ok(ModelEndpoint::from_upstream(upstream, wire, model))
    }

    fn from_upstream(upstream: UpstreamConfig, wire: Format, model: &str) -> ModelEndpoint {
        let about = ModelDescription {
            name: model.into(),
            wire,
            profile: Profile::for_format(wire),
            window: None,
        };
        let client = HttpClient::new(HttpSettings::default());
        ModelEndpoint {
            client,
            upstream: Arc::new(upstream),
            repair: Some(Policy::default()),
            about,
            patience: None,
        }
        .with_model_defaults()
    }

    /// Sets the profile and the window that belong to its name and format.
    fn with_model_defaults(mut self) -> ModelEndpoint {
        self.about.profile = self.upstream.profile(self.about.wire, &self.about.name);
        if self.about.window.is_none() {
            self.about.window = models::find_model(&self.about.name).map(|known| known.window);
        }
        self
    }

    fn upstream_mut(&mut self) -> &mut UpstreamConfig {
        Arc::make_mut(&mut self.upstream)
    }

    /// The request as it is sent: streamed, unless its body asks for a whole reply.
    fn choose_streaming(&self, request: ValidRequest) -> Result<(ValidRequest, bool), ModelError> {
        let format = self.about.wire;
        if request.wire() != format {
            return Err(refused_error(format!(
                "a request in the format `{}` is not for a model that speaks `{}`",
                request.wire().name(),
                format.name()
            )));
        }
        // In the other formats the path selects streaming.
        let in_body = matches!(
            format,
            Format::OpenaiChat
                | Format::OpenaiResponses
                | Format::Anthropic
                | Format::GeminiInteractions
        );
        let source = text(request.body()).map_err(|error| refused_error(error.to_string()))?;
        let envelope =
            read_envelope(source, format).map_err(|error| refused_error(error.to_string()))?;
        match envelope.stream.filter(|_| in_body) {
            Some(stream) => Ok((request, stream)),
            None if !in_body => Ok((request, true)),
            None => {
                let rest = source.trim_start().strip_prefix('{').unwrap_or_default();
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                let body = format!("{{\"stream\":true{comma}{rest}");
                // The bytes changed, so they are validated again.
                let validated = ValidRequest::validate(body.into(), format, &self.check_options());
                validated
                    .map(|validated| (validated, true))
                    .map_err(|error| refused_error(error.to_string()))
            }
        }
    }
}

impl ChatModel for ModelEndpoint {
    fn about(&self) -> &ModelDescription {
        &self.about
    }

    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream> {
        let endpoint_request = |request: ValidRequest, stream: bool| EndpointRequest {
            client: self.client.clone(),
            upstream: self.upstream.clone(),
            repair: self.repair,
            about: self.about.clone(),
            request,
            stream,
            patience: self.patience,
        };
        Box::new(match self.choose_streaming(request.clone()) {
            Ok((request, stream)) => EndpointStream::new(endpoint_request(request, stream)),
            Err(error) => EndpointStream::failed(endpoint_request(request, true), error),
        })
    }
}

fn refused_error(message: String) -> ModelError {
    ModelError { code: "refused", message, retryable: false }
}
