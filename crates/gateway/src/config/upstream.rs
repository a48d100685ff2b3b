//! One upstream of the file: its address, key and formats.

use std::sync::Arc;

use foxwedge_core::{Format, Profile};
use foxwedge_upstream::{
    AddressError, AddressPolicy, BaseUrl, BaseUrlStyle, NetworkTarget, SCRIPTED_NAME,
    UpstreamConfig, UpstreamKey, UpstreamKind, UpstreamTransport, format_base_url, parse_base_url,
};
use http::{HeaderName, HeaderValue};

use super::{
    AgentConfig, SettingOrigin, agent,
    cloud::{self, CloudConfig},
    config_reader::{ConfigReader, SectionReader, excerpt, invalid},
    network,
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
    let cloud = cloud::read_cloud(reader, section, kind);
    if kind == UpstreamKind::Scripted {
        for key in ["base_url", "key", "key_file", "allow_private", "client_cert", "client_key"] {
            if section.has(key) {
                let message = "the built-in model has no such setting";
                let help = format!("remove `{key}`");
                reader.report_error(origin, section.full_key(key), message, help);
            }
        }
    }
    let cloud_url = cloud.as_ref().and_then(|cloud| cloud.url.clone());
    if cloud.is_none() && CLOUD_KINDS.contains(&kind) {
        return None;
    }
    let url = url.or(cloud_url);
    let transport = match &cloud {
        Some(cloud) => read_cloud_transport(reader, section, cloud, url.as_ref(), private, origin),
        None => read_transport(reader, section, kind, url.as_ref(), private, origin),
    };
    let is_own_host = match (&cloud, &transport) {
        (Some(cloud), Some((UpstreamTransport::Network(target), _))) => cloud.owns(&target.host),
        _ => url.is_none_or(|(text, _)| kind.default_url() == Some(text.trim_end_matches('/'))),
    };
    let key =
        read_upstream_key(reader, section, kind, cloud.as_ref(), source, is_own_host, origin)?;
    let identity = network::read_identity(reader, section);
    let (mut transport, version) = transport?;
    if let (Some(identity), UpstreamTransport::Network(target)) = (identity, &mut transport) {
        if !target.tls {
            let message = "the connection is not encrypted, so no certificate can be shown";
            reader.report_error(origin, section.full_key("client_cert"), message, "use `https://`");
        }
        target.identity = Some(identity);
    }
    let attempts = u32::try_from(attempts).unwrap_or(1);
    let name = Arc::from("");
    let platform = cloud.map(|cloud| cloud.platform);
    Some(UpstreamConfig {
        name,
        transport,
        version,
        platform,
        formats,
        profile,
        key,
        headers,
        attempts,
    })
}

/// The kinds with settings of their own.
const CLOUD_KINDS: [UpstreamKind; 3] =
    [UpstreamKind::Azure, UpstreamKind::Vertex, UpstreamKind::Bedrock];

/// The error for an address of Azure with a deployment.
const DEPLOYMENT_URL: AddressError = (
    "its path names a deployment",
    "leave out `/openai/deployments/…`, and name the deployment as `upstream_model` of a route",
);

/// Reads how an upstream of a cloud is reached.
fn read_cloud_transport(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    cloud: &CloudConfig,
    url: Option<&(String, SettingOrigin)>,
    private: AddressPolicy,
    origin: &SettingOrigin,
) -> Option<(UpstreamTransport, Box<str>)> {
    let Some((text, from)) = url else {
        let help = "`base_url = \"https://NAME.openai.azure.com\"`, or AZURE_OPENAI_ENDPOINT";
        reader.report_error(origin, section.full_key("base_url"), "missing", help);
        return None;
    };
    let base = match cloud.names_deployment(text) {
        true => Err(DEPLOYMENT_URL),
        false => parse_base_url(cloud.join_version(text), BaseUrlStyle::Plain, private),
    };
    let (target, _) = add_base_url(reader, section, base, from)?;
    Some((UpstreamTransport::Network(target), cloud.version.as_str().into()))
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
    let base = parse_base_url(text, kind.style(), private);
    let (target, version) = add_base_url(reader, section, base, from)?;
    Some((UpstreamTransport::Network(target), version))
}

/// Adds an address to the settings, or reports what is wrong with it.
fn add_base_url(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    base: Result<BaseUrl, AddressError>,
    from: &SettingOrigin,
) -> Option<(NetworkTarget, Box<str>)> {
    match base {
        Ok(base) => {
            let url = format_base_url(&base.target, &base.version);
            section.add_setting("base_url", quote(&url), from);
            if base.is_unencrypted {
                let message = "the connection is not encrypted: keys and content can be read";
                let help = "use `https://`; for a host in your own network, `allow_private = true`";
                reader.report_warning(from, section.full_key("base_url"), message, help);
            }
            Some((base.target, base.version))
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
    cloud: Option<&CloudConfig>,
    source: SecretSource,
    is_own_host: bool,
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
    let in_file = match cloud {
        Some(cloud) => cloud.read_credentials(reader, section)?,
        None => None,
    };
    if in_file.is_some() {
        return in_file;
    }
    let variables = if is_own_host { kind.key_variables() } else { &[] };
    if variables.is_empty() && cloud.is_none() {
        return Some(UpstreamKey::None);
    }
    let from_variable = if is_own_host { provider_key(reader, kind) } else { None };
    if let Some((text, from)) = from_variable {
        section.add_setting("key", REDACTED_SECRET.to_owned(), &from);
        return secrets::check_secret(reader, &from, &section.full_key("key"), &text)
            .map(UpstreamKey::Configured);
    }
    let in_environment = match cloud.filter(|_| is_own_host) {
        Some(cloud) => cloud.read_environment(reader, section),
        None => None,
    };
    if in_environment.is_some() {
        return in_environment;
    }
    let help = match cloud {
        Some(cloud) => cloud.credentials_help().to_owned(),
        None => format!(
            "set {}, or `key`, or `key_file`; `key = \"caller\"` uses the \
             client's own key",
            variables.join(" or ")
        ),
    };
    reader.report_error(origin, section.full_key("key"), "missing", help);
    None
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
    let supported = kind.map(UpstreamKind::formats).unwrap_or_default();
    let is_closed = kind.is_some_and(|kind| CLOUD_KINDS.contains(&kind));
    let foreign = formats.iter().find(|format| match is_closed {
        true => !supported.contains(format),
        false => **format == Format::Bedrock && kind.is_some(),
    });
    if let (Some(format), Some(kind)) = (foreign, kind) {
        let message =
            format!("an upstream of the kind `{}` has no format `{}`", kind.name(), format.name());
        let names: Vec<&str> = supported.iter().map(|format| format.name()).collect();
        let help = format!("it has {}", names.join(", "));
        reader.report_error(&from, section.full_key("formats"), message, help);
    }
    if formats.is_empty() {
        formats = supported;
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
