//! The report for people: what was repaired, what is missing, what is called otherwise.

use foxwedge_core::{Edit, Format};
use foxwedge_formats::model::IdentifierReplacement;

use super::conversion_report::{ConversionEnding, ConversionReport, ReportedLoss};
use crate::{
    cli::ConversionKind,
    cli_output::{BOLD, DIM, GOOD, WARNING, clean, cut, paint, pluralize, width},
    outcome::{LocatedFinding, message_path},
    screen::pad,
};

/// Lines under one heading.
const LINES: usize = 12;
/// Messages that are named in one line.
const MAX_NAMED: usize = 8;
/// Characters of a sentence, and of an id or a name.
const SENTENCE: usize = 200;
const NAME: usize = 48;

/// Everything there is to say.
pub(crate) fn render_report(told: &ConversionReport) -> String {
    let mut text = String::new();
    push_section(
        &mut text,
        "repaired before",
        edit_lines(&told.repairs_before, told.wire),
        told.repairs_before.len(),
    );
    let (lines, more) = loss_lines(&told.losses);
    push_list(&mut text, "left out", lines, more);
    let heading = format!("repaired for {}", told.profile.name());
    push_section(
        &mut text,
        &heading,
        edit_lines(&told.repairs_after, told.to),
        told.repairs_after.len(),
    );
    push_section(
        &mut text,
        "ids replaced",
        rename_lines(&told.renamed_ids),
        told.renamed_ids.len(),
    );
    push_section(
        &mut text,
        "tools renamed",
        rename_lines(&told.renamed_tools),
        told.renamed_tools.len(),
    );
    let left = &told.remaining.findings;
    let all = told.remaining.counts.total();
    push_section(
        &mut text,
        "still there",
        left.iter().take(LINES).map(finding_line).collect(),
        all,
    );
    text.push_str(&summary_line(told));
    text
}

/// The last line.
fn summary_line(told: &ConversionReport) -> String {
    let what = match told.kind {
        ConversionKind::Request => pluralize(told.messages, "message"),
        ConversionKind::Response | ConversionKind::Stream => format!("1 {}", told.kind.name()),
    };
    let became = match (told.kind, told.ending) {
        (ConversionKind::Request, _) => Some(describe_validity(told)),
        (_, ConversionEnding::Failed) => Some(paint(WARNING, "the provider failed")),
        (_, ConversionEnding::Truncated) => Some(paint(WARNING, "cut off")),
        (ConversionKind::Stream, ConversionEnding::Complete) => Some(paint(GOOD, "complete")),
        (ConversionKind::Response, ConversionEnding::Complete) => None,
    };
    let became = became.map(|became| format!(", {became}")).unwrap_or_default();
    let lost = match told.losses.len() {
        0 => "no losses".to_owned(),
        1 => "1 loss".to_owned(),
        many => format!("{many} losses"),
    };
    format!("{what}, {} → {}{became}; {lost}.\n", told.from.name(), told.to.name())
}

/// Whether the target's provider takes it.
fn describe_validity(told: &ConversionReport) -> String {
    let profile = told.profile.name();
    match told.remaining.counts.total() {
        0 => paint(GOOD, format_args!("sound for {profile}")),
        left => paint(WARNING, format_args!("{} left for {profile}", pluralize(left, "finding"))),
    }
}

fn edit_lines(edits: &[Edit], wire: Format) -> Vec<String> {
    let edits = edits.iter().take(LINES);
    let places: Vec<String> = edits.clone().map(|edit| message_path(wire, edit.message)).collect();
    let widest = places.iter().map(|place| width(place)).max().unwrap_or(0);
    let line = |(edit, place): (&Edit, String)| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let place = paint(DIM, pad(&place, widest));
        format!("{code} {place}  {}", clean(&cut(&edit.note, SENTENCE)))
    };
    edits.zip(places).map(line).collect()
}

/// What something was called, and what it is called now.
fn rename_lines(renamed: &[IdentifierReplacement]) -> Vec<String> {
    let old = |renamed: &IdentifierReplacement| match renamed.old.as_str() {
        "" => "(none)".to_owned(),
        name => cut(&clean(name), NAME),
    };
    let renamed = renamed.iter().take(LINES);
    let widest = renamed.clone().map(|one| width(&old(one))).max().unwrap_or(0);
    let line = |one| format!("{} → {}", pad(&old(one), widest), cut(&clean(&one.new), NAME));
    renamed.map(line).collect()
}

fn finding_line(found: &LocatedFinding) -> String {
    let code = paint(WARNING, found.finding.rule.label());
    let message = clean(&cut(&found.finding.message, SENTENCE));
    format!("{code} {}: {message}", found.message())
}

/// Losses of the same kind and the same words are one line: how often, what, and where. The number
/// behind the lines is how many losses they do not tell.
fn loss_lines(losses: &[ReportedLoss]) -> (Vec<String>, usize) {
    let mut groups: Vec<Vec<&ReportedLoss>> = Vec::new();
    for missing in losses {
        let alike = |group: &&mut Vec<&ReportedLoss>| {
            group.first().is_some_and(|one| one.kind == missing.kind && one.note == missing.note)
        };
        match groups.iter_mut().take(LINES).find(alike) {
            Some(group) => group.push(missing),
            None => groups.push(vec![missing]),
        }
    }
    let shown = groups.iter().take(LINES);
    let most = shown.clone().map(Vec::len).max().unwrap_or(0);
    let digits = most.to_string().len();
    let line = |group: &Vec<&ReportedLoss>| {
        let times = match group.len() {
            _ if most < 2 => String::new(),
            1 => " ".repeat(digits + 3),
            many => format!("{many:>digits$} × "),
        };
        let note = group.first().map_or("", |one| one.note.as_str());
        let place = paint(DIM, format_places(group));
        format!("{}{} {place}", paint(BOLD, times), clean(&cut(note, SENTENCE)))
    };
    let told: usize = shown.clone().map(Vec::len).sum();
    (shown.map(line).collect(), losses.len() - told)
}

/// Where a group of losses was.
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

/// A heading and its lines; `all` of them would be so many.
fn push_section(text: &mut String, heading: &str, lines: Vec<String>, all: usize) {
    let more = all - lines.len();
    push_list(text, heading, lines, more);
}

fn push_list(text: &mut String, heading: &str, lines: Vec<String>, more: usize) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{}:\n", paint(BOLD, heading)));
    for line in lines {
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    if more > 0 {
        text.push_str(&format!("  … and {more} more\n"));
    }
}

#[cfg(test)]
mod tests;
