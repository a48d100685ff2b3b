//! Findings as JSON. Field names are stable.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use foxwedge_core::Edit;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::{
    ReportTotals, ReportedFinding,
    edits::{self, LossCounts, StepEntry, StepList},
    file_findings, file_reports, findings, severity_name, unlisted, unlisted_by_rule,
};
use foxwedge_local::{outcome::TargetOutcome, trace::TraceCounts};

/// The whole document.
#[derive(Serialize)]
struct FindingsDocument<'a> {
    version: u32,
    #[serde(serialize_with = "entries")]
    findings: &'a [TargetOutcome],
    /// Applied edits; only when repairing.
    #[serde(skip_serializing_if = "Option::is_none")]
    edits: Option<StepList<'a>>,
    summary: FindingsSummary,
}

#[derive(Serialize)]
struct FindingsSummary {
    files: usize,
    messages: usize,
    findings: usize,
    fixed: usize,
    /// Findings that the edits would fix; only with --dry-run.
    #[serde(skip_serializing_if = "is_zero")]
    planned: usize,
    /// Present only if a target is a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<TraceSummary>,
    /// Findings that are counted but not listed above; only if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<usize>,
    /// Exact counts of all findings, by code; only if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_rule: Option<BTreeMap<String, usize>>,
    /// Number of all edits, listed or not; only when repairing. `losses` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    edits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<LossCounts>,
}

/// The requests of all traces.
#[derive(Serialize)]
struct TraceSummary {
    spans: usize,
    requests: usize,
    broken: usize,
    cut_off: usize,
    unreadable: usize,
    partly_judged: usize,
}

impl TraceSummary {
    fn of(outcomes: &[TargetOutcome]) -> Option<TraceSummary> {
        let traces = || file_reports(outcomes).filter_map(|(_, report)| report.trace);
        let sum = |count: fn(&TraceCounts) -> usize| traces().map(|trace| count(&trace)).sum();
        traces().next().map(|_| TraceSummary {
            spans: sum(|trace| trace.spans),
            requests: sum(|trace| trace.requests),
            broken: sum(|trace| trace.broken),
            cut_off: sum(|trace| trace.cut_off),
            unreadable: sum(|trace| trace.unreadable),
            partly_judged: sum(|trace| trace.partly_judged),
        })
    }
}

/// A line after the findings.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum TrailingJsonLine<'a> {
    Edit(StepEntry<'a>),
    Summary(FindingsSummary),
}

/// One finding.
#[derive(Serialize)]
struct FindingEntry<'a> {
    code: String,
    name: &'static str,
    severity: &'static str,
    message: &'a str,
    /// Present only for session files of agents; `session_id` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    /// Present only in traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<TraceRequestEntry<'a>>,
    path: &'a str,
    line: usize,
    column: usize,
    message_index: usize,
    call_ids: &'a [String],
    tool_name: Option<&'a str>,
    profile: &'static str,
    fix: FindingFixEntry<'a>,
}

/// The model request that a finding of a trace belongs to.
#[derive(Serialize)]
pub(super) struct TraceRequestEntry<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    span_name: &'a str,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    time: Option<&'a str>,
}

impl<'a> TraceRequestEntry<'a> {
    pub(super) fn of(reported: ReportedFinding<'a>) -> Option<TraceRequestEntry<'a>> {
        let request = reported.located.request.as_deref()?;
        Some(TraceRequestEntry {
            trace_id: &request.trace_id,
            span_id: &request.span_id,
            span_name: &request.name,
            provider: request.provider.as_deref(),
            model: request.model.as_deref(),
            time: request.time.as_deref(),
        })
    }
}

/// The fix of a finding.
#[derive(Serialize)]
pub(super) struct FindingFixEntry<'a> {
    applicability: &'static str,
    strategy: &'static str,
    #[serde(serialize_with = "steps")]
    edits: &'a [Edit],
}

#[derive(Serialize)]
struct FindingEditEntry<'a> {
    strategy: &'static str,
    message_index: usize,
    call_ids: &'a [String],
    note: &'a str,
}

/// Writes one document with all findings and a summary.
pub(super) fn write_document(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    repaired: bool,
) -> io::Result<()> {
    let summary = summary(outcomes, repaired);
    let edits = repaired.then_some(StepList(outcomes));
    write_pretty(out, &FindingsDocument { version: 1, findings: outcomes, edits, summary })
}

fn summary(outcomes: &[TargetOutcome], repaired: bool) -> FindingsSummary {
    let totals = ReportTotals::of(outcomes);
    let unlisted = Some(unlisted(outcomes)).filter(|&unlisted| unlisted > 0);
    FindingsSummary {
        files: totals.files,
        messages: totals.messages,
        findings: totals.findings,
        unlisted,
        by_rule: unlisted.map(|_| by_rule(outcomes)),
        fixed: totals.fixed,
        planned: totals.planned,
        traces: TraceSummary::of(outcomes),
        edits: repaired.then(|| edits::total(outcomes)),
        losses: repaired.then(|| LossCounts(edits::losses(outcomes))),
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Exact counts of all findings, by code.
fn by_rule(outcomes: &[TargetOutcome]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for kind in file_reports(outcomes).flat_map(|(_, report)| report.counts.iter()) {
        *counts.entry(kind.rule.label()).or_insert(0) += kind.count;
    }
    counts
}

/// Writes one object per line: the findings of each file, then one line for each of its rules with
/// unlisted findings; when repairing, also the edits and a summary.
pub(super) fn write_lines(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    repaired: bool,
) -> io::Result<()> {
    for (path, report) in file_reports(outcomes) {
        for reported in file_findings(path, report) {
            write_line(out, &finding_entry(reported))?;
        }
        for (rule, _, unlisted) in unlisted_by_rule(report) {
            let (code, name) = (rule.label(), rule.name);
            write_line(
                out,
                &json!({ "code": code, "name": name, "path": path, "unlisted": unlisted }),
            )?;
        }
    }
    if !repaired {
        return Ok(());
    }
    for step in edits::steps(outcomes) {
        write_line(out, &TrailingJsonLine::Edit(step.entry()))?;
    }
    write_line(out, &TrailingJsonLine::Summary(summary(outcomes, true)))
}

fn write_line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}

/// Writes an indented document without building it in memory.
pub(crate) fn write_pretty(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

fn entries<S: Serializer>(outcomes: &&[TargetOutcome], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings(outcomes).map(finding_entry))
}

fn finding_entry(reported: ReportedFinding<'_>) -> FindingEntry<'_> {
    let finding = &reported.located.finding;
    FindingEntry {
        code: finding.rule.label(),
        name: finding.rule.name,
        severity: severity_name(finding.severity),
        message: &finding.message,
        agent: reported.session.map(|session| session.agent.name()),
        session_id: reported.session.and_then(|session| session.id.as_deref()),
        request: TraceRequestEntry::of(reported),
        path: reported.path,
        line: reported.located.position.line,
        column: reported.located.position.column,
        message_index: finding.location.message,
        call_ids: &finding.ids,
        tool_name: finding.tool.as_deref(),
        profile: finding.profile.name(),
        fix: fix_entry(reported),
    }
}

/// The fix of a finding.
pub(super) fn fix_entry(reported: ReportedFinding<'_>) -> FindingFixEntry<'_> {
    FindingFixEntry {
        applicability: reported.located.finding.fix.applicability.name(),
        strategy: reported.located.finding.fix.strategy.name(),
        edits: reported.edits,
    }
}

fn steps<S: Serializer>(edits: &&[Edit], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(edits.iter().map(|edit| FindingEditEntry {
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }))
}
