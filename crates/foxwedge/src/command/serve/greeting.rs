//! What is said when the gateway is there. A log of JSON lines stays one.

use std::{
    io::{self, IsTerminal},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use foxwedge_engine::config::{Complaint, Door, Loaded, Log, Scope};
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

/// Says that the gateway listens, and how clients find it. The token is said to a person at a
/// terminal only, in the address of the console: what is written into a file never has it.
pub(super) fn ready(loaded: &Loaded, address: SocketAddr, store: &str, made: Made) {
    let url = format!("http://{address}");
    match loaded.config.telemetry.log {
        Log::Json => {
            let message = json!({ "level": "info", "message": "listening", "address": url });
            say::talk(&line(&message));
        }
        Log::Text | Log::Off => {
            let console = console(loaded, address, io::stderr().is_terminal());
            say::talk(&text(loaded, &url, &console, store, made));
        }
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

/// The address of the console. A browser keeps what stands behind `#` to itself, and the page takes
/// the token from there.
fn console(loaded: &Loaded, mut address: SocketAddr, terminal: bool) -> String {
    if address.ip().is_unspecified() {
        let local: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(local);
    }
    let mut tokens = loaded.config.access.tokens.iter();
    let token = tokens.find(|token| token.scope == Scope::Admin).filter(|_| terminal);
    match token {
        Some(token) => format!("http://{address}/#token={}", escaped(token.secret.reveal())),
        None => format!("http://{address}/"),
    }
}

/// Fit for an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn text(loaded: &Loaded, url: &str, console: &str, store: &str, made: Made) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("foxwedge {version} listens at {}\n", paint(BOLD, url));
    let upstreams: Vec<&str> =
        loaded.config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    let rows = [
        ("console", console.to_owned()),
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

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn tokens_are_escaped_for_an_address() {
        assert_eq!(escaped("aZ09-_.~"), "aZ09-_.~");
        assert_eq!(escaped("a b#c&d=é"), "a%20b%23c%26d%3D%C3%A9");
    }
}
