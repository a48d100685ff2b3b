//! The last words: what was found, what was done, what to do next.

use super::{Totals, edits, judged};
use crate::{
    ask::Ask,
    outcome::{Failure, Outcome, Verdict},
    say::{BOLD, ERROR, GOOD, HELP, clean, complaint, count, note, paint, talk},
};

/// Failures told of one file.
const MOST: usize = 20;

/// Says on stderr what could not be read or written.
pub(crate) fn failures(outcomes: &[Outcome]) {
    for outcome in outcomes {
        match &outcome.result {
            Verdict::Failed(failure) => complain(&outcome.path, failure),
            Verdict::Judged(judged) => {
                for failure in judged.failures.iter().take(MOST) {
                    complain(&outcome.path, failure);
                }
                let left = judged.failures.len().saturating_sub(MOST);
                if left > 0 {
                    let path = clean(&outcome.path);
                    talk(&complaint(&format!("{path}: {left} more lines cannot be read"), None));
                }
            }
            Verdict::Skipped => {}
        }
    }
}

fn complain(path: &str, failure: &Failure) {
    let place = failure
        .position
        .map(|position| format!(":{}:{}", position.line, position.column))
        .unwrap_or_default();
    let text = format!("{}{place}: {}", clean(path), failure.message);
    talk(&complaint(&text, failure.help.as_deref()));
}

/// Says on stderr what the user should know about single targets.
pub(crate) fn notes(outcomes: &[Outcome]) {
    for (path, judged) in judged(outcomes) {
        for text in &judged.notes {
            note(&format!("{}: {text}", clean(path)));
        }
    }
}

/// Says on stderr what a repair did.
pub(crate) fn repairs(outcomes: &[Outcome]) {
    judged(outcomes).for_each(|(path, judged)| talk(&edits::block(path, judged)));
}

/// Says on stderr how to go on with the sessions that were repaired.
pub(crate) fn next_steps(outcomes: &[Outcome]) {
    /// Sessions that are named.
    const NAMED: usize = 5;
    let repaired = outcomes.iter().filter_map(|outcome| match &outcome.result {
        // Only where its agent finds it.
        Verdict::Judged(judged) if judged.backup.is_some() && outcome.name.is_some() => {
            judged.session.as_ref()?.resume_command()
        }
        Verdict::Judged(_) | Verdict::Skipped | Verdict::Failed(_) => None,
    });
    for command in repaired.take(NAMED) {
        talk(&format!("  {}: `{command}` goes on with it\n", paint(HELP, "help")));
    }
}

/// The last line.
pub(crate) fn sentence(outcomes: &[Outcome], ask: &Ask) -> String {
    let totals = Totals::of(outcomes);
    let mut text = String::new();
    if totals.changed > 0 {
        text.push_str(&if totals.planned > 0 {
            would_fix(totals)
        } else {
            fixed(outcomes, totals)
        });
    }
    if totals.findings > 0 {
        text.push_str(&found(outcomes, totals, ask));
    } else if totals.files > 0 && totals.failed == 0 && totals.changed == 0 {
        text.push_str(&format!(
            "{}: {}, {}, {}",
            paint(GOOD, "All sound"),
            count(totals.files, "file"),
            count(totals.messages, "message"),
            profiles(outcomes),
        ));
        text.push_str(&skipped(totals));
        text.push_str(".\n");
    } else if totals.files == 0 && totals.failed == 0 {
        text.push_str(&format!("No conversation found{}.\n", skipped(totals)));
    }
    text
}

fn found(outcomes: &[Outcome], totals: Totals, ask: &Ask) -> String {
    let begin = if totals.changed > 0 { "Remaining:" } else { "Found" };
    let mut parts = Vec::new();
    let bold = ask.is_bold();
    let fixable = totals.safe + if bold { totals.bold } else { 0 };
    if fixable > 0 {
        parts.push(format!("{fixable} fixable with `{}`", ask.command(target(outcomes), bold)));
    }
    if totals.bold > 0 && !bold {
        let verb = if totals.bold == 1 { "needs" } else { "need" };
        parts.push(format!("{} {verb} --unsafe-fixes", totals.bold));
    }
    if totals.none > 0 {
        let verb = if totals.none == 1 { "has" } else { "have" };
        parts.push(format!("{} {verb} no fix", totals.none));
    }
    let files = judged(outcomes).filter(|(_, judged)| !judged.findings.is_empty()).count();
    let of = if files < totals.files { format!(" of {}", totals.files) } else { String::new() };
    let files = if of.is_empty() { count(files, "file") } else { format!("{files}{of} files") };
    format!(
        "{} {} in {files} ({}){}: {}.\n",
        paint(ERROR, begin),
        count(totals.findings, "finding"),
        count(totals.messages, "message"),
        skipped(totals),
        parts.join(", "),
    )
}

fn fixed(outcomes: &[Outcome], totals: Totals) -> String {
    let backups: Vec<_> =
        judged(outcomes).filter_map(|(_, judged)| judged.backup.as_ref()).collect();
    let cost = edits::cost(&edits::losses(outcomes)).join(", ");
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
        count(totals.fixed, "finding"),
        count(totals.changed, "file"),
    )
}

fn would_fix(totals: Totals) -> String {
    format!(
        "{} {} in {}; nothing was written.\n",
        paint(BOLD, "Would fix"),
        count(totals.planned, "finding"),
        count(totals.changed, "file"),
    )
}

fn skipped(totals: Totals) -> String {
    match totals.skipped {
        0 => String::new(),
        skipped => format!(", {} skipped", count(skipped, "file")),
    }
}

fn profiles(outcomes: &[Outcome]) -> String {
    let mut names = Vec::new();
    for profile in judged(outcomes).flat_map(|(_, judged)| &judged.profiles) {
        if !names.contains(&profile.name()) {
            names.push(profile.name());
        }
    }
    let s = if names.len() == 1 { "" } else { "s" };
    format!("profile{s} {}", names.join(", "))
}

/// The one file to name in a command, if there is only one.
fn target(outcomes: &[Outcome]) -> Option<&str> {
    let mut broken = outcomes.iter().filter(|outcome| match &outcome.result {
        Verdict::Judged(judged) => !judged.findings.is_empty(),
        Verdict::Skipped | Verdict::Failed(_) => false,
    });
    match (broken.next(), broken.next()) {
        (Some(outcome), None) => Some(outcome.word()),
        _ => None,
    }
}
