//! One upstream of the file: where it is, in whose name it is asked, what it speaks.

use std::sync::Arc;

use foxwedge_core::{Profile, Wire};
use http::{HeaderName, HeaderValue};

use super::{
    Addresses, Key, Origin, Reach, Upstream, address, agent,
    desk::{Desk, Part, cut},
    kinds::Kind,
    secrets::{self, HIDDEN, Ways},
    token,
    upstreams::{Made, SCRIPTED, TRIES},
    values::{Value, quoted},
};

/// One `[[upstream]]` of the file.
pub(super) fn listed(
    desk: &mut Desk<'_>,
    mut part: Part<'_>,
    before: &mut Vec<String>,
) -> Option<Made> {
    let origin = part.origin();
    let name = named(desk, &mut part, before);
    before.extend(name.clone());
    if let Some(name) = &name {
        part.name = format!("upstream.{name}");
    }
    let kind = desk.text(&mut part, "kind");
    let kind = match kind.map(|(text, origin)| (Kind::read(&text), text, origin)) {
        Some((Some(kind), _, origin)) => {
            part.note("kind", kind.shown(), &origin);
            Some(kind)
        }
        Some((None, text, origin)) => {
            let message = format!("{} does not fit", quoted(&cut(&text)));
            desk.refuse(&origin, part.full("kind"), message, format!("it is {}", Kind::wanted()));
            None
        }
        None => {
            let help = format!("it is {}", Kind::wanted());
            desk.refuse(&origin, part.full("kind"), "it is missing", help);
            None
        }
    };
    let read = match kind {
        Some(Kind::ClaudeCode) => agent::claude_code(desk, &mut part, &origin),
        Some(_) | None => body(desk, &mut part, kind, &origin),
    };
    part.block.settings.sort_by_key(|setting| place(&setting.key));
    desk.close(part);
    let (name, kind, mut upstream) = (name?, kind?, read?);
    if name == SCRIPTED && kind != Kind::Scripted {
        let message = "this is the name of the built-in model";
        desk.refuse(&origin, "upstream.name", message, "give it another name");
        return None;
    }
    upstream.name = name.into();
    Some(Made { upstream: Arc::new(upstream), kind, origin })
}

fn named(desk: &mut Desk<'_>, part: &mut Part<'_>, before: &[String]) -> Option<String> {
    let Some((name, origin)) = desk.text(part, "name") else {
        if !part.has("name") {
            desk.refuse(&part.origin(), part.full("name"), "it is missing", "`name = \"openai\"`");
        }
        return None;
    };
    part.note("name", quoted(&name), &origin);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        let message = format!("{} is no name", quoted(&cut(&name)));
        desk.refuse(&origin, part.full("name"), message, "use 1 to 64 of A-Z a-z 0-9 . _ -");
        return None;
    }
    if before.contains(&name) {
        let message = format!("there is another `{name}`");
        desk.refuse(&origin, part.full("name"), message, "give each upstream a name of its own");
        return None;
    }
    Some(name)
}

/// Everything but its name and its kind.
fn body(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    kind: Option<Kind>,
    origin: &Origin,
) -> Option<Upstream> {
    let private = match part.has("private") {
        true => desk.set(part, "private", Private(Addresses::Public)).value.0,
        false => Addresses::Public,
    };
    part.knows("private");
    let url = desk.text(part, "base_url");
    let ways = Ways::of(desk, part, ("key", "key_file"));
    let profile = desk.text(part, "profile").and_then(|(text, origin)| {
        let profile = Profile::read(&text);
        match profile {
            Some(profile) => part.note("profile", profile.shown(), &origin),
            None => {
                let help = format!("it is {}", Profile::wanted());
                desk.refuse(&origin, part.full("profile"), "there is no such profile", help);
            }
        }
        profile
    });
    let wires = speaks(desk, part, kind);
    let headers = headers(desk, part);
    let tries = desk.positive(part, "tries", TRIES);
    if tries.value > 10 {
        desk.refuse(
            &tries.origin,
            part.full("tries"),
            "nobody should be asked so often",
            "at most 10",
        );
    }
    let kind = kind?;
    if kind == Kind::Scripted {
        for key in ["base_url", "key", "key_file", "private"] {
            if part.has(key) {
                let message = "the built-in model lives here";
                desk.refuse(origin, part.full(key), message, format!("leave `{key}` out"));
            }
        }
    }
    let reached = reached(desk, part, kind, url.as_ref(), private, origin);
    let elsewhere = url.is_some_and(|(text, _)| kind.usual() != Some(text.trim_end_matches('/')));
    let key = key(desk, part, kind, ways, elsewhere, origin)?;
    let (reach, version) = reached?;
    let tries = u32::try_from(tries.value).unwrap_or(1);
    let name = Arc::from("");
    Some(Upstream { name, reach, version, speaks: wires, profile, key, headers, tries })
}

