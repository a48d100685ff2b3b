//! One upstream of the file: where it is, in whose name it is asked, what it speaks.

use std::sync::Arc;

use foxwedge_core::{Format, Profile};
use http::{HeaderName, HeaderValue};

use super::{
    AddressPolicy, SettingOrigin, UpstreamConfig, UpstreamKey, UpstreamTransport, address, agent,
    config_reader::{ConfigReader, SectionReader, excerpt},
    secrets::{self, REDACTED_SECRET, SecretSource},
    token,
    upstream_kind::UpstreamKind,
    upstreams::{DEFAULT_TRIES, SCRIPTED_NAME, UpstreamEntry},
    values::{ConfigValue, quote},
};

/// One `[[upstream]]` of the file.
pub(super) fn read_upstream(
    desk: &mut ConfigReader<'_>,
    mut part: SectionReader<'_>,
    before: &mut Vec<String>,
) -> Option<UpstreamEntry> {
    let origin = part.origin();
    let name = read_upstream_name(desk, &mut part, before);
    before.extend(name.clone());
    if let Some(name) = &name {
        part.name = format!("upstream.{name}");
    }
    let kind = desk.read_text(&mut part, "kind");
    let kind = match kind.map(|(text, origin)| (UpstreamKind::read(&text), text, origin)) {
        Some((Some(kind), _, origin)) => {
            part.add_setting("kind", kind.to_toml(), &origin);
            Some(kind)
        }
        Some((None, text, origin)) => {
            let message = format!("{} does not fit", quote(&excerpt(&text)));
            desk.report_error(
                &origin,
                part.full_key("kind"),
                message,
                format!("it is {}", UpstreamKind::expected()),
            );
            None
        }
        None => {
            let help = format!("it is {}", UpstreamKind::expected());
            desk.report_error(&origin, part.full_key("kind"), "it is missing", help);
            None
        }
    };
    let read = match kind {
        Some(UpstreamKind::ClaudeCode) => agent::read_claude_code(desk, &mut part, &origin),
        Some(_) | None => read_upstream_settings(desk, &mut part, kind, &origin),
    };
    part.section.settings.sort_by_key(|setting| setting_order(&setting.key));
    desk.close_section(part);
    let (name, kind, mut upstream) = (name?, kind?, read?);
    if name == SCRIPTED_NAME && kind != UpstreamKind::Scripted {
        let message = "this is the name of the built-in model";
        desk.report_error(&origin, "upstream.name", message, "give it another name");
        return None;
    }
    upstream.name = name.into();
    Some(UpstreamEntry { upstream: Arc::new(upstream), kind, origin })
}

fn read_upstream_name(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    before: &[String],
) -> Option<String> {
    let Some((name, origin)) = desk.read_text(part, "name") else {
        if !part.has("name") {
            desk.report_error(
                &part.origin(),
                part.full_key("name"),
                "it is missing",
                "`name = \"openai\"`",
            );
        }
        return None;
    };
    part.add_setting("name", quote(&name), &origin);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        let message = format!("{} is no name", quote(&excerpt(&name)));
        desk.report_error(
            &origin,
            part.full_key("name"),
            message,
            "use 1 to 64 of A-Z a-z 0-9 . _ -",
        );
        return None;
    }
    if before.contains(&name) {
        let message = format!("there is another `{name}`");
        desk.report_error(
            &origin,
            part.full_key("name"),
            message,
            "give each upstream a name of its own",
        );
        return None;
    }
    Some(name)
}

