//! Who is asked: what the file names, else what the keys in the environment lead to. The built-in
//! model is always there.

use std::sync::Arc;

use super::{
    Addresses, Key, Origin, Reach, Upstream,
    desk::{Desk, Part, cut},
    kinds::Kind,
    secrets::{self, HIDDEN},
    upstream::{listed, note_wires, own_key, reached},
    values::{Value, quoted},
};

/// The name of the built-in model.
pub(super) const SCRIPTED: &str = "scripted";

/// How often a request is tried, if nobody says so.
pub(super) const TRIES: usize = 3;

/// An upstream and what it is.
pub(super) struct Made {
    pub(super) upstream: Arc<Upstream>,
    pub(super) kind: Kind,
    pub(super) origin: Origin,
}

/// All upstreams.
pub(super) struct All {
    pub(super) made: Vec<Made>,
    /// Those that were written down, and may have something wrong with them.
    pub(super) named: Vec<String>,
    /// The one that the command line sends everything to.
    pub(super) chosen: Option<(Arc<str>, Origin)>,
}

/// Reads every `[[upstream]]`, or looks for keys in the environment.
pub(super) fn upstreams(desk: &mut Desk<'_>, root: &mut Part<'_>) -> All {
    let parts = desk.tables(root, "upstream");
    let (mut made, mut named): (Vec<Made>, Vec<String>) = (Vec::new(), Vec::new());
    let none = parts.is_empty();
    for part in parts {
        made.extend(listed(desk, part, &mut named));
    }
    if none {
        for kind in [Kind::Openai, Kind::Anthropic, Kind::Gemini] {
            if let Some((text, origin)) = own_key(desk, kind) {
                made.extend(known(desk, kind, kind.name(), None, &text, &origin));
            }
        }
    }
    if !made.iter().any(|made| &*made.upstream.name == SCRIPTED) {
        made.push(scripted(desk));
    }
    let chosen = match &desk.flags.upstream {
        Some(text) => Some((text.clone(), Origin::Flag("--upstream"))),
        None => desk.variable("FOXWEDGE_UPSTREAM"),
    };
    let chosen = chosen.and_then(|(text, origin)| choose(desk, &text, origin, &mut made));
    All { made, named, chosen }
}

/// One that is known without a file: the provider of a key, or an address that was typed.
fn known(
    desk: &mut Desk<'_>,
    kind: Kind,
    name: &'static str,
    url: Option<&(String, Origin)>,
    key: &str,
    from: &Origin,
) -> Option<Made> {
    let mut part = Part::new(format!("upstream.{name}"), "[[upstream]]".to_owned(), None);
    part.note("name", quoted(name), from);
    part.note("kind", kind.shown(), from);
    let reached = reached(desk, &mut part, kind, url, Addresses::Public, from);
    let ours = match key {
        "" => Some(Key::None),
        key => {
            part.note("key", HIDDEN.to_owned(), from);
            secrets::usable(desk, from, "", key).map(Key::Ours)
        }
    };
    note_wires(&mut part, &kind.speaks(), &Origin::Default);
    desk.close(part);
    let (reach, version) = reached?;
    Some(made(kind, name, reach, version, ours?, from))
}

fn scripted(desk: &mut Desk<'_>) -> Made {
    let mut part = Part::new("upstream.scripted", "[[upstream]]".to_owned(), None);
    part.note("name", quoted(SCRIPTED), &Origin::Default);
    part.note("kind", Kind::Scripted.shown(), &Origin::Default);
    desk.close(part);
    made(Kind::Scripted, SCRIPTED, Reach::Scripted, "/v1".into(), Key::None, &Origin::Default)
}

fn made(
    kind: Kind,
    name: &str,
    reach: Reach,
    version: Box<str>,
    key: Key,
    origin: &Origin,
) -> Made {
    let upstream = Upstream {
        name: name.into(),
        reach,
        version,
        speaks: kind.speaks(),
        profile: None,
        key,
        headers: Vec::new(),
        tries: u32::try_from(TRIES).unwrap_or(1),
    };
    Made { upstream: Arc::new(upstream), kind, origin: origin.clone() }
}

/// What `--upstream` means: a name, or an address of its own.
fn choose(
    desk: &mut Desk<'_>,
    text: &str,
    origin: Origin,
    made: &mut Vec<Made>,
) -> Option<(Arc<str>, Origin)> {
    if let Some(found) = made.iter().find(|made| &*made.upstream.name == text) {
        return Some((Arc::clone(&found.upstream.name), origin));
    }
    if !text.contains("://") {
        let names: Vec<&str> = made.iter().map(|made| &*made.upstream.name).collect();
        let message = format!("there is no upstream {}", quoted(&cut(text)));
        let help = format!("known: {}; or give an address: https://…", names.join(", "));
        desk.refuse(&origin, "", message, help);
        return None;
    }
    let kind = [Kind::Openai, Kind::Anthropic, Kind::Gemini].into_iter().find(|kind| {
        let host = kind.usual().and_then(|usual| usual.split('/').nth(2));
        text.split('/').nth(2) == host
    });
    let (name, key) = match kind {
        None => ("upstream", desk.variable("FOXWEDGE_UPSTREAM_KEY")),
        Some(kind) => (kind.name(), own_key(desk, kind)),
    };
    let key = key.map(|(key, _)| key).unwrap_or_default();
    let url = (text.to_owned(), origin.clone());
    let new = known(desk, kind.unwrap_or(Kind::Compatible), name, Some(&url), &key, &origin)?;
    let name = Arc::clone(&new.upstream.name);
    made.retain(|made| made.upstream.name != name);
    made.insert(0, new);
    Some((name, origin))
}
