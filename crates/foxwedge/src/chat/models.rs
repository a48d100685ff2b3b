//! Which model is asked, and how it is reached. Decides; `world` makes it.

use std::sync::Arc;

use foxwedge_gateway::config::{ConfigEnvironment, LoadedConfig, ModelRoute};
use foxwedge_upstream::{SecretText, UpstreamTransport};

use crate::{
    cli::ChatApi,
    cli_output::{CliError, clean, cut},
    nearest::nearest,
};

/// The name of the built-in model.
pub(crate) const SCRIPTED_MODEL: &str = "scripted";

/// Where models are looked up.
pub(crate) enum ModelLookup {
    /// At one address.
    Direct(DirectEndpoint),
    /// In the routes of a configuration, or in what the keys of the environment lead to.
    Routes(Box<LoadedConfig>),
}

/// One address.
#[derive(Clone, Debug)]
pub(crate) struct DirectEndpoint {
    pub(crate) api: ChatApi,
    /// The address; `None` means the usual one.
    pub(crate) url: Option<String>,
    pub(crate) key: Option<SecretText>,
}

/// A model that is to be asked.
#[derive(Clone, Debug)]
pub(crate) enum ModelChoice {
    /// At an address.
    Direct { direct: DirectEndpoint, model: String },
    /// By a route.
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

/// What was typed about an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndpointFlags<'a> {
    pub(crate) api: Option<ChatApi>,
    pub(crate) upstream: Option<&'a str>,
    pub(crate) key_env: Option<&'a str>,
}

/// The address that is meant; `None` if a configuration decides.
pub(crate) fn direct_endpoint(
    typed: EndpointFlags<'_>,
    world: &dyn ConfigEnvironment,
) -> Result<Option<DirectEndpoint>, CliError> {
    let url = typed.upstream.filter(|upstream| upstream.contains("://"));
    let api = match (typed.api, url, typed.upstream) {
        (Some(api), _, None) => api,
        (Some(api), Some(_), _) => api,
        (Some(_), None, Some(name)) => {
            let name = clean(&cut(name, 80));
            return Err(CliError::new(format!("`{name}` is no address"))
                .help("--api goes with an address: `--upstream https://…`"));
        }
        (None, Some(url), _) => api_of_host(url).unwrap_or(ChatApi::Openai),
        (None, None, _) if typed.key_env.is_some() => {
            return Err(CliError::new("--key-env needs somebody to show the key to")
                .help("add `--api anthropic`, or `--upstream https://…`"));
        }
        (None, None, _) => return Ok(None),
    };
    if api == ChatApi::Scripted && url.is_some() {
        return Err(CliError::new("the scripted model has no address").help("leave --upstream out"));
    }
    let key = find_key(api, url, typed.key_env, world)?;
    Ok(Some(DirectEndpoint { api, url: url.map(str::to_owned), key }))
}

/// The key that is shown to an address. A usual one is shown to its own provider only.
fn find_key(
    api: ChatApi,
    url: Option<&str>,
    named: Option<&str>,
    world: &dyn ConfigEnvironment,
) -> Result<Option<SecretText>, CliError> {
    if let Some(name) = named {
        let shown = clean(&cut(name, 80));
        return match read_key_variable(name, world) {
            Some(key) => Ok(Some(key)),
            None => Err(CliError::new(format!("the variable `{shown}` holds no key"))
                .help(format!("`export {shown}=…`; a key is never typed on the command line"))),
        };
    }
    let names = key_variables(api);
    let found = names.iter().find_map(|name| read_key_variable(name, world));
    let at_home = url.is_none_or(|url| api_of_host(url) == Some(api)) || api == ChatApi::Gateway;
    match (found, at_home, url) {
        (_, _, None) if api == ChatApi::Scripted => Ok(None),
        (Some(key), true, _) => Ok(Some(key)),
        (_, false, _) | (None, true, Some(_)) => Ok(None),
        (None, true, None) if api == ChatApi::Gateway => Ok(None),
        (None, true, None) => {
            let name = names.first().copied().unwrap_or("VARIABLE");
            Err(CliError::new(format!("there is no key for {}", api.name()))
                .help(format!("`export {name}=…`, or `--key-env` and the variable that holds it")))
        }
    }
}

/// Variables in which a key usually lies, the strongest first.
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

fn read_key_variable(name: &str, world: &dyn ConfigEnvironment) -> Option<SecretText> {
    let key = world.variable(name)?.into_string().ok()?;
    Some(SecretText::new(key.trim())).filter(|key| !key.is_empty())
}

