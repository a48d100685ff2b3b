//! The sections that are numbers and words only: limits, times, guard, sessions, record, telemetry,
//! console.

use std::net::SocketAddr;

use foxwedge_store::StoreUrl;
use http::HeaderName;

use super::{
    Addresses, Console, Files, Guard, Limits, Origin, Record, Sessions, Target, Telemetry, Times,
    address::{self, Style},
    desk::{Desk, Part, Set, cut},
    secrets::{self, HIDDEN},
    values::{Size, Truth, Value, quoted},
    world,
};
use crate::{Secret, config::Log};

/// Where we listen, if nobody says so.
const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4177);

pub(super) fn listen(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Set<SocketAddr> {
    desk.set(root, "listen", LISTEN)
}

pub(super) fn store(desk: &mut Desk<'_>, root: &mut Part<'_>) -> StoreUrl {
    let usual = world::usual_store(desk.world).map(StoreUrl::Sqlite);
    let none = usual.is_none();
    let mut set = Set { value: usual.unwrap_or(StoreUrl::Memory), origin: Origin::Default };
    for (text, origin) in desk.layers(root, "store") {
        match text.parse::<StoreUrl>() {
            Ok(StoreUrl::Sqlite(path)) if matches!(origin, Origin::File { .. }) => {
                set = Set { value: StoreUrl::Sqlite(desk.path(&path)), origin };
            }
            Ok(value) => set = Set { value, origin },
            Err(error) => {
                desk.refuse(&origin, "store", error.to_string(), "a file, or `postgres://…`");
            }
        }
    }
    if none && set.origin == Origin::Default {
        let message = "there is no folder for the store";
        desk.refuse(&Origin::Default, "store", message, "`--store FILE`, or set HOME");
    }
    root.note("store", quoted(&set.value.to_string()), &set.origin);
    set.value
}

pub(super) fn limits(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Limits {
    let usual = Limits::default();
    let mut part = desk.table(root, "limits");
    let mut size = |key, default| desk.positive(&mut part, key, Size(default));
    let head = size("head", usual.head);
    let body = size("body", usual.body);
    let unpacked = size("unpacked", usual.unpacked);
    let event = size("event", usual.event);
    let reply = size("reply", usual.reply);
    let mut count = |key, default: usize| desk.positive(&mut part, key, default).value;
    let limits = Limits {
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
        let Size(bytes) = set.value;
        if bytes < least << 10 {
            let message = format!("{bytes} bytes are less than {least}KiB, which agents soon need");
            desk.warn(&set.origin, part.full(key), message, "a number without a unit is bytes");
        }
    }
    if limits.body > limits.unpacked {
        let (body, unpacked) = (&body, &unpacked);
        let message = format!(
            "body ({}) may not be more than unpacked ({})",
            body.value.shown(),
            unpacked.value.shown()
        );
        let origin = (&body.origin).max(&unpacked.origin);
        desk.refuse(origin, part.full("body"), message, "raise `unpacked`, or lower `body`");
    }
    if limits.head < 8 << 10 {
        let message = "no client fits into such a head";
        desk.refuse(&head.origin, part.full("head"), message, "at least \"8KiB\"");
    }
    desk.close(part);
    limits
}

pub(super) fn times(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Times {
    let usual = Times::default();
    let mut part = desk.table(root, "times");
    let mut time = |key, default| desk.positive(&mut part, key, default).value;
    let mut times = Times {
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
    times.drain = desk.set(&mut part, "drain", usual.drain).value;
    desk.close(part);
    times
}

pub(super) fn guard(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Guard {
    let usual = Guard::default();
    let mut part = desk.table(root, "guard");
    let guard = Guard {
        mode: desk.set(&mut part, "mode", usual.mode).value,
        unanswered: desk.set(&mut part, "unanswered", usual.unanswered).value,
        language: desk.set(&mut part, "language", usual.language).value,
        overflow: desk.set(&mut part, "overflow", usual.overflow).value,
        heal: desk.set(&mut part, "heal", usual.heal).value,
    };
    desk.close(part);
    guard
}

pub(super) fn sessions(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Sessions {
    let usual = Sessions::default();
    let mut part = desk.table(root, "sessions");
    let call = desk.positive(&mut part, "call", usual.call);
    let snapshot = desk.positive(&mut part, "snapshot", usual.snapshot);
    let session = desk.positive(&mut part, "session", usual.session);
    let ordered = [
        (("call", &call), ("snapshot", &snapshot)),
        (("snapshot", &snapshot), ("session", &session)),
    ];
    for ((less, one), (more, two)) in ordered {
        if one.value > two.value {
            let message = format!(
                "{less} ({}) may not be more than {more} ({})",
                one.value.shown(),
                two.value.shown()
            );
            let origin = (&one.origin).max(&two.origin);
            desk.refuse(origin, part.full(less), message, "call ≤ snapshot ≤ session");
        }
    }
    let sessions = Sessions {
        call: call.value,
        snapshot: snapshot.value,
        session: session.value,
        nodes: desk.set(&mut part, "nodes", usual.nodes).value,
        replies: desk.set(&mut part, "replies", Size(usual.replies)).value.0,
        again: desk.set(&mut part, "again", usual.again).value,
        busy: desk.set(&mut part, "busy", usual.busy).value,
    };
    desk.close(part);
    sessions
}

pub(super) fn record(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Record {
    let usual = Record::default();
    let mut part = desk.table(root, "record");
    let record = Record {
        runs: desk.set(&mut part, "runs", usual.runs).value,
        content: desk.set(&mut part, "content", usual.content).value,
        repairs: desk.set(&mut part, "repairs", usual.repairs).value,
        repair_bytes: desk.set(&mut part, "repair_bytes", Size(usual.repair_bytes)).value.0,
    };
    desk.close(part);
    record
}

pub(super) fn console(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Console {
    let mut part = desk.table(root, "console");
    let files = match desk.set(&mut part, "files", Truth(true)).value {
        Truth(true) => Files::Shown,
        Truth(false) => Files::Hidden,
    };
    desk.close(part);
    Console { files }
}

pub(super) fn telemetry(desk: &mut Desk<'_>, root: &mut Part<'_>) -> Telemetry {
    let mut part = desk.table(root, "telemetry");
    let log = desk.set(&mut part, "log", Log::Text).value;
    let otlp = otlp(desk, &mut part);
    let mut pairs = desk.pairs(&mut part, "otlp_headers");
    if let Some((text, origin)) = desk.variable("OTEL_EXPORTER_OTLP_HEADERS") {
        pairs.clear();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) => {
                    pairs.push((name.trim().to_owned(), value.trim().to_owned(), origin.clone()));
                }
                None => {
                    desk.refuse(&origin, "", "this is no list of headers", "name=value,name=value")
                }
            }
        }
    }
    let mut otlp_headers: Vec<(HeaderName, Secret)> = Vec::new();
    for (name, text, origin) in pairs {
        let full = format!("{}.{}", part.full("otlp_headers"), cut(&name));
        let Ok(header) = name.parse::<HeaderName>() else {
            desk.refuse(&origin, full, "this is no name of a header", "");
            continue;
        };
        let named = text.strip_prefix("env:").map(|name| desk.variable(name));
        let text =
            named.map_or(text.clone(), |found| found.map(|(text, _)| text).unwrap_or_default());
        // `Bearer …` has a space in it.
        let sent: String = text.chars().filter(|c| *c != ' ').collect();
        if secrets::usable(desk, &origin, &full, &sent).is_some() {
            part.note(&format!("otlp_headers.{}", header.as_str()), HIDDEN.to_owned(), &origin);
            otlp_headers.push((header, Secret::new(text)));
        }
    }
    desk.close(part);
    Telemetry { log, otlp, otlp_headers }
}

/// The collector. It mostly lives next door, under a name that leads to a private address.
fn otlp(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Option<Target> {
    let mut found = None;
    for (text, origin) in desk.layers(part, "otlp") {
        match address::base(&text, Style::Plain, Addresses::Private) {
            Ok(base) => found = Some((base.target, origin)),
            Err((message, help)) => desk.refuse(&origin, part.full("otlp"), message, help),
        }
    }
    let (target, origin) = found?;
    part.note("otlp", quoted(&address::told(&target, "")), &origin);
    Some(target)
}
