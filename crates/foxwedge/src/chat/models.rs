//! Which model is asked, and how it is reached. Decides; `world` makes it.

use std::sync::Arc;

use foxwedge_engine::{
    Secret,
    config::{Loaded, Reach, Route, World},
};

use crate::{
    cli::Api,
    nearest::nearest,
    say::{Trouble, clean, cut},
};

/// The name of the built-in model.
pub(crate) const SCRIPTED: &str = "scripted";

/// Where models are looked up.
pub(crate) enum Models {
    /// At one address.
    Direct(Direct),
    /// In the routes of a configuration, or in what the keys of the environment lead to.
    Routes(Box<Loaded>),
}

/// One address.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) api: Api,
    /// The address; `None` means the usual one.
    pub(crate) url: Option<String>,
    pub(crate) key: Option<Secret>,
}

/// A model that is to be asked.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// At an address.
    Direct { direct: Direct, model: String },
    /// By a route.
    Route { route: Arc<Route>, model: String },
}

impl Choice {
    /// Whether it is the built-in model.
    pub(crate) fn is_scripted(&self) -> bool {
        match self {
            Choice::Direct { direct, .. } => direct.api == Api::Scripted,
            Choice::Route { route, .. } => matches!(route.upstream.reach, Reach::Scripted),
        }
    }
}

/// What was typed about an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Typed<'a> {
    pub(crate) api: Option<Api>,
    pub(crate) upstream: Option<&'a str>,
    pub(crate) key_env: Option<&'a str>,
}

/// The address that is meant; `None` if a configuration decides.
pub(crate) fn direct(typed: Typed<'_>, world: &dyn World) -> Result<Option<Direct>, Trouble> {
    let url = typed.upstream.filter(|upstream| upstream.contains("://"));
    let api = match (typed.api, url, typed.upstream) {
        (Some(api), _, None) => api,
        (Some(api), Some(_), _) => api,
        (Some(_), None, Some(name)) => {
            let name = clean(&cut(name, 80));
            return Err(Trouble::new(format!("`{name}` is no address"))
                .help("--api goes with an address: `--upstream https://…`"));
        }
        (None, Some(url), _) => of_host(url).unwrap_or(Api::Openai),
        (None, None, _) if typed.key_env.is_some() => {
            return Err(Trouble::new("--key-env needs somebody to show the key to")
                .help("add `--api anthropic`, or `--upstream https://…`"));
        }
        (None, None, _) => return Ok(None),
    };
    if api == Api::Scripted && url.is_some() {
        return Err(Trouble::new("the scripted model has no address").help("leave --upstream out"));
    }
    let key = key(api, url, typed.key_env, world)?;
    Ok(Some(Direct { api, url: url.map(str::to_owned), key }))
}

/// The key that is shown to an address. A usual one is shown to its own provider only.
fn key(
    api: Api,
    url: Option<&str>,
    named: Option<&str>,
    world: &dyn World,
) -> Result<Option<Secret>, Trouble> {
    if let Some(name) = named {
        let shown = clean(&cut(name, 80));
        return match variable(name, world) {
            Some(key) => Ok(Some(key)),
            None => Err(Trouble::new(format!("the variable `{shown}` holds no key"))
                .help(format!("`export {shown}=…`; a key is never typed on the command line"))),
        };
    }
    let names = variables(api);
    let found = names.iter().find_map(|name| variable(name, world));
    let at_home = url.is_none_or(|url| of_host(url) == Some(api)) || api == Api::Gateway;
    match (found, at_home, url) {
        (_, _, None) if api == Api::Scripted => Ok(None),
        (Some(key), true, _) => Ok(Some(key)),
        (_, false, _) | (None, true, Some(_)) => Ok(None),
        (None, true, None) if api == Api::Gateway => Ok(None),
        (None, true, None) => {
            let name = names.first().copied().unwrap_or("VARIABLE");
            Err(Trouble::new(format!("there is no key for {}", api.name()))
                .help(format!("`export {name}=…`, or `--key-env` and the variable that holds it")))
        }
    }
}

/// Variables in which a key usually lies, the strongest first.
fn variables(api: Api) -> &'static [&'static str] {
    match api {
        Api::Openai => &["OPENAI_API_KEY"],
        Api::Anthropic => &["ANTHROPIC_API_KEY"],
        Api::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Api::Deepseek => &["DEEPSEEK_API_KEY"],
        Api::Gateway => &["FOXWEDGE_TOKEN"],
        Api::Scripted => &[],
    }
}

fn variable(name: &str, world: &dyn World) -> Option<Secret> {
    let key = world.variable(name)?.into_string().ok()?;
    Some(Secret::new(key.trim())).filter(|key| !key.is_empty())
}

