//! Model routes.

use std::sync::Arc;

use foxwedge_core::{Policy, nearest_name};
use foxwedge_upstream::{
    SCRIPTED_NAME, UpstreamKind, UpstreamTransport,
    http::HttpClient,
    model::{ModelEndpoint, ModelEndpointError},
};

use super::{
    GatewayConfig, GuardConfig, GuardMode, ModelRoute, SettingOrigin,
    config_reader::{ConfigReader, SectionReader, excerpt, invalid},
    upstream::UpstreamEntry,
    upstreams::UpstreamList,
    values::quote,
};

impl GatewayConfig {
    /// The route of a model. An exact name wins over any pattern, a longer pattern over a shorter
    /// one; otherwise the first route wins.
    pub fn route(&self, model: &str) -> Option<Arc<ModelRoute>> {
        let mut best: Option<(usize, &Arc<ModelRoute>)> = None;
        for route in &self.routes {
            let Some(length) = match_length(&route.model, model) else { continue };
            if best.is_none_or(|(best_length, _)| length > best_length) {
                best = Some((length, route));
            }
        }
        best.map(|(_, route)| Arc::clone(route))
    }

    /// The models that can be listed: those that a route names, and the built-in ones. Which models
    /// a pattern covers is known only to its provider.
    pub fn models(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut add = |name| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for route in &self.routes {
            match (route.model.ends_with('*'), &route.upstream.transport) {
                (false, _) => add(&*route.model),
                (true, UpstreamTransport::Scripted) => {
                    let known = foxwedge_scripted::MODELS.into_iter();
                    known
                        .filter(|name| match_length(&route.model, name).is_some())
                        .for_each(&mut add);
                }
                (true, UpstreamTransport::Network(_) | UpstreamTransport::Agent) => {}
            }
        }
        names
    }
}

impl GuardConfig {
    /// What a repair may add and remove.
    pub fn repair_policy(&self) -> Policy {
        Policy { unanswered: self.unanswered, language: self.language, ..Policy::default() }
    }
}

impl ModelRoute {
    /// The policy for the repair of a history that the provider refuses; `None` if it is not
    /// repaired.
    pub fn retry_repair_policy(&self) -> Option<Policy> {
        match (self.guard.mode, self.guard.repair_after_refusal) {
            (GuardMode::Fix, true) => Some(self.guard.repair_policy()),
            (GuardMode::Fix | GuardMode::Off | GuardMode::Observe | GuardMode::Strict, _) => None,
        }
    }

    /// The model behind the route, under the name that a client requests.
    ///
    /// # Errors
    /// If the upstream is an agent, or supports no format.
    pub fn model_endpoint(
        &self,
        client: HttpClient,
        model: &str,
    ) -> Result<ModelEndpoint, ModelEndpointError> {
        let model = self.upstream_model.as_deref().unwrap_or(model);
        let repair = self.retry_repair_policy();
        let upstream = Arc::clone(&self.upstream);
        ModelEndpoint::of_upstream(client, upstream, model, self.context_window, repair)
    }
}

/// The length of the match of a pattern; `None` if it does not match.
fn match_length(pattern: &str, model: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(prefix) => model.starts_with(prefix).then_some(prefix.len()),
        None => (pattern == model).then_some(usize::MAX),
    }
}