/// Everything but its name and its kind.
fn read_upstream_settings(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    kind: Option<UpstreamKind>,
    origin: &SettingOrigin,
) -> Option<UpstreamConfig> {
    let private = match part.has("private") {
        true => desk.read_setting(part, "private", PrivateFlag(AddressPolicy::Public)).value.0,
        false => AddressPolicy::Public,
    };
    part.mark_known("private");
    let url = desk.read_text(part, "base_url");
    let ways = SecretSource::of(desk, part, ("key", "key_file"));
    let profile = desk.read_text(part, "profile").and_then(|(text, origin)| {
        let profile = Profile::read(&text);
        match profile {
            Some(profile) => part.add_setting("profile", profile.to_toml(), &origin),
            None => {
                let help = format!("it is {}", Profile::expected());
                desk.report_error(
                    &origin,
                    part.full_key("profile"),
                    "there is no such profile",
                    help,
                );
            }
        }
        profile
    });
    let wires = read_formats(desk, part, kind);
    let headers = read_headers(desk, part);
    let tries = desk.read_positive(part, "tries", DEFAULT_TRIES);
    if tries.value > 10 {
        desk.report_error(
            &tries.origin,
            part.full_key("tries"),
            "nobody should be asked so often",
            "at most 10",
        );
    }
    let kind = kind?;
    if kind == UpstreamKind::Scripted {
        for key in ["base_url", "key", "key_file", "private"] {
            if part.has(key) {
                let message = "the built-in model lives here";
                desk.report_error(
                    origin,
                    part.full_key(key),
                    message,
                    format!("leave `{key}` out"),
                );
            }
        }
    }
    let reached = read_transport(desk, part, kind, url.as_ref(), private, origin);
    let elsewhere =
        url.is_some_and(|(text, _)| kind.default_url() != Some(text.trim_end_matches('/')));
    let key = read_upstream_key(desk, part, kind, ways, elsewhere, origin)?;
    let (reach, version) = reached?;
    let tries = u32::try_from(tries.value).unwrap_or(1);
    let name = Arc::from("");
    Some(UpstreamConfig {
        name,
        transport: reach,
        version,
        speaks: wires,
        profile,
        key,
        headers,
        tries,
    })
}

