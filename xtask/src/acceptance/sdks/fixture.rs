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
pub(super) struct SdkFixture {
    /// What it shows: the first word of its file's name.
    pub(super) name: String,
    pub(super) kind: FixtureKind,
    pub(super) format: Format,
    pub(super) path: PathBuf,
    /// What it says, as the readers print it.
    pub(super) expected: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FixtureKind {
    Response,
    Stream,
}

impl FixtureKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            FixtureKind::Response => "response",
            FixtureKind::Stream => "stream",
        }
    }

    /// How the name of such a file ends.
    pub(super) fn ending(self, format: Format) -> &'static str {
        match (self, format) {
            (FixtureKind::Response, _) => "json",
            (FixtureKind::Stream, Format::Bedrock) => "bin",
            (FixtureKind::Stream, _) => "sse",
        }
    }
}

/// All of them, and some streams that are cut off, which are written into the folder.
pub(super) fn all(folder: &Path) -> Result<Vec<SdkFixture>, String> {
    let home = workspace::root().join("fixtures").join("conversion");
    let (mut fixtures, mut cuts) = (Vec::new(), Vec::new());
    for (name, kind) in [("responses", FixtureKind::Response), ("streams", FixtureKind::Stream)] {
        for path in workspace::sorted_entries(&home.join(name))? {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let Some((name, format)) = parse_name(&file, kind) else { continue };
            let stem = format!("{name}.{}.expected.json", format.name());
            let expected = read_json(&path.with_file_name(stem))?;
            let name = name.to_owned();
            let fixture = SdkFixture { name, kind, format, path: path.clone(), expected };
            if kind == FixtureKind::Stream && fixture.name == "two-calls" {
                cuts.extend(cut_off(&fixture, folder)?);
            }
            fixtures.push(fixture);
        }
    }
    fixtures.extend(cuts);
    Ok(fixtures)
}

/// The same stream, ended too early in several places. All of them lie before the model stops.
fn cut_off(whole: &SdkFixture, folder: &Path) -> Result<Vec<SdkFixture>, String> {
    let complain = |error| format!("{}: {error}", whole.path.display());
    let bytes = fs::read(&whole.path).map_err(complain)?;
    let cut = |percent: &usize| {
        let name = format!("two-calls-cut-at-{percent}");
        let ending = whole.kind.ending(whole.format);
        let path = folder.join(format!("{name}.{}.{ending}", whole.format.name()));
        fs::write(&path, &bytes[..bytes.len() * percent / 100]).map_err(complain)?;
        let mut expected = whole.expected.clone();
        expected["stop"] = Value::Null;
        Ok(SdkFixture { name, path, expected, ..whole.clone() })
    };
    [15, 30, 45, 60, 75].iter().map(cut).collect()
}

/// What a file's name says: `NAME.FORMAT.ENDING`. Other files are no fixtures.
fn parse_name(name: &str, kind: FixtureKind) -> Option<(&str, Format)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let (what, wire) = stem.split_once('.')?;
    let wire = Format::parse(wire)?;
    (ending == kind.ending(wire)).then_some((what, wire))
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_file_is() {
        let table = [
            ("text.gemini.json", FixtureKind::Response, Some(("text", Format::Gemini))),
            ("text.gemini.expected.json", FixtureKind::Response, None),
            ("two-calls.bedrock.bin", FixtureKind::Stream, Some(("two-calls", Format::Bedrock))),
            ("two-calls.bedrock.sse", FixtureKind::Stream, None),
            (
                "two-calls.openai-chat.sse",
                FixtureKind::Stream,
                Some(("two-calls", Format::OpenaiChat)),
            ),
            ("README.md", FixtureKind::Stream, None),
        ];
        for (name, kind, expected) in table {
            assert_eq!(parse_name(name, kind), expected, "{name}");
        }
    }
}
