//! Messages at start and stop of the gateway. With a JSON log, these are JSON lines too.

use std::{
    io::{self, IsTerminal},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use foxwedge_gateway::config::{
    ConfigChanges, ConfigError, ConfigIssue, GatewayLogFormat, LoadedConfig, TokenScope, TokenState,
};
use serde_json::json;

use super::{
    config_errors::{self, display_text},
    token::TokenCreation,
};
use foxwedge_local::{
    language::localize,
    output::{self, BOLD, DIM, HELP, clean, paint, pluralize},
    screen::pad,
};

/// Prints configuration warnings.
pub(super) fn report_warnings(loaded: &LoadedConfig) {
    match loaded.config.telemetry.log.for_stderr() {
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            config_errors::report_warnings(&loaded.warnings)
        }
        GatewayLogFormat::Json => {
            let line = |issue: &ConfigIssue| {
                let (message, help) = (issue.to_string(), &issue.help);
                json_line(json!({ "level": "warn", "message": message, "help": help }))
            };
            output::write_stderr(&loaded.warnings.iter().map(line).collect::<String>());
        }
    }
}

/// Reports how many runs of ended processes were closed.
pub(super) fn report_closed_runs(log: GatewayLogFormat, closed: usize) {
    match (closed, log) {
        (0, _) => {}
        (closed, GatewayLogFormat::Json) => {
            output::write_stderr(&json_line(
                json!({ "level": "info", "message": "runs closed", "runs": closed }),
            ));
        }
        (closed, GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off) => {
            output::print_note(&format!(
                "closed {} whose process is gone",
                pluralize(closed, "run")
            ));
        }
    }
}

/// Reports the address, and how clients connect. The token appears only on a terminal, in the
/// console URL; it never appears in redirected output.
pub(super) fn report_ready(
    loaded: &LoadedConfig,
    address: SocketAddr,
    store: &str,
    token_creation: TokenCreation,
) {
    let url = format!("http://{address}");
    match loaded.config.telemetry.log.for_stderr() {
        GatewayLogFormat::Json => {
            let upstreams: Vec<&str> =
                loaded.config.upstreams.iter().map(|upstream| &*upstream.name).collect();
            let message = json!({
                "level": "info", "message": "listening", "address": url, "upstreams": upstreams,
                "token": describe_token(loaded, token_creation),
                "store": config_errors::display_store(store),
            });
            output::write_stderr(&json_line(message));
        }
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            let console = console_url(loaded, address, io::stderr().is_terminal());
            output::write_stderr(&ready_text(loaded, &url, &console, store, token_creation));
        }
    }
}

/// Reports a reload: what changed, and what changes only with the next start.
pub(super) fn report_reloaded(log: GatewayLogFormat, changes: &ConfigChanges) {
    let ConfigChanges { applied, after_restart } = changes;
    match log {
        GatewayLogFormat::Json => output::write_stderr(&json_line(json!({
            "level": "info", "message": "configuration reloaded",
            "changed": applied, "after_restart": after_restart,
        }))),
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            let list = |names: &[String]| display_text(&names.join(", "));
            let mut text = match applied.is_empty() {
                true => localize("The configuration was reloaded.\n").into_owned(),
                false => {
                    let changed = list(applied);
                    localize(format!("The configuration was reloaded: {changed}.\n")).into_owned()
                }
            };
            if !after_restart.is_empty() {
                let names = list(after_restart);
                text.push_str(&localize(format!("Only a restart changes {names}.\n")));
            }
            output::write_stderr(&text);
        }
    }
}

/// Reports a configuration with errors: the gateway runs as before.
pub(super) fn report_not_reloaded(log: GatewayLogFormat, error: &ConfigError) {
    match log {
        GatewayLogFormat::Json => {
            let text =
                |issue: &ConfigIssue| json!({"error": issue.to_string(), "help": issue.help});
            let errors: Vec<_> = error.complaints.iter().map(text).collect();
            let message = "configuration not reloaded";
            output::write_stderr(&json_line(
                json!({ "level": "error", "message": message, "errors": errors }),
            ));
        }
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            config_errors::report_warnings(&error.complaints);
            output::write_stderr(&localize(NOT_RELOADED));
        }
    }
}

/// Reports that no token could be created for a new configuration.
pub(super) fn report_unreadable(log: GatewayLogFormat, error: &anyhow::Error) {
    match log {
        GatewayLogFormat::Json => {
            let (message, error) = ("configuration not reloaded", format!("{error:#}"));
            output::write_stderr(&json_line(
                json!({ "level": "error", "message": message, "errors": [error] }),
            ));
        }
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            output::write_stderr(&format!("{}\n", display_text(&format!("{error:#}"))));
            output::write_stderr(&localize(NOT_RELOADED));
        }
    }
}

