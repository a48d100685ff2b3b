//! Messages on stderr after a run: failures, notes, applied repairs, and the summary line.

use std::path::Path;

use foxwedge_sessions::SessionAgent;

use super::{ReportTotals, edits, file_reports};
use foxwedge_local::{
    agents::{self, LocalSessionEntry},
    check_settings::CheckSettings,
    database,
    language::{list_separator, localize},
    outcome::{FileReport, SessionRef, TargetFailure, TargetOutcome, TargetResult},
    output::{
        BOLD, ERROR, GOOD, clean, format_error, format_help, paint, pluralize, print_note,
        write_stderr,
    },
    trace::TraceCounts,
};

/// Max failures printed for one file.
const MAX_FAILURES: usize = 20;

/// Prints to stderr what could not be read or written.
pub(crate) fn print_failures(outcomes: &[TargetOutcome]) {
    for outcome in outcomes {
        match &outcome.result {
            TargetResult::Failed(failure) => print_failure(&outcome.path, failure),
            TargetResult::Checked(report) => {
                for failure in report.failures.iter().take(MAX_FAILURES) {
                    print_failure(&outcome.path, failure);
                }
                let left = report.failures.len().saturating_sub(MAX_FAILURES);
                if left > 0 {
                    let path = clean(&outcome.path);
                    write_stderr(&format_error(
                        &format!("{path}: {left} more lines cannot be read"),
                        None,
                    ));
                }
            }
            TargetResult::Skipped => {}
        }
    }
}

fn print_failure(path: &str, failure: &TargetFailure) {
    let place = failure
        .position
        .map(|position| format!(":{}:{}", position.line, position.column))
        .unwrap_or_default();
    let text = format!("{}{place}: {}", clean(path), failure.message);
    write_stderr(&format_error(&text, failure.help.as_deref()));
}

/// Max skipped files that are named; the summary counts all of them.
const MAX_SKIPPED: usize = 3;

/// Prints the notes of each target to stderr.
pub(crate) fn print_notes(outcomes: &[TargetOutcome]) {
    let skipped = outcomes.iter().filter(|outcome| matches!(outcome.result, TargetResult::Skipped));
    for outcome in skipped.take(MAX_SKIPPED) {
        print_note(&format!("{}: skipped, it holds no conversation", clean(&outcome.path)));
    }
    for (path, report) in file_reports(outcomes) {
        for text in &report.notes {
            print_note(&format!("{}: {text}", clean(path)));
        }
    }
}

/// Prints to stderr what each repair did, or would do.
pub(crate) fn print_repairs(outcomes: &[TargetOutcome], is_preview: bool) {
    for outcome in outcomes {
        if let TargetResult::Checked(report) = &outcome.result {
            write_stderr(&edits::format_file_steps(&title(outcome, report), report, is_preview));
        }
    }
}

/// The agent and id of a session in the folder of its agent, whose path says less; otherwise the path.
fn title(outcome: &TargetOutcome, report: &FileReport) -> String {
    let session = report.session.as_ref().filter(|_| outcome.name.is_some());
    match session.and_then(|session| Some((session.agent, session.id.as_deref()?))) {
        Some((agent, id)) => format!("{} {id}", agent.name()),
        None => outcome.path.clone(),
    }
}

/// Prints to stderr the commands that resume the repaired sessions.
pub(crate) fn print_next_steps(outcomes: &[TargetOutcome]) {
    /// Max sessions listed.
    const MAX_LISTED: usize = 5;
    let commands = outcomes.iter().filter_map(|outcome| match &outcome.result {
        TargetResult::Checked(report) if report.backup.is_some() => {
            let session = report.session.clone()?;
            // Only sessions that lie where their agent finds them.
            let entry = listed_session(session.agent, &outcome.path)?;
            SessionRef::of_entry(&entry, session.id, session.folder).resume_command()
        }
        TargetResult::Checked(_) | TargetResult::Skipped | TargetResult::Failed(_) => None,
    });
    for command in commands.take(MAX_LISTED) {
        write_stderr(&format_help(&format!("`{command}` resumes the session")));
    }
}

/// The session of an agent on this machine whose file this is.
fn listed_session(agent: SessionAgent, path: &str) -> Option<LocalSessionEntry> {
    let real = |path: &Path| database::canonicalize(path).ok();
    let wanted = real(Path::new(path))?;
    let mut entries = agents::find(&[agent]).entries.into_iter();
    entries.find(|entry| real(&entry.path).as_ref() == Some(&wanted))
}

/// The summary: what was fixed, what was found, and the next command.
pub(crate) fn summary_line(outcomes: &[TargetOutcome], settings: &CheckSettings) -> String {
    let totals = ReportTotals::of(outcomes);
    let mut text = String::new();
    if totals.changed > 0 {
        text.push_str(&if totals.planned > 0 {
            would_fix_sentence(outcomes, totals)
        } else {
            fixed_sentence(outcomes, totals)
        });
    }
    if totals.findings > 0 {
        text.push_str(&findings_sentence(outcomes, totals, settings));
    } else if totals.failed == 0 && totals.changed == 0 && !was_checked(outcomes) {
        text.push_str(&localize(format!("No conversations found{}.\n", skipped(totals))));
    } else if totals.failed == 0 && totals.changed == 0 {
        let (files, messages) =
            (pluralize(totals.files, "file"), pluralize(totals.messages, "message"));
        let (files, messages) = (localize(files), localize(messages));
        text.push_str(&localize(format!(
            "{}: {files}, {messages}, {}{}.\n",
            paint(GOOD, "All valid"),
            localize(profiles(outcomes)),
            skipped(totals),
        )));
    }
    text
}

