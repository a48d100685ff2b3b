//! The sections that are numbers and words only: limits, times, guard, sessions, record, telemetry,
//! console.

use std::net::SocketAddr;

use foxwedge_store::StoreUrl;
use http::HeaderName;

use super::{
    AddressPolicy, ConsoleConfig, GatewayLimits, GatewayTimeouts, GuardConfig, NetworkTarget,
    RecordConfig, SessionConfig, SessionFileAccess, SettingOrigin, TelemetryConfig,
    address::{self, BaseUrlStyle},
    config_reader::{ConfigReader, SectionReader, SettingValue, excerpt},
    environment,
    secrets::{self, REDACTED_SECRET},
    values::{BoolValue, ByteSize, ConfigValue, quote},
};
use crate::{SecretText, config::GatewayLogFormat};

/// Where we listen, if nobody says so.
const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4177);

pub(super) fn listen(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> SettingValue<SocketAddr> {
    desk.read_setting(root, "listen", DEFAULT_LISTEN)
}

pub(super) fn store(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> StoreUrl {
    let usual = environment::default_store(desk.environment).map(StoreUrl::Sqlite);
    let none = usual.is_none();
    let mut set =
        SettingValue { value: usual.unwrap_or(StoreUrl::Memory), origin: SettingOrigin::Default };
    for (text, origin) in desk.read_layers(root, "store") {
        match text.parse::<StoreUrl>() {
            Ok(StoreUrl::Sqlite(path)) if matches!(origin, SettingOrigin::File { .. }) => {
                set = SettingValue { value: StoreUrl::Sqlite(desk.resolve_path(&path)), origin };
            }
            Ok(value) => set = SettingValue { value, origin },
            Err(error) => {
                desk.report_error(&origin, "store", error.to_string(), "a file, or `postgres://…`");
            }
        }
    }
    if none && set.origin == SettingOrigin::Default {
        let message = "there is no folder for the store";
        desk.report_error(&SettingOrigin::Default, "store", message, "`--store FILE`, or set HOME");
    }
    root.add_setting("store", quote(&set.value.to_string()), &set.origin);
    set.value
}

pub(super) fn limits(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> GatewayLimits {
    let usual = GatewayLimits::default();
    let mut part = desk.open_section(root, "limits");
    let mut size = |key, default| desk.read_positive(&mut part, key, ByteSize(default));
    let head = size("head", usual.head);
    let body = size("body", usual.body);
    let unpacked = size("unpacked", usual.unpacked);
    let event = size("event", usual.event);
    let reply = size("reply", usual.reply);
    let mut count = |key, default: usize| desk.read_positive(&mut part, key, default).value;
    let limits = GatewayLimits {
        head: head.value.0,
        body: body.value.0,
        unpacked: unpacked.value.0,
        messages: count("messages", usual.messages),
        depth: count("depth", usual.depth),
        connections: count("connections", usual.connections),
        per_address: count("per_address", usual.per_address),
        per_owner: count("per_owner", usual.per_owner),
        event: event.value.0,
        reply: reply.value.0,
    };
    let sizes = [("body", &body), ("unpacked", &unpacked), ("event", &event), ("reply", &reply)];
    for ((key, set), least) in sizes.into_iter().zip([64, 64, 4, 64]) {
        let ByteSize(bytes) = set.value;
        if bytes < least << 10 {
            let message = format!("{bytes} bytes are less than {least}KiB, which agents soon need");
            desk.report_warning(
                &set.origin,
                part.full_key(key),
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
        desk.report_error(
            origin,
            part.full_key("body"),
            message,
            "raise `unpacked`, or lower `body`",
        );
    }
    if limits.head < 8 << 10 {
        let message = "no client fits into such a head";
        desk.report_error(&head.origin, part.full_key("head"), message, "at least \"8KiB\"");
    }
    desk.close_section(part);
    limits
}

pub(super) fn times(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> GatewayTimeouts {
    let usual = GatewayTimeouts::default();
    let mut part = desk.open_section(root, "times");
    let mut time = |key, default| desk.read_positive(&mut part, key, default).value;
    let mut times = GatewayTimeouts {
        head: time("head", usual.head),
        body: time("body", usual.body),
        keep_alive: time("keep_alive", usual.keep_alive),
        write: time("write", usual.write),
        connect: time("connect", usual.connect),
        first_byte: time("first_byte", usual.first_byte),
        idle: time("idle", usual.idle),
        drain: usual.drain,
    };
    // Nothing to wait for is a wish like any other.
    times.drain = desk.read_setting(&mut part, "drain", usual.drain).value;
    desk.close_section(part);
    times
}

pub(super) fn guard(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> GuardConfig {
    let usual = GuardConfig::default();
    let mut part = desk.open_section(root, "guard");
    let guard = GuardConfig {
        mode: desk.read_setting(&mut part, "mode", usual.mode).value,
        unanswered: desk.read_setting(&mut part, "unanswered", usual.unanswered).value,
        language: desk.read_setting(&mut part, "language", usual.language).value,
        overflow: desk.read_setting(&mut part, "overflow", usual.overflow).value,
        heal: desk.read_setting(&mut part, "heal", usual.heal).value,
    };
    desk.close_section(part);
    guard
}

pub(super) fn sessions(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> SessionConfig {
    let usual = SessionConfig::default();
    let mut part = desk.open_section(root, "sessions");
    let call = desk.read_positive(&mut part, "call", usual.call);
    let snapshot = desk.read_positive(&mut part, "snapshot", usual.snapshot);
    let session = desk.read_positive(&mut part, "session", usual.session);
    let ordered = [
        (("call", &call), ("snapshot", &snapshot)),
        (("snapshot", &snapshot), ("session", &session)),
    ];
    for ((less, one), (more, two)) in ordered {
        if one.value > two.value {
            let message = format!(
                "{less} ({}) may not be more than {more} ({})",
                one.value.to_toml(),
                two.value.to_toml()
            );
            let origin = (&one.origin).max(&two.origin);
            desk.report_error(origin, part.full_key(less), message, "call ≤ snapshot ≤ session");
        }
    }
    let sessions = SessionConfig {
        call: call.value,
        snapshot: snapshot.value,
        session: session.value,
        nodes: desk.read_setting(&mut part, "nodes", usual.nodes).value,
        replies: desk.read_setting(&mut part, "replies", ByteSize(usual.replies)).value.0,
        again: desk.read_setting(&mut part, "again", usual.again).value,
        busy: desk.read_setting(&mut part, "busy", usual.busy).value,
    };
    desk.close_section(part);
    sessions
}

pub(super) fn record(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> RecordConfig {
    let usual = RecordConfig::default();
    let mut part = desk.open_section(root, "record");
    let record = RecordConfig {
        runs: desk.read_setting(&mut part, "runs", usual.runs).value,
        content: desk.read_setting(&mut part, "content", usual.content).value,
        repairs: desk.read_setting(&mut part, "repairs", usual.repairs).value,
        repair_bytes: desk
            .read_setting(&mut part, "repair_bytes", ByteSize(usual.repair_bytes))
            .value
            .0,
    };
    desk.close_section(part);
    record
}

pub(super) fn console(desk: &mut ConfigReader<'_>, root: &mut SectionReader<'_>) -> ConsoleConfig {
    let mut part = desk.open_section(root, "console");
    let files = match desk.read_setting(&mut part, "files", BoolValue(true)).value {
        BoolValue(true) => SessionFileAccess::Shown,
        BoolValue(false) => SessionFileAccess::Hidden,
    };
    desk.close_section(part);
    ConsoleConfig { files }
}

pub(super) fn telemetry(
    desk: &mut ConfigReader<'_>,
    root: &mut SectionReader<'_>,
) -> TelemetryConfig {
    let mut part = desk.open_section(root, "telemetry");
    let log = desk.read_setting(&mut part, "log", GatewayLogFormat::Text).value;
    let otlp = otlp(desk, &mut part);
    let mut pairs = desk.read_pairs(&mut part, "otlp_headers");
    if let Some((text, origin)) = desk.read_variable("OTEL_EXPORTER_OTLP_HEADERS") {
        pairs.clear();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) => {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned(), origin.clone()));
                }
                None => desk.report_error(
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
        let full = format!("{}.{}", part.full_key("otlp_headers"), excerpt(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            desk.report_error(&origin, full, "this is no name of a header", "");
            continue;
        };
        let named = text.strip_prefix("env:").map(|name| desk.read_variable(name));
        let text =
            named.map_or(text.clone(), |found| found.map(|(text, _)| text).unwrap_or_default());
        // `Bearer …` has a space in it.
        let sent: String = text.chars().filter(|c| *c != ' ').collect();
        if secrets::check_secret(desk, &origin, &full, &sent).is_some() {
            part.add_setting(
                &format!("otlp_headers.{}", header.as_str()),
                REDACTED_SECRET.to_owned(),
                &origin,
            );
            otlp_headers.push((header, SecretText::new(text)));
        }
    }
    desk.close_section(part);
    TelemetryConfig { log, otlp, otlp_headers }
}

/// The collector. It mostly lives next door, under a name that leads to a private address.
fn otlp(desk: &mut ConfigReader<'_>, part: &mut SectionReader<'_>) -> Option<NetworkTarget> {
    let mut found = None;
    for (text, origin) in desk.read_layers(part, "otlp") {
        match address::parse_base_url(&text, BaseUrlStyle::Plain, AddressPolicy::Private) {
            Ok(base) => found = Some((base.target, origin)),
            Err((message, help)) => {
                desk.report_error(&origin, part.full_key("otlp"), message, help)
            }
        }
    }
    let (target, origin) = found?;
    part.add_setting("otlp", quote(&address::format_base_url(&target, "")), &origin);
    Some(target)
}