/// Where a key stands when an upstream is shown.
fn setting_order(key: &str) -> usize {
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
struct PrivateFlag(AddressPolicy);

impl ConfigValue for PrivateFlag {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(text: &str) -> Option<PrivateFlag> {
        match text {
            "true" => Some(PrivateFlag(AddressPolicy::Private)),
            "false" => Some(PrivateFlag(AddressPolicy::Public)),
            _ => None,
        }
    }

    fn to_toml(&self) -> String {
        (self.0 == AddressPolicy::Private).to_string()
    }
}

/// How it is reached, and what stands before its endpoints.
pub(super) fn read_transport(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    kind: UpstreamKind,
    url: Option<&(String, SettingOrigin)>,
    private: AddressPolicy,
    origin: &SettingOrigin,
) -> Option<(UpstreamTransport, Box<str>)> {
    if kind == UpstreamKind::Scripted {
        return Some((UpstreamTransport::Scripted, "/v1".into()));
    }
    let usual = kind.default_url().map(|usual| (usual, &SettingOrigin::Default));
    let written = url.map(|(text, origin)| (text.as_str(), origin));
    let Some((text, from)) = written.or(usual) else {
        let help = "`base_url = \"https://api.example.com/v1\"`";
        desk.report_error(origin, part.full_key("base_url"), "it is missing", help);
        return None;
    };
    match address::parse_base_url(text, kind.style(), private) {
        Ok(base) => {
            part.add_setting(
                "base_url",
                quote(&address::format_base_url(&base.target, &base.version)),
                from,
            );
            if base.is_unencrypted {
                let message = "everybody on the way can read what is sent, keys too";
                let help = "use `https://`; for a host of your own network say `private = true`";
                desk.report_warning(from, part.full_key("base_url"), message, help);
            }
            Some((UpstreamTransport::Network(base.target), base.version))
        }
        Err((message, help)) => {
            desk.report_error(from, part.full_key("base_url"), message, help);
            None
        }
    }
}

/// In whose name it is asked. A provider's own key in the environment goes to that provider only.
fn read_upstream_key(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    kind: UpstreamKind,
    ways: SecretSource,
    elsewhere: bool,
    origin: &SettingOrigin,
) -> Option<UpstreamKey> {
    match &ways.plain {
        Some((text, origin)) if text == "caller" && ways.file.is_none() => {
            part.add_setting("key", quote("caller"), origin);
            return Some(UpstreamKey::FromCaller);
        }
        Some((text, origin)) if text == "none" && ways.file.is_none() => {
            part.add_setting("key", quote("none"), origin);
            return Some(UpstreamKey::None);
        }
        Some(_) | None => {}
    }
    if !ways.is_empty() {
        return ways.read(desk, part).map(UpstreamKey::Configured);
    }
    let variables = if elsewhere { &[] } else { kind.key_variables() };
    if variables.is_empty() {
        return Some(UpstreamKey::None);
    }
    match provider_key(desk, kind) {
        Some((text, from)) => {
            part.add_setting("key", REDACTED_SECRET.to_owned(), &from);
            secrets::check_secret(desk, &from, &part.full_key("key"), &text)
                .map(UpstreamKey::Configured)
        }
        None => {
            let help = format!(
                "set {}, or `key`, or `key_file`; `key = \"caller\"` uses the \
                 client's own key",
                variables.join(" or ")
            );
            desk.report_error(origin, part.full_key("key"), "there is no key", help);
            None
        }
    }
}

/// The key of a provider in the environment. Our own token is none: it stands there when somebody
/// started us in a shell that was set up for a client of ours.
pub(super) fn provider_key(
    desk: &mut ConfigReader<'_>,
    kind: UpstreamKind,
) -> Option<(String, SettingOrigin)> {
    for name in kind.key_variables() {
        let Some((text, origin)) = desk.read_variable(name) else { continue };
        if !token::is_foxwedge_token(&text) {
            return Some((text, origin));
        }
        let message = "this is a token of foxwedge, not a key: it is not used";
        let help = "it was set for a client by `foxwedge env`; start the gateway in another shell";
        desk.report_warning(&origin, "", message, help);
    }
    None
}

fn read_formats(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    kind: Option<UpstreamKind>,
) -> Vec<Format> {
    let mut wires: Vec<Format> = Vec::new();
    let mut from = SettingOrigin::Default;
    for (text, origin) in desk.read_texts(part, "speaks") {
        match Format::read(&text) {
            Some(wire) if wires.contains(&wire) => {}
            Some(wire) => wires.push(wire),
            None => {
                let message = format!("{} is no format", quote(&excerpt(&text)));
                let help = format!("it is {}", Format::expected());
                desk.report_error(&origin, part.full_key("speaks"), message, help);
            }
        }
        from = origin;
    }
    if wires.is_empty() {
        wires = kind.map(UpstreamKind::formats).unwrap_or_default();
    }
    add_formats_setting(part, &wires, &from);
    wires
}

/// Writes down the formats.
pub(super) fn add_formats_setting(
    part: &mut SectionReader<'_>,
    wires: &[Format],
    origin: &SettingOrigin,
) {
    let shown: Vec<String> = wires.iter().map(ConfigValue::to_toml).collect();
    part.add_setting("speaks", format!("[{}]", shown.join(", ")), origin);
}

/// Headers that belong to the connection, not to an operator.
const RESERVED_HEADERS: [&str; 12] = [
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

fn read_headers(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, text, origin) in desk.read_pairs(part, "headers") {
        let full = format!("{}.{}", part.full_key("headers"), excerpt(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            desk.report_error(&origin, full, "this is no name of a header", "");
            continue;
        };
        if RESERVED_HEADERS.contains(&header.as_str()) {
            desk.report_error(
                &origin,
                full,
                "this header belongs to the connection",
                "leave it out",
            );
            continue;
        }
        let Some(text) = desk.resolve_env(text, &origin, &full) else { continue };
        let Ok(mut value) = HeaderValue::from_str(&text) else {
            desk.report_error(&origin, full, "its value cannot be sent", "");
            continue;
        };
        // Some hosts take their key in a header of their own.
        value.set_sensitive(true);
        part.add_setting(
            &format!("headers.{}", header.as_str()),
            REDACTED_SECRET.to_owned(),
            &origin,
        );
        headers.push((header, value));
    }
    headers
}
