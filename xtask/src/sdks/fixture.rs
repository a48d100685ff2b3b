//! The fixtures: response bodies and streams in every format, and what each of them says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_core::Format;
use serde_json::Value;

use crate::workspace;

/// One body or stream.
#[derive(Clone)]
pub(super) struct Fixture {
    /// What it shows: the first word of its file's name.
    pub(super) what: String,
    pub(super) kind: Kind,
    pub(super) wire: Format,
    pub(super) path: PathBuf,
    /// What it says, in the form that the readers print.
    pub(super) says: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Response,
    Stream,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Response => "response",
            Kind::Stream => "stream",
        }
    }

    /// How a file of that kind ends.
    pub(super) fn ending(self, wire: Format) -> &'static str {
        match (self, wire) {
            (Kind::Response, _) => "json",
            (Kind::Stream, Format::Bedrock) => "bin",
            (Kind::Stream, _) => "sse",
        }
    }
}

/// All of them, in order.
pub(super) fn all() -> Result<Vec<Fixture>, String> {
    let home = workspace::root().join("fixtures").join("conversion");
    let mut fixtures = Vec::new();
    for (folder, kind) in [("responses", Kind::Response), ("streams", Kind::Stream)] {
        let folder = home.join(folder);
        let complain = |error| format!("{}: {error}", folder.display());
        let entries = fs::read_dir(&folder).map_err(complain)?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|it| it.map(|it| it.path())).collect();
        let mut paths = paths.map_err(complain)?;
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some((what, wire)) = named(&name, kind) {
                let says = said(&path, &format!("{what}.{}", wire.name()))?;
                let what = what.to_owned();
                fixtures.push(Fixture { what, kind, wire, path: path.clone(), says });
            }
        }
    }
    Ok(fixtures)
}

/// The same stream, ended too early in several places. All of them lie before the model stops.
pub(super) fn cuts(whole: &Fixture, folder: &Path) -> Result<Vec<Fixture>, String> {
    if whole.kind != Kind::Stream || whole.what != "two-calls" {
        return Ok(Vec::new());
    }
    let complain = |error| format!("{}: {error}", whole.path.display());
    let bytes = fs::read(&whole.path).map_err(complain)?;
    let cut = |percent: &usize| {
        let what = format!("two-calls-cut-at-{percent}");
        let name = format!("{what}.{}.{}", whole.wire.name(), whole.kind.ending(whole.wire));
        let path = folder.join(name);
        fs::write(&path, &bytes[..bytes.len() * percent / 100]).map_err(complain)?;
        let mut says = whole.says.clone();
        says["stop"] = Value::Null;
        Ok(Fixture { what, path, says, ..whole.clone() })
    };
    [15, 30, 45, 60, 75].iter().map(cut).collect()
}

/// What a file's name says: `<what>.<format>.<ending>`. Other files are no fixtures.
fn named(name: &str, kind: Kind) -> Option<(&str, Format)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let (what, wire) = stem.split_once('.')?;
    let wire = Format::parse(wire)?;
    (ending == kind.ending(wire)).then_some((what, wire))
}

fn said(path: &Path, stem: &str) -> Result<Value, String> {
    let path = path.with_file_name(format!("{stem}.expected.json"));
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_file_is() {
        let table = [
            ("text.gemini.json", Kind::Response, Some(("text", Format::Gemini))),
            ("text.gemini.expected.json", Kind::Response, None),
            ("two-calls.bedrock.bin", Kind::Stream, Some(("two-calls", Format::Bedrock))),
            ("two-calls.bedrock.sse", Kind::Stream, None),
            ("two-calls.openai-chat.sse", Kind::Stream, Some(("two-calls", Format::OpenaiChat))),
            ("README.md", Kind::Stream, None),
        ];
        for (name, kind, expected) in table {
            assert_eq!(named(name, kind), expected, "{name}");
        }
    }
}
