//! What is said when the gateway is there. A log of JSON lines stays one.

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
};

use foxwedge_engine::config::{Complaint, Door, Loaded, Log};
use serde_json::json;

use super::{
    complaints::{self, told},
    token::Made,
};
use crate::{
    say::{self, BOLD, DIM, HELP, clean, count, paint},
    screen::pad,
};

/// Says what somebody should know before the start.
pub(super) fn warnings(loaded: &Loaded) {
    match loaded.config.telemetry.log {
        Log::Text | Log::Off => complaints::warn(&loaded.warnings),
        Log::Json => {
            let line = |complaint: &Complaint| {
                let (message, help) = (complaint.to_string(), &complaint.help);
                line(&json!({ "level": "warn", "message": message, "help": help }))
            };
            say::talk(&loaded.warnings.iter().map(line).collect::<String>());
        }
    }
}

/// Says how many runs were left by a process that is gone.
pub(super) fn swept(log: Log, closed: usize) {
    match (closed, log) {
        (0, _) => {}
        (closed, Log::Json) => {
            say::talk(&line(&json!({ "level": "info", "message": "runs closed", "runs": closed })));
        }
        (closed, Log::Text | Log::Off) => {
            say::note(&format!("closed {} whose process is gone", count(closed, "run")));
        }
    }
}

/// Says that the gateway listens, and how clients find it. The token itself is never said.
pub(super) fn ready(loaded: &Loaded, address: SocketAddr, store: &str, made: Made) {
    let url = format!("http://{address}");
    match loaded.config.telemetry.log {
        Log::Json => {
            let message = json!({ "level": "info", "message": "listening", "address": url });
            say::talk(&line(&message));
        }
        Log::Text | Log::Off => say::talk(&text(loaded, &url, store, made)),
    }
}

/// Says that requests which are at work may finish.
pub(super) fn draining(log: Log, seconds: u64) {
    match log {
        Log::Json => say::talk(&line(&json!({ "level": "info", "message": "draining" }))),
        Log::Text | Log::Off => say::talk(&format!(
            "Finishing what is at work, for {seconds} s at most; a second signal ends it at once.\n"
        )),
    }
}

/// Says how it went.
pub(super) fn over(log: Log, finished: usize, cut: usize) {
    match log {
        Log::Json => {
            let told =
                json!({ "level": "info", "message": "stopped", "finished": finished, "cut": cut });
            say::talk(&line(&told));
        }
        Log::Text | Log::Off => {
            let cut = if cut == 0 {
                String::new()
            } else {
                format!("; {cut} took too long and were cut")
            };
            say::talk(&format!("Stopped{cut}.\n"));
        }
    }
}

fn line(document: &serde_json::Value) -> String {
    format!("{document}\n")
}

fn text(loaded: &Loaded, url: &str, store: &str, made: Made) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("foxwedge {version} listens at {}\n", paint(BOLD, url));
    let upstreams: Vec<&str> =
        loaded.config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    let rows = [
        ("console", format!("{url}/")),
        ("token", token(loaded, made)),
        ("store", complaints::store(store)),
        ("upstreams", clean(&upstreams.join(", "))),
        ("guard", loaded.config.guard.mode.name().to_owned()),
    ];
    for (label, value) in rows {
        text.push_str(&format!("  {} {value}\n", paint(DIM, pad(label, 9))));
    }
    if io::stderr().is_terminal() {
        let help = paint(HELP, "help");
        text.push_str(&format!("  {help}: `eval \"$(foxwedge env)\"` points clients here\n"));
    }
    text
}

/// Where the token is.
fn token(loaded: &Loaded, made: Made) -> String {
    if loaded.door == Door::Open {
        return "none is asked for".to_owned();
    }
    let access = loaded.blocks.iter().filter(|block| block.header == "[access]");
    let mut given = access.flat_map(|block| &block.settings);
    let place = given.find_map(|setting| match setting.key.as_str() {
        "token_file" => Some(told(&setting.value.replace('"', ""))),
        "token" => Some(told(&setting.origin.to_string())),
        _ => None,
    });
    let owners = || {
        let tokens = loaded.config.access.tokens.iter();
        let owners: Vec<&str> = tokens.map(|token| &*token.owner).collect();
        format!("of {}", clean(&owners.join(", ")))
    };
    match (place, made) {
        (Some(place), Made::Now) => format!("in {place} (made just now)"),
        (Some(place), Made::Before) => format!("in {place}"),
        (None, _) => owners(),
    }
}
