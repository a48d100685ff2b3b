//! `--check-config`: a summary of the configuration.

use foxwedge_gateway::config::{
    ConfigSection, ConfigSetting, GatewayConfig, LoadedConfig, ModelRoute, SettingOrigin,
    TokenState,
};
use foxwedge_upstream::{UpstreamConfig, UpstreamKey, UpstreamTransport};

use super::config_errors::{display_store, display_text};
use foxwedge_local::{
    language::localize,
    output::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// Settings, upstreams, routes and everything that differs from the defaults.
pub(super) fn draw(loaded: &LoadedConfig) -> String {
    let GatewayConfig { access, upstreams, routes, .. } = &loaded.config;
    let mut rows = vec![["file".to_owned(), describe_file(loaded), String::new()]];
    rows.push(setting_row(loaded, "", "listen", "listen"));
    rows.push(["token".to_owned(), describe_token(loaded), String::new()]);
    rows.push(setting_row(loaded, "", "store", "store"));
    rows.push(setting_row(loaded, "[guard]", "mode", "guard"));
    rows.push(setting_row(loaded, "[record]", "store_runs", "store runs"));
    rows.push(setting_row(loaded, "[record]", "store_content", "store content"));
    rows.push(setting_row(loaded, "[telemetry]", "log", "log"));
    for (label, list) in [("hosts", &access.hosts), ("origins", &access.origins)] {
        if !list.is_empty() {
            rows.push([label.to_owned(), clean(&list.join(", ")), String::new()]);
        }
    }
    let mut text = align_columns("", &rows);
    text.push_str(&format!("\n{}\n", paint(BOLD, localize("upstreams"))));
    let rows: Vec<_> = upstreams.iter().map(|upstream| upstream_row(loaded, upstream)).collect();
    text.push_str(&align_columns("  ", &rows));
    text.push_str(&format!("\n{}\n", paint(BOLD, localize("routes"))));
    let rows: Vec<_> = routes.iter().flat_map(|route| route_rows(route, &loaded.config)).collect();
    text.push_str(&align_columns("  ", &rows));
    let rows = changed_settings(loaded);
    if !rows.is_empty() {
        text.push_str(&format!("\n{}\n", paint(BOLD, localize("changed from default"))));
        text.push_str(&align_columns("  ", &rows));
    }
    text
}

fn describe_file(loaded: &LoadedConfig) -> String {
    loaded.file.as_ref().map_or("none".to_owned(), |path| display_text(&path.to_string_lossy()))
}

/// A setting with its origin.
fn setting_row(loaded: &LoadedConfig, header: &str, key: &str, label: &str) -> [String; 3] {
    let section = loaded.sections.iter().find(|section| section.header == header);
    let Some(setting) = section.and_then(|section| find_setting(section, key)) else {
        return [label.to_owned(), String::new(), String::new()];
    };
    [label.to_owned(), display_store(&unquote(&setting.value)), describe_origin(&setting.origin)]
}

fn find_setting<'b>(section: &'b ConfigSection, key: &str) -> Option<&'b ConfigSetting> {
    section.settings.iter().find(|setting| setting.key == key)
}

/// The value without JSON quotes.
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
        TokenState::Disabled => "not required".to_owned(),
        TokenState::Missing(path) => {
            format!("created at the first start: {}", display_text(&path.to_string_lossy()))
        }
        TokenState::Ready => format!("owned by {}", clean(&owners.join(", "))),
    }
}

