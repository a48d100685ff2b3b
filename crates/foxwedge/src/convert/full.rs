//! The report for people: what was repaired, what is missing, what is called otherwise.

use foxwedge_core::{Edit, Wire};
use foxwedge_dialect::canon::Renamed;

use super::told::{Ending, Missing, Told};
use crate::{
    cli::Kind,
    outcome::{Found, place},
    say::{BOLD, DIM, GOOD, WARNING, clean, count, cut, paint, width},
    screen::pad,
};

/// Lines under one heading.
const LINES: usize = 12;
/// Messages that are named in one line.
const NAMED: usize = 8;
/// Characters of a sentence, and of an id or a name.
const SENTENCE: usize = 200;
const NAME: usize = 48;

/// Everything there is to say.
pub(crate) fn draw(told: &Told) -> String {
    let mut text = String::new();
    section(&mut text, "repaired before", edits(&told.before, told.wire), told.before.len());
    let (lines, more) = losses(&told.losses);
    listed(&mut text, "left out", lines, more);
    let heading = format!("repaired for {}", told.profile.name());
    section(&mut text, &heading, edits(&told.behind, told.to), told.behind.len());
    section(&mut text, "ids replaced", pairs(&told.renamed), told.renamed.len());
    section(&mut text, "tools renamed", pairs(&told.names), told.names.len());
    let left = &told.remaining.findings;
    let all = told.remaining.counts.total();
    section(&mut text, "still there", left.iter().take(LINES).map(finding).collect(), all);
    text.push_str(&summary(told));
    text
}

/// The last line.
fn summary(told: &Told) -> String {
    let what = match told.kind {
        Kind::Request => count(told.messages, "message"),
        Kind::Response | Kind::Stream => format!("1 {}", told.kind.name()),
    };
    let became = match (told.kind, told.ending) {
        (Kind::Request, _) => Some(standing(told)),
        (_, Ending::Failed) => Some(paint(WARNING, "the provider failed")),
        (_, Ending::Cut) => Some(paint(WARNING, "cut off")),
        (Kind::Stream, Ending::Whole) => Some(paint(GOOD, "complete")),
        (Kind::Response, Ending::Whole) => None,
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
fn standing(told: &Told) -> String {
    let profile = told.profile.name();
    match told.remaining.counts.total() {
        0 => paint(GOOD, format_args!("sound for {profile}")),
        left => paint(WARNING, format_args!("{} left for {profile}", count(left, "finding"))),
    }
}

fn edits(edits: &[Edit], wire: Wire) -> Vec<String> {
    let edits = edits.iter().take(LINES);
    let places: Vec<String> = edits.clone().map(|edit| place(wire, edit.message)).collect();
    let widest = places.iter().map(|place| width(place)).max().unwrap_or(0);
    let line = |(edit, place): (&Edit, String)| {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let place = paint(DIM, pad(&place, widest));
        format!("{code} {place}  {}", clean(&cut(&edit.note, SENTENCE)))
    };
    edits.zip(places).map(line).collect()
}

/// What something was called, and what it is called now.
fn pairs(renamed: &[Renamed]) -> Vec<String> {
    let old = |renamed: &Renamed| match renamed.old.as_str() {
        "" => "(none)".to_owned(),
        name => cut(&clean(name), NAME),
    };
    let renamed = renamed.iter().take(LINES);
    let widest = renamed.clone().map(|one| width(&old(one))).max().unwrap_or(0);
    let line = |one| format!("{} → {}", pad(&old(one), widest), cut(&clean(&one.new), NAME));
    renamed.map(line).collect()
}

fn finding(found: &Found) -> String {
    let code = paint(WARNING, found.finding.rule.label());
    let message = clean(&cut(&found.finding.message, SENTENCE));
    format!("{code} {}: {message}", found.message())
}

/// Losses of the same kind and the same words are one line: how often, what, and where. The number
/// behind the lines is how many losses they do not tell.
fn losses(losses: &[Missing]) -> (Vec<String>, usize) {
    let mut groups: Vec<Vec<&Missing>> = Vec::new();
    for missing in losses {
        let alike = |group: &&mut Vec<&Missing>| {
            group.first().is_some_and(|one| one.what == missing.what && one.note == missing.note)
        };
        match groups.iter_mut().take(LINES).find(alike) {
            Some(group) => group.push(missing),
            None => groups.push(vec![missing]),
        }
    }
    let shown = groups.iter().take(LINES);
    let most = shown.clone().map(Vec::len).max().unwrap_or(0);
    let digits = most.to_string().len();
    let line = |group: &Vec<&Missing>| {
        let times = match group.len() {
            _ if most < 2 => String::new(),
            1 => " ".repeat(digits + 3),
            many => format!("{many:>digits$} × "),
        };
        let note = group.first().map_or("", |one| one.note.as_str());
        let place = paint(DIM, places(group));
        format!("{}{} {place}", paint(BOLD, times), clean(&cut(note, SENTENCE)))
    };
    let told: usize = shown.clone().map(Vec::len).sum();
    (shown.map(line).collect(), losses.len() - told)
}

/// Where a group of losses was.
fn places(group: &[&Missing]) -> String {
    let mut messages: Vec<usize> = group.iter().filter_map(|one| one.place.message()).collect();
    messages.dedup();
    match messages.as_slice() {
        [] => format!("({})", group.first().map_or("", |one| one.place.name())),
        [only] => format!("(message {only})"),
        several => {
            let mut names: Vec<String> =
                several.iter().take(NAMED).map(ToString::to_string).collect();
            if several.len() > NAMED {
                names.push(format!("and {} more", several.len() - NAMED));
            }
            format!("(messages {})", names.join(", "))
        }
    }
}

/// A heading and its lines; `all` of them would be so many.
fn section(text: &mut String, heading: &str, lines: Vec<String>, all: usize) {
    let more = all - lines.len();
    listed(text, heading, lines, more);
}

fn listed(text: &mut String, heading: &str, lines: Vec<String>, more: usize) {
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
