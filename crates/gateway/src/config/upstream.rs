//! One upstream of the file: its address, key and formats.

use std::sync::Arc;

use foxwedge_core::{Format, Profile};
use foxwedge_upstream::{
    AddressPolicy, SCRIPTED_NAME, UpstreamConfig, UpstreamKey, UpstreamKind, UpstreamTransport,
    format_base_url, parse_base_url,
};
use http::{HeaderName, HeaderValue};

use super::{
    AgentConfig, SettingOrigin, agent,
    config_reader::{ConfigReader, SectionReader, excerpt, invalid},
    secrets::{self, REDACTED_SECRET, SecretSource},
    table::{self, UpstreamSettings},
    token,
    values::{ConfigValue, quote},
};

/// An upstream and its kind.
pub(super) struct UpstreamEntry {
    pub(super) upstream: Arc<UpstreamConfig>,
    /// The agent, if the upstream is one.
    pub(super) agent: Option<Arc<AgentConfig>>,
    pub(super) kind: UpstreamKind,
    pub(super) origin: SettingOrigin,
}

/// Reads one `[[upstream]]` of the file.
pub(super) fn read_upstream(
    reader: &mut ConfigReader<'_>,
    mut section: SectionReader<'_>,
    declared_names: &mut Vec<String>,
) -> Option<UpstreamEntry> {
    let origin = section.origin();
    let name = read_upstream_name(reader, &mut section, declared_names);
    declared_names.extend(name.clone());
    if let Some(name) = &name {
        section.name = format!("upstream.{name}");
    }
    let kind = reader.read_optional::<UpstreamKind>(&mut section, "kind");
    if !section.has("kind") {
        let help = format!("expected {}", UpstreamKind::expected());
        reader.report_missing(&section, "kind", &help);
    }
    let settings = match kind {
        Some(UpstreamKind::ClaudeCode) => {
            section.rows = table::agent_rows();
            agent::read_claude_code(reader, &mut section, &origin)
                .map(|(upstream, agent)| (upstream, Some(Arc::new(agent))))
        }
        Some(_) | None => read_upstream_settings(reader, &mut section, kind, &origin)
            .map(|upstream| (upstream, None)),
    };
    let rows = &section.rows;
    section.section.settings.sort_by_key(|setting| {
        rows.iter().position(|row| row.key == setting.key).unwrap_or(rows.len())
    });
    reader.close_section(section);
    let (name, kind, (mut upstream, agent)) = (name?, kind?, settings?);
    if name == SCRIPTED_NAME && kind != UpstreamKind::Scripted {
        let message = format!("`{SCRIPTED_NAME}` is reserved for the built-in model");
        reader.report_error(&origin, "upstream.name", message, "choose another name");
        return None;
    }
    upstream.name = name.into();
    Some(UpstreamEntry { upstream: Arc::new(upstream), agent, kind, origin })
}

fn read_upstream_name(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    declared_names: &[String],
) -> Option<String> {
    let Some((name, origin)) = reader.read_text(section, "name") else {
        if !section.has("name") {
            reader.report_missing(section, "name", "`name = \"openai\"`");
        }
        return None;
    };
    section.add_setting("name", quote(&name), &origin);
    let is_valid_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_valid_byte) {
        let help = "use 1 to 64 characters of A-Z a-z 0-9 . _ -";
        reader.report_error(&origin, section.full_key("name"), invalid(&name), help);
        return None;
    }
    if declared_names.contains(&name) {
        let message = format!("another upstream has the name `{name}`");
        let help = "every upstream needs its own name";
        reader.report_error(&origin, section.full_key("name"), message, help);
        return None;
    }
    Some(name)
}

/// Reads everything but the name and the kind.
fn read_upstream_settings(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    kind: Option<UpstreamKind>,
    origin: &SettingOrigin,
) -> Option<UpstreamConfig> {
    let UpstreamSettings { allow_private, attempts } =
        UpstreamSettings::read(reader, section, None);
    let private = if allow_private { AddressPolicy::Private } else { AddressPolicy::Public };
    let url = reader.read_text(section, "base_url");
    let source = SecretSource::of(reader, section, ("key", "key_file"));
    let profile = reader.read_optional::<Profile>(section, "profile");
    let formats = read_formats(reader, section, kind);
    let headers = read_headers(reader, section);
    let kind = kind?;
    if kind == UpstreamKind::Scripted {
        for key in ["base_url", "key", "key_file", "allow_private"] {
            if section.has(key) {
                let message = "the built-in model has no such setting";
                let help = format!("remove `{key}`");
                reader.report_error(origin, section.full_key(key), message, help);
            }
        }
    }
    let transport = read_transport(reader, section, kind, url.as_ref(), private, origin);
    let is_custom_url =
        url.is_some_and(|(text, _)| kind.default_url() != Some(text.trim_end_matches('/')));
    let key = read_upstream_key(reader, section, kind, source, is_custom_url, origin)?;
    let (transport, version) = transport?;
    let attempts = u32::try_from(attempts).unwrap_or(1);
    let name = Arc::from("");
    Some(UpstreamConfig { name, transport, version, formats, profile, key, headers, attempts })
}

