//! Which model goes where.

use std::sync::Arc;

use foxwedge_core::Unanswered;

use super::{
    Config, Guard, Heal, Mode, Origin, Overflow, Reach, Route,
    desk::{Desk, Part, cut},
    kinds::Kind,
    nearest::nearest,
    upstreams::{All, Made, SCRIPTED},
    values::{Value, quoted},
};

impl Config {
    /// The route of a model: one that names it before any pattern, a longer pattern before a
    /// shorter one, and otherwise the first.
    pub fn route(&self, model: &str) -> Option<Arc<Route>> {
        let mut best: Option<(usize, &Arc<Route>)> = None;
        for route in &self.routes {
            let Some(weight) = fits(&route.model, model) else { continue };
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
            match (route.model.ends_with('*'), &route.upstream.reach) {
                (false, _) => add(&*route.model),
                (true, Reach::Scripted) => {
                    let known = foxwedge_scripted::MODELS.into_iter();
                    known.filter(|name| fits(&route.model, name).is_some()).for_each(&mut add);
                }
                (true, Reach::Network(_) | Reach::Agent(_)) => {}
            }
        }
        names
    }
}

/// How well a pattern fits a model; `None` if it does not.
fn fits(pattern: &str, model: &str) -> Option<usize> {
    match pattern.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        None => (pattern == model).then_some(usize::MAX),
    }
}

/// Reads every `[[route]]`; without any, the usual ones of each upstream.
pub(super) fn routes(
    desk: &mut Desk<'_>,
    root: &mut Part<'_>,
    all: &All,
    guard: Guard,
) -> Vec<Arc<Route>> {
    let All { made, named: _, chosen } = all;
    let parts = desk.tables(root, "route");
    let none = parts.is_empty();
    let mut routes: Vec<Arc<Route>> = Vec::new();
    let blocks = desk.blocks.len();
    for part in parts {
        let route = listed(desk, part, all, guard, &routes);
        routes.extend(route.map(Arc::new));
    }
    if let Some((name, origin)) = chosen {
        // Everything goes there: what the file says about routes does not count.
        routes.clear();
        desk.blocks.truncate(blocks);
        let found = made.iter().find(|made| made.upstream.name == *name);
        routes.extend(found.map(|made| plain(desk, "*", made, guard, origin)));
    } else if none {
        usual(desk, made, guard, &mut routes);
    }
    if !routes.iter().any(|route| route.model.starts_with(SCRIPTED))
        && let Some(made) = made.iter().find(|made| &*made.upstream.name == SCRIPTED)
    {
        routes.push(plain(desk, "scripted*", made, guard, &Origin::Default));
    }
    if chosen.is_none() {
        idle(desk, made, &routes);
    }
    routes
}

/// Routes that follow from what the upstreams are.
fn usual(desk: &mut Desk<'_>, made: &[Made], guard: Guard, routes: &mut Vec<Arc<Route>>) {
    for made in made {
        for model in made.kind.models() {
            let taken = routes.iter().any(|route| *route.model == **model);
            if !taken {
                routes.push(plain(desk, model, made, guard, &Origin::Default));
            }
        }
    }
    let mut far = made.iter().filter(|made| made.kind != Kind::Scripted);
    let only = match (far.next(), far.next()) {
        // Without any key everything is answered here.
        (None, _) => made.first(),
        // Whoever writes down one upstream means it for everything.
        (Some(made), None) if matches!(made.origin, Origin::File { .. }) => Some(made),
        (Some(_), _) => None,
    };
    routes.extend(only.map(|made| plain(desk, "*", made, guard, &Origin::Default)));
}

/// An upstream that nothing leads to was written down for nothing.
fn idle(desk: &mut Desk<'_>, made: &[Made], routes: &[Arc<Route>]) {
    for Made { upstream, origin, .. } in made {
        let used = routes.iter().any(|route| route.upstream.name == upstream.name);
        if !used && &*upstream.name != SCRIPTED {
            let message = "no route leads there";
            let help =
                format!("`[[route]]` with `model = \"…\"` and `upstream = \"{}\"`", upstream.name);
            desk.warn(origin, format!("upstream.{}", upstream.name), message, help);
        }
    }
}