/// What is reported after the errors of a new configuration.
const NOT_RELOADED: &str = "The configuration was not reloaded; the gateway runs as before.\n";

/// Reports that open requests may finish.
pub(super) fn report_draining(log: GatewayLogFormat, seconds: u64) {
    match log {
        GatewayLogFormat::Json => {
            output::write_stderr(&json_line(json!({ "level": "info", "message": "draining" })))
        }
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            output::write_stderr(&localize(format!(
                "Finishing open requests, for at most {seconds} s; a second signal stops at once.\n"
            )))
        }
    }
}

/// Reports the stop, and how many requests were cut off.
pub(super) fn report_stopped(log: GatewayLogFormat, finished: usize, cut: usize) {
    match log {
        GatewayLogFormat::Json => {
            let message =
                json!({ "level": "info", "message": "stopped", "finished": finished, "cut": cut });
            output::write_stderr(&json_line(message));
        }
        GatewayLogFormat::Auto | GatewayLogFormat::Text | GatewayLogFormat::Off => {
            let cut = if cut == 0 { String::new() } else { format!("; requests cut off: {cut}") };
            output::write_stderr(&localize(format!("Stopped{cut}.\n")));
        }
    }
}

/// A line with the time, as the lines of requests have it.
fn json_line(mut document: serde_json::Value) -> String {
    document["time"] = jiff::Timestamp::now().to_string().into();
    format!("{document}\n")
}

/// The URL of the console. A browser does not send the fragment behind `#`; the console reads the
/// token from there.
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

/// Percent-encodes text for a URL.
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

/// The upstreams where no provider is configured.
const NO_PROVIDER: &str = "scripted only; OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY adds \
                           a provider";

fn ready_text(
    loaded: &LoadedConfig,
    url: &str,
    console: &str,
    store: &str,
    token_creation: TokenCreation,
) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let listening = format!("foxwedge {version} is listening on {}\n", paint(BOLD, url));
    let mut text = localize(listening).into_owned();
    let upstreams: Vec<&str> =
        loaded.config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    let upstreams = match upstreams.as_slice() {
        ["scripted"] => NO_PROVIDER.to_owned(),
        names => clean(&names.join(", ")),
    };
    let rows = [
        ("console", console.to_owned()),
        ("token", describe_token(loaded, token_creation)),
        ("store", config_errors::display_store(store)),
        ("upstreams", upstreams),
        ("guard", loaded.config.guard.mode.name().to_owned()),
    ];
    for (label, value) in rows {
        let (label, value) = (localize(label), localize(value));
        text.push_str(&format!("  {} {value}\n", paint(DIM, pad(&label, 9))));
    }
    if io::stderr().is_terminal() {
        let help = paint(HELP, localize("help"));
        let points = localize("`eval \"$(foxwedge env)\"` points clients here");
        text.push_str(&format!("  {help}: {points}\n"));
    }
    text
}

/// Where the token is stored, or who owns the tokens.
fn describe_token(loaded: &LoadedConfig, token_creation: TokenCreation) -> String {
    if loaded.token_state == TokenState::Disabled {
        return "not required".to_owned();
    }
    let access = loaded.sections.iter().filter(|section| section.header == "[access]");
    let mut settings = access.flat_map(|section| &section.settings);
    let place = settings.find_map(|setting| match setting.key.as_str() {
        "token_file" => Some(display_text(&setting.value.replace('"', ""))),
        "token" => Some(display_text(&setting.origin.to_string())),
        _ => None,
    });
    let owners = || {
        let tokens = loaded.config.access.tokens.iter();
        let owners: Vec<&str> = tokens.map(|token| &*token.owner).collect();
        format!("owned by {}", clean(&owners.join(", ")))
    };
    match (place, token_creation) {
        (Some(place), TokenCreation::New) => format!("in {place} (created just now)"),
        (Some(place), TokenCreation::Existing) => format!("in {place}"),
        (None, _) => owners(),
    }
}

#[cfg(test)]
mod tests {
    use super::percent_encode;

    #[test]
    fn tokens_are_percent_encoded_for_a_url() {
        assert_eq!(percent_encode("aZ09-_.~"), "aZ09-_.~");
        assert_eq!(percent_encode("a b#c&d=é"), "a%20b%23c%26d%3D%C3%A9");
    }
}
