//! Selects the model and its endpoint. `setup` builds the model from this choice.

use std::sync::Arc;

use foxwedge_core::nearest_name;
use foxwedge_gateway::config::{ConfigEnvironment, LoadedConfig, ModelRoute};
use foxwedge_upstream::{SecretText, UpstreamTransport};

use crate::ChatApi;
use foxwedge_local::output::{HelpfulError, clean, cut};

/// The name of the built-in model.
pub(crate) const SCRIPTED_MODEL: &str = "scripted";

/// Where model names are looked up.
pub(crate) enum ModelLookup {
    /// At one endpoint.
    Direct(DirectEndpoint),
    /// In the routes of a configuration, or in the default routes for API keys in the environment.
    Routes(Box<LoadedConfig>),
}

/// One endpoint.
#[derive(Clone, Debug)]
pub(crate) struct DirectEndpoint {
    pub(crate) api: ChatApi,
    /// The base URL; `None` for the default of the API.
    pub(crate) url: Option<String>,
    pub(crate) key: Option<SecretText>,
}

/// A model and how to reach it.
#[derive(Clone, Debug)]
pub(crate) enum ModelChoice {
    /// At an endpoint.
    Direct { direct: DirectEndpoint, model: String },
    /// Through a route.
    Route { route: Arc<ModelRoute>, model: String },
}

impl ModelChoice {
    /// Whether it is the built-in model.
    pub(crate) fn is_scripted(&self) -> bool {
        match self {
            ModelChoice::Direct { direct, .. } => direct.api == ChatApi::Scripted,
            ModelChoice::Route { route, .. } => {
                matches!(route.upstream.transport, UpstreamTransport::Scripted)
            }
        }
    }
}

/// Flags that select an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndpointFlags<'a> {
    pub(crate) api: Option<ChatApi>,
    pub(crate) upstream: Option<&'a str>,
    pub(crate) key_env: Option<&'a str>,
}

/// The endpoint that the flags select; `None` if the configuration decides.
pub(crate) fn direct_endpoint(
    flags: EndpointFlags<'_>,
    environment: &dyn ConfigEnvironment,
) -> Result<Option<DirectEndpoint>, HelpfulError> {
    let url = flags.upstream.filter(|upstream| upstream.contains("://"));
    let api = match (flags.api, url, flags.upstream) {
        (Some(api), _, None) => api,
        (Some(api), Some(_), _) => api,
        (Some(_), None, Some(name)) => {
            let name = clean(&cut(name, 80));
            return Err(HelpfulError::new(format!("`{name}` is not a URL"))
                .help("--api needs a URL: `--upstream https://…`"));
        }
        (None, Some(url), _) => api_of_host(url).unwrap_or(ChatApi::Openai),
        (None, None, _) if flags.key_env.is_some() => {
            return Err(HelpfulError::new("--key-env needs --api or --upstream")
                .help("add `--api anthropic`, or `--upstream https://…`"));
        }
        (None, None, _) => return Ok(None),
    };
    if api == ChatApi::Scripted && url.is_some() {
        return Err(HelpfulError::new("the scripted model has no URL").help("remove --upstream"));
    }
    let key = find_key(api, url, flags.key_env, environment)?;
    Ok(Some(DirectEndpoint { api, url: url.map(str::to_owned), key }))
}

/// The key for an endpoint. A key from a default variable is sent only to its own provider.
fn find_key(
    api: ChatApi,
    url: Option<&str>,
    variable: Option<&str>,
    environment: &dyn ConfigEnvironment,
) -> Result<Option<SecretText>, HelpfulError> {
    if let Some(name) = variable {
        let shown = clean(&cut(name, 80));
        return match read_key_variable(name, environment) {
            Some(key) => Ok(Some(key)),
            None => {
                Err(HelpfulError::new(format!("the environment variable `{shown}` holds no key"))
                    .help(format!("`export {shown}=…`; keys are not accepted as arguments")))
            }
        };
    }
    let names = key_variables(api);
    let found = names.iter().find_map(|name| read_key_variable(name, environment));
    let own_host = url.is_none_or(|url| api_of_host(url) == Some(api)) || api == ChatApi::Gateway;
    match (found, own_host, url) {
        (_, _, None) if api == ChatApi::Scripted => Ok(None),
        (Some(key), true, _) => Ok(Some(key)),
        (_, false, _) | (None, true, Some(_)) => Ok(None),
        (None, true, None) if api == ChatApi::Gateway => Ok(None),
        (None, true, None) => {
            let name = names.first().copied().unwrap_or("VARIABLE");
            Err(HelpfulError::new(format!("no API key is set for {}", api.name()))
                .help(format!("set `{name}`, or name another variable with `--key-env`")))
        }
    }
}