/// Whether any request was checked. A trace may hold none that can be.
fn was_checked(outcomes: &[TargetOutcome]) -> bool {
    let is_unchecked = |trace: TraceCounts| trace.requests == 0;
    file_reports(outcomes).any(|(_, report)| !report.trace.is_some_and(is_unchecked))
}

fn findings_sentence(
    outcomes: &[TargetOutcome],
    totals: ReportTotals,
    settings: &CheckSettings,
) -> String {
    let begin = if totals.changed > 0 { "Remaining:" } else { "Found" };
    let mut parts = Vec::new();
    let unsafe_fixes = settings.allows_unsafe_fixes();
    let fixable = totals.safe_fixable + if unsafe_fixes { totals.unsafe_fixable } else { 0 };
    if fixable > 0 {
        let command = settings.fix_command(single_target_name(outcomes), unsafe_fixes);
        parts.push(localize(format!("{fixable} fixable with `{command}`")));
    }
    if totals.unsafe_fixable > 0 && !unsafe_fixes {
        let verb = if totals.unsafe_fixable == 1 { "needs" } else { "need" };
        parts.push(localize(format!("{} {verb} --unsafe-fixes", totals.unsafe_fixable)));
    }
    if totals.unfixable > 0 {
        let verb = if totals.unfixable == 1 { "has" } else { "have" };
        parts.push(localize(format!("{} {verb} no fix", totals.unfixable)));
    }
    let files = file_reports(outcomes).filter(|(_, report)| !report.findings.is_empty()).count();
    let of = if files < totals.files { format!(" of {}", totals.files) } else { String::new() };
    let files = if of.is_empty() { pluralize(files, "file") } else { format!("{files}{of} files") };
    localize(format!(
        "{} {} in {files} ({}){}: {}.\n",
        paint(ERROR, begin),
        pluralize(totals.findings, "finding"),
        pluralize(totals.messages, "message"),
        skipped(totals),
        parts.join(list_separator()),
    ))
    .into_owned()
}

/// What the repairs removed, as the continuation of a sentence.
fn losses_phrase(outcomes: &[TargetOutcome]) -> String {
    let separator = list_separator();
    let losses = edits::describe_losses(&edits::losses(outcomes)).join(separator);
    if losses.is_empty() { losses } else { format!("{separator}{losses}") }
}

fn fixed_sentence(outcomes: &[TargetOutcome], totals: ReportTotals) -> String {
    let losses = losses_phrase(outcomes);
    let backups: Vec<_> =
        file_reports(outcomes).filter_map(|(_, report)| report.backup.as_ref()).collect();
    let backup = match backups.as_slice() {
        [] => localize("."),
        [one] => localize(format!("; backup: {}", clean(&one.to_string_lossy()))),
        [first, ..] => {
            let folder = clean(&first.parent().unwrap_or(first).to_string_lossy());
            localize(format!("; {} backups in {folder}", backups.len()))
        }
    };
    let fixed = localize(format!(
        "{} {} in {}",
        paint(GOOD, "Fixed"),
        pluralize(totals.fixed, "finding"),
        pluralize(totals.changed, "file"),
    ));
    format!("{fixed}{losses}{backup}\n")
}

fn would_fix_sentence(outcomes: &[TargetOutcome], totals: ReportTotals) -> String {
    let planned = localize(format!(
        "{} {} in {}",
        paint(BOLD, "Would fix"),
        pluralize(totals.planned, "finding"),
        pluralize(totals.changed, "file"),
    ));
    format!("{planned}{}{}\n", losses_phrase(outcomes), localize("; no file was changed."))
}

fn skipped(totals: ReportTotals) -> String {
    match totals.skipped {
        0 => String::new(),
        skipped => {
            let files = localize(format!("{} skipped", pluralize(skipped, "file")));
            format!("{}{files}", list_separator())
        }
    }
}

fn profiles(outcomes: &[TargetOutcome]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (_, report) in file_reports(outcomes) {
        // A message list of the AI SDK has rules of its own, not those of a provider.
        let agent = report.session.as_ref().map(|session| session.agent);
        let list = agent.filter(|agent| agent.is_ai_sdk()).map(|agent| agent.name());
        let profiles = report.profiles.iter().map(|profile| profile.name());
        let profiles = profiles.filter(|_| list.is_none());
        for name in list.into_iter().chain(profiles) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let s = if names.len() == 1 { "" } else { "s" };
    format!("profile{s} {}", names.join(", "))
}

/// The target to name in a command, if only one target has findings.
fn single_target_name(outcomes: &[TargetOutcome]) -> Option<&str> {
    let mut with_findings = outcomes.iter().filter(|outcome| match &outcome.result {
        TargetResult::Checked(report) => !report.findings.is_empty(),
        TargetResult::Skipped | TargetResult::Failed(_) => false,
    });
    match (with_findings.next(), with_findings.next()) {
        (Some(outcome), None) => Some(outcome.command_name()),
        _ => None,
    }
}
