//! A model behind an address, or the built-in one: as a configuration's route has it, or by hand in
//! one line.

use std::sync::Arc;

use foxwedge_core::{CheckOptions, Format, Policy, Profile, RuleSet};
use foxwedge_dialect::{read_envelope, text};
use foxwedge_tokens::models;
use http::{HeaderName, HeaderValue};

use super::{
    ChatModel, ModelDescription, ModelError, ReplyStream, ValidRequest,
    endpoint_stream::{EndpointRequest, EndpointStream},
};
use crate::{
    SecretText,
    config::{
        GuardConfig, ModelRoute, UpstreamConfig, UpstreamKey, UpstreamTransport, builtin_upstream,
        single_upstream,
    },
    http::{HttpClient, HttpSettings},
};

/// Names the session at our own gateway.
const SESSION_HEADER: HeaderName = HeaderName::from_static("x-foxwedge-session");

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    client: HttpClient,
    route: Arc<ModelRoute>,
    about: ModelDescription,
}

/// Why there is no such model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelEndpointError {
    /// The upstream is an agent.
    #[error("`{0}` is an agent that runs its own tools, not a model")]
    Agent(Arc<str>),
    /// The upstream does not speak a format.
    #[error("`{upstream}` does not speak `{wire}`")]
    Format {
        /// The upstream.
        upstream: Arc<str>,
        /// The format.
        wire: &'static str,
    },
    /// The address is none.
    #[error("the address of the model cannot be used: {what}")]
    Address {
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The key or the session's name cannot be sent.
    #[error("the {0} cannot be sent: it is empty, or holds what no header can hold")]
    Header(&'static str),
}

impl ModelEndpoint {
    /// The model behind a route of a configuration, under the name that a client asks for, in the
    /// format that its upstream prefers.
    ///
    /// # Errors
    /// If the upstream is an agent, or speaks no format.
    pub fn from_route(
        client: HttpClient,
        route: Arc<ModelRoute>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        let upstream = &route.upstream;
        if let UpstreamTransport::Agent(_) = upstream.transport {
            return Err(ModelEndpointError::Agent(upstream.name.clone()));
        }
        let Some(wire) = upstream.speaks.first().copied() else {
            return Err(ModelEndpointError::Format {
                upstream: upstream.name.clone(),
                wire: "anything",
            });
        };
        let name = route.rename.as_deref().unwrap_or(model).into();
        let about = ModelDescription {
            name,
            wire,
            profile: Profile::for_format(wire),
            window: route.window,
        };
        Ok(ModelEndpoint { client, route, about }.with_model_defaults())
    }

    /// A model of OpenAI, or of anybody who speaks like it.
    ///
    /// # Errors
    /// If the address is none, or the key cannot be sent.
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

    /// A model behind a gateway of ours, under the name that the gateway knows.
    ///
    /// # Errors
    /// If the address is none, or the token cannot be sent.
    pub fn gateway(
        base_url: &str,
        token: Option<SecretText>,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        ModelEndpoint::from_address("gateway", Format::OpenaiChat, Some(base_url), token, model)
    }

    /// A model at an address of one's own, in the format that is spoken there.
    ///
    /// # Errors
    /// If the address is none, the key cannot be sent, or nobody is asked in that format.
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

    /// The same in any format; the format decides whose rules it judges by, too.
    pub fn scripted_in(wire: Format, model: &str) -> ModelEndpoint {
        ModelEndpoint::from_upstream(builtin_upstream(wire), wire, model)
    }

    /// The same, with the connections of that client.
    #[must_use]
    pub fn with_client(self, client: HttpClient) -> ModelEndpoint {
        ModelEndpoint { client, ..self }
    }

    /// The same, asked so often in all before passing trouble is believed to stay.
    #[must_use]
    pub fn with_attempts(mut self, tries: u32) -> ModelEndpoint {
        self.upstream_mut().tries = tries;
        self
    }

    /// The same, with a window of so many tokens.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> ModelEndpoint {
        self.about.window = Some(tokens);
        self
    }

    /// The same, asked in another format that its upstream speaks.
    ///
    /// # Errors
    /// If it does not speak it.
    pub fn with_wire(mut self, wire: Format) -> Result<ModelEndpoint, ModelEndpointError> {
        if !self.route.upstream.speaks.contains(&wire) {
            let upstream = self.route.upstream.name.clone();
            return Err(ModelEndpointError::Format { upstream, wire: wire.name() });
        }
        self.about.wire = wire;
        Ok(self.with_model_defaults())
    }

    /// The same, with every request in a session of that name: for gateways of ours.
    ///
    /// # Errors
    /// If the name cannot be sent.
    pub fn with_session(mut self, session: &str) -> Result<ModelEndpoint, ModelEndpointError> {
        let value = HeaderValue::from_str(session).ok().filter(|value| !value.is_empty());
        let value = value.ok_or(ModelEndpointError::Header("name of the session"))?;
        let headers = &mut self.upstream_mut().headers;
        headers.retain(|(name, _)| *name != SESSION_HEADER);
        headers.push((SESSION_HEADER, value));
        Ok(self)
    }

    /// What a history has to obey to be sent to it.
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
        let route = ModelRoute {
            model: model.into(),
            upstream: Arc::new(upstream),
            rename: None,
            guard: GuardConfig::default(),
            window: None,
        };
        let about = ModelDescription {
            name: model.into(),
            wire,
            profile: Profile::for_format(wire),
            window: None,
        };
        let client = HttpClient::new(HttpSettings::default());
        ModelEndpoint { client, route: Arc::new(route), about }.with_model_defaults()
    }

    /// With the rules and the window that belong to its name and format.
    fn with_model_defaults(mut self) -> ModelEndpoint {
        let (upstream, wire) = (&self.route.upstream, self.about.wire);
        let profile =
            upstream.profile.or_else(|| profile_by_name(upstream, wire, &self.about.name));
        self.about.profile = profile.unwrap_or(Profile::for_format(wire));
        if upstream.profile.is_none() && profile.is_some() {
            // Whoever repairs looks there.
            self.upstream_mut().profile = profile;
        }
        if self.about.window.is_none() {
            self.about.window = models::find_model(&self.about.name).map(|known| known.window);
        }
        self
    }

    fn upstream_mut(&mut self) -> &mut UpstreamConfig {
        Arc::make_mut(&mut Arc::make_mut(&mut self.route).upstream)
    }

    /// The request as it is sent: in pieces, unless it says that it wants the reply in one.
    fn choose_streaming(&self, request: ValidRequest) -> Result<(ValidRequest, bool), ModelError> {
        let wire = self.about.wire;
        if request.wire() != wire {
            return Err(refused_error(format!(
                "a request in the format `{}` is not for a model that speaks `{}`",
                request.wire().name(),
                wire.name()
            )));
        }
        // Elsewhere the address says so.
        let says = matches!(wire, Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic);
        let source = text(request.body()).map_err(|error| refused_error(error.to_string()))?;
        let around =
            read_envelope(source, wire).map_err(|error| refused_error(error.to_string()))?;
        match around.stream.filter(|_| says) {
            Some(stream) => Ok((request, stream)),
            None if !says => Ok((request, true)),
            None => {
                let rest = source.trim_start().strip_prefix('{').unwrap_or_default();
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                let body = format!("{{\"stream\":true{comma}{rest}");
                // The proof was about other bytes.
                let sealed = ValidRequest::validate(body.into(), wire, &self.check_options());
                sealed
                    .map(|sealed| (sealed, true))
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
        let asking = |request: ValidRequest, stream: bool| EndpointRequest {
            client: self.client.clone(),
            route: self.route.clone(),
            about: self.about.clone(),
            request,
            stream,
        };
        Box::new(match self.choose_streaming(request.clone()) {
            Ok((request, stream)) => EndpointStream::new(asking(request, stream)),
            Err(error) => EndpointStream::failed(asking(request, true), error),
        })
    }
}

/// Whose rules hold where nobody says so: providers who speak like OpenAI and judge otherwise are
/// known by their hosts and the names of their models.
fn profile_by_name(upstream: &UpstreamConfig, wire: Format, model: &str) -> Option<Profile> {
    let host = match &upstream.transport {
        UpstreamTransport::Network(target) => &*target.host,
        UpstreamTransport::Scripted | UpstreamTransport::Agent(_) => "",
    };
    let named = |name: &str| model.to_ascii_lowercase().contains(name) || host.contains(name);
    match wire {
        Format::OpenaiChat if named("deepseek") => Some(Profile::Deepseek),
        Format::OpenaiChat if named("mistral") => Some(Profile::Mistral),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Anthropic
        | Format::Gemini
        | Format::Bedrock => None,
    }
}

fn refused_error(message: String) -> ModelError {
    ModelError { code: "refused", message, retryable: false }
}
