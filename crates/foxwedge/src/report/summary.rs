//! The last words: what was found, what was done, what to do next.

use super::{ReportTotals, edits, file_reports};
use crate::{
    check_settings::CheckSettings,
    cli_output::{
        BOLD, ERROR, GOOD, HELP, clean, format_error, paint, pluralize, print_note, write_stderr,
    },
    outcome::{TargetFailure, TargetOutcome, TargetResult},
};

/// Failures told of one file.
const MAX_FAILURES: usize = 20;

/// Says on stderr what could not be read or written.
pub(crate) fn print_failures(outcomes: &[TargetOutcome]) {
    for outcome in outcomes {
        match &outcome.result {
            TargetResult::Failed(failure) => print_failure(&outcome.path, failure),
            TargetResult::Checked(judged) => {
                for failure in judged.failures.iter().take(MAX_FAILURES) {
                    print_failure(&outcome.path, failure);
                }
                let left = judged.failures.len().saturating_sub(MAX_FAILURES);
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

/// Says on stderr what the user should know about single targets.
pub(crate) fn print_notes(outcomes: &[TargetOutcome]) {
    for (path, judged) in file_reports(outcomes) {
        for text in &judged.notes {
            print_note(&format!("{}: {text}", clean(path)));
        }
    }
}

/// Says on stderr what a repair did.
pub(crate) fn print_repairs(outcomes: &[TargetOutcome]) {
    file_reports(outcomes)
        .for_each(|(path, judged)| write_stderr(&edits::format_file_steps(path, judged)));
}

/// Says on stderr how to go on with the sessions that were repaired.
pub(crate) fn print_next_steps(outcomes: &[TargetOutcome]) {
    /// Sessions that are named.
    const NAMED: usize = 5;
    let repaired = outcomes.iter().filter_map(|outcome| match &outcome.result {
        // Only where its agent finds it.
        TargetResult::Checked(judged) if judged.backup.is_some() && outcome.name.is_some() => {
            judged.session.as_ref()?.resume_command()
        }
        TargetResult::Checked(_) | TargetResult::Skipped | TargetResult::Failed(_) => None,
    });
    for command in repaired.take(NAMED) {
        write_stderr(&format!("  {}: `{command}` goes on with it\n", paint(HELP, "help")));
    }
}

/// The last line.
pub(crate) fn summary_line(outcomes: &[TargetOutcome], ask: &CheckSettings) -> String {
    let totals = ReportTotals::of(outcomes);
    let mut text = String::new();
    if totals.changed > 0 {
        text.push_str(&if totals.planned > 0 {
            would_fix_sentence(totals)
        } else {
            fixed_sentence(outcomes, totals)
        });
    }
    if totals.findings > 0 {
        text.push_str(&findings_sentence(outcomes, totals, ask));
    } else if totals.files > 0 && totals.failed == 0 && totals.changed == 0 {
        text.push_str(&format!(
            "{}: {}, {}, {}",
            paint(GOOD, "All sound"),
            pluralize(totals.files, "file"),
            pluralize(totals.messages, "message"),
            profiles(outcomes),
        ));
        text.push_str(&skipped(totals));
        text.push_str(".\n");
    } else if totals.files == 0 && totals.failed == 0 {
        text.push_str(&format!("No conversation found{}.\n", skipped(totals)));
    }
    text
}

fn findings_sentence(
    outcomes: &[TargetOutcome],
    totals: ReportTotals,
    ask: &CheckSettings,
) -> String {
    let begin = if totals.changed > 0 { "Remaining:" } else { "Found" };
    let mut parts = Vec::new();
    let bold = ask.allows_unsafe_fixes();
    let fixable = totals.safe_fixable + if bold { totals.unsafe_fixable } else { 0 };
    if fixable > 0 {
        parts.push(format!(
            "{fixable} fixable with `{}`",
            ask.fix_command(single_target_name(outcomes), bold)
        ));
    }
    if totals.unsafe_fixable > 0 && !bold {
        let verb = if totals.unsafe_fixable == 1 { "needs" } else { "need" };
        parts.push(format!("{} {verb} --unsafe-fixes", totals.unsafe_fixable));
    }
    if totals.unfixable > 0 {
        let verb = if totals.unfixable == 1 { "has" } else { "have" };
        parts.push(format!("{} {verb} no fix", totals.unfixable));
    }
    let files = file_reports(outcomes).filter(|(_, judged)| !judged.findings.is_empty()).count();
    let of = if files < totals.files { format!(" of {}", totals.files) } else { String::new() };
    let files = if of.is_empty() { pluralize(files, "file") } else { format!("{files}{of} files") };
    format!(
        "{} {} in {files} ({}){}: {}.\n",
        paint(ERROR, begin),
        pluralize(totals.findings, "finding"),
        pluralize(totals.messages, "message"),
        skipped(totals),
        parts.join(", "),
    )
}

fn fixed_sentence(outcomes: &[TargetOutcome], totals: ReportTotals) -> String {
    let backups: Vec<_> =
        file_reports(outcomes).filter_map(|(_, judged)| judged.backup.as_ref()).collect();
    let cost = edits::describe_losses(&edits::losses(outcomes)).join(", ");
    let cost = if cost.is_empty() { cost } else { format!(", {cost}") };
    let backup = match backups.as_slice() {
        [] => ".".to_owned(),
        [one] => format!("; backup: {}", clean(&one.to_string_lossy())),
        [first, ..] => {
            let folder = first.parent().unwrap_or(first);
            format!("; {} backups in {}", backups.len(), clean(&folder.to_string_lossy()))
        }
    };
    format!(
        "{} {} in {}{cost}{backup}\n",
        paint(GOOD, "Fixed"),
        pluralize(totals.fixed, "finding"),
        pluralize(totals.changed, "file"),
    )
}

fn would_fix_sentence(totals: ReportTotals) -> String {
    format!(
        "{} {} in {}; nothing was written.\n",
        paint(BOLD, "Would fix"),
        pluralize(totals.planned, "finding"),
        pluralize(totals.changed, "file"),
    )
}

fn skipped(totals: ReportTotals) -> String {
    match totals.skipped {
        0 => String::new(),
        skipped => format!(", {} skipped", pluralize(skipped, "file")),
    }
}

fn profiles(outcomes: &[TargetOutcome]) -> String {
    let mut names = Vec::new();
    for profile in file_reports(outcomes).flat_map(|(_, judged)| &judged.profiles) {
        if !names.contains(&profile.name()) {
            names.push(profile.name());
        }
    }
    let s = if names.len() == 1 { "" } else { "s" };
    format!("profile{s} {}", names.join(", "))
}

/// The one file to name in a command, if there is only one.
fn single_target_name(outcomes: &[TargetOutcome]) -> Option<&str> {
    let mut broken = outcomes.iter().filter(|outcome| match &outcome.result {
        TargetResult::Checked(judged) => !judged.findings.is_empty(),
        TargetResult::Skipped | TargetResult::Failed(_) => false,
    });
    match (broken.next(), broken.next()) {
        (Some(outcome), None) => Some(outcome.command_name()),
        _ => None,
    }
}
