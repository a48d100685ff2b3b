//! The cases of the rules about session files: whole files, small.
//!
//! A case is `cases/<rule>/<sound|broken>_<what>.<agent>.jsonl`. Sound ones are not touched; broken
//! ones show their rule, and what a repair does to their lines is kept beside them as a reviewed
//! snapshot. What cannot be written into a text file is spelled: `␀` is a zero byte, `␚` a byte
//! that is not UTF-8, and `{{33 MB}}` a very long text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_core::{CheckOptions, Report, Rule, Severity, check, rules};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{self, AgentDetection, SessionAgent};

struct Case {
    path: PathBuf,
    name: String,
    rule: &'static Rule,
    agent: SessionAgent,
    bytes: Vec<u8>,
}

impl Case {
    fn read(path: PathBuf) -> Case {
        let text = |name: Option<&std::ffi::OsStr>| {
            name.and_then(|name| name.to_str()).expect("cases have plain names").to_owned()
        };
        let folder = text(path.parent().and_then(Path::file_name));
        let name = text(path.file_stem());
        let agent = name.rsplit('.').next().and_then(SessionAgent::parse);
        let agent = agent.unwrap_or_else(|| panic!("{} names no agent", path.display()));
        let rule =
            rules::find_rule(&folder.replace('_', "-")).expect("a folder is called like a rule");
        let source = fs::read_to_string(&path).expect("a case can be read");
        let source = source.replace("{{33 MB}}", &"x".repeat(33 << 20));
        Case { name, rule, agent, bytes: spelled(&source), path }
    }
}

/// The bytes that a case means.
fn spelled(source: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(source.len());
    for c in source.chars() {
        match c {
            '␀' => bytes.push(0),
            '␚' => bytes.push(0xff),
            c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The same, the other way round.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\0', "␀");
    text.lines().map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/cases");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the cases lie beside the engine");
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect()
    };
    let folders = list(&root).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| list(&folder))
        .filter(|path| path.extension().is_some_and(|found| found == "jsonl"))
        .collect();
    files.sort();
    files.into_iter().map(Case::read).collect()
}

fn question(agent: SessionAgent) -> CheckOptions {
    let mut question = CheckOptions::for_profile(agent.profile());
    agent.restrict_rules(&mut question);
    question
}

fn report(agent: SessionAgent, bytes: &[u8]) -> Report {
    let text = foxwedge_sessions::readable_text(bytes).expect("small enough");
    let question = question(agent);
    let session =
        foxwedge_sessions::read(&text, agent, outline_options(question.profile)).expect("readable");
    check(session.draft(), &question)
}

/// The findings, the edits, and the repaired file.
fn fixed(case: &Case) -> (String, Vec<u8>) {
    let text = foxwedge_sessions::readable_text(&case.bytes).expect("small enough");
    let question = question(case.agent);
    let session = foxwedge_sessions::read(&text, case.agent, outline_options(question.profile))
        .expect("readable");
    let (rewritten, repair) = session.fix(&question);
    let mut told = "findings\n".to_owned();
    for finding in &repair.before.findings {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (label, applicability) = (finding.rule.label(), finding.fix.applicability.name());
        told += &format!("  {label} {severity} {} ({applicability})\n", finding.message);
    }
    told += "\nedits\n";
    for edit in &repair.edits {
        told += &format!("  FW{} {} {}\n", edit.code, edit.strategy.name(), edit.note);
    }
    let mut bytes = Vec::new();
    rewritten.write_to(&mut bytes).expect("memory");
    (told, bytes)
}

#[test]
fn every_rule_about_files_has_sound_and_broken_cases() {
    let cases = cases();
    for rule in rules::ALL.iter().filter(|rule| rule.code >= 700) {
        for kind in ["sound_", "broken_"] {
            let own = cases.iter().filter(|case| case.rule.code == rule.code);
            assert!(own.clone().any(|case| case.name.starts_with(kind)), "{rule:?}: no {kind}*");
        }
    }
}

#[test]
fn sound_files_are_not_touched() {
    for case in cases().iter().filter(|case| case.name.starts_with("sound_")) {
        let recognised = foxwedge_sessions::detect_agent(
            foxwedge_sessions::readable_text(&case.bytes).expect("small").as_str(),
        );
        assert_eq!(recognised, AgentDetection::Known(case.agent), "{}", case.path.display());
        let report = report(case.agent, &case.bytes);
        assert!(report.is_clean(), "{}: {:?}", case.path.display(), report.findings);
        assert_eq!(fixed(case).1, case.bytes, "{}", case.path.display());
    }
}

#[test]
fn broken_files_show_their_rule_and_are_repaired() {
    for case in cases().iter().filter(|case| case.name.starts_with("broken_")) {
        let found = report(case.agent, &case.bytes);
        let codes: Vec<u16> = found.findings.iter().map(|finding| finding.rule.code).collect();
        assert!(codes.contains(&case.rule.code), "{}: {codes:?}", case.path.display());
        let (mut told, bytes) = fixed(case);
        let left = report(case.agent, &bytes);
        // A record that is too large is kept, and so is a turn with something unknown.
        let safe = |code: u16| matches!(code, 603 | 804);
        let left: Vec<u16> = left.findings.iter().map(|finding| finding.rule.code).collect();
        assert!(left.iter().all(|code| safe(*code)), "{}: {left:?}", case.path.display());
        told += "\nlines\n";
        let (before, after) = (shown(&case.bytes), shown(&bytes));
        for line in before.lines().filter(|line| !after.lines().any(|other| other == *line)) {
            told += &format!("- {line}\n");
        }
        for line in after.lines().filter(|line| !before.lines().any(|other| other == *line)) {
            told += &format!("+ {line}\n");
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(case.path.parent().expect("a case lies in a folder"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(case.name.clone(), told));
    }
}
