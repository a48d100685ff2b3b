//! Where vectors come from.

use std::{fs, path::Path};

use foxwedge_core::{Format, rules};
use foxwedge_suite::{HistoryFormat, SuiteTrack};
use foxwedge_testkit::body;

use crate::workspace::sorted_entries;

/// One place that a vector is made from.
pub(super) struct VectorSource {
    /// Names the place for ever.
    pub(super) key: String,
    /// The folder of the vector.
    pub(super) folder: String,
    pub(super) title: String,
    pub(super) format: HistoryFormat,
    pub(super) input: String,
    /// The rule that it shows, or keeps to.
    pub(super) rule: Option<u16>,
    /// Whether the rule is broken.
    pub(super) broken: bool,
    /// `Validate` stands for both `validate` and `repair`.
    pub(super) track: SuiteTrack,
    pub(super) keep: Option<usize>,
    /// What a stream says, as `NAME.expected.json` has it.
    pub(super) expected: Option<String>,
}

/// Shapes of the notation in `crates/testkit/src/shape.rs`: a name, the shape, and whether a rule is broken.
const SHAPES: [(&str, &str); 34] = [
    ("one call, answered", "u a[1] r[1]"),
    ("one call, answered, and a reply", "s u a[1] r[1] a u"),
    ("two calls, answered in another order", "u a[1 2] r[2 1] a u"),
    ("two rounds of calls", "u a[1] r[1] a[2] r[2] a u"),
    ("text before the call", "u a\"first this\"[1] r[1] a u"),
    ("three parallel calls", "u a[1 2 3] r[1 2 3] a u"),
    ("the user speaks instead of the result", "u a[1] u"),
    ("the assistant speaks instead of the result", "u a[1] a u"),
    ("one of two results is missing", "u a[1 2] r[1] u"),
    ("the first of two results is missing", "u a[1 2] r[2] u"),
    ("all of three results are missing", "u a[1 2 3] u"),
    ("an earlier round is open", "u a[1] u a[2] r[2] a u"),
    ("the history ends in a call", "u a[1]"),
    ("the history ends in one of two results", "u a[1 2] r[1]"),
    ("a result at the start", "r[1] u a u"),
    ("a result without any call", "u r[1] a u"),
    ("a result of another call", "u a[1] r[2] u"),
    ("a result too many", "u a[1] r[1 2] a u"),
    ("a result after a reply", "u a u r[1] a u"),
    ("the user speaks before the result", "u a[1] u r[1] a u"),
    ("the assistant speaks before the result", "u a[1] a r[1] u"),
    ("the result comes first", "u r[1] a[1] u"),
    ("two results around the user", "u a[1 2] r[1] u r[2] a u"),
    ("results of two rounds come late", "u a[1] u a[2] r[2] u r[1] a u"),
    ("both results come late", "u a[1 2] u r[1 2] a u"),
    ("the same result twice", "u a[1] r[1] r[1] a u"),
    ("a second result at the end", "u a[1] r[1] a u r[1] a u"),
    ("two results in two messages", "u a[1 2] r[1] r[2] a u"),
    ("three results in three messages", "u a[1 2 3] r[1] r[2] r[3] a u"),
    ("two calling messages in a row", "u a[1] a[2] r[1 2] a u"),
    ("an id of an earlier round", "u a[1] r[1] a[1] r[1] a u"),
    ("one id for two calls", "u a[1 1] r[1 1] a u"),
    ("a history that opens with a call", "a[1] r[1] u"),
    ("a result moved into the next round", "u a[1] a[2] r[2] r[1] a u"),
];

/// Valid histories that are to be cut: a name, the shape, and how many messages from the end a cut would take that
/// does not look at pairs.
const CUTS: [(&str, &str); 12] = [
    ("one round before the last request", "u a[1] r[1] a u a u"),
    ("two rounds", "u a[1] r[1] a u a[2] r[2] a u"),
    ("instructions stay", "s u a[1] r[1] a u a[2] r[2] a u"),
    ("two parallel calls at the cut", "u a u a[1 2] r[1 2] a u"),
    ("three parallel calls at the cut", "u a u a[1 2 3] r[1 2 3] a u"),
    ("calls in a chain", "u a u a[1] r[1] a[2] r[2] a[3] r[3] a u"),
    ("a chain after instructions", "s u a u a[1] r[1] a[2] r[2] a u"),
    ("text before the call at the cut", "u a u a\"so\"[1] r[1] a u a u"),
    ("results in another order", "u a u a[1 2] r[2 1] a u"),
    ("many short rounds", "u a[1] r[1] a u a[2] r[2] a u a[3] r[3] a u a[4] r[4] a u"),
    ("no call in the rest", "u a[1] r[1] a u a u a u"),
    ("a call in the rest only", "u a u a u a[1] r[1] a u"),
];

/// Valid histories that are to be converted: a name and the shape.
const CONVERSIONS: [(&str, &str); 8] = [
    ("one call", "u a[1] r[1] a u"),
    ("instructions", "s u a[1] r[1] a u"),
    ("parallel calls, results in another order", "u a[1 2 3] r[3 1 2] a u"),
    ("identical parallel calls", "u a[1 2] r[1 2] a u"),
    ("two rounds", "u a[1] r[1] a[2] r[2] a u"),
    ("text before the calls", "u a\"both at once\"[1 2] r[1 2] a u"),
    (
        "ids with dots and colons",
        "u a[functions.get:0 functions_get_0] r[functions.get:0 functions_get_0] a u",
    ),
    ("the user right after the result", "u a[1] r[1] u a u"),
];