/// Whose address it is, if it is a provider's own.
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
    /// The model of a name; the usual one without.
    pub(crate) fn choose(
        &self,
        name: Option<&str>,
        world: &dyn ConfigEnvironment,
    ) -> Result<ModelChoice, CliError> {
        if let Some(name) = name
            && !is_name(name)
        {
            let shown = clean(&cut(name, 80));
            return Err(CliError::new(format!("`{shown}` is no name of a model"))
                .help("a name has letters, digits and signs, and no spaces"));
        }
        match (self, name) {
            (ModelLookup::Direct(direct), Some(name)) => {
                Ok(ModelChoice::Direct { direct: direct.clone(), model: name.to_owned() })
            }
            (ModelLookup::Direct(direct), None) if direct.api == ChatApi::Scripted => {
                Ok(ModelChoice::Direct { direct: direct.clone(), model: SCRIPTED_MODEL.to_owned() })
            }
            (ModelLookup::Direct(direct), None) => Err(CliError::new("which model?")
                .help(format!("{} has many: `--model NAME` names one", direct.api.name()))),
            (ModelLookup::Routes(loaded), Some(name)) => choose_by_route(loaded, name, world),
            (ModelLookup::Routes(loaded), None) => choose_default(loaded, world),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn choose_by_route(
    loaded: &LoadedConfig,
    name: &str,
    world: &dyn ConfigEnvironment,
) -> Result<ModelChoice, CliError> {
    let route = loaded.config.route(name);
    // Without any key every name leads to the built-in model; nobody who names another means that.
    let astray = |route: &Arc<ModelRoute>| {
        let scripted = matches!(route.upstream.transport, UpstreamTransport::Scripted);
        scripted
            && &*route.model == "*"
            && loaded.file.is_none()
            && !name.starts_with(SCRIPTED_MODEL)
    };
    match route {
        Some(route) if matches!(route.upstream.transport, UpstreamTransport::Agent) => {
            Err(CliError::new(format!("`{name}` leads to an agent, which has its own loop"))
                .help("name a model; an agent is reached through `foxwedge serve`"))
        }
        Some(route) if !astray(&route) => Ok(ModelChoice::Route { route, model: name.to_owned() }),
        Some(_) | None => match deepseek_by_key(name, world) {
            Some(direct) => Ok(ModelChoice::Direct { direct, model: name.to_owned() }),
            None => Err(no_route_error(loaded, name)),
        },
    }
}

/// DeepSeek by its key: the configuration knows no such upstream by itself.
fn deepseek_by_key(name: &str, world: &dyn ConfigEnvironment) -> Option<DirectEndpoint> {
    let key =
        read_key_variable("DEEPSEEK_API_KEY", world).filter(|_| name.starts_with("deepseek"))?;
    Some(DirectEndpoint { api: ChatApi::Deepseek, url: None, key: Some(key) })
}

fn no_route_error(loaded: &LoadedConfig, name: &str) -> CliError {
    let beginnings = [
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
    let whose = beginnings.iter().find(|(beginning, _)| name.starts_with(beginning));
    let known = loaded.config.models();
    let trouble = CliError::new(format!("nothing leads to the model `{name}`"));
    match (whose, nearest(name, known.iter().copied())) {
        (Some((_, api)), _) if loaded.file.is_none() => {
            let variable = key_variables(*api).first().copied().unwrap_or("VARIABLE");
            trouble.help(format!(
                "`export {variable}=…` leads to {}; `--upstream https://…` leads elsewhere",
                api.name()
            ))
        }
        (_, Some(near)) => trouble.help(format!("did you mean `{near}`?")),
        (_, None) => trouble.help(
            "say who has it: `--upstream https://… --api openai`, or a `[[route]]` in the \
             configuration",
        ),
    }
}

/// What the configuration says; the built-in model if it says nothing at all.
fn choose_default(
    loaded: &LoadedConfig,
    world: &dyn ConfigEnvironment,
) -> Result<ModelChoice, CliError> {
    let config = &loaded.config;
    let named = config.routes.iter().find(|route| {
        let far = matches!(route.upstream.transport, UpstreamTransport::Network(_));
        far && !route.model.ends_with('*')
    });
    if let Some(route) = named {
        return Ok(ModelChoice::Route { route: Arc::clone(route), model: route.model.to_string() });
    }
    let far = |route: &&Arc<ModelRoute>| {
        matches!(route.upstream.transport, UpstreamTransport::Network(_))
    };
    let patterns: Vec<&str> = config.routes.iter().filter(far).map(|route| &*route.model).collect();
    if !patterns.is_empty() {
        return Err(CliError::new("which model?").help(format!(
            "`--model NAME` names one; what is known leads to {}",
            patterns.join(", ")
        )));
    }
    if read_key_variable("DEEPSEEK_API_KEY", world).is_some() {
        return Err(CliError::new("which model?").help("`--model deepseek-…` names one"));
    }
    match config.route(SCRIPTED_MODEL) {
        Some(route) => Ok(ModelChoice::Route { route, model: SCRIPTED_MODEL.to_owned() }),
        None => Err(CliError::new("which model?").help("`--model NAME` names one")),
    }
}

#[cfg(test)]
mod tests;