/// An upstream: name, address, formats, key.
fn upstream_row(loaded: &LoadedConfig, upstream: &UpstreamConfig) -> [String; 4] {
    let named = |section: &&ConfigSection| {
        section.header == "[[upstream]]"
            && find_setting(section, "name")
                .is_some_and(|name| unquote(&name.value) == *upstream.name)
    };
    let section = loaded.sections.iter().find(named);
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
        UpstreamTransport::Network(_) => section
            .and_then(|section| find_setting(section, "base_url"))
            .map_or(String::new(), |setting| unquote(&setting.value)),
    };
    let formats: Vec<&str> = upstream.formats.iter().map(|format| format.name()).collect();
    let key_setting = section.and_then(|section| {
        find_setting(section, "key").or_else(|| find_setting(section, "key_file"))
    });
    let key = match &upstream.key {
        UpstreamKey::None => "no key".to_owned(),
        UpstreamKey::FromCaller => "the caller's key".to_owned(),
        UpstreamKey::Token(_) => "access tokens".to_owned(),
        UpstreamKey::Signature(_) => "signed requests".to_owned(),
        UpstreamKey::Configured(_) => match key_setting {
            Some(setting) if setting.key == "key_file" => {
                format!("key in {}", display_text(&unquote(&setting.value)))
            }
            Some(setting) => format!("key from {}", display_text(&setting.origin.to_string())),
            None => "a key".to_owned(),
        },
    };
    [upstream.name.to_string(), clean(&address), formats.join(", "), key]
}

/// A route, and its fallbacks in their order.
fn route_rows(route: &ModelRoute, config: &GatewayConfig) -> Vec<[String; 3]> {
    let fallbacks = route.fallbacks.iter().map(|fallback| {
        let [_, upstream, notes] = route_row(fallback, config);
        let notes = if notes.is_empty() { String::new() } else { format!(", {notes}") };
        [String::new(), upstream, format!("fallback{notes}")]
    });
    [route_row(route, config)].into_iter().chain(fallbacks).collect()
}

/// A route: model, upstream, and settings that differ from the gateway's.
fn route_row(route: &ModelRoute, config: &GatewayConfig) -> [String; 3] {
    let mut notes = Vec::new();
    if let Some(name) = &route.upstream_model {
        notes.push(format!("as {name}"));
    }
    if route.guard.mode != config.guard.mode {
        notes.push(route.guard.mode.name().to_owned());
    }
    if let Some(window) = route.context_window {
        notes.push(format!("{window} tokens"));
    }
    [clean(&route.model), format!("→ {}", route.upstream.name), clean(&notes.join(", "))]
}

/// Settings that differ from their default.
fn changed_settings(loaded: &LoadedConfig) -> Vec<[String; 3]> {
    let is_table = |section: &&ConfigSection| {
        section.header.starts_with('[') && !section.header.starts_with("[[")
    };
    let row_of = |section: &ConfigSection, setting: &ConfigSetting| {
        let head = section.header.trim_matches(['[', ']']).to_owned();
        let shown_above = matches!(
            (head.as_str(), setting.key.as_str()),
            ("access", _)
                | ("guard", "mode")
                | ("record", "store_runs" | "store_content")
                | ("telemetry", "log")
        );
        let row = || {
            let key = format!("{head}.{}", setting.key);
            [key, clean(&setting.value), describe_origin(&setting.origin)]
        };
        (!setting.is_default && !shown_above).then(row)
    };
    let all = loaded.sections.iter().filter(is_table);
    all.flat_map(|section| {
        section.settings.iter().filter_map(move |setting| row_of(section, setting))
    })
    .collect()
}

/// Aligns columns. The last column is dim.
fn align_columns<const N: usize>(indent: &str, rows: &[[String; N]]) -> String {
    let translated = |row: &[String; N]| row.clone().map(|cell| localize(cell).into_owned());
    let rows: Vec<[String; N]> = rows.iter().map(translated).collect();
    let column_width = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(column_width).collect();
    let mut text = String::new();
    for row in &rows {
        let end = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        let cells = row.iter().zip(&widths).take(end + 1).enumerate();
        let drawn: Vec<String> = cells
            .map(|(at, (cell, column_width))| {
                let cell = if at == end { cell.clone() } else { pad(cell, *column_width) };
                if at > 0 && at + 1 == N { paint(DIM, cell) } else { cell }
            })
            .collect();
        text.push_str(&format!("{indent}{}\n", drawn.join("  ")));
    }
    text
}