/// Where a key stands when an upstream is shown.
fn place(key: &str) -> usize {
    const ORDER: [&str; 20] = [
        "name",
        "kind",
        "base_url",
        "private",
        "key",
        "key_file",
        "command",
        "folder",
        "state",
        "tools",
        "permissions",
        "bare",
        "asks",
        "most",
        "idle",
        "start",
        "turn",
        "profile",
        "speaks",
        "tries",
    ];
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

/// `private = true`.
struct Private(Addresses);

impl Value for Private {
    fn wanted() -> String {
        "true or false".to_owned()
    }

    fn read(text: &str) -> Option<Private> {
        match text {
            "true" => Some(Private(Addresses::Private)),
            "false" => Some(Private(Addresses::Public)),
            _ => None,
        }
    }

    fn shown(&self) -> String {
        (self.0 == Addresses::Private).to_string()
    }
}

/// How it is reached, and what stands before its endpoints.
pub(super) fn reached(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    kind: Kind,
    url: Option<&(String, Origin)>,
    private: Addresses,
    origin: &Origin,
) -> Option<(Reach, Box<str>)> {
    if kind == Kind::Scripted {
        return Some((Reach::Scripted, "/v1".into()));
    }
    let usual = kind.usual().map(|usual| (usual, &Origin::Default));
    let written = url.map(|(text, origin)| (text.as_str(), origin));
    let Some((text, from)) = written.or(usual) else {
        let help = "`base_url = \"https://api.example.com/v1\"`";
        desk.refuse(origin, part.full("base_url"), "it is missing", help);
        return None;
    };
    match address::base(text, kind.style(), private) {
        Ok(base) => {
            part.note("base_url", quoted(&address::told(&base.target, &base.version)), from);
            if base.bare {
                let message = "everybody on the way can read what is sent, keys too";
                let help = "use `https://`; for a host of your own network say `private = true`";
                desk.warn(from, part.full("base_url"), message, help);
            }
            Some((Reach::Network(base.target), base.version))
        }
        Err((message, help)) => {
            desk.refuse(from, part.full("base_url"), message, help);
            None
        }
    }
}

/// In whose name it is asked. A provider's own key in the environment goes to that provider only.
fn key(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    kind: Kind,
    ways: Ways,
    elsewhere: bool,
    origin: &Origin,
) -> Option<Key> {
    match &ways.plain {
        Some((text, origin)) if text == "caller" && ways.file.is_none() => {
            part.note("key", quoted("caller"), origin);
            return Some(Key::Callers);
        }
        Some((text, origin)) if text == "none" && ways.file.is_none() => {
            part.note("key", quoted("none"), origin);
            return Some(Key::None);
        }
        Some(_) | None => {}
    }
    if !ways.is_empty() {
        return ways.read(desk, part).map(Key::Ours);
    }
    let variables = if elsewhere { &[] } else { kind.variables() };
    if variables.is_empty() {
        return Some(Key::None);
    }
    match own_key(desk, kind) {
        Some((text, from)) => {
            part.note("key", HIDDEN.to_owned(), &from);
            secrets::usable(desk, &from, &part.full("key"), &text).map(Key::Ours)
        }
        None => {
            let help = format!(
                "set {}, or `key`, or `key_file`; `key = \"caller\"` uses the \
                 client's own key",
                variables.join(" or ")
            );
            desk.refuse(origin, part.full("key"), "there is no key", help);
            None
        }
    }
}

/// The key of a provider in the environment. Our own token is none: it stands there when somebody
/// started us in a shell that was set up for a client of ours.
pub(super) fn own_key(desk: &mut Desk<'_>, kind: Kind) -> Option<(String, Origin)> {
    for name in kind.variables() {
        let Some((text, origin)) = desk.variable(name) else { continue };
        if !token::is_ours(&text) {
            return Some((text, origin));
        }
        let message = "this is a token of foxwedge, not a key: it is not used";
        let help = "it was set for a client by `foxwedge env`; start the gateway in another shell";
        desk.warn(&origin, "", message, help);
    }
    None
}

fn speaks(desk: &mut Desk<'_>, part: &mut Part<'_>, kind: Option<Kind>) -> Vec<Wire> {
    let mut wires: Vec<Wire> = Vec::new();
    let mut from = Origin::Default;
    for (text, origin) in desk.texts(part, "speaks") {
        match Wire::read(&text) {
            Some(wire) if wires.contains(&wire) => {}
            Some(wire) => wires.push(wire),
            None => {
                let message = format!("{} is no format", quoted(&cut(&text)));
                let help = format!("it is {}", Wire::wanted());
                desk.refuse(&origin, part.full("speaks"), message, help);
            }
        }
        from = origin;
    }
    if wires.is_empty() {
        wires = kind.map(Kind::speaks).unwrap_or_default();
    }
    note_wires(part, &wires, &from);
    wires
}

/// Writes down the formats.
pub(super) fn note_wires(part: &mut Part<'_>, wires: &[Wire], origin: &Origin) {
    let shown: Vec<String> = wires.iter().map(Value::shown).collect();
    part.note("speaks", format!("[{}]", shown.join(", ")), origin);
}

/// Headers that belong to the connection, not to an operator.
const TAKEN: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn headers(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, text, origin) in desk.pairs(part, "headers") {
        let full = format!("{}.{}", part.full("headers"), cut(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            desk.refuse(&origin, full, "this is no name of a header", "");
            continue;
        };
        if TAKEN.contains(&header.as_str()) {
            desk.refuse(&origin, full, "this header belongs to the connection", "leave it out");
            continue;
        }
        let Some(text) = desk.resolved(text, &origin, &full) else { continue };
        let Ok(mut value) = HeaderValue::from_str(&text) else {
            desk.refuse(&origin, full, "its value cannot be sent", "");
            continue;
        };
        // Some hosts take their key in a header of their own.
        value.set_sensitive(true);
        part.note(&format!("headers.{}", header.as_str()), HIDDEN.to_owned(), &origin);
        headers.push((header, value));
    }
    headers
}