/// Default environment variables for a key, in order of precedence.
fn key_variables(api: ChatApi) -> &'static [&'static str] {
    match api {
        ChatApi::Openai => &["OPENAI_API_KEY"],
        ChatApi::Anthropic => &["ANTHROPIC_API_KEY"],
        ChatApi::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        ChatApi::Deepseek => &["DEEPSEEK_API_KEY"],
        ChatApi::Gateway => &["FOXWEDGE_TOKEN"],
        ChatApi::Scripted => &[],
    }
}

fn read_key_variable(name: &str, environment: &dyn ConfigEnvironment) -> Option<SecretText> {
    let key = environment.variable(name)?.into_string().ok()?;
    Some(SecretText::new(key.trim())).filter(|key| !key.is_empty())
}

/// The model to use if only a key is set. Others are selected with `--model`.
fn default_model(api: ChatApi) -> Option<&'static str> {
    match api {
        ChatApi::Openai => Some("gpt-5"),
        ChatApi::Anthropic => Some("claude-sonnet-4-5"),
        ChatApi::Gemini => Some("gemini-2.5-flash"),
        ChatApi::Deepseek => Some("deepseek-chat"),
        ChatApi::Scripted => Some(SCRIPTED_MODEL),
        ChatApi::Gateway => None,
    }
}

/// The API of a URL, if its host belongs to a provider.
fn api_of_host(url: &str) -> Option<ChatApi> {
    let host = url.split('/').nth(2)?.to_ascii_lowercase();
    Some(match host.as_str() {
        "api.openai.com" => ChatApi::Openai,
        "api.anthropic.com" => ChatApi::Anthropic,
        "generativelanguage.googleapis.com" => ChatApi::Gemini,
        "api.deepseek.com" => ChatApi::Deepseek,
        _ => return None,
    })
}