/// Whose address it is, if it is a provider's own.
fn of_host(url: &str) -> Option<Api> {
    let host = url.split('/').nth(2)?.to_ascii_lowercase();
    Some(match host.as_str() {
        "api.openai.com" => Api::Openai,
        "api.anthropic.com" => Api::Anthropic,
        "generativelanguage.googleapis.com" => Api::Gemini,
        "api.deepseek.com" => Api::Deepseek,
        _ => return None,
    })
}

impl Models {
    /// The model of a name; the usual one without.
    pub(crate) fn choose(&self, name: Option<&str>, world: &dyn World) -> Result<Choice, Trouble> {
        if let Some(name) = name
            && !is_name(name)
        {
            let shown = clean(&cut(name, 80));
            return Err(Trouble::new(format!("`{shown}` is no name of a model"))
                .help("a name has letters, digits and signs, and no spaces"));
        }
        match (self, name) {
            (Models::Direct(direct), Some(name)) => {
                Ok(Choice::Direct { direct: direct.clone(), model: name.to_owned() })
            }
            (Models::Direct(direct), None) if direct.api == Api::Scripted => {
                Ok(Choice::Direct { direct: direct.clone(), model: SCRIPTED.to_owned() })
            }
            (Models::Direct(direct), None) => Err(Trouble::new("which model?")
                .help(format!("{} has many: `--model NAME` names one", direct.api.name()))),
            (Models::Routes(loaded), Some(name)) => by_route(loaded, name, world),
            (Models::Routes(loaded), None) => usual(loaded, world),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn by_route(loaded: &Loaded, name: &str, world: &dyn World) -> Result<Choice, Trouble> {
    let route = loaded.config.route(name);
    // Without any key every name leads to the built-in model; nobody who names another means that.
    let astray = |route: &Arc<Route>| {
        let scripted = matches!(route.upstream.reach, Reach::Scripted);
        scripted && &*route.model == "*" && loaded.file.is_none() && !name.starts_with(SCRIPTED)
    };
    match route {
        Some(route) if matches!(route.upstream.reach, Reach::Agent(_)) => {
            Err(Trouble::new(format!("`{name}` leads to an agent, which has its own loop"))
                .help("name a model; an agent is reached through `foxwedge serve`"))
        }
        Some(route) if !astray(&route) => Ok(Choice::Route { route, model: name.to_owned() }),
        Some(_) | None => match deepseek(name, world) {
            Some(direct) => Ok(Choice::Direct { direct, model: name.to_owned() }),
            None => Err(no_way(loaded, name)),
        },
    }
}

/// DeepSeek by its key: the configuration knows no such upstream by itself.
fn deepseek(name: &str, world: &dyn World) -> Option<Direct> {
    let key = variable("DEEPSEEK_API_KEY", world).filter(|_| name.starts_with("deepseek"))?;
    Some(Direct { api: Api::Deepseek, url: None, key: Some(key) })
}

fn no_way(loaded: &Loaded, name: &str) -> Trouble {
    let beginnings = [
        ("claude", Api::Anthropic),
        ("gemini", Api::Gemini),
        ("deepseek", Api::Deepseek),
        ("gpt", Api::Openai),
        ("chatgpt", Api::Openai),
        ("codex", Api::Openai),
        ("o1", Api::Openai),
        ("o3", Api::Openai),
        ("o4", Api::Openai),
    ];
    let whose = beginnings.iter().find(|(beginning, _)| name.starts_with(beginning));
    let known = loaded.config.models();
    let trouble = Trouble::new(format!("nothing leads to the model `{name}`"));
    match (whose, nearest(name, known.iter().copied())) {
        (Some((_, api)), _) if loaded.file.is_none() => {
            let variable = variables(*api).first().copied().unwrap_or("VARIABLE");
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
fn usual(loaded: &Loaded, world: &dyn World) -> Result<Choice, Trouble> {
    let config = &loaded.config;
    let named = config.routes.iter().find(|route| {
        let far = matches!(route.upstream.reach, Reach::Network(_));
        far && !route.model.ends_with('*')
    });
    if let Some(route) = named {
        return Ok(Choice::Route { route: Arc::clone(route), model: route.model.to_string() });
    }
    let far = |route: &&Arc<Route>| matches!(route.upstream.reach, Reach::Network(_));
    let patterns: Vec<&str> = config.routes.iter().filter(far).map(|route| &*route.model).collect();
    if !patterns.is_empty() {
        return Err(Trouble::new("which model?").help(format!(
            "`--model NAME` names one; what is known leads to {}",
            patterns.join(", ")
        )));
    }
    if variable("DEEPSEEK_API_KEY", world).is_some() {
        return Err(Trouble::new("which model?").help("`--model deepseek-…` names one"));
    }
    match config.route(SCRIPTED) {
        Some(route) => Ok(Choice::Route { route, model: SCRIPTED.to_owned() }),
        None => Err(Trouble::new("which model?").help("`--model NAME` names one")),
    }
}

#[cfg(test)]
mod tests;
