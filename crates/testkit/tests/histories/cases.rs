//! Every rule's cases: whole conversations, judged by the engine and by the oracle.
//!
//! A case is a file `cases/<rule>/<sound|broken>_<what>.<format>[.<profile>].json`. Sound ones
//! pass byte for byte; broken ones show their rule, and their repair is kept beside them as a
//! reviewed snapshot. A document that says too little to be recognised has `looks_like_chat` in
//! its name.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Fixed, bold, codes, complaints, fixed, judged, report, touched};
use foxwedge_core::{Format, Profile, Severity, rules};
use foxwedge_formats::{DetectionConfidence, detect};

/// One file.
struct Case {
    path: PathBuf,
    /// Its rule, as its folder is called.
    folder: String,
    /// Its file name without `.json`.
    name: String,
    wire: Format,
    profile: Profile,
    document: String,
}

impl Case {
    fn read(path: PathBuf) -> Case {
        let part = |name: Option<&std::ffi::OsStr>| {
            name.and_then(|name| name.to_str()).expect("cases have plain names").to_owned()
        };
        let folder = part(path.parent().and_then(Path::file_name));
        let name = part(path.file_stem());
        let mut parts = name.split('.').skip(1);
        let wire = parts.next().and_then(Format::parse);
        let wire = wire.unwrap_or_else(|| panic!("{} names no format", path.display()));
        let profile = parts.next().map_or(Profile::for_format(wire), |profile| {
            Profile::parse(profile).unwrap_or_else(|| panic!("{}: no profile", path.display()))
        });
        let document = fs::read_to_string(&path).expect("a case can be read");
        Case { folder, name, wire, profile, document, path }
    }

    fn is_sound(&self) -> bool {
        self.name.starts_with("sound_")
    }

    fn code(&self) -> u16 {
        rules::find_rule(&self.folder.replace('_', "-"))
            .expect("a folder is called like a rule")
            .code
    }

    fn shown(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/cases")
}

fn files(extension: &str) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the cases lie beside the engine");
        entries.map(|entry| entry.expect("a folder can be listed").path())
    };
    let folders = entries(&root()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| entries(&folder).collect::<Vec<_>>())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn cases() -> Vec<Case> {
    files("json").into_iter().map(Case::read).collect()
}

#[test]
fn every_rule_has_sound_and_broken_cases_in_its_providers_formats() {
    let cases = cases();
    let mut missing = Vec::new();
    // Rules about session files have cases of their own.
    for rule in rules::ALL.iter().filter(|rule| rule.code < 700) {
        let folder = rule.name.replace('-', "_");
        for kind in ["sound_", "broken_"] {
            let own = || cases.iter().filter(|case| case.folder == folder);
            let has = |wire: Option<Format>| {
                own().any(|case| {
                    case.name.starts_with(kind) && wire.is_none_or(|wire| case.wire == wire)
                })
            };
            if !has(None) {
                missing.push(format!("{folder}/{kind}*"));
            }
            for wire in Format::ALL {
                let demanded = rule.evidence(Profile::for_format(wire)).is_some();
                if demanded && !cannot_show(rule.code, wire) && !has(Some(wire)) {
                    missing.push(format!("{folder}/{kind}*.{}", wire.name()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no case for {missing:#?}");
    let known: BTreeSet<String> =
        rules::ALL.iter().map(|rule| rule.name.replace('-', "_")).collect();
    let stray: Vec<_> = cases.iter().filter(|case| !known.contains(&case.folder)).collect();
    assert!(stray.is_empty(), "no rule for {:?}", stray.first().map(|case| &case.path));
}

/// Items have no messages that blocks could be misplaced in, and steps have no roles.
fn cannot_show(code: u16, wire: Format) -> bool {
    matches!(
        (code, wire),
        (304, Format::OpenaiResponses)
            | (304 | 407, Format::GeminiInteractions)
            | (204, Format::Gemini)
    )
}

#[test]
fn sound_cases_pass_byte_for_byte() {
    let mut seen = String::new();
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| case.is_sound()) {
        let found = touched(case.wire, &bold(case.profile), &case.document);
        wrong.extend(found.iter().map(|found| format!("{}: {found}", case.shown())));
        wrong.extend(undetected(case));
        writeln!(seen, "{}: {}", case.shown(), detected(case)).expect("a string takes it");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    beside(&root(), || insta::assert_snapshot!("sound", seen));
}

#[test]
fn broken_cases_show_their_rule_and_are_repaired() {
    let mut wrong = Vec::new();
    let mut snapshots = Vec::new();
    for case in cases().iter().filter(|case| !case.is_sound()) {
        let question = bold(case.profile);
        let before = codes(&report(case.wire, &question, &case.document));
        if !before.contains(&case.code()) {
            wrong.push(format!("{}: FW{} is not among {before:?}", case.shown(), case.code()));
        }
        // A parsed value cannot hold half a character, so there the oracle has no say.
        let blind = before == [313];
        if !blind && judged(case.wire, &question, &case.document).is_empty() {
            wrong.push(format!("{}: the oracle finds nothing", case.shown()));
        }
        let fixed = fixed(case.wire, &question, &case.document);
        let left = complaints(case.wire, &question, &fixed.text);
        wrong.extend(left.iter().map(|left| format!("{}: {left}", case.shown())));
        wrong.extend(undetected(case));
        snapshots.push((case.path.clone(), case.name.clone(), told(case, &fixed)));
    }
    for (path, name, text) in snapshots {
        let folder = path.parent().expect("a case lies in a folder");
        beside(folder, || insta::assert_snapshot!(name, text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_snapshot_has_its_case() {
    let stray: Vec<PathBuf> = files("snap")
        .into_iter()
        .filter(|snapshot| {
            !snapshot.with_extension("json").exists() && !snapshot.with_extension("jsonl").exists()
        })
        .collect();
    assert!(stray.is_empty(), "snapshots without a case: {stray:?}");
}

fn beside(folder: &Path, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(check);
}

/// What is wrong with the detection of a case.
fn undetected(case: &Case) -> Option<String> {
    let found = detect(&case.document);
    let excused = case.name.contains("looks_like_chat")
        && found.is_some_and(|found| {
            found.wire == Format::OpenaiChat && found.confidence == DetectionConfidence::Guess
        });
    let right = found.is_some_and(|found| found.wire == case.wire);
    (!right && !excused).then(|| format!("{}: detected as {}", case.shown(), detected(case)))
}

fn detected(case: &Case) -> String {
    detect(&case.document).map_or_else(
        || "nothing".to_owned(),
        |found| format!("{}, {} ({})", found.wire.name(), found.confidence.name(), found.reason),
    )
}

/// A repair as its reader should see it.
fn told(case: &Case, fixed: &Fixed) -> String {
    let mut text = format!("detected: {}\n", detected(case));
    let mut line = |line: String| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(format!("profile:  {}\n\nfindings", case.profile.name()));
    for finding in &fixed.before.findings {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let fix = finding.fix;
        line(format!(
            "  {} {severity} messages[{}]: {} ({} {})",
            finding.rule.label(),
            finding.location.message,
            finding.message,
            fix.applicability.name(),
            fix.strategy.name(),
        ));
    }
    line("\nedits".to_owned());
    for edit in &fixed.edits {
        let (strategy, at) = (edit.strategy.name(), edit.message);
        line(format!("  FW{} {strategy} messages[{at}]: {}", edit.code, edit.note));
    }
    line("\nrepaired".to_owned());
    text.push_str(&fixed.text);
    text
}
