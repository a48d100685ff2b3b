//! The sections with simple values: limits, times, guard, sessions, record, telemetry, console.

use std::net::SocketAddr;

use foxwedge_store::StoreUrl;
use http::HeaderName;

use foxwedge_upstream::{
    AddressPolicy, BaseUrlStyle, NetworkTarget, format_base_url, parse_base_url,
};

use super::{
    ConsoleConfig, GatewayLimits, GatewayTimeouts, GuardConfig, RecordConfig, SessionConfig,
    SessionFileAccess, SettingOrigin, TelemetryConfig,
    config_reader::{ConfigReader, SectionReader, SettingValue, excerpt},
    environment,
    secrets::{self, REDACTED_SECRET},
    values::{BoolValue, ByteSize, ConfigValue, quote},
};
use crate::config::GatewayLogFormat;
use foxwedge_upstream::SecretText;

/// The default listen address.
const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4177);

pub(super) fn listen(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> SettingValue<SocketAddr> {
    reader.read_setting(root, "listen", DEFAULT_LISTEN)
}

pub(super) fn store(reader: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> StoreUrl {
    let default = environment::default_store(reader.environment).map(StoreUrl::Sqlite);
    let no_default = default.is_none();
    let mut set =
        SettingValue { value: default.unwrap_or(StoreUrl::Memory), origin: SettingOrigin::Default };
    for (text, origin) in reader.read_layers(root, "store") {
        match text.parse::<StoreUrl>() {
            Ok(StoreUrl::Sqlite(path)) if matches!(origin, SettingOrigin::File { .. }) => {
                set = SettingValue { value: StoreUrl::Sqlite(reader.resolve_path(&path)), origin };
            }
            Ok(value) => set = SettingValue { value, origin },
            Err(error) => {
                reader.report_error(
                    &origin,
                    "store",
                    error.to_string(),
                    "a file, or `postgres://…`",
                );
            }
        }
    }
    if no_default && set.origin == SettingOrigin::Default {
        let message = "there is no folder for the store";
        reader.report_error(
            &SettingOrigin::Default,
            "store",
            message,
            "`--store FILE`, or set HOME",
        );
    }
    root.add_setting("store", quote(&set.value.to_string()), &set.origin);
    set.value
}

pub(super) fn limits(reader: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> GatewayLimits {
    let defaults = GatewayLimits::default();
    let mut section = reader.open_section(root, "limits");
    let mut size = |key, default| reader.read_positive(&mut section, key, ByteSize(default));
    let head = size("head", defaults.head);
    let body = size("body", defaults.body);
    let unpacked = size("unpacked", defaults.unpacked);
    let event = size("event", defaults.event);
    let reply = size("reply", defaults.reply);
    let mut count = |key, default: usize| reader.read_positive(&mut section, key, default).value;
    let limits = GatewayLimits {
        head: head.value.0,
        body: body.value.0,
        unpacked: unpacked.value.0,
        messages: count("messages", defaults.messages),
        depth: count("depth", defaults.depth),
        connections: count("connections", defaults.connections),
        per_address: count("per_address", defaults.per_address),
        per_owner: count("per_owner", defaults.per_owner),
        event: event.value.0,
        reply: reply.value.0,
    };
    let sizes = [("body", &body), ("unpacked", &unpacked), ("event", &event), ("reply", &reply)];
    for ((key, set), min_kib) in sizes.into_iter().zip([64, 64, 4, 64]) {
        let ByteSize(bytes) = set.value;
        if bytes < min_kib << 10 {
            let message =
                format!("{bytes} bytes are less than {min_kib}KiB, which agents soon need");
            reader.report_warning(
                &set.origin,
                section.full_key(key),
                message,
                "a number without a unit is bytes",
            );
        }
    }
    if limits.body > limits.unpacked {
        let (body, unpacked) = (&body, &unpacked);
        let message = format!(
            "body ({}) may not be more than unpacked ({})",
            body.value.to_toml(),
            unpacked.value.to_toml()
        );
        let origin = (&body.origin).max(&unpacked.origin);
        reader.report_error(
            origin,
            section.full_key("body"),
            message,
            "raise `unpacked`, or lower `body`",
        );
    }
    if limits.head < 8 << 10 {
        let message = "no client fits into such a head";
        reader.report_error(&head.origin, section.full_key("head"), message, "at least \"8KiB\"");
    }
    reader.close_section(section);
    limits
}

pub(super) fn times(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> GatewayTimeouts {
    let defaults = GatewayTimeouts::default();
    let mut section = reader.open_section(root, "times");
    let mut time = |key, default| reader.read_positive(&mut section, key, default).value;
    let mut times = GatewayTimeouts {
        head: time("head", defaults.head),
        body: time("body", defaults.body),
        keep_alive: time("keep_alive", defaults.keep_alive),
        write: time("write", defaults.write),
        connect: time("connect", defaults.connect),
        first_byte: time("first_byte", defaults.first_byte),
        idle: time("idle", defaults.idle),
        drain: defaults.drain,
    };
    // Zero is allowed here: do not wait at all.
    times.drain = reader.read_setting(&mut section, "drain", defaults.drain).value;
    reader.close_section(section);
    times
}

pub(super) fn guard(reader: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> GuardConfig {
    let defaults = GuardConfig::default();
    let mut section = reader.open_section(root, "guard");
    let guard = GuardConfig {
        mode: reader.read_setting(&mut section, "mode", defaults.mode).value,
        unanswered: reader.read_setting(&mut section, "unanswered", defaults.unanswered).value,
        language: reader.read_setting(&mut section, "language", defaults.language).value,
        overflow: reader.read_setting(&mut section, "overflow", defaults.overflow).value,
        heal: reader.read_setting(&mut section, "heal", defaults.heal).value,
    };
    reader.close_section(section);
    guard
}

pub(super) fn sessions(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> SessionConfig {
    let defaults = SessionConfig::default();
    let mut section = reader.open_section(root, "sessions");
    let call = reader.read_positive(&mut section, "call", defaults.call);
    let snapshot = reader.read_positive(&mut section, "snapshot", defaults.snapshot);
    let session = reader.read_positive(&mut section, "session", defaults.session);
    let ordered = [
        (("call", &call), ("snapshot", &snapshot)),
        (("snapshot", &snapshot), ("session", &session)),
    ];
    for ((shorter, first), (longer, second)) in ordered {
        if first.value > second.value {
            let message = format!(
                "{shorter} ({}) may not be more than {longer} ({})",
                first.value.to_toml(),
                second.value.to_toml()
            );
            let origin = (&first.origin).max(&second.origin);
            reader.report_error(
                origin,
                section.full_key(shorter),
                message,
                "call ≤ snapshot ≤ session",
            );
        }
    }
    let sessions = SessionConfig {
        call: call.value,
        snapshot: snapshot.value,
        session: session.value,
        nodes: reader.read_setting(&mut section, "nodes", defaults.nodes).value,
        replies: reader.read_setting(&mut section, "replies", ByteSize(defaults.replies)).value.0,
        again: reader.read_setting(&mut section, "again", defaults.again).value,
        busy: reader.read_setting(&mut section, "busy", defaults.busy).value,
    };
    reader.close_section(section);
    sessions
}

pub(super) fn record(reader: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> RecordConfig {
    let defaults = RecordConfig::default();
    let mut section = reader.open_section(root, "record");
    let record = RecordConfig {
        runs: reader.read_setting(&mut section, "runs", defaults.runs).value,
        content: reader.read_setting(&mut section, "content", defaults.content).value,
        repairs: reader.read_setting(&mut section, "repairs", defaults.repairs).value,
        repair_bytes: reader
            .read_setting(&mut section, "repair_bytes", ByteSize(defaults.repair_bytes))
            .value
            .0,
    };
    reader.close_section(section);
    record
}

pub(super) fn console(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> ConsoleConfig {
    let mut section = reader.open_section(root, "console");
    let files = match reader.read_setting(&mut section, "files", BoolValue(true)).value {
        BoolValue(true) => SessionFileAccess::Shown,
        BoolValue(false) => SessionFileAccess::Hidden,
    };
    reader.close_section(section);
    ConsoleConfig { files }
}

pub(super) fn telemetry(
    reader: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> TelemetryConfig {
    let mut section = reader.open_section(root, "telemetry");
    let log = reader.read_setting(&mut section, "log", GatewayLogFormat::Text).value;
    let otlp = otlp(reader, &mut section);
    let mut pairs = reader.read_pairs(&mut section, "otlp_headers");
    if let Some((text, origin)) = reader.read_variable("OTEL_EXPORTER_OTLP_HEADERS") {
        pairs.clear();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) => {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned(), origin.clone()));
                }
                None => reader.report_error(
                    &origin,
                    "",
                    "this is no list of headers",
                    "name=value,name=value",
                ),
            }
        }
    }
    let mut otlp_headers: Vec<(HeaderName, SecretText)> = Vec::new();
    for (name, text, origin) in pairs {
        let full_key = format!("{}.{}", section.full_key("otlp_headers"), excerpt(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            reader.report_error(&origin, full_key, "this is no name of a header", "");
            continue;
        };
        let from_variable = text.strip_prefix("env:").map(|name| reader.read_variable(name));
        let text = from_variable
            .map_or(text.clone(), |found| found.map(|(text, _)| text).unwrap_or_default());
        // `Bearer …` has a space in it.
        let without_spaces: String = text.chars().filter(|c| *c != ' ').collect();
        if secrets::check_secret(reader, &origin, &full_key, &without_spaces).is_some() {
            section.add_setting(
                &format!("otlp_headers.{}", header.as_str()),
                REDACTED_SECRET.to_owned(),
                &origin,
            );
            otlp_headers.push((header, SecretText::new(text)));
        }
    }
    reader.close_section(section);
    TelemetryConfig { log, otlp, otlp_headers }
}

/// Reads the collector address. It is often a local name that resolves to a private address.
fn otlp(reader: &mut ConfigReader<'_>, section: &mut SectionReader<'_>) -> Option<NetworkTarget> {
    let mut found = None;
    for (text, origin) in reader.read_layers(section, "otlp") {
        match parse_base_url(&text, BaseUrlStyle::Plain, AddressPolicy::Private) {
            Ok(base) => found = Some((base.target, origin)),
            Err((message, help)) => {
                reader.report_error(&origin, section.full_key("otlp"), message, help)
            }
        }
    }
    let (target, origin) = found?;
    section.add_setting("otlp", quote(&format_base_url(&target, "")), &origin);
    Some(target)
}
