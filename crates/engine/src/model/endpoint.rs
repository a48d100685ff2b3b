//! A model behind an address, or the built-in one: as a configuration's route has it, or by hand in
//! one line.

use std::sync::Arc;

use foxwedge_core::{Policy, Profile, Question, RuleSet, Wire};
use foxwedge_dialect::{envelope, text};
use foxwedge_tokens::models;
use http::{HeaderName, HeaderValue};

use super::{
    Model, ModelAbout, ModelError, Sealed, Speech,
    hearing::{Asking, Hearing},
};
use crate::{
    Secret,
    config::{Guard, Key, Reach, Route, Upstream, scripted, single},
    http::{Client, Settings},
};

/// Names the session at our own gateway.
const SESSION: HeaderName = HeaderName::from_static("x-foxwedge-session");

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    client: Client,
    route: Arc<Route>,
    about: ModelAbout,
}

/// Why there is no such model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
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

impl Endpoint {
    /// The model behind a route of a configuration, under the name that a client asks for, in the
    /// format that its upstream prefers.
    ///
    /// # Errors
    /// If the upstream is an agent, or speaks no format.
    pub fn of_route(
        client: Client,
        route: Arc<Route>,
        model: &str,
    ) -> Result<Endpoint, EndpointError> {
        let upstream = &route.upstream;
        if let Reach::Agent(_) = upstream.reach {
            return Err(EndpointError::Agent(upstream.name.clone()));
        }
        let Some(wire) = upstream.speaks.first().copied() else {
            return Err(EndpointError::Format {
                upstream: upstream.name.clone(),
                wire: "anything",
            });
        };
        let name = route.rename.as_deref().unwrap_or(model).into();
        let about = ModelAbout { name, wire, profile: Profile::of(wire), window: route.window };
        Ok(Endpoint { client, route, about }.settled())
    }

    /// A model of OpenAI, or of anybody who speaks like it.
    ///
    /// # Errors
    /// If the address is none, or the key cannot be sent.
    pub fn openai(
        base_url: &str,
        key: Option<Secret>,
        model: &str,
    ) -> Result<Endpoint, EndpointError> {
        Endpoint::single("openai", Wire::OpenaiChat, Some(base_url), key, model)
    }

