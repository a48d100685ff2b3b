//! Who is asked: what the file names, else what the keys in the environment lead to. The built-in
//! model is always there.

use std::sync::Arc;

use super::{
    AddressPolicy, SettingOrigin, UpstreamConfig, UpstreamKey, UpstreamTransport,
    config_reader::{ConfigReader, SectionReader, excerpt},
    secrets::{self, REDACTED_SECRET},
    upstream::{add_formats_setting, provider_key, read_transport, read_upstream},
    upstream_kind::UpstreamKind,
    values::{ConfigValue, quote},
};

/// The name of the built-in model.
pub(super) const SCRIPTED_NAME: &str = "scripted";

/// How often a request is tried, if nobody says so.
pub(super) const DEFAULT_TRIES: usize = 3;

/// An upstream and what it is.
pub(super) struct UpstreamEntry {
    pub(super) upstream: Arc<UpstreamConfig>,
    pub(super) kind: UpstreamKind,
    pub(super) origin: SettingOrigin,
}

/// All upstreams.
pub(super) struct UpstreamList {
    pub(super) entries: Vec<UpstreamEntry>,
    /// Those that were written down, and may have something wrong with them.
    pub(super) declared_names: Vec<String>,
    /// The one that the command line sends everything to.
    pub(super) chosen: Option<(Arc<str>, SettingOrigin)>,
}

/// Reads every `[[upstream]]`, or looks for keys in the environment.
pub(super) fn read_upstreams(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> UpstreamList {
    let parts = desk.open_sections(root, "upstream");
    let (mut made, mut named): (Vec<UpstreamEntry>, Vec<String>) = (Vec::new(), Vec::new());
    let none = parts.is_empty();
    for part in parts {
        made.extend(read_upstream(desk, part, &mut named));
    }
    if none {
        for kind in [UpstreamKind::Openai, UpstreamKind::Anthropic, UpstreamKind::Gemini] {
            if let Some((text, origin)) = provider_key(desk, kind) {
                made.extend(implicit_upstream(desk, kind, kind.name(), None, &text, &origin));
            }
        }
    }
    if !made.iter().any(|made| &*made.upstream.name == SCRIPTED_NAME) {
        made.push(scripted_entry(desk));
    }
    let chosen = match &desk.flags.upstream {
        Some(text) => Some((text.clone(), SettingOrigin::Flag("--upstream"))),
        None => desk.read_variable("FOXWEDGE_UPSTREAM"),
    };
    let chosen = chosen.and_then(|(text, origin)| choose_upstream(desk, &text, origin, &mut made));
    UpstreamList { entries: made, declared_names: named, chosen }
}

/// One that is known without a file: the provider of a key, or an address that was typed.
fn implicit_upstream(
    desk: &mut ConfigReader<'_>,
    kind: UpstreamKind,
    name: &'static str,
    url: Option<&(String, SettingOrigin)>,
    key: &str,
    from: &SettingOrigin,
) -> Option<UpstreamEntry> {
    let mut part = SectionReader::new(format!("upstream.{name}"), "[[upstream]]".to_owned(), None);
    part.add_setting("name", quote(name), from);
    part.add_setting("kind", kind.to_toml(), from);
    let reached = read_transport(desk, &mut part, kind, url, AddressPolicy::Public, from);
    let ours = match key {
        "" => Some(UpstreamKey::None),
        key => {
            part.add_setting("key", REDACTED_SECRET.to_owned(), from);
            secrets::check_secret(desk, from, "", key).map(UpstreamKey::Configured)
        }
    };
    add_formats_setting(&mut part, &kind.formats(), &SettingOrigin::Default);
    desk.close_section(part);
    let (reach, version) = reached?;
    Some(new_entry(kind, name, reach, version, ours?, from))
}

fn scripted_entry(desk: &mut ConfigReader<'_>) -> UpstreamEntry {
    let mut part = SectionReader::new("upstream.scripted", "[[upstream]]".to_owned(), None);
    part.add_setting("name", quote(SCRIPTED_NAME), &SettingOrigin::Default);
    part.add_setting("kind", UpstreamKind::Scripted.to_toml(), &SettingOrigin::Default);
    desk.close_section(part);
    new_entry(
        UpstreamKind::Scripted,
        SCRIPTED_NAME,
        UpstreamTransport::Scripted,
        "/v1".into(),
        UpstreamKey::None,
        &SettingOrigin::Default,
    )
}

fn new_entry(
    kind: UpstreamKind,
    name: &str,
    reach: UpstreamTransport,
    version: Box<str>,
    key: UpstreamKey,
    origin: &SettingOrigin,
) -> UpstreamEntry {
    let upstream = UpstreamConfig {
        name: name.into(),
        transport: reach,
        version,
        speaks: kind.formats(),
        profile: None,
        key,
        headers: Vec::new(),
        tries: u32::try_from(DEFAULT_TRIES).unwrap_or(1),
    };
    UpstreamEntry { upstream: Arc::new(upstream), kind, origin: origin.clone() }
}

/// What `--upstream` means: a name, or an address of its own.
fn choose_upstream(
    desk: &mut ConfigReader<'_>,
    text: &str,
    origin: SettingOrigin,
    made: &mut Vec<UpstreamEntry>,
) -> Option<(Arc<str>, SettingOrigin)> {
    if let Some(found) = made.iter().find(|made| &*made.upstream.name == text) {
        return Some((Arc::clone(&found.upstream.name), origin));
    }
    if !text.contains("://") {
        let names: Vec<&str> = made.iter().map(|made| &*made.upstream.name).collect();
        let message = format!("there is no upstream {}", quote(&excerpt(text)));
        let help = format!("known: {}; or give an address: https://…", names.join(", "));
        desk.report_error(&origin, "", message, help);
        return None;
    }
    let kind = [UpstreamKind::Openai, UpstreamKind::Anthropic, UpstreamKind::Gemini]
        .into_iter()
        .find(|kind| {
            let host = kind.default_url().and_then(|usual| usual.split('/').nth(2));
            text.split('/').nth(2) == host
        });
    let (name, key) = match kind {
        None => ("upstream", desk.read_variable("FOXWEDGE_UPSTREAM_KEY")),
        Some(kind) => (kind.name(), provider_key(desk, kind)),
    };
    let key = key.map(|(key, _)| key).unwrap_or_default();
    let url = (text.to_owned(), origin.clone());
    let new = implicit_upstream(
        desk,
        kind.unwrap_or(UpstreamKind::OpenaiCompatible),
        name,
        Some(&url),
        &key,
        &origin,
    )?;
    let name = Arc::clone(&new.upstream.name);
    made.retain(|made| made.upstream.name != name);
    made.insert(0, new);
    Some((name, origin))
}
