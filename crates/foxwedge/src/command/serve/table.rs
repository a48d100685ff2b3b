//! `--check-config`: what would run.

use foxwedge_engine::config::{
    Block, Config, Door, Key, Loaded, Origin, Reach, Route, Setting, Upstream,
};

use super::complaints::{store, told};
use crate::{
    say::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// Everything that an operator wants to see before a start.
pub(super) fn draw(loaded: &Loaded) -> String {
    let Config { access, upstreams, routes, .. } = &loaded.config;
    let mut rows = vec![["file".to_owned(), file(loaded), String::new()]];
    rows.push(row(loaded, "", "listen", "listen"));
    rows.push(["token".to_owned(), token(loaded), String::new()]);
    rows.push(row(loaded, "", "store", "store"));
    rows.push(row(loaded, "[guard]", "mode", "guard"));
    rows.push(row(loaded, "[record]", "runs", "record"));
    rows.push(row(loaded, "[record]", "content", "content"));
    rows.push(row(loaded, "[telemetry]", "log", "log"));
    for (label, list) in [("hosts", &access.hosts), ("origins", &access.origins)] {
        if !list.is_empty() {
            rows.push([label.to_owned(), clean(&list.join(", ")), String::new()]);
        }
    }
    let mut text = columns("", &rows);
    text.push_str(&format!("\n{}\n", paint(BOLD, "upstreams")));
    let rows: Vec<_> = upstreams.iter().map(|upstream| asked(loaded, upstream)).collect();
    text.push_str(&columns("  ", &rows));
    text.push_str(&format!("\n{}\n", paint(BOLD, "routes")));
    let rows: Vec<_> = routes.iter().map(|route| goes(route, &loaded.config)).collect();
    text.push_str(&columns("  ", &rows));
    let rows = changed(loaded);
    if !rows.is_empty() {
        text.push_str(&format!("\n{}\n", paint(BOLD, "not as usual")));
        text.push_str(&columns("  ", &rows));
    }
    text
}

fn file(loaded: &Loaded) -> String {
    loaded.file.as_ref().map_or("none".to_owned(), |path| told(&path.to_string_lossy()))
}

/// A setting and who set it.
fn row(loaded: &Loaded, header: &str, key: &str, label: &str) -> [String; 3] {
    let block = loaded.blocks.iter().find(|block| block.header == header);
    let Some(setting) = block.and_then(|block| find(block, key)) else {
        return [label.to_owned(), String::new(), String::new()];
    };
    [label.to_owned(), store(&plain(&setting.value)), whose(&setting.origin)]
}

fn find<'b>(block: &'b Block, key: &str) -> Option<&'b Setting> {
    block.settings.iter().find(|setting| setting.key == key)
}

/// A text without its quotes.
fn plain(value: &str) -> String {
    serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned())
}

fn whose(origin: &Origin) -> String {
    match origin {
        Origin::Default => String::new(),
        Origin::File { .. } | Origin::Variable(_) | Origin::Flag(_) => told(&origin.to_string()),
    }
}

fn token(loaded: &Loaded) -> String {
    let owners: Vec<&str> = loaded.config.access.tokens.iter().map(|token| &*token.owner).collect();
    match &loaded.door {
        Door::Open => "none is asked for".to_owned(),
        Door::Make(path) => {
            format!("made at the first start: {}", told(&path.to_string_lossy()))
        }
        Door::Ready => format!("of {}", clean(&owners.join(", "))),
    }
}

/// An upstream: its name, its address, its formats, its key.
fn asked(loaded: &Loaded, upstream: &Upstream) -> [String; 4] {
    let named = |block: &&Block| {
        block.header == "[[upstream]]"
            && find(block, "name").is_some_and(|name| plain(&name.value) == *upstream.name)
    };
    let block = loaded.blocks.iter().find(named);
    let address = match &upstream.reach {
        Reach::Scripted => "built in".to_owned(),
        Reach::Agent(agent) => format!("runs {}", told(&agent.command.join(" "))),
        Reach::Network(_) => block
            .and_then(|block| find(block, "base_url"))
            .map_or(String::new(), |setting| plain(&setting.value)),
    };
    let wires: Vec<&str> = upstream.speaks.iter().map(|wire| wire.name()).collect();
    let given = block.and_then(|block| find(block, "key").or_else(|| find(block, "key_file")));
    let key = match &upstream.key {
        Key::None => "no key".to_owned(),
        Key::Callers => "the caller's key".to_owned(),
        Key::Ours(_) => match given {
            Some(setting) if setting.key == "key_file" => {
                format!("key in {}", told(&plain(&setting.value)))
            }
            Some(setting) => format!("key from {}", told(&setting.origin.to_string())),
            None => "a key".to_owned(),
        },
    };
    [upstream.name.to_string(), clean(&address), wires.join(", "), key]
}

/// A route: the model, where it goes, and what is special about it.
fn goes(route: &Route, config: &Config) -> [String; 3] {
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
fn changed(loaded: &Loaded) -> Vec<[String; 3]> {
    let plain = |block: &&Block| block.header.starts_with('[') && !block.header.starts_with("[[");
    let shown = |block: &Block, setting: &Setting| {
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
            [key, clean(&setting.value), whose(&setting.origin)]
        };
        (!setting.usual && !above).then(row)
    };
    let all = loaded.blocks.iter().filter(plain);
    all.flat_map(|block| block.settings.iter().filter_map(move |it| shown(block, it))).collect()
}

/// Rows whose columns stand below each other; the first is bright, the last is dim.
fn columns<const N: usize>(indent: &str, rows: &[[String; N]]) -> String {
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
