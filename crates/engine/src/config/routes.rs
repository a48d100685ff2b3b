//! Which model goes where.

use std::sync::Arc;

use foxwedge_core::UnansweredPolicy;

use super::{
    GatewayConfig, GuardConfig, GuardMode, ModelRoute, OverflowPolicy, RepairRetry, SettingOrigin,
    UpstreamTransport,
    config_reader::{ConfigReader, SectionReader, excerpt},
    nearest::nearest,
    upstream_kind::UpstreamKind,
    upstreams::{SCRIPTED_NAME, UpstreamEntry, UpstreamList},
    values::{ConfigValue, quote},
};

impl GatewayConfig {
    /// The route of a model: one that names it before any pattern, a longer pattern before a
    /// shorter one, and otherwise the first.
    pub fn route(&self, model: &str) -> Option<Arc<ModelRoute>> {
        let mut best: Option<(usize, &Arc<ModelRoute>)> = None;
        for route in &self.routes {
            let Some(weight) = match_length(&route.model, model) else { continue };
            if best.is_none_or(|(before, _)| weight > before) {
                best = Some((weight, route));
            }
        }
        best.map(|(_, route)| Arc::clone(route))
    }

    /// The models that can be named without guessing: those that a route names, and the built-in
    /// ones. What a pattern leads to, only its provider knows.
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
                (true, UpstreamTransport::Network(_) | UpstreamTransport::Agent(_)) => {}
            }
        }
        names
    }
}

/// How well a pattern fits a model; `None` if it does not.
fn match_length(pattern: &str, model: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        None => (pattern == model).then_some(usize::MAX),
    }
}

/// Reads every `[[route]]`; without any, the usual ones of each upstream.
pub(super) fn read_routes(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
    all: &UpstreamList,
    guard: GuardConfig,
) -> Vec<Arc<ModelRoute>> {
    let UpstreamList { entries: made, declared_names: _, chosen } = all;
    let parts = desk.open_sections(root, "route");
    let none = parts.is_empty();
    let mut routes: Vec<Arc<ModelRoute>> = Vec::new();
    let blocks = desk.sections.len();
    for part in parts {
        let route = read_route(desk, part, all, guard, &routes);
        routes.extend(route.map(Arc::new));
    }
    if let Some((name, origin)) = chosen {
        // Everything goes there: what the file says about routes does not count.
        routes.clear();
        desk.sections.truncate(blocks);
        let found = made.iter().find(|made| made.upstream.name == *name);
        routes.extend(found.map(|made| default_route(desk, "*", made, guard, origin)));
    } else if none {
        add_default_routes(desk, made, guard, &mut routes);
    }
    if !routes.iter().any(|route| route.model.starts_with(SCRIPTED_NAME))
        && let Some(made) = made.iter().find(|made| &*made.upstream.name == SCRIPTED_NAME)
    {
        routes.push(default_route(desk, "scripted*", made, guard, &SettingOrigin::Default));
    }
    if chosen.is_none() {
        warn_unused_upstreams(desk, made, &routes);
    }
    routes
}

/// Routes that follow from what the upstreams are.
fn add_default_routes(
    desk: &mut ConfigReader<'_>,
    made: &[UpstreamEntry],
    guard: GuardConfig,
    routes: &mut Vec<Arc<ModelRoute>>,
) {
    for made in made {
        for model in made.kind.models() {
            let taken = routes.iter().any(|route| *route.model == **model);
            if !taken {
                routes.push(default_route(desk, model, made, guard, &SettingOrigin::Default));
            }
        }
    }
    let mut far = made.iter().filter(|made| made.kind != UpstreamKind::Scripted);
    let only = match (far.next(), far.next()) {
        // Without any key everything is answered here.
        (None, _) => made.first(),
        // Whoever writes down one upstream means it for everything.
        (Some(made), None) if matches!(made.origin, SettingOrigin::File { .. }) => Some(made),
        (Some(_), _) => None,
    };
    routes.extend(only.map(|made| default_route(desk, "*", made, guard, &SettingOrigin::Default)));
}

/// An upstream that nothing leads to was written down for nothing.
fn warn_unused_upstreams(
    desk: &mut ConfigReader<'_>,
    made: &[UpstreamEntry],
    routes: &[Arc<ModelRoute>],
) {
    for UpstreamEntry { upstream, origin, .. } in made {
        let used = routes.iter().any(|route| route.upstream.name == upstream.name);
        if !used && &*upstream.name != SCRIPTED_NAME {
            let message = "no route leads there";
            let help =
                format!("`[[route]]` with `model = \"…\"` and `upstream = \"{}\"`", upstream.name);
            desk.report_warning(origin, format!("upstream.{}", upstream.name), message, help);
        }
    }
}