    /// A model of DeepSeek.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn deepseek(key: Secret, model: &str) -> Result<Endpoint, EndpointError> {
        let url = Some("https://api.deepseek.com");
        Endpoint::single("deepseek", Wire::OpenaiChat, url, Some(key), model)
    }

    /// A model of Anthropic.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn anthropic(key: Secret, model: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::single("anthropic", Wire::Anthropic, None, Some(key), model)
    }

    /// A model of Google.
    ///
    /// # Errors
    /// If the key cannot be sent.
    pub fn gemini(key: Secret, model: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::single("gemini", Wire::Gemini, None, Some(key), model)
    }

    /// A model behind a gateway of ours, under the name that the gateway knows.
    ///
    /// # Errors
    /// If the address is none, or the token cannot be sent.
    pub fn gateway(
        base_url: &str,
        token: Option<Secret>,
        model: &str,
    ) -> Result<Endpoint, EndpointError> {
        Endpoint::single("gateway", Wire::OpenaiChat, Some(base_url), token, model)
    }

    /// A model at an address of one's own, in the format that is spoken there.
    ///
    /// # Errors
    /// If the address is none, the key cannot be sent, or nobody is asked in that format.
    pub fn at(
        wire: Wire,
        base_url: &str,
        key: Option<Secret>,
        model: &str,
    ) -> Result<Endpoint, EndpointError> {
        Endpoint::single(wire.name(), wire, Some(base_url), key, model)
    }

    /// The built-in model, which needs no network. Its name may carry faults, such as
    /// `scripted?cut=3`.
    pub fn scripted(model: &str) -> Endpoint {
        Endpoint::scripted_as(Wire::OpenaiChat, model)
    }

    /// The same in any format; the format decides whose rules it judges by, too.
    pub fn scripted_as(wire: Wire, model: &str) -> Endpoint {
        Endpoint::of(scripted(wire), wire, model)
    }

    /// The same, with the connections of that client.
    #[must_use]
    pub fn with_client(self, client: Client) -> Endpoint {
        Endpoint { client, ..self }
    }

    /// The same, asked so often in all before passing trouble is believed to stay.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Endpoint {
        self.upstream_mut().tries = tries;
        self
    }

    /// The same, with a window of so many tokens.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Endpoint {
        self.about.window = Some(tokens);
        self
    }

    /// The same, asked in another format that its upstream speaks.
    ///
    /// # Errors
    /// If it does not speak it.
    pub fn with_wire(mut self, wire: Wire) -> Result<Endpoint, EndpointError> {
        if !self.route.upstream.speaks.contains(&wire) {
            let upstream = self.route.upstream.name.clone();
            return Err(EndpointError::Format { upstream, wire: wire.name() });
        }
        self.about.wire = wire;
        Ok(self.settled())
    }

    /// The same, with every request in a session of that name: for gateways of ours.
    ///
    /// # Errors
    /// If the name cannot be sent.
    pub fn with_session(mut self, session: &str) -> Result<Endpoint, EndpointError> {
        let value = HeaderValue::from_str(session).ok().filter(|value| !value.is_empty());
        let value = value.ok_or(EndpointError::Header("name of the session"))?;
        let headers = &mut self.upstream_mut().headers;
        headers.retain(|(name, _)| *name != SESSION);
        headers.push((SESSION, value));
        Ok(self)
    }

    /// What a history has to obey to be sent to it.
    pub fn question(&self) -> Question {
        let profile = self.about.profile;
        Question { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }

    fn single(
        name: &str,
        wire: Wire,
        base_url: Option<&str>,
        key: Option<Secret>,
        model: &str,
    ) -> Result<Endpoint, EndpointError> {
        let key = match key {
            None => Key::None,
            Some(key) if key.is_empty() || HeaderValue::from_str(key.reveal()).is_err() => {
                return Err(EndpointError::Header("key"));
            }
            Some(key) => Key::Ours(key),
        };
        let upstream = single(name, wire, base_url, key)
            .map_err(|(what, hint)| EndpointError::Address { what, hint })?;
        Ok(Endpoint::of(upstream, wire, model))
    }

    fn of(upstream: Upstream, wire: Wire, model: &str) -> Endpoint {
        let route = Route {
            model: model.into(),
            upstream: Arc::new(upstream),
            rename: None,
            guard: Guard::default(),
            window: None,
        };
        let about =
            ModelAbout { name: model.into(), wire, profile: Profile::of(wire), window: None };
        let client = Client::new(Settings::default());
        Endpoint { client, route: Arc::new(route), about }.settled()
    }

    /// With the rules and the window that belong to its name and format.
    fn settled(mut self) -> Endpoint {
        let (upstream, wire) = (&self.route.upstream, self.about.wire);
        let profile = upstream.profile.or_else(|| by_name(upstream, wire, &self.about.name));
        self.about.profile = profile.unwrap_or(Profile::of(wire));
        if upstream.profile.is_none() && profile.is_some() {
            // Whoever repairs looks there.
            self.upstream_mut().profile = profile;
        }
        if self.about.window.is_none() {
            self.about.window = models::find(&self.about.name).map(|known| known.window);
        }
        self
    }

    fn upstream_mut(&mut self) -> &mut Upstream {
        Arc::make_mut(&mut Arc::make_mut(&mut self.route).upstream)
    }

    /// The request as it is sent: in pieces, unless it says that it wants the reply in one.
    fn streaming(&self, request: Sealed) -> Result<(Sealed, bool), ModelError> {
        let wire = self.about.wire;
        if request.wire() != wire {
            return Err(unfit(format!(
                "a request in the format `{}` is not for a model that speaks `{}`",
                request.wire().name(),
                wire.name()
            )));
        }
        // Elsewhere the address says so.
        let says = matches!(wire, Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic);
        let source = text(request.body()).map_err(|error| unfit(error.to_string()))?;
        let around = envelope(source, wire).map_err(|error| unfit(error.to_string()))?;
        match around.stream.filter(|_| says) {
            Some(stream) => Ok((request, stream)),
            None if !says => Ok((request, true)),
            None => {
                let rest = source.trim_start().strip_prefix('{').unwrap_or_default();
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                let body = format!("{{\"stream\":true{comma}{rest}");
                // The proof was about other bytes.
                let sealed = Sealed::seal(body.into(), wire, &self.question());
                sealed.map(|sealed| (sealed, true)).map_err(|error| unfit(error.to_string()))
            }
        }
    }
}

impl Model for Endpoint {
    fn about(&self) -> &ModelAbout {
        &self.about
    }

    fn ask(&self, request: Sealed) -> Box<dyn Speech> {
        let asking = |request: Sealed, stream: bool| Asking {
            client: self.client.clone(),
            route: self.route.clone(),
            about: self.about.clone(),
            request,
            stream,
        };
        Box::new(match self.streaming(request.clone()) {
            Ok((request, stream)) => Hearing::new(asking(request, stream)),
            Err(error) => Hearing::failed(asking(request, true), error),
        })
    }
}

/// Whose rules hold where nobody says so: providers who speak like OpenAI and judge otherwise are
/// known by their hosts and the names of their models.
fn by_name(upstream: &Upstream, wire: Wire, model: &str) -> Option<Profile> {
    let host = match &upstream.reach {
        Reach::Network(target) => &*target.host,
        Reach::Scripted | Reach::Agent(_) => "",
    };
    let named = |name: &str| model.to_ascii_lowercase().contains(name) || host.contains(name);
    match wire {
        Wire::OpenaiChat if named("deepseek") => Some(Profile::Deepseek),
        Wire::OpenaiChat if named("mistral") => Some(Profile::Mistral),
        Wire::OpenaiChat
        | Wire::OpenaiResponses
        | Wire::Anthropic
        | Wire::Gemini
        | Wire::Bedrock => None,
    }
}

fn unfit(message: String) -> ModelError {
    ModelError { code: "refused", message, passing: false }
}
