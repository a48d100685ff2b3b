//! The upstreams: those of the file, else those for which the environment has keys. The built-in
//! model is always included.

use std::sync::Arc;

use foxwedge_upstream::{
    AddressPolicy, DEFAULT_ATTEMPTS, SCRIPTED_NAME, UpstreamConfig, UpstreamKey, UpstreamKind,
    UpstreamTransport,
};

use super::{
    SettingOrigin,
    config_reader::{ConfigReader, SectionReader, excerpt},
    secrets::{self, REDACTED_SECRET},
    upstream::{UpstreamEntry, provider_key, read_transport, read_upstream},
    values::{ConfigValue, quote},
};

/// All upstreams.
pub(super) struct UpstreamList {
    pub(super) entries: Vec<UpstreamEntry>,
    /// All names in the file, including those of upstreams with errors.
    pub(super) declared_names: Vec<String>,
    /// The upstream that the command line or the environment chose for all requests.
    pub(super) chosen: Option<(Arc<str>, SettingOrigin)>,
}

/// Reads every `[[upstream]]`, or looks for keys in the environment.
pub(super) fn read_upstreams(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> UpstreamList {
    let sections = reader.open_sections(root, "upstream");
    let (mut entries, mut declared_names): (Vec<UpstreamEntry>, Vec<String>) =
        (Vec::new(), Vec::new());
    let is_implicit = sections.is_empty();
    for section in sections {
        entries.extend(read_upstream(reader, section, &mut declared_names));
    }
    if is_implicit {
        for kind in [UpstreamKind::Openai, UpstreamKind::Anthropic, UpstreamKind::Gemini] {
            if let Some((text, origin)) = provider_key(reader, kind) {
                entries.extend(implicit_upstream(reader, kind, kind.name(), None, &text, &origin));
            }
        }
    }
    if !entries.iter().any(|entry| &*entry.upstream.name == SCRIPTED_NAME) {
        entries.push(scripted_entry(reader));
    }
    let chosen = match &reader.flags.upstream {
        Some(text) => Some((text.clone(), SettingOrigin::Flag("--upstream"))),
        None => reader.read_variable("FOXWEDGE_UPSTREAM"),
    };
    let chosen =
        chosen.and_then(|(text, origin)| choose_upstream(reader, &text, origin, &mut entries));
    UpstreamList { entries, declared_names, chosen }
}

/// An upstream that needs no file: the provider of a key, or an address from the command line.
fn implicit_upstream(
    reader: &mut ConfigReader<'_>,
    kind: UpstreamKind,
    name: &'static str,
    url: Option<&(String, SettingOrigin)>,
    key: &str,
    origin: &SettingOrigin,
) -> Option<UpstreamEntry> {
    let mut section = SectionReader::of(reader.section_table("upstream"));
    section.name = format!("upstream.{name}");
    section.add_setting("name", quote(name), origin);
    section.add_setting("kind", UpstreamKind::to_toml(&kind), origin);
    let transport = read_transport(reader, &mut section, kind, url, AddressPolicy::Public, origin);
    let upstream_key = match key {
        "" => Some(UpstreamKey::None),
        key => {
            section.add_setting("key", REDACTED_SECRET.to_owned(), origin);
            secrets::check_secret(reader, origin, "", key).map(UpstreamKey::Configured)
        }
    };
    section.add_formats(&kind.formats(), &SettingOrigin::Default);
    reader.close_section(section);
    let (transport, version) = transport?;
    Some(new_entry(kind, name, transport, version, upstream_key?, origin))
}

fn scripted_entry(reader: &mut ConfigReader<'_>) -> UpstreamEntry {
    let mut section = SectionReader::of(reader.section_table("upstream"));
    section.add_setting("name", quote(SCRIPTED_NAME), &SettingOrigin::Default);
    let kind = UpstreamKind::to_toml(&UpstreamKind::Scripted);
    section.add_setting("kind", kind, &SettingOrigin::Default);
    reader.close_section(section);
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
    transport: UpstreamTransport,
    version: Box<str>,
    key: UpstreamKey,
    origin: &SettingOrigin,
) -> UpstreamEntry {
    let upstream = UpstreamConfig {
        name: name.into(),
        transport,
        version,
        platform: None,
        formats: kind.formats(),
        profile: None,
        key,
        headers: Vec::new(),
        attempts: DEFAULT_ATTEMPTS,
    };
    UpstreamEntry { upstream: Arc::new(upstream), agent: None, kind, origin: origin.clone() }
}

/// Resolves `--upstream`: the name of an upstream, or an address.
fn choose_upstream(
    reader: &mut ConfigReader<'_>,
    text: &str,
    origin: SettingOrigin,
    entries: &mut Vec<UpstreamEntry>,
) -> Option<(Arc<str>, SettingOrigin)> {
    if let Some(found) = entries.iter().find(|entry| &*entry.upstream.name == text) {
        return Some((Arc::clone(&found.upstream.name), origin));
    }
    if !text.contains("://") {
        let names: Vec<&str> = entries.iter().map(|entry| &*entry.upstream.name).collect();
        let message = format!("there is no upstream {}", quote(&excerpt(text)));
        let help = format!("known upstreams: {}; or use a URL: https://…", names.join(", "));
        reader.report_error(&origin, "", message, help);
        return None;
    }
    let kind = [UpstreamKind::Openai, UpstreamKind::Anthropic, UpstreamKind::Gemini]
        .into_iter()
        .find(|kind| {
            let host = kind.default_url().and_then(|usual| usual.split('/').nth(2));
            text.split('/').nth(2) == host
        });
    let (name, key) = match kind {
        None => ("upstream", reader.read_variable("FOXWEDGE_UPSTREAM_KEY")),
        Some(kind) => (kind.name(), provider_key(reader, kind)),
    };
    let key = key.map(|(key, _)| key).unwrap_or_default();
    let url = (text.to_owned(), origin.clone());
    let entry = implicit_upstream(
        reader,
        kind.unwrap_or(UpstreamKind::OpenaiCompatible),
        name,
        Some(&url),
        &key,
        &origin,
    )?;
    let name = Arc::clone(&entry.upstream.name);
    entries.retain(|entry| entry.upstream.name != name);
    entries.insert(0, entry);
    Some((name, origin))
}