impl ModelLookup {
    /// The model with this name; the default one without a name.
    pub(crate) fn choose(
        &self,
        name: Option<&str>,
        environment: &dyn ConfigEnvironment,
    ) -> Result<ModelChoice, HelpfulError> {
        if let Some(name) = name
            && !is_name(name)
        {
            let shown = clean(&cut(name, 80));
            return Err(HelpfulError::new(format!("`{shown}` is not a valid model name"))
                .help("a model name is printable ASCII without spaces"));
        }
        match (self, name) {
            (ModelLookup::Direct(direct), Some(name)) => {
                Ok(ModelChoice::Direct { direct: direct.clone(), model: name.to_owned() })
            }
            (ModelLookup::Direct(direct), None) => {
                // Another server than the provider's own has models of its own.
                let own = direct.url.as_deref().is_none_or(|url| api_of_host(url).is_some());
                match default_model(direct.api).filter(|_| own) {
                    Some(model) => {
                        Ok(ModelChoice::Direct { direct: direct.clone(), model: model.to_owned() })
                    }
                    None => Err(HelpfulError::new("no model is selected").help(format!(
                        "select a model of {} with `--model NAME`",
                        direct.api.name()
                    ))),
                }
            }
            (ModelLookup::Routes(loaded), Some(name)) => choose_by_route(loaded, name, environment),
            (ModelLookup::Routes(loaded), None) => choose_default(loaded, environment),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn choose_by_route(
    loaded: &LoadedConfig,
    name: &str,
    environment: &dyn ConfigEnvironment,
) -> Result<ModelChoice, HelpfulError> {
    let route = loaded.config.route(name);
    // Without any key, every name routes to the scripted model. That is an error for other names.
    let is_fallback = |route: &Arc<ModelRoute>| {
        let scripted = matches!(route.upstream.transport, UpstreamTransport::Scripted);
        scripted
            && &*route.model == "*"
            && loaded.file.is_none()
            && !name.starts_with(SCRIPTED_MODEL)
    };
    match route {
        Some(route) if matches!(route.upstream.transport, UpstreamTransport::Agent) => Err(
            HelpfulError::new(format!("`{name}` is routed to an agent, which has its own loop"))
                .help("choose a model; agents are available through `foxwedge serve`"),
        ),
        Some(route) if !is_fallback(&route) => {
            Ok(ModelChoice::Route { route, model: name.to_owned() })
        }
        Some(_) | None => match deepseek_by_key(name, environment) {
            Some(direct) => Ok(ModelChoice::Direct { direct, model: name.to_owned() }),
            None => Err(no_route_error(loaded, name)),
        },
    }
}

/// DeepSeek, if its key is set: the configuration has no default upstream for it.
fn deepseek_by_key(name: &str, environment: &dyn ConfigEnvironment) -> Option<DirectEndpoint> {
    let key = read_key_variable("DEEPSEEK_API_KEY", environment)
        .filter(|_| name.starts_with("deepseek"))?;
    Some(DirectEndpoint { api: ChatApi::Deepseek, url: None, key: Some(key) })
}

fn no_route_error(loaded: &LoadedConfig, name: &str) -> HelpfulError {
    let prefixes = [
        ("claude", ChatApi::Anthropic),
        ("gemini", ChatApi::Gemini),
        ("deepseek", ChatApi::Deepseek),
        ("gpt", ChatApi::Openai),
        ("chatgpt", ChatApi::Openai),
        ("codex", ChatApi::Openai),
        ("o1", ChatApi::Openai),
        ("o3", ChatApi::Openai),
        ("o4", ChatApi::Openai),
    ];
    let provider = prefixes.iter().find(|(prefix, _)| name.starts_with(prefix));
    let known = loaded.config.models();
    let error = HelpfulError::new(format!("no provider is configured for `{name}`"));
    match (provider, nearest_name(name, known.iter().copied())) {
        (Some((_, api)), _) if loaded.file.is_none() => {
            let variable = key_variables(*api).first().copied().unwrap_or("VARIABLE");
            error.help(format!(
                "set `{variable}` to use {}, or `--upstream https://…` for another endpoint",
                api.name()
            ))
        }
        (_, Some(near)) => error.help(format!("did you mean `{near}`?")),
        (_, None) => error.help(
            "add `--upstream https://… --api openai`, or a `[[route]]` in the \
             configuration",
        ),
    }
}

/// The model of the first route for a single name; otherwise the default model of the first provider
/// that has a key; the scripted model if no provider is configured.
fn choose_default(
    loaded: &LoadedConfig,
    environment: &dyn ConfigEnvironment,
) -> Result<ModelChoice, HelpfulError> {
    let config = &loaded.config;
    let is_network = |route: &&Arc<ModelRoute>| {
        matches!(route.upstream.transport, UpstreamTransport::Network(_))
    };
    let named = config.routes.iter().filter(is_network).find(|route| !route.model.ends_with('*'));
    if let Some(route) = named {
        return Ok(ModelChoice::Route { route: Arc::clone(route), model: route.model.to_string() });
    }
    let with_keys = [ChatApi::Anthropic, ChatApi::Openai, ChatApi::Gemini, ChatApi::Deepseek]
        .into_iter()
        .filter(|api| {
            key_variables(*api).iter().any(|name| read_key_variable(name, environment).is_some())
        });
    for model in with_keys.filter_map(default_model) {
        if let Ok(choice) = choose_by_route(loaded, model, environment) {
            return Ok(choice);
        }
    }
    let patterns: Vec<&str> =
        config.routes.iter().filter(is_network).map(|route| &*route.model).collect();
    if !patterns.is_empty() {
        return Err(HelpfulError::new("no model is selected").help(format!(
            "select one with `--model NAME`; configured are {}",
            patterns.join(", ")
        )));
    }
    match config.route(SCRIPTED_MODEL) {
        Some(route) => Ok(ModelChoice::Route { route, model: SCRIPTED_MODEL.to_owned() }),
        None => {
            Err(HelpfulError::new("no model is selected").help("select one with `--model NAME`"))
        }
    }
}

#[cfg(test)]
mod tests;
