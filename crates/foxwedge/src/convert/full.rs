//! The report on a conversion for people: repairs, losses and renames.

use foxwedge_core::{Edit, FindingCount, FixApplicability, Format};
use foxwedge_formats::model::IdentifierReplacement;

use super::conversion_report::{ConversionEnding, ConversionReport, ReportedLoss};
use crate::{
    cli::{ConversionKind, ConversionTarget},
    report::{edit_note, finding_message},
};
use foxwedge_local::{
    check_settings::shell_argument,
    language::localize,
    outcome::{LocatedFinding, message_path},
    output::{BOLD, DIM, GOOD, WARNING, clean, cut, format_help, paint, pluralize, width},
    screen::pad,
};

/// Max lines under one heading.
const LINES: usize = 12;
/// Max messages listed on one line.
const MAX_NAMED: usize = 8;
/// Max characters of a note, and of an id or a name.
const NOTE: usize = 200;
const NAME: usize = 48;

/// Renders the report.
pub(crate) fn render_report(report: &ConversionReport) -> String {
    let mut text = String::new();
    push_section(
        &mut text,
        "repaired before",
        edit_lines(&report.repairs_before, report.wire),
        report.repairs_before.len(),
    );
    let (lines, more) = loss_lines(&report.losses);
    push_list(&mut text, "left out", lines, more);
    // A message list needs no repairs of its own.
    if let (Some(profile), ConversionTarget::Wire(format)) = (report.profile, report.to) {
        push_section(
            &mut text,
            &format!("repaired for {}", profile.name()),
            edit_lines(&report.repairs_after, format),
            report.repairs_after.len(),
        );
    }
    push_section(
        &mut text,
        "ids replaced",
        rename_lines(&report.renamed_ids),
        report.renamed_ids.len(),
    );
    push_section(
        &mut text,
        "tools renamed",
        rename_lines(&report.renamed_tools),
        report.renamed_tools.len(),
    );
    let findings = &report.remaining.findings;
    let all = report.remaining.counts.total();
    push_section(
        &mut text,
        "remaining",
        findings.iter().take(LINES).map(finding_line).collect(),
        all,
    );
    if let Some(help) = repair_help(report) {
        text.push_str(&format_help(&help));
    }
    text.push_str(&summary_line(report));
    text
}

/// How to repair the findings that are left, if they can be.
fn repair_help(report: &ConversionReport) -> Option<String> {
    let is_unsafe = |kind: &FindingCount| kind.fix.applicability == FixApplicability::Unsafe;
    report.remaining.counts.iter().find(|kind| is_unsafe(kind))?;
    Some(match report.path.as_str() {
        "<stdout>" => {
            "`… | foxwedge fix --unsafe-fixes -` repairs the result, where it can be".to_owned()
        }
        path => {
            let path = shell_argument(path);
            format!("`foxwedge fix --unsafe-fixes {path}` repairs the result, where it can be")
        }
    })
}

/// The summary line.
fn summary_line(report: &ConversionReport) -> String {
    let subject = match report.kind {
        ConversionKind::Request => localize(pluralize(report.messages, "message")),
        ConversionKind::Response | ConversionKind::Stream => {
            localize(format!("1 {}", report.kind.name()))
        }
    };
    let status = match (report.kind, report.ending) {
        (ConversionKind::Request, _) => Some(describe_validity(report)),
        (_, ConversionEnding::Failed) => Some(paint(WARNING, localize("the provider failed"))),
        (_, ConversionEnding::Truncated) => Some(paint(WARNING, localize("cut off"))),
        (ConversionKind::Stream, ConversionEnding::Complete) => {
            Some(paint(GOOD, localize("complete")))
        }
        (ConversionKind::Response, ConversionEnding::Complete) => None,
    };
    let status = status.map(|status| format!(", {status}")).unwrap_or_default();
    let lost = match report.losses.len() {
        0 => localize("no losses"),
        1 => localize("1 loss"),
        many => localize(format!("{many} losses")),
    };
    let (from, to) = (report.from.name(), report.to.name());
    localize(format!("{subject}, {from} → {to}{status}; {lost}.\n")).into_owned()
}