/// Reads every `[[route]]`; without any, uses the default routes of each upstream.
pub(super) fn read_routes(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
    upstreams: &UpstreamList,
    guard: GuardConfig,
) -> Vec<Arc<ModelRoute>> {
    let UpstreamList { entries, declared_names: _, chosen } = upstreams;
    let sections = reader.open_sections(root, "route");
    let is_implicit = sections.is_empty();
    let mut routes: Vec<Arc<ModelRoute>> = Vec::new();
    let section_count = reader.sections.len();
    for section in sections {
        read_route(reader, section, upstreams, guard, &mut routes);
    }
    if let Some((name, origin)) = chosen {
        // The chosen upstream gets all requests: routes of the file are ignored.
        routes.clear();
        reader.sections.truncate(section_count);
        let found = entries.iter().find(|entry| entry.upstream.name == *name);
        routes.extend(found.map(|entry| default_route(reader, "*", entry, guard, origin)));
    } else if is_implicit {
        add_default_routes(reader, entries, guard, &mut routes);
    }
    if !routes.iter().any(|route| route.model.starts_with(SCRIPTED_NAME))
        && let Some(entry) = entries.iter().find(|entry| &*entry.upstream.name == SCRIPTED_NAME)
    {
        routes.push(default_route(reader, "scripted*", entry, guard, &SettingOrigin::Default));
    }
    if chosen.is_none() {
        warn_unused_upstreams(reader, entries, &routes);
    }
    routes
}

/// Adds the default routes of each kind of upstream.
fn add_default_routes(
    reader: &mut ConfigReader<'_>,
    entries: &[UpstreamEntry],
    guard: GuardConfig,
    routes: &mut Vec<Arc<ModelRoute>>,
) {
    for entry in entries {
        for model in entry.kind.models() {
            let exists = routes.iter().any(|route| *route.model == **model);
            if !exists {
                routes.push(default_route(reader, model, entry, guard, &SettingOrigin::Default));
            }
        }
    }
    let mut remote = entries.iter().filter(|entry| entry.kind != UpstreamKind::Scripted);
    let only = match (remote.next(), remote.next()) {
        (None, _) => entries.first(),
        (Some(entry), None) => Some(entry),
        (Some(_), Some(_)) => None,
    };
    // A single upstream in the file serves everything. The built-in model does so on request only:
    // a client that forgot its key would take its replies for those of a provider.
    let catch_all = only.filter(|entry| matches!(entry.origin, SettingOrigin::File { .. }));
    routes.extend(
        catch_all.map(|entry| default_route(reader, "*", entry, guard, &SettingOrigin::Default)),
    );
}

/// Warns about upstreams without a route.
fn warn_unused_upstreams(
    reader: &mut ConfigReader<'_>,
    entries: &[UpstreamEntry],
    routes: &[Arc<ModelRoute>],
) {
    for UpstreamEntry { upstream, origin, .. } in entries {
        let all = routes.iter().flat_map(|route| route.fallbacks.iter().chain([route]));
        let is_used = all.into_iter().any(|route| route.upstream.name == upstream.name);
        if !is_used && &*upstream.name != SCRIPTED_NAME {
            let message = "no route uses this upstream";
            let help =
                format!("`[[route]]` with `model = \"…\"` and `upstream = \"{}\"`", upstream.name);
            reader.report_warning(origin, format!("upstream.{}", upstream.name), message, help);
        }
    }
}

/// Adds a route that is not in the file.
fn default_route(
    reader: &mut ConfigReader<'_>,
    model: &str,
    entry: &UpstreamEntry,
    guard: GuardConfig,
    origin: &SettingOrigin,
) -> Arc<ModelRoute> {
    let mut section = SectionReader::of(reader.section_table("route"));
    section.add_setting("model", quote(model), origin);
    section.add_setting("upstream", quote(&entry.upstream.name), origin);
    reader.close_section(section);
    Arc::new(ModelRoute {
        model: model.into(),
        upstream: Arc::clone(&entry.upstream),
        agent: entry.agent.clone(),
        upstream_model: None,
        guard,
        context_window: None,
        fallbacks: Vec::new(),
    })
}

