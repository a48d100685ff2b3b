//! Findings for programs. Field names are a promise.

use foxwedge_core::{Edit, Severity};
use serde::Serialize;

use super::{Totals, findings};
use crate::outcome::{Found, Outcome};

/// The whole document.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    findings: Vec<Entry<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    files: usize,
    messages: usize,
    findings: usize,
    fixed: usize,
}

/// One finding.
#[derive(Serialize)]
struct Entry<'a> {
    code: String,
    name: &'static str,
    severity: &'static str,
    message: &'a str,
    path: &'a str,
    line: usize,
    column: usize,
    message_index: usize,
    call_ids: &'a [String],
    tool_name: Option<&'a str>,
    profile: &'static str,
    fix: Fix<'a>,
}

#[derive(Serialize)]
pub(super) struct Fix<'a> {
    applicability: &'static str,
    strategy: &'static str,
    edits: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    strategy: &'static str,
    message_index: usize,
    call_ids: &'a [String],
    note: &'a str,
}

/// One document with a summary.
pub(crate) fn document(outcomes: &[Outcome]) -> anyhow::Result<String> {
    let totals = Totals::of(outcomes);
    let document = Document {
        version: 1,
        findings: findings(outcomes).map(|(path, found)| entry(path, found)).collect(),
        summary: Summary {
            files: totals.files,
            messages: totals.messages,
            findings: totals.findings,
            fixed: totals.fixed,
        },
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// One object a line.
pub(crate) fn lines(outcomes: &[Outcome]) -> anyhow::Result<String> {
    let mut text = String::new();
    for (path, found) in findings(outcomes) {
        text.push_str(&serde_json::to_string(&entry(path, found))?);
        text.push('\n');
    }
    Ok(text)
}

fn entry<'a>(path: &'a str, found: &'a Found) -> Entry<'a> {
    let finding = &found.finding;
    Entry {
        code: finding.rule.label(),
        name: finding.rule.name,
        severity: match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        message: &finding.message,
        path,
        line: found.position.line,
        column: found.position.column,
        message_index: finding.at.message,
        call_ids: &finding.ids,
        tool_name: finding.tool.as_deref(),
        profile: finding.profile.name(),
        fix: fix(found),
    }
}

/// How a finding can be repaired.
pub(super) fn fix(found: &Found) -> Fix<'_> {
    Fix {
        applicability: found.finding.fix.applicability.name(),
        strategy: found.finding.fix.strategy.name(),
        edits: found.edits.iter().map(step).collect(),
    }
}

fn step(edit: &Edit) -> Step<'_> {
    Step {
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }
}
