//! The sections that need more than the table: the store, telemetry, and limits that depend on each
//! other.

use std::net::SocketAddr;

use foxwedge_store::StoreUrl;
use foxwedge_upstream::{
    AddressPolicy, BaseUrlStyle, NetworkTarget, SecretText, format_base_url, parse_base_url,
};
use http::HeaderName;

use super::{
    GatewayLimits, GatewayTimeouts, SessionConfig, SettingOrigin, TelemetryConfig, address,
    config_reader::{ConfigReader, SectionReader, excerpt, invalid},
    environment,
    secrets::{self, REDACTED_SECRET},
    table::TelemetrySettings,
    values::quote,
};

pub(super) fn store(reader: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> StoreUrl {
    let mut value = environment::default_store(reader.environment).map(StoreUrl::Sqlite);
    let mut from = SettingOrigin::Default;
    for (text, origin) in reader.read_layers(root, "store") {
        let parsed = match text.parse::<StoreUrl>() {
            Ok(StoreUrl::Sqlite(path)) if matches!(origin, SettingOrigin::File { .. }) => {
                StoreUrl::Sqlite(reader.resolve_path(&path))
            }
            Ok(parsed) => {
                if let Err(error) = parsed.check() {
                    let help = "such as `postgres://user:password@host/database?sslmode=require`";
                    reader.report_error(&origin, "store", error.to_string(), help);
                    continue;
                }
                parsed
            }
            Err(error) => {
                let help = "expected a file, or `postgres://…`";
                reader.report_error(&origin, "store", error.to_string(), help);
                continue;
            }
        };
        (value, from) = (Some(parsed), origin);
    }
    let value = value.unwrap_or_else(|| {
        let help = "use `--store FILE`, or set HOME";
        reader.report_error(&from, "store", "there is no default folder for the store", help);
        StoreUrl::Memory
    });
    root.add_setting("store", quote(&value.to_string()), &from);
    value
}

/// Reads where other nodes reach this one. Where nodes share a store, a loopback address that is not
/// set on purpose is probably a mistake: each machine has its own.
pub(super) fn advertise(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
    listen: SocketAddr,
    store: &StoreUrl,
) -> Option<String> {
    let (mut found, mut is_set) = (None, false);
    for (text, origin) in reader.read_layers(root, "advertise") {
        is_set = true;
        match address::parse_node_address(&text) {
            Some(parsed) => found = Some((parsed, origin)),
            None => {
                let help = "expected a host and a port, such as \"10.0.0.5:4177\"";
                reader.report_error(&origin, "advertise", invalid(&text), help);
            }
        }
    }
    if !is_set && matches!(store, StoreUrl::Postgres(_)) && listen.ip().is_loopback() {
        let message = format!("gateways on other machines cannot reach this one at `{listen}`");
        let help = "`advertise = \"HOST:PORT\"` is the address at which they can";
        reader.report_warning(&root.setting_origin("listen"), "listen", message, help);
    }
    let (address, origin) = found?;
    root.add_setting("advertise", quote(&address), &origin);
    Some(address)
}

pub(super) fn limits(reader: &mut ConfigReader<'_>, root: &SectionReader<'_>) -> GatewayLimits {
    let mut section = reader.open_section(root, "limits");
    let limits = GatewayLimits::read(reader, &mut section, None);
    if limits.request_body > limits.decompressed_body {
        report_order(reader, &section, "request_body", "decompressed_body");
    }
    reader.close_section(section);
    limits
}

pub(super) fn timeouts(reader: &mut ConfigReader<'_>, root: &SectionReader<'_>) -> GatewayTimeouts {
    let mut section = reader.open_section(root, "timeouts");
    let timeouts = GatewayTimeouts::read(reader, &mut section, None);
    if timeouts.shutdown_delay > timeouts.shutdown {
        report_order(reader, &section, "shutdown_delay", "shutdown");
    }
    reader.close_section(section);
    timeouts
}

pub(super) fn sessions(reader: &mut ConfigReader<'_>, root: &SectionReader<'_>) -> SessionConfig {
    let mut section = reader.open_section(root, "sessions");
    let sessions = SessionConfig::read(reader, &mut section, None);
    if sessions.call_timeout > sessions.reply_ttl {
        report_order(reader, &section, "call_timeout", "reply_ttl");
    }
    if sessions.reply_ttl > sessions.session_ttl {
        report_order(reader, &section, "reply_ttl", "session_ttl");
    }
    reader.close_section(section);
    sessions
}

/// Reports that one setting is larger than another that has to be at least as large.
fn report_order(
    reader: &mut ConfigReader<'_>,
    section: &SectionReader<'_>,
    small: &str,
    large: &str,
) {
    let (Some(first), Some(second)) = (section.setting(small), section.setting(large)) else {
        return;
    };
    let message = format!("{} is more than `{large}` ({})", first.value, second.value);
    let help = format!("raise `{large}`, or lower `{small}`");
    let origin = (&first.origin).max(&second.origin);
    reader.report_error(origin, section.full_key(small), message, help);
}

pub(super) fn telemetry(
    reader: &mut ConfigReader<'_>,
    root: &SectionReader<'_>,
) -> TelemetryConfig {
    let mut section = reader.open_section(root, "telemetry");
    let TelemetrySettings { log, otlp_content } =
        TelemetrySettings::read(reader, &mut section, None);
    let otlp = otlp(reader, &mut section);
    let mut otlp_headers: Vec<(HeaderName, SecretText)> = Vec::new();
    for (name, text, origin) in read_otlp_pairs(reader, &section) {
        let full_key = format!("{}.{}", section.full_key("otlp_headers"), excerpt(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            reader.report_error(&origin, full_key, "invalid header name", "");
            continue;
        };
        let Some(text) = reader.resolve_env(text, &origin, &full_key) else { continue };
        // `Bearer …` has a space in it.
        let without_spaces: String = text.chars().filter(|c| *c != ' ').collect();
        if secrets::check_secret(reader, &origin, &full_key, &without_spaces).is_some() {
            let key = format!("otlp_headers.{}", header.as_str());
            section.add_setting(&key, REDACTED_SECRET.to_owned(), &origin);
            otlp_headers.push((header, SecretText::new(text)));
        }
    }
    reader.close_section(section);
    TelemetryConfig { log, otlp, otlp_headers, otlp_content }
}

/// Reads the headers for the collector, as in the file or as the variable lists them.
fn read_otlp_pairs(
    reader: &mut ConfigReader<'_>,
    section: &SectionReader<'_>,
) -> Vec<(String, String, SettingOrigin)> {
    let mut pairs = reader.read_pairs(section, "otlp_headers");
    let variables = section.row("otlp_headers").map_or(&[][..], |row| row.variables);
    for name in variables {
        let Some((text, origin)) = reader.read_variable(name) else { continue };
        pairs.clear();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) => {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned(), origin.clone()));
                }
                None => {
                    let help = "expected name=value,name=value";
                    reader.report_error(&origin, "", "invalid list of headers", help);
                }
            }
        }
    }
    pairs
}

/// Reads the collector address. It is often a local name that resolves to a private address.
fn otlp(reader: &mut ConfigReader<'_>, section: &mut SectionReader<'_>) -> Option<NetworkTarget> {
    let mut found = None;
    for (text, origin) in reader.read_layers(section, "otlp") {
        match parse_base_url(&text, BaseUrlStyle::Plain, AddressPolicy::Private) {
            Ok(base) => found = Some((base.target, origin)),
            Err((message, help)) => {
                reader.report_error(&origin, section.full_key("otlp"), message, help);
            }
        }
    }
    let (target, origin) = found?;
    section.add_setting("otlp", quote(&format_base_url(&target, "")), &origin);
    Some(target)
}