/// Reads one `[[route]]` of the file: another route, or a fallback of an earlier one.
fn read_route(
    reader: &mut ConfigReader<'_>,
    mut section: SectionReader<'_>,
    upstreams: &UpstreamList,
    guard: GuardConfig,
    routes: &mut Vec<Arc<ModelRoute>>,
) -> Option<()> {
    let model = read_model_pattern(reader, &mut section);
    if let Some((model, _)) = &model {
        section.name = format!("route.{model}");
    }
    let entry = read_route_upstream(reader, &mut section, upstreams);
    let upstream_model = reader.read_text(&section, "upstream_model");
    let upstream_model = upstream_model.and_then(|(text, origin)| {
        section.add_setting("upstream_model", quote(&text), &origin);
        let is_valid = is_model_name(&text) && !text.contains('*');
        if !is_valid {
            let help = "expected the upstream's own name of the model";
            reader.report_error(&origin, section.full_key("upstream_model"), invalid(&text), help);
        }
        is_valid.then(|| text.into_boxed_str())
    });
    let context_window = reader.read_optional::<usize>(&mut section, "context_window");
    let context_window = context_window.and_then(|tokens| u64::try_from(tokens).ok());
    let guard = GuardConfig::read(reader, &mut section, Some(guard));
    let fallback = reader.read_optional::<bool>(&mut section, "fallback").unwrap_or(false);
    let full_key = section.full_key("model");
    reader.close_section(section);
    let ((model, origin), entry) = (model?, entry?);
    let route = Arc::new(ModelRoute {
        model: model.as_str().into(),
        upstream: Arc::clone(&entry.upstream),
        agent: entry.agent.clone(),
        upstream_model,
        guard,
        context_window,
        fallbacks: Vec::new(),
    });
    let earlier = routes.iter_mut().find(|earlier| *earlier.model == *model);
    let (message, help) = match (earlier.and_then(Arc::get_mut), fallback) {
        (Some(earlier), true) if earlier.agent.is_none() && route.agent.is_none() => {
            earlier.fallbacks.push(route);
            return Some(());
        }
        (None, false) => {
            routes.push(route);
            return Some(());
        }
        (Some(_), true) => ("a live agent cannot have a fallback, or be one".to_owned(), ""),
        (Some(_), false) => (
            format!("another route has the model {}", quote(&excerpt(&model))),
            "only the first one would be used; `fallback = true` uses this one when that fails",
        ),
        (None, true) => (
            format!("there is no earlier route with the model {}", quote(&excerpt(&model))),
            "put the fallback after the route that it stands in for",
        ),
    };
    reader.report_error(&origin, full_key, message, help);
    None
}

fn read_model_pattern(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Option<(String, SettingOrigin)> {
    let Some((model, origin)) = reader.read_text(section, "model") else {
        if !section.has("model") {
            let help = "`model = \"claude-*\"`";
            reader.report_missing(section, "model", help);
        }
        return None;
    };
    section.add_setting("model", quote(&model), &origin);
    let prefix = model.strip_suffix('*').unwrap_or(&model);
    if !(is_model_name(prefix) || model == "*") || prefix.contains('*') {
        let help = "expected a model name, or a prefix with one `*` at the end";
        reader.report_error(&origin, section.full_key("model"), invalid(&model), help);
        return None;
    }
    Some((model, origin))
}

fn read_route_upstream<'u>(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    UpstreamList { entries, declared_names, .. }: &'u UpstreamList,
) -> Option<&'u UpstreamEntry> {
    let names = || {
        declared_names
            .iter()
            .map(String::as_str)
            .chain(entries.iter().map(|entry| &*entry.upstream.name))
    };
    let names = || names().collect::<std::collections::BTreeSet<&str>>();
    let known =
        || format!("known upstreams: {}", names().into_iter().collect::<Vec<_>>().join(", "));
    let Some((name, origin)) = reader.read_text(section, "upstream") else {
        if !section.has("upstream") {
            reader.report_missing(section, "upstream", &known());
        }
        return None;
    };
    section.add_setting("upstream", quote(&name), &origin);
    let found = entries.iter().find(|entry| *entry.upstream.name == *name);
    // Errors in a declared upstream were reported already.
    if found.is_none() && !declared_names.contains(&name) {
        let message = format!("there is no upstream {}", quote(&excerpt(&name)));
        let help = match nearest_name(&name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => known(),
        };
        reader.report_error(&origin, section.full_key("upstream"), message, help);
    }
    found
}

fn is_model_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
