//! A code quality report for GitLab merge requests.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::{edits, file_reports, findings, json::write_pretty, unlisted_by_rule};
use foxwedge_core::Severity;
use foxwedge_local::outcome::TargetOutcome;

/// One entry of the report. GitLab tells entries apart by their fingerprint.
#[derive(Serialize)]
struct QualityEntry {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: QualityLocation,
}

#[derive(Serialize)]
struct QualityLocation {
    path: String,
    lines: QualityLines,
}

#[derive(Serialize)]
struct QualityLines {
    begin: usize,
}

/// Writes one entry for each finding, and one for each edit of a repair.
pub(super) fn write(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    let mut report = QualityReport::default();
    for reported in findings(outcomes) {
        let finding = &reported.located.finding;
        let description = format!("{} ({})", finding.message, reported.located.message());
        let name = format!("{} {}", finding.rule.label(), finding.rule.name);
        let line = reported.located.position.line;
        report.push(description, name, severity(finding.severity), reported.path, line);
    }
    for (path, file) in file_reports(outcomes) {
        for (rule, level, unlisted) in unlisted_by_rule(file) {
            let name = format!("{} {}", rule.label(), rule.name);
            report.push(format!("… and {unlisted} more"), name, severity(level), path, 1);
        }
    }
    for step in edits::steps(outcomes) {
        let edit = &step.applied.edit;
        let description = format!("{} ({})", edit.note, step.message());
        let name = format!("fixed FW{} {}", edit.code, step.name());
        let line = step.applied.position.map_or(1, |position| position.line);
        report.push(description, name, "info", step.path, line);
    }
    write_pretty(out, &report.entries)
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "major",
        Severity::Warning => "minor",
    }
}

#[derive(Default)]
struct QualityReport {
    entries: Vec<QualityEntry>,
    /// How often each fingerprint would occur, so that equal findings stay apart.
    seen: HashMap<u128, usize>,
}

impl QualityReport {
    fn push(
        &mut self,
        description: String,
        check_name: String,
        severity: &'static str,
        path: &str,
        line: usize,
    ) {
        // Lines are left out: an entry is the same one after text was added above it.
        let hash = xxh3_128(format!("{path}\0{check_name}\0{description}").as_bytes());
        let repeated = self.seen.entry(hash).and_modify(|seen| *seen += 1).or_insert(0);
        let fingerprint = format!("{hash:032x}-{repeated}");
        let location =
            QualityLocation { path: path.to_owned(), lines: QualityLines { begin: line } };
        self.entries.push(QualityEntry {
            description,
            check_name,
            fingerprint,
            severity,
            location,
        });
    }
}
