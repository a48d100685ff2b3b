//! `--check-config`: what would run.

use foxwedge_gateway::config::{
    ConfigSection, ConfigSetting, GatewayConfig, LoadedConfig, ModelRoute, SettingOrigin,
    TokenState,
};
use foxwedge_upstream::{UpstreamConfig, UpstreamKey, UpstreamTransport};

use super::config_errors::{display_store, display_text};
use crate::{
    cli_output::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// Everything that an operator wants to see before a start.
pub(super) fn draw(loaded: &LoadedConfig) -> String {
    let GatewayConfig { access, upstreams, routes, .. } = &loaded.config;
    let mut rows = vec![["file".to_owned(), describe_file(loaded), String::new()]];
    rows.push(setting_row(loaded, "", "listen", "listen"));
    rows.push(["token".to_owned(), describe_token(loaded), String::new()]);
    rows.push(setting_row(loaded, "", "store", "store"));
    rows.push(setting_row(loaded, "[guard]", "mode", "guard"));
    rows.push(setting_row(loaded, "[record]", "runs", "record"));
    rows.push(setting_row(loaded, "[record]", "content", "content"));
    rows.push(setting_row(loaded, "[telemetry]", "log", "log"));
    for (label, list) in [("hosts", &access.hosts), ("origins", &access.origins)] {
        if !list.is_empty() {
            rows.push([label.to_owned(), clean(&list.join(", ")), String::new()]);
        }
    }
    let mut text = align_columns("", &rows);
    text.push_str(&format!("\n{}\n", paint(BOLD, "upstreams")));
    let rows: Vec<_> = upstreams.iter().map(|upstream| upstream_row(loaded, upstream)).collect();
    text.push_str(&align_columns("  ", &rows));
    text.push_str(&format!("\n{}\n", paint(BOLD, "routes")));
    let rows: Vec<_> = routes.iter().map(|route| route_row(route, &loaded.config)).collect();
    text.push_str(&align_columns("  ", &rows));
    let rows = changed_settings(loaded);
    if !rows.is_empty() {
        text.push_str(&format!("\n{}\n", paint(BOLD, "not as usual")));
        text.push_str(&align_columns("  ", &rows));
    }
    text
}

fn describe_file(loaded: &LoadedConfig) -> String {
    loaded.file.as_ref().map_or("none".to_owned(), |path| display_text(&path.to_string_lossy()))
}

/// A setting and who set it.
fn setting_row(loaded: &LoadedConfig, header: &str, key: &str, label: &str) -> [String; 3] {
    let block = loaded.sections.iter().find(|block| block.header == header);
    let Some(setting) = block.and_then(|block| find_setting(block, key)) else {
        return [label.to_owned(), String::new(), String::new()];
    };
    [label.to_owned(), display_store(&unquote(&setting.value)), describe_origin(&setting.origin)]
}

fn find_setting<'b>(block: &'b ConfigSection, key: &str) -> Option<&'b ConfigSetting> {
    block.settings.iter().find(|setting| setting.key == key)
}

/// A text without its quotes.
fn unquote(value: &str) -> String {
    serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned())
}

fn describe_origin(origin: &SettingOrigin) -> String {
    match origin {
        SettingOrigin::Default => String::new(),
        SettingOrigin::File { .. } | SettingOrigin::Variable(_) | SettingOrigin::Flag(_) => {
            display_text(&origin.to_string())
        }
    }
}

fn describe_token(loaded: &LoadedConfig) -> String {
    let owners: Vec<&str> = loaded.config.access.tokens.iter().map(|token| &*token.owner).collect();
    match &loaded.token_state {
        TokenState::Disabled => "none is asked for".to_owned(),
        TokenState::Missing(path) => {
            format!("made at the first start: {}", display_text(&path.to_string_lossy()))
        }
        TokenState::Ready => format!("of {}", clean(&owners.join(", "))),
    }
}

