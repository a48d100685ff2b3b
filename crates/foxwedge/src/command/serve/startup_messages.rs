//! What is said when the gateway is there. A log of JSON lines stays one.

use std::{
    io::{self, IsTerminal},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use foxwedge_gateway::config::{
    ConfigIssue, GatewayLogFormat, LoadedConfig, TokenScope, TokenState,
};
use serde_json::json;

use super::{
    config_errors::{self, display_text},
    token::TokenCreation,
};
use crate::{
    cli_output::{self, BOLD, DIM, HELP, clean, paint, pluralize},
    screen::pad,
};

/// Says what somebody should know before the start.
pub(super) fn report_warnings(loaded: &LoadedConfig) {
    match loaded.config.telemetry.log {
        GatewayLogFormat::Text | GatewayLogFormat::Off => {
            config_errors::report_warnings(&loaded.warnings)
        }
        GatewayLogFormat::Json => {
            let line = |complaint: &ConfigIssue| {
                let (message, help) = (complaint.to_string(), &complaint.help);
                json_line(&json!({ "level": "warn", "message": message, "help": help }))
            };
            cli_output::write_stderr(&loaded.warnings.iter().map(line).collect::<String>());
        }
    }
}

/// Says how many runs were left by a process that is gone.
pub(super) fn report_closed_runs(log: GatewayLogFormat, closed: usize) {
    match (closed, log) {
        (0, _) => {}
        (closed, GatewayLogFormat::Json) => {
            cli_output::write_stderr(&json_line(
                &json!({ "level": "info", "message": "runs closed", "runs": closed }),
            ));
        }
        (closed, GatewayLogFormat::Text | GatewayLogFormat::Off) => {
            cli_output::print_note(&format!(
                "closed {} whose process is gone",
                pluralize(closed, "run")
            ));
        }
    }
}

/// Says that the gateway listens, and how clients find it. The token is said to a person at a
/// terminal only, in the address of the console: what is written into a file never has it.
pub(super) fn report_ready(
    loaded: &LoadedConfig,
    address: SocketAddr,
    store: &str,
    made: TokenCreation,
) {
    let url = format!("http://{address}");
    match loaded.config.telemetry.log {
        GatewayLogFormat::Json => {
            let message = json!({ "level": "info", "message": "listening", "address": url });
            cli_output::write_stderr(&json_line(&message));
        }
        GatewayLogFormat::Text | GatewayLogFormat::Off => {
            let console = console_url(loaded, address, io::stderr().is_terminal());
            cli_output::write_stderr(&ready_text(loaded, &url, &console, store, made));
        }
    }
}

/// Says that requests which are at work may finish.
pub(super) fn report_draining(log: GatewayLogFormat, seconds: u64) {
    match log {
        GatewayLogFormat::Json => {
            cli_output::write_stderr(&json_line(&json!({ "level": "info", "message": "draining" })))
        }
        GatewayLogFormat::Text | GatewayLogFormat::Off => cli_output::write_stderr(&format!(
            "Finishing what is at work, for {seconds} s at most; a second signal ends it at once.\n"
        )),
    }
}

/// Says how it went.
pub(super) fn report_stopped(log: GatewayLogFormat, finished: usize, cut: usize) {
    match log {
        GatewayLogFormat::Json => {
            let told =
                json!({ "level": "info", "message": "stopped", "finished": finished, "cut": cut });
            cli_output::write_stderr(&json_line(&told));
        }
        GatewayLogFormat::Text | GatewayLogFormat::Off => {
            let cut = if cut == 0 {
                String::new()
            } else {
                format!("; {cut} took too long and were cut")
            };
            cli_output::write_stderr(&format!("Stopped{cut}.\n"));
        }
    }
}

fn json_line(document: &serde_json::Value) -> String {
    format!("{document}\n")
}

/// The address of the console. A browser keeps what stands behind `#` to itself, and the page takes
/// the token from there.
fn console_url(loaded: &LoadedConfig, mut address: SocketAddr, terminal: bool) -> String {
    if address.ip().is_unspecified() {
        let local: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(local);
    }
    let mut tokens = loaded.config.access.tokens.iter();
    let token = tokens.find(|token| token.scope == TokenScope::Admin).filter(|_| terminal);
    match token {
        Some(token) => format!("http://{address}/#token={}", percent_encode(token.secret.reveal())),
        None => format!("http://{address}/"),
    }
}

/// Fit for an address.
fn percent_encode(text: &str) -> String {
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

fn ready_text(
    loaded: &LoadedConfig,
    url: &str,
    console: &str,
    store: &str,
    made: TokenCreation,
) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("foxwedge {version} listens at {}\n", paint(BOLD, url));
    let upstreams: Vec<&str> =
        loaded.config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    let rows = [
        ("console", console.to_owned()),
        ("token", describe_token(loaded, made)),
        ("store", config_errors::display_store(store)),
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
fn describe_token(loaded: &LoadedConfig, made: TokenCreation) -> String {
    if loaded.token_state == TokenState::Disabled {
        return "none is asked for".to_owned();
    }
    let access = loaded.sections.iter().filter(|block| block.header == "[access]");
    let mut given = access.flat_map(|block| &block.settings);
    let place = given.find_map(|setting| match setting.key.as_str() {
        "token_file" => Some(display_text(&setting.value.replace('"', ""))),
        "token" => Some(display_text(&setting.origin.to_string())),
        _ => None,
    });
    let owners = || {
        let tokens = loaded.config.access.tokens.iter();
        let owners: Vec<&str> = tokens.map(|token| &*token.owner).collect();
        format!("of {}", clean(&owners.join(", ")))
    };
    match (place, made) {
        (Some(place), TokenCreation::New) => format!("in {place} (made just now)"),
        (Some(place), TokenCreation::Existing) => format!("in {place}"),
        (None, _) => owners(),
    }
}

#[cfg(test)]
mod tests {
    use super::percent_encode;

    #[test]
    fn tokens_are_escaped_for_an_address() {
        assert_eq!(percent_encode("aZ09-_.~"), "aZ09-_.~");
        assert_eq!(percent_encode("a b#c&d=é"), "a%20b%23c%26d%3D%C3%A9");
    }
}