/// A route that nobody wrote down.
fn plain(
    desk: &mut Desk<'_>,
    model: &str,
    made: &Made,
    guard: Guard,
    origin: &Origin,
) -> Arc<Route> {
    let mut part = Part::new("route", "[[route]]".to_owned(), None);
    part.note("model", quoted(model), origin);
    part.note("upstream", quoted(&made.upstream.name), origin);
    desk.close(part);
    let upstream = Arc::clone(&made.upstream);
    Arc::new(Route { model: model.into(), upstream, rename: None, guard, window: None })
}

/// One `[[route]]` of the file.
fn listed(
    desk: &mut Desk<'_>,
    mut part: Part<'_>,
    all: &All,
    guard: Guard,
    before: &[Arc<Route>],
) -> Option<Route> {
    let model = pattern(desk, &mut part, before);
    if let Some(model) = &model {
        part.name = format!("route.{model}");
    }
    let upstream = asked(desk, &mut part, all);
    let rename = desk.text(&mut part, "rename").and_then(|(text, origin)| {
        part.note("rename", quoted(&text), &origin);
        let sound = is_model(&text) && !text.contains('*');
        if !sound {
            let message = format!("{} is no name of a model", quoted(&cut(&text)));
            desk.refuse(&origin, part.full("rename"), message, "write the upstream's own name");
        }
        sound.then(|| text.into_boxed_str())
    });
    let guard = Guard {
        mode: over::<Mode>(desk, &mut part, "mode", guard.mode),
        unanswered: over::<Unanswered>(desk, &mut part, "unanswered", guard.unanswered),
        language: over(desk, &mut part, "language", guard.language),
        overflow: over::<Overflow>(desk, &mut part, "overflow", guard.overflow),
        heal: over::<Heal>(desk, &mut part, "heal", guard.heal),
    };
    let window = part.has("window").then(|| desk.positive(&mut part, "window", 1_usize).value);
    part.knows("window");
    desk.close(part);
    let window = window.and_then(|window| u64::try_from(window).ok());
    Some(Route { model: model?.into(), upstream: upstream?, rename, guard, window })
}

/// What the route says, or what holds for all.
fn over<T: Value>(desk: &mut Desk<'_>, part: &mut Part<'_>, key: &'static str, all: T) -> T {
    part.knows(key);
    if part.has(key) { desk.set(part, key, all).value } else { all }
}

fn pattern(desk: &mut Desk<'_>, part: &mut Part<'_>, before: &[Arc<Route>]) -> Option<String> {
    let Some((model, origin)) = desk.text(part, "model") else {
        if !part.has("model") {
            let help = "`model = \"claude-*\"`";
            desk.refuse(&part.origin(), part.full("model"), "it is missing", help);
        }
        return None;
    };
    part.note("model", quoted(&model), &origin);
    let beginning = model.strip_suffix('*').unwrap_or(&model);
    if !(is_model(beginning) || model == "*") || beginning.contains('*') {
        let message = format!("{} is no name of a model", quoted(&cut(&model)));
        let help = "write a name, or its beginning and one `*` at the end";
        desk.refuse(&origin, part.full("model"), message, help);
        return None;
    }
    if before.iter().any(|route| *route.model == *model) {
        let message = format!("there is another route for {}", quoted(&cut(&model)));
        desk.refuse(&origin, part.full("model"), message, "only the first would ever be taken");
        return None;
    }
    Some(model)
}

fn asked(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    All { made, named, .. }: &All,
) -> Option<Arc<super::Upstream>> {
    let names =
        || named.iter().map(String::as_str).chain(made.iter().map(|made| &*made.upstream.name));
    let names = || names().collect::<std::collections::BTreeSet<&str>>();
    let known = || format!("known: {}", names().into_iter().collect::<Vec<_>>().join(", "));
    let Some((name, origin)) = desk.text(part, "upstream") else {
        if !part.has("upstream") {
            desk.refuse(&part.origin(), part.full("upstream"), "it is missing", known());
        }
        return None;
    };
    part.note("upstream", quoted(&name), &origin);
    let found = made.iter().find(|made| *made.upstream.name == *name);
    // One that has something wrong with it was told already.
    if found.is_none() && !named.contains(&name) {
        let message = format!("there is no upstream {}", quoted(&cut(&name)));
        let help = match nearest(&name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => known(),
        };
        desk.refuse(&origin, part.full("upstream"), message, help);
    }
    found.map(|made| Arc::clone(&made.upstream))
}

fn is_model(text: &str) -> bool {
    !text.is_empty() && text.len() <= 256 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