/// An upstream: its name, its address, its formats, its key.
fn upstream_row(loaded: &LoadedConfig, upstream: &UpstreamConfig) -> [String; 4] {
    let named = |block: &&ConfigSection| {
        block.header == "[[upstream]]"
            && find_setting(block, "name")
                .is_some_and(|name| unquote(&name.value) == *upstream.name)
    };
    let block = loaded.sections.iter().find(named);
    let address = match &upstream.transport {
        UpstreamTransport::Scripted => "built in".to_owned(),
        UpstreamTransport::Agent => {
            let mut routes = loaded.config.routes.iter();
            let route = routes.find(|route| route.upstream.name == upstream.name);
            let agent = route.and_then(|route| route.agent.as_ref());
            agent.map_or(String::new(), |agent| {
                format!("runs {}", display_text(&agent.command.join(" ")))
            })
        }
        UpstreamTransport::Network(_) => block
            .and_then(|block| find_setting(block, "base_url"))
            .map_or(String::new(), |setting| unquote(&setting.value)),
    };
    let wires: Vec<&str> = upstream.speaks.iter().map(|wire| wire.name()).collect();
    let given = block
        .and_then(|block| find_setting(block, "key").or_else(|| find_setting(block, "key_file")));
    let key = match &upstream.key {
        UpstreamKey::None => "no key".to_owned(),
        UpstreamKey::FromCaller => "the caller's key".to_owned(),
        UpstreamKey::Configured(_) => match given {
            Some(setting) if setting.key == "key_file" => {
                format!("key in {}", display_text(&unquote(&setting.value)))
            }
            Some(setting) => format!("key from {}", display_text(&setting.origin.to_string())),
            None => "a key".to_owned(),
        },
    };
    [upstream.name.to_string(), clean(&address), wires.join(", "), key]
}

/// A route: the model, where it goes, and what is special about it.
fn route_row(route: &ModelRoute, config: &GatewayConfig) -> [String; 3] {
    let mut notes = Vec::new();
    if let Some(name) = &route.rename {
        notes.push(format!("as {name}"));
    }
    if route.guard.mode != config.guard.mode {
        notes.push(route.guard.mode.name().to_owned());
    }
    if let Some(window) = route.window {
        notes.push(format!("{window} tokens"));
    }
    [clean(&route.model), format!("→ {}", route.upstream.name), clean(&notes.join(", "))]
}

/// Numbers and words that somebody changed.
fn changed_settings(loaded: &LoadedConfig) -> Vec<[String; 3]> {
    let plain =
        |block: &&ConfigSection| block.header.starts_with('[') && !block.header.starts_with("[[");
    let shown = |block: &ConfigSection, setting: &ConfigSetting| {
        let head = block.header.trim_matches(['[', ']']).to_owned();
        let above = matches!(
            (head.as_str(), setting.key.as_str()),
            ("access", _)
                | ("guard", "mode")
                | ("record", "runs" | "content")
                | ("telemetry", "log")
        );
        let row = || {
            let key = format!("{head}.{}", setting.key);
            [key, clean(&setting.value), describe_origin(&setting.origin)]
        };
        (!setting.is_default && !above).then(row)
    };
    let all = loaded.sections.iter().filter(plain);
    all.flat_map(|block| block.settings.iter().filter_map(move |it| shown(block, it))).collect()
}

/// Rows whose columns stand below each other; the first is bright, the last is dim.
fn align_columns<const N: usize>(indent: &str, rows: &[[String; N]]) -> String {
    let wide = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(wide).collect();
    let mut text = String::new();
    for row in rows {
        let end = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        let cells = row.iter().zip(&widths).take(end + 1).enumerate();
        let drawn: Vec<String> = cells
            .map(|(at, (cell, wide))| {
                let cell = if at == end { cell.clone() } else { pad(cell, *wide) };
                if at > 0 && at + 1 == N { paint(DIM, cell) } else { cell }
            })
            .collect();
        text.push_str(&format!("{indent}{}\n", drawn.join("  ")));
    }
    text
}