/// Reads how the upstream is reached, and the path before its endpoints.
pub(super) fn read_transport(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    kind: UpstreamKind,
    url: Option<&(String, SettingOrigin)>,
    private: AddressPolicy,
    origin: &SettingOrigin,
) -> Option<(UpstreamTransport, Box<str>)> {
    if kind == UpstreamKind::Scripted {
        return Some((UpstreamTransport::Scripted, "/v1".into()));
    }
    let default = kind.default_url().map(|default| (default, &SettingOrigin::Default));
    let configured = url.map(|(text, origin)| (text.as_str(), origin));
    let Some((text, from)) = configured.or(default) else {
        let help = "`base_url = \"https://api.example.com/v1\"`";
        reader.report_error(origin, section.full_key("base_url"), "missing", help);
        return None;
    };
    match parse_base_url(text, kind.style(), private) {
        Ok(base) => {
            let url = format_base_url(&base.target, &base.version);
            section.add_setting("base_url", quote(&url), from);
            if base.is_unencrypted {
                let message = "the connection is not encrypted: keys and content can be read";
                let help = "use `https://`; for a host in your own network, `allow_private = true`";
                reader.report_warning(from, section.full_key("base_url"), message, help);
            }
            Some((UpstreamTransport::Network(base.target), base.version))
        }
        Err((message, help)) => {
            reader.report_error(from, section.full_key("base_url"), message, help);
            None
        }
    }
}

/// Reads the key. A provider's key in the environment is sent to that provider only.
fn read_upstream_key(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    kind: UpstreamKind,
    source: SecretSource,
    is_custom_url: bool,
    origin: &SettingOrigin,
) -> Option<UpstreamKey> {
    match &source.plain {
        Some((text, origin)) if text == "caller" && source.file.is_none() => {
            section.add_setting("key", quote("caller"), origin);
            return Some(UpstreamKey::FromCaller);
        }
        Some((text, origin)) if text == "none" && source.file.is_none() => {
            section.add_setting("key", quote("none"), origin);
            return Some(UpstreamKey::None);
        }
        Some(_) | None => {}
    }
    if !source.is_empty() {
        return source.read(reader, section).map(UpstreamKey::Configured);
    }
    let variables = if is_custom_url { &[] } else { kind.key_variables() };
    if variables.is_empty() {
        return Some(UpstreamKey::None);
    }
    match provider_key(reader, kind) {
        Some((text, from)) => {
            section.add_setting("key", REDACTED_SECRET.to_owned(), &from);
            secrets::check_secret(reader, &from, &section.full_key("key"), &text)
                .map(UpstreamKey::Configured)
        }
        None => {
            let help = format!(
                "set {}, or `key`, or `key_file`; `key = \"caller\"` uses the \
                 client's own key",
                variables.join(" or ")
            );
            reader.report_error(origin, section.full_key("key"), "missing", help);
            None
        }
    }
}

/// The key of a provider in the environment. A foxwedge token is not one: it is there if the
/// gateway was started in a shell that was set up for a client.
pub(super) fn provider_key(
    reader: &mut ConfigReader<'_>,
    kind: UpstreamKind,
) -> Option<(String, SettingOrigin)> {
    for name in kind.key_variables() {
        let Some((text, origin)) = reader.read_variable(name) else { continue };
        if !token::is_foxwedge_token(&text) {
            return Some((text, origin));
        }
        let message = "this is a foxwedge token, not a provider key; it is not used";
        let help = "`foxwedge env` set it for a client; start the gateway in another shell";
        reader.report_warning(&origin, "", message, help);
    }
    None
}

fn read_formats(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    kind: Option<UpstreamKind>,
) -> Vec<Format> {
    let mut formats: Vec<Format> = Vec::new();
    let mut from = SettingOrigin::Default;
    for (text, origin) in reader.read_texts(section, "formats") {
        match Format::read(&text) {
            Some(format) if formats.contains(&format) => {}
            Some(format) => formats.push(format),
            None => {
                let help = format!("expected {}", Format::expected());
                reader.report_error(&origin, section.full_key("formats"), invalid(&text), help);
            }
        }
        from = origin;
    }
    if formats.is_empty() {
        formats = kind.map(UpstreamKind::formats).unwrap_or_default();
    }
    section.add_formats(&formats, &from);
    formats
}

/// Headers that are controlled by the connection, not by the operator.
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
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, text, origin) in reader.read_pairs(section, "headers") {
        let full_key = format!("{}.{}", section.full_key("headers"), excerpt(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            reader.report_error(&origin, full_key, "invalid header name", "");
            continue;
        };
        if RESERVED_HEADERS.contains(&header.as_str()) {
            let message = "the connection sets this header";
            reader.report_error(&origin, full_key, message, "remove it");
            continue;
        }
        let Some(text) = reader.resolve_env(text, &origin, &full_key) else { continue };
        let Ok(mut value) = HeaderValue::from_str(&text) else {
            reader.report_error(
                &origin,
                full_key,
                "the value contains a character that cannot be sent",
                "",
            );
            continue;
        };
        // Some providers take their key in a custom header.
        value.set_sensitive(true);
        let key = format!("headers.{}", header.as_str());
        section.add_setting(&key, REDACTED_SECRET.to_owned(), &origin);
        headers.push((header, value));
    }
    headers
}