/// A route that nobody wrote down.
fn default_route(
    desk: &mut ConfigReader<'_>,
    model: &str,
    made: &UpstreamEntry,
    guard: GuardConfig,
    origin: &SettingOrigin,
) -> Arc<ModelRoute> {
    let mut part = SectionReader::new("route", "[[route]]".to_owned(), None);
    part.add_setting("model", quote(model), origin);
    part.add_setting("upstream", quote(&made.upstream.name), origin);
    desk.close_section(part);
    let upstream = Arc::clone(&made.upstream);
    Arc::new(ModelRoute { model: model.into(), upstream, rename: None, guard, window: None })
}

/// One `[[route]]` of the file.
fn read_route(
    desk: &mut ConfigReader<'_>,
    mut part: SectionReader<'_>,
    all: &UpstreamList,
    guard: GuardConfig,
    before: &[Arc<ModelRoute>],
) -> Option<ModelRoute> {
    let model = read_model_pattern(desk, &mut part, before);
    if let Some(model) = &model {
        part.name = format!("route.{model}");
    }
    let upstream = read_route_upstream(desk, &mut part, all);
    let rename = desk.read_text(&mut part, "rename").and_then(|(text, origin)| {
        part.add_setting("rename", quote(&text), &origin);
        let sound = is_model_name(&text) && !text.contains('*');
        if !sound {
            let message = format!("{} is no name of a model", quote(&excerpt(&text)));
            desk.report_error(
                &origin,
                part.full_key("rename"),
                message,
                "write the upstream's own name",
            );
        }
        sound.then(|| text.into_boxed_str())
    });
    let guard = GuardConfig {
        mode: read_override::<GuardMode>(desk, &mut part, "mode", guard.mode),
        unanswered: read_override::<UnansweredPolicy>(
            desk,
            &mut part,
            "unanswered",
            guard.unanswered,
        ),
        language: read_override(desk, &mut part, "language", guard.language),
        overflow: read_override::<OverflowPolicy>(desk, &mut part, "overflow", guard.overflow),
        heal: read_override::<RepairRetry>(desk, &mut part, "heal", guard.heal),
    };
    let window = part.has("window").then(|| desk.read_positive(&mut part, "window", 1_usize).value);
    part.mark_known("window");
    desk.close_section(part);
    let window = window.and_then(|window| u64::try_from(window).ok());
    Some(ModelRoute { model: model?.into(), upstream: upstream?, rename, guard, window })
}

/// What the route says, or what holds for all.
fn read_override<T: ConfigValue>(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    key: &'static str,
    all: T,
) -> T {
    part.mark_known(key);
    if part.has(key) { desk.read_setting(part, key, all).value } else { all }
}

fn read_model_pattern(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    before: &[Arc<ModelRoute>],
) -> Option<String> {
    let Some((model, origin)) = desk.read_text(part, "model") else {
        if !part.has("model") {
            let help = "`model = \"claude-*\"`";
            desk.report_error(&part.origin(), part.full_key("model"), "it is missing", help);
        }
        return None;
    };
    part.add_setting("model", quote(&model), &origin);
    let beginning = model.strip_suffix('*').unwrap_or(&model);
    if !(is_model_name(beginning) || model == "*") || beginning.contains('*') {
        let message = format!("{} is no name of a model", quote(&excerpt(&model)));
        let help = "write a name, or its beginning and one `*` at the end";
        desk.report_error(&origin, part.full_key("model"), message, help);
        return None;
    }
    if before.iter().any(|route| *route.model == *model) {
        let message = format!("there is another route for {}", quote(&excerpt(&model)));
        desk.report_error(
            &origin,
            part.full_key("model"),
            message,
            "only the first would ever be taken",
        );
        return None;
    }
    Some(model)
}

fn read_route_upstream(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    UpstreamList { entries: made, declared_names: named, .. }: &UpstreamList,
) -> Option<Arc<super::UpstreamConfig>> {
    let names =
        || named.iter().map(String::as_str).chain(made.iter().map(|made| &*made.upstream.name));
    let names = || names().collect::<std::collections::BTreeSet<&str>>();
    let known = || format!("known: {}", names().into_iter().collect::<Vec<_>>().join(", "));
    let Some((name, origin)) = desk.read_text(part, "upstream") else {
        if !part.has("upstream") {
            desk.report_error(&part.origin(), part.full_key("upstream"), "it is missing", known());
        }
        return None;
    };
    part.add_setting("upstream", quote(&name), &origin);
    let found = made.iter().find(|made| *made.upstream.name == *name);
    // One that has something wrong with it was told already.
    if found.is_none() && !named.contains(&name) {
        let message = format!("there is no upstream {}", quote(&excerpt(&name)));
        let help = match nearest(&name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => known(),
        };
        desk.report_error(&origin, part.full_key("upstream"), message, help);
    }
    found.map(|made| Arc::clone(&made.upstream))
}

fn is_model_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
