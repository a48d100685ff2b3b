//! Findings for programs. Field names are a promise.

use std::io::{self, Write};

use foxwedge_core::Edit;
use serde::{Serialize, Serializer};

use super::{Seen, Totals, findings, level};
use crate::outcome::Outcome;

/// The whole document.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(serialize_with = "entries")]
    findings: &'a [Outcome],
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
    /// Only in the session file of an agent, as `session_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    path: &'a str,
    line: usize,
    column: usize,
    message_index: usize,
    call_ids: &'a [String],
    tool_name: Option<&'a str>,
    profile: &'static str,
    fix: Fix<'a>,
}

/// How a finding can be repaired.
#[derive(Serialize)]
pub(super) struct Fix<'a> {
    applicability: &'static str,
    strategy: &'static str,
    #[serde(serialize_with = "steps")]
    edits: &'a [Edit],
}

#[derive(Serialize)]
struct Step<'a> {
    strategy: &'static str,
    message_index: usize,
    call_ids: &'a [String],
    note: &'a str,
}

/// One document with a summary.
pub(super) fn document(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    let totals = Totals::of(outcomes);
    let summary = Summary {
        files: totals.files,
        messages: totals.messages,
        findings: totals.findings,
        fixed: totals.fixed,
    };
    pretty(out, &Document { version: 1, findings: outcomes, summary })
}

/// One object a line.
pub(super) fn lines(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    for seen in findings(outcomes) {
        serde_json::to_writer(&mut *out, &entry(seen))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes a document as it is walked.
pub(crate) fn pretty(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

fn entries<S: Serializer>(outcomes: &&[Outcome], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings(outcomes).map(entry))
}

fn entry(seen: Seen<'_>) -> Entry<'_> {
    let finding = &seen.found.finding;
    Entry {
        code: finding.rule.label(),
        name: finding.rule.name,
        severity: level(finding.severity),
        message: &finding.message,
        agent: seen.session.map(|session| session.agent.name()),
        session_id: seen.session.and_then(|session| session.id.as_deref()),
        path: seen.path,
        line: seen.found.position.line,
        column: seen.found.position.column,
        message_index: finding.at.message,
        call_ids: &finding.ids,
        tool_name: finding.tool.as_deref(),
        profile: finding.profile.name(),
        fix: fix(seen),
    }
}

/// How a finding can be repaired.
pub(super) fn fix(seen: Seen<'_>) -> Fix<'_> {
    Fix {
        applicability: seen.found.finding.fix.applicability.name(),
        strategy: seen.found.finding.fix.strategy.name(),
        edits: seen.edits,
    }
}

fn steps<S: Serializer>(edits: &&[Edit], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(edits.iter().map(|edit| Step {
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }))
}