/// Ids that every provider accepts.
fn with_ids(shape: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in shape.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        match c {
            '1'..='9' if inside => out.push_str(&format!("call0000{c}")),
            c => out.push(c),
        }
    }
    out
}

fn slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    plain.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// Every source, in an order that only grows at its ends.
pub(super) fn read(root: &Path) -> Result<Vec<VectorSource>, String> {
    let mut sources = Vec::new();
    cases(root, &mut sources)?;
    for (name, shape) in SHAPES {
        for format in Format::ALL {
            sources.push(shape_source(name, shape, format));
        }
    }
    for (name, shape) in CUTS {
        for format in Format::ALL {
            sources.push(cut_source(name, shape, format));
        }
    }
    fixtures(root, &mut sources)?;
    for (name, shape) in CONVERSIONS {
        // Such ids are not valid there.
        let refused = |format: &Format| name.starts_with("ids") && *format == Format::Anthropic;
        for format in Format::ALL.into_iter().filter(|format| !refused(format)) {
            sources.push(conversion_source(name, shape, format));
        }
    }
    Ok(sources)
}

fn shape_source(name: &str, shape: &str, format: Format) -> VectorSource {
    VectorSource {
        key: format!("shapes/{}.{}", slug(name), format.name()),
        folder: "shapes".to_owned(),
        title: format!("{name}: {shape}"),
        format: HistoryFormat::Provider(format),
        input: body(format.name(), &with_ids(shape)),
        rule: None,
        broken: false,
        track: SuiteTrack::Validate,
        keep: None,
        expected: None,
    }
}

fn conversion_source(name: &str, shape: &str, format: Format) -> VectorSource {
    let mut source = shape_source(name, shape, format);
    if name.starts_with("ids") {
        source.input = body(format.name(), shape);
    }
    if name.starts_with("identical") {
        for quote in ["\"", "\\\""] {
            let argument = |id: &str| format!("{quote}at{quote}:{quote}{id}{quote}");
            source.input = source.input.replace(&argument("call00002"), &argument("call00001"));
        }
    }
    source.key = source.key.replace("shapes/", "convert/shapes/");
    source.folder = "convert".to_owned();
    source.track = SuiteTrack::Convert;
    source
}

fn cut_source(name: &str, shape: &str, format: Format) -> VectorSource {
    let input = body(format.name(), &with_ids(shape));
    let messages =
        serde_json::from_str::<Vec<serde_json::Value>>(&input).map_or(0, |list| list.len());
    VectorSource {
        key: format!("cut/{}.{}", slug(name), format.name()),
        folder: "cut".to_owned(),
        title: format!("{name}: {shape}"),
        format: HistoryFormat::Provider(format),
        input,
        rule: None,
        broken: false,
        track: SuiteTrack::Cut,
        keep: Some(messages),
        expected: None,
    }
}

fn cases(root: &Path, sources: &mut Vec<VectorSource>) -> Result<(), String> {
    for folder in sorted_entries(&root.join("crates/core/tests/cases"))? {
        let name = file_name(&folder);
        let Some(rule) = rules::find_rule(&name.replace('_', "-")) else { continue };
        if rule.code >= 700 {
            continue;
        }
        for path in sorted_entries(&folder)? {
            let file = file_name(&path);
            let Some((stem, _)) = file.rsplit_once(".json").filter(|_| !file.ends_with(".snap"))
            else {
                continue;
            };
            let words: Vec<&str> = stem.split('.').collect();
            let Some(format) = words.get(1).and_then(|name| HistoryFormat::parse(name)) else {
                continue;
            };
            let Some((kind, what)) = words.first().and_then(|name| name.split_once('_')) else {
                continue;
            };
            sources.push(VectorSource {
                key: format!("cases/{name}/{file}"),
                folder: rule.name.to_owned(),
                title: format!("{}: {}", rule.name, what.replace('_', " ")),
                format,
                input: read_text(&path)?,
                rule: Some(rule.code),
                broken: kind == "broken",
                track: SuiteTrack::Validate,
                keep: None,
                expected: None,
            });
        }
    }
    Ok(())
}

/// Requests to convert, and streams to record.
fn fixtures(root: &Path, sources: &mut Vec<VectorSource>) -> Result<(), String> {
    for (folder, ending, track) in
        [("requests", ".json", SuiteTrack::Convert), ("streams", ".sse", SuiteTrack::Stream)]
    {
        for path in sorted_entries(&root.join("fixtures/conversion").join(folder))? {
            let file = file_name(&path);
            let Some(stem) = file.strip_suffix(ending) else { continue };
            let Some((what, format)) = stem.split_once('.') else { continue };
            let Some(format) = HistoryFormat::parse(format) else { continue };
            let expected = path.with_extension("expected.json");
            sources.push(VectorSource {
                key: format!("{}/{stem}", track.name()),
                folder: track.name().to_owned(),
                title: what.replace('-', " "),
                format,
                input: read_text(&path)?,
                rule: None,
                broken: false,
                track,
                keep: None,
                expected: (track == SuiteTrack::Stream)
                    .then(|| read_text(&expected))
                    .transpose()?,
            });
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_of_shapes_are_stable() {
        assert_eq!(slug("one call, answered"), "one-call-answered");
        assert_eq!(
            with_ids("u a\"1 and 2\"[1 2] r[2]"),
            "u a\"1 and 2\"[call00001 call00002] r[call00002]"
        );
    }
}
