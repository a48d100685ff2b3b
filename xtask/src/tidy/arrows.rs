//! Which crate may use which, read from the manifests.

use super::{Complaint, complaint};
use crate::workspace::File;

/// Their exports need attributes that the lints of the workspace forbid.
const OWN_LINTS: [&str; 3] = ["foxwedge-wasm", "foxwedge-python", "foxwedge-suite-page"];

/// The picture in ARCHITECTURE.md, as data. What tests use (`dev-dependencies`) is no arrow.
const ARROWS: [(&str, &[&str]); 26] = [
    ("foxwedge-json", &[]),
    ("foxwedge-core", &["foxwedge-json"]),
    ("foxwedge-formats", &["foxwedge-core", "foxwedge-json"]),
    ("foxwedge-sessions", &["foxwedge-core", "foxwedge-json", "foxwedge-formats"]),
    (
        "foxwedge-embed",
        &[
            "foxwedge-core",
            "foxwedge-json",
            "foxwedge-formats",
            "foxwedge-sessions",
            "foxwedge-run",
        ],
    ),
    (
        "foxwedge-suite",
        &["foxwedge-core", "foxwedge-json", "foxwedge-formats", "foxwedge-sessions"],
    ),
    ("foxwedge-suite-page", &["foxwedge-suite"]),
    ("foxwedge-wasm", &["foxwedge-embed"]),
    ("foxwedge-python", &["foxwedge-embed", "foxwedge-json"]),
    ("foxwedge-tokens", &["foxwedge-core"]),
    ("foxwedge-run", &["foxwedge-core", "foxwedge-json"]),
    ("foxwedge-process", &[]),
    ("foxwedge-store", &["foxwedge-core", "foxwedge-run", "foxwedge-process"]),
    (
        "foxwedge-testkit",
        &[
            "foxwedge-core",
            "foxwedge-formats",
            "foxwedge-sessions",
            "foxwedge-run",
            "foxwedge-store",
        ],
    ),
    ("foxwedge-scripted", &["foxwedge-core", "foxwedge-formats"]),
    ("foxwedge-agents", &["foxwedge-core", "foxwedge-formats", "foxwedge-process"]),
    ("foxwedge-tools", &["foxwedge-process"]),
    (
        "foxwedge-local",
        &[
            "foxwedge-core",
            "foxwedge-json",
            "foxwedge-formats",
            "foxwedge-sessions",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-process",
            "foxwedge-store",
        ],
    ),
    (
        "foxwedge-upstream",
        &[
            "foxwedge-core",
            "foxwedge-formats",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-scripted",
            "foxwedge-tools",
        ],
    ),
    (
        "foxwedge-agent-loop",
        &[
            "foxwedge-core",
            "foxwedge-formats",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-process",
            "foxwedge-store",
            "foxwedge-tools",
            "foxwedge-upstream",
        ],
    ),
    (
        "foxwedge-gateway",
        &[
            "foxwedge-core",
            "foxwedge-formats",
            "foxwedge-sessions",
            "foxwedge-embed",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-process",
            "foxwedge-store",
            "foxwedge-scripted",
            "foxwedge-agents",
            "foxwedge-tools",
            "foxwedge-local",
            "foxwedge-upstream",
        ],
    ),
    (
        "foxwedge-chat",
        &[
            "foxwedge-core",
            "foxwedge-formats",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-process",
            "foxwedge-store",
            "foxwedge-tools",
            "foxwedge-local",
            "foxwedge-upstream",
            "foxwedge-agent-loop",
            "foxwedge-gateway",
        ],
    ),
    (
        "foxwedge",
        &[
            "foxwedge-core",
            "foxwedge-json",
            "foxwedge-formats",
            "foxwedge-sessions",
            "foxwedge-embed",
            "foxwedge-suite",
            "foxwedge-tokens",
            "foxwedge-run",
            "foxwedge-process",
            "foxwedge-store",
            "foxwedge-tools",
            "foxwedge-local",
            "foxwedge-upstream",
            "foxwedge-gateway",
            "foxwedge-chat",
        ],
    ),
    ("foxwedge-scripted-agent", &["foxwedge-core", "foxwedge-scripted"]),
    // Measures the gateway from outside; only its benchmarks look into it.
    ("foxwedge-bench", &[]),
    (
        "xtask",
        &[
            "foxwedge-core",
            "foxwedge-embed",
            "foxwedge-formats",
            "foxwedge-run",
            "foxwedge-sessions",
            "foxwedge-suite",
            "foxwedge-testkit",
        ],
    ),
];

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let manifest = Manifest::read(&file.text);
        let Some(name) = manifest.name else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            complaints.push(complaint(
                &file.path,
                format!("`{name}` has no place in the picture: add it to ARCHITECTURE.md and here"),
            ));
            continue;
        };
        for used in manifest.uses.iter().filter(|used| is_ours(used) && !allowed.contains(used)) {
            complaints.push(complaint(&file.path, format!("`{name}` may not use `{used}`")));
        }
        if !manifest.lints && !OWN_LINTS.contains(&name) {
            complaints.push(complaint(
                &file.path,
                "does not inherit the lints: `[lints] workspace = true`",
            ));
        }
    }
    complaints
}

fn is_ours(name: &str) -> bool {
    ARROWS.iter().any(|(from, _)| *from == name)
}

/// The little that we read of a manifest.
#[derive(Default, Debug, PartialEq, Eq)]
struct Manifest<'a> {
    name: Option<&'a str>,
    uses: Vec<&'a str>,
    lints: bool,
}

impl<'a> Manifest<'a> {
    fn read(text: &'a str) -> Manifest<'a> {
        let mut manifest = Manifest::default();
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = header;
                // `[dependencies.name]`
                let (head, tail) = header.rsplit_once('.').unwrap_or(("", header));
                if is_arrow(head) {
                    manifest.uses.push(tail);
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim(), value.trim());
            match section {
                "package" if key == "name" => manifest.name = Some(value.trim_matches('"')),
                "lints" if key == "workspace" => manifest.lints = value == "true",
                _ if is_arrow(section) && !key.starts_with('#') => {
                    manifest.uses.push(key.split('.').next().unwrap_or(key));
                }
                _ => {}
            }
        }
        manifest
    }
}

fn is_arrow(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section);
    last == "dependencies" || last == "build-dependencies"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_in_every_spelling() {
        let text = "[package]\nname = \"x\"\n[lints]\nworkspace = true\n[dependencies]\n# c = 1\n\
                    a.workspace = true\nb = { path = \"b\" }\n[dependencies.c]\npath = \"c\"\n\
                    [target.'cfg(unix)'.dependencies]\nd = \"1\"\n[dev-dependencies]\ne = \"1\"\n";
        let expected = Manifest { name: Some("x"), uses: vec!["a", "b", "c", "d"], lints: true };
        assert_eq!(Manifest::read(text), expected);
    }

    #[test]
    fn a_wrong_arrow_and_missing_lints_are_named() {
        let text =
            "[package]\nname = \"foxwedge-core\"\n[dependencies]\nfoxwedge-formats = \"1\"\n";
        let file = File { path: "crates/core/Cargo.toml".to_owned(), text: text.to_owned() };
        let found: Vec<String> = check(&[file]).into_iter().map(|found| found.what).collect();
        assert_eq!(
            found,
            [
                "`foxwedge-core` may not use `foxwedge-formats`",
                "does not inherit the lints: `[lints] workspace = true`"
            ]
        );
    }
}