/// Describes whether the result is valid for the target's profile.
fn describe_validity(report: &ConversionReport) -> String {
    let profile = report.profile.map_or(report.to.name(), |profile| profile.name());
    match report.remaining.counts.total() {
        0 => paint(GOOD, localize(format!("valid for {profile}"))),
        left => {
            let left = pluralize(left, "finding");
            paint(WARNING, localize(format!("{left} left for {profile}")))
        }
    }
}

fn edit_lines(edits: &[Edit], format: Format) -> Vec<String> {
    let edits = edits.iter().take(LINES);
    let places: Vec<String> =
        edits.clone().map(|edit| message_path(format, edit.message)).collect();
    let widest = places.iter().map(|place| width(place)).max().unwrap_or(0);
    let line = |(edit, place): (&Edit, String)| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let place = paint(DIM, pad(&place, widest));
        format!("{code} {place}  {}", clean(&cut(&edit_note(edit), NOTE)))
    };
    edits.zip(places).map(line).collect()
}

/// One line per rename: the old name and the new one.
fn rename_lines(renamed: &[IdentifierReplacement]) -> Vec<String> {
    let old = |renamed: &IdentifierReplacement| match renamed.old.as_str() {
        "" => localize("(none)").into_owned(),
        name => cut(&clean(name), NAME),
    };
    let renamed = renamed.iter().take(LINES);
    let widest = renamed.clone().map(|one| width(&old(one))).max().unwrap_or(0);
    let line = |one| format!("{} → {}", pad(&old(one), widest), cut(&clean(&one.new), NAME));
    renamed.map(line).collect()
}

fn finding_line(located: &LocatedFinding) -> String {
    let code = paint(WARNING, located.finding.rule.label());
    let message = clean(&cut(&finding_message(&located.finding), NOTE));
    format!("{code} {}: {message}", located.message())
}

/// Groups losses of the same kind and note into one line: count, note and places. Also returns the
/// number of losses without a line.
fn loss_lines(losses: &[ReportedLoss]) -> (Vec<String>, usize) {
    let mut groups: Vec<Vec<&ReportedLoss>> = Vec::new();
    for loss in losses {
        let alike = |group: &&mut Vec<&ReportedLoss>| {
            group.first().is_some_and(|one| one.kind == loss.kind && one.note == loss.note)
        };
        match groups.iter_mut().take(LINES).find(alike) {
            Some(group) => group.push(loss),
            None => groups.push(vec![loss]),
        }
    }
    let shown = groups.iter().take(LINES);
    let max = shown.clone().map(Vec::len).max().unwrap_or(0);
    let digits = max.to_string().len();
    let line = |group: &Vec<&ReportedLoss>| {
        let times = match group.len() {
            _ if max < 2 => String::new(),
            1 => " ".repeat(digits + 3),
            many => format!("{many:>digits$} × "),
        };
        let note = localize(group.first().map_or("", |one| one.note.as_str()));
        let place = paint(DIM, localize(format_places(group)));
        format!("{}{} {place}", paint(BOLD, times), clean(&cut(&note, NOTE)))
    };
    let listed: usize = shown.clone().map(Vec::len).sum();
    (shown.map(line).collect(), losses.len() - listed)
}

/// The places of a group of losses.
fn format_places(group: &[&ReportedLoss]) -> String {
    let mut messages: Vec<usize> = group.iter().filter_map(|one| one.place.message()).collect();
    messages.dedup();
    match messages.as_slice() {
        [] => format!("({})", group.first().map_or("", |one| one.place.name())),
        [only] => format!("(message {only})"),
        several => {
            let mut names: Vec<String> =
                several.iter().take(MAX_NAMED).map(ToString::to_string).collect();
            if several.len() > MAX_NAMED {
                names.push(format!("and {} more", several.len() - MAX_NAMED));
            }
            format!("(messages {})", names.join(", "))
        }
    }
}

/// Adds a heading and its lines. `all` is the number of lines without a limit.
fn push_section(text: &mut String, heading: &str, lines: Vec<String>, all: usize) {
    let more = all - lines.len();
    push_list(text, heading, lines, more);
}

fn push_list(text: &mut String, heading: &str, lines: Vec<String>, more: usize) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{}:\n", paint(BOLD, localize(heading))));
    for line in lines {
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    if more > 0 {
        text.push_str(&localize(format!("  … and {more} more\n")));
    }
}

#[cfg(test)]
mod tests;
