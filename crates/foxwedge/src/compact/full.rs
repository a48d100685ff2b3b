//! The report for people: how much is left, who took what, what it cost.

use std::ops::Range;

use foxwedge_core::{EditLog, Wire};
use foxwedge_dialect::compact::{Account, Size};

use super::{amount::spaced, lost, plot, strategies, told::Told};
use crate::{
    outcome::place,
    say::{BOLD, DIM, GOOD, WARNING, clean, cut, paint, width},
};

/// Columns of the words on the left.
const LABEL: usize = 12;
/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;
/// Ranges and steps that are named of each.
const NAMED: usize = 6;

/// Everything there is to say.
pub(crate) fn draw(told: &Told<'_>, columns: Option<usize>) -> String {
    let account = &told.compacted.account;
    let mut text = format!(
        "{}  {}\n",
        paint(BOLD, clean(told.path)),
        paint(DIM, format_args!("{}, rules of {}", told.format, told.profile.name())),
    );
    sizes(&mut text, told);
    text.push('\n');
    let repaired = told.repaired();
    if !repaired.is_empty() {
        let heading = "first, because it was not sound:";
        steps(&mut text, "repaired", heading, &repaired, told.draft().wire);
    }
    for stage in &account.stages {
        strategies::draw(&mut text, stage, told);
    }
    text.push('\n');
    text.push_str(&plot::draw(told, columns.unwrap_or(COLUMNS)));
    text.push('\n');
    lost::draw(&mut text, told);
    cache(&mut text, account);
    held(&mut text, told);
    remaining(&mut text, account, told.draft().wire);
    text
}

/// That there was nothing to do.
pub(crate) fn idle(told: &Told<'_>) -> String {
    let before = told.compacted.account.before;
    let of = told.room.limits.map(|limits| format!(" of {}", spaced(limits.most())));
    format!(
        "{}: {}{} tokens: {} {}\n",
        clean(told.path),
        spaced(before.tokens),
        of.unwrap_or_default(),
        paint(GOOD, "nothing to do"),
        paint(DIM, format_args!("({})", counted(told))),
    )
}

/// A line with its word on the left; no word means that it goes on.
pub(super) fn row(text: &mut String, label: &str, said: &str) {
    let pad = " ".repeat(LABEL.saturating_sub(width(label)));
    let label = if label.is_empty() { String::new() } else { paint(BOLD, label) };
    text.push_str(&format!("  {label}{pad}{said}\n"));
}

/// Messages, as people count them.
pub(super) fn messages(range: &Range<usize>) -> String {
    match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}–{}", range.start, range.end.saturating_sub(1)),
    }
}

/// Many ranges of messages, the first of them named.
pub(super) fn ranges(ranges: &[Range<usize>]) -> String {
    let mut names: Vec<String> = ranges.iter().take(NAMED).map(messages).collect();
    if ranges.len() > NAMED {
        names.push(format!("and {} more", ranges.len() - NAMED));
    }
    let one = matches!(ranges, [only] if only.len() == 1);
    format!("message{} {}", if one { "" } else { "s" }, names.join(", "))
}

fn sizes(text: &mut String, told: &Told<'_>) {
    let Account { before, after, .. } = told.compacted.account;
    type Of = fn(&Size) -> u64;
    let pairs: [(&str, Of); 4] = [
        ("tokens", |size| size.tokens),
        ("messages", |size| size.messages as u64),
        ("units", |size| size.units as u64),
        ("calls", |size| size.calls as u64),
    ];
    let widest = |size: &Size| pairs.iter().map(|(_, of)| spaced(of(size)).len()).max();
    let (left, right) = (widest(&before).unwrap_or(0), widest(&after).unwrap_or(0));
    for (label, of) in pairs {
        let (was, is) = (spaced(of(&before)), spaced(of(&after)));
        let note = if label == "tokens" { format!("  {}", limit(told)) } else { String::new() };
        row(text, label, &format!("{was:>left$} → {is:>right$}{note}"));
    }
}

/// What was allowed, and how it was measured.
fn limit(told: &Told<'_>) -> String {
    let room = &told.room;
    let mut words = Vec::new();
    if let Some(limits) = room.limits {
        words.push(format!("{} allowed", spaced(limits.most())));
        if limits.goal() < limits.most() {
            words.push(format!("goal {}", spaced(limits.goal())));
        }
    }
    if let (Some(window), Some(reserve)) = (room.window, room.reserve) {
        let (window, reserve) = (spaced(window), spaced(reserve));
        words.push(format!("window {window}, {reserve} kept for the reply"));
    }
    words.push(counted(told));
    paint(DIM, format_args!("({})", words.join("; ")))
}

fn counted(told: &Told<'_>) -> String {
    let name = told.room.tokenizer.counting().name();
    match told.compacted.account.exact {
        true => format!("counted with {name}"),
        false if name == "estimate" => "estimated".to_owned(),
        false => format!("estimated, {name}"),
    }
}

/// Steps of a repair, the first of them told.
pub(super) fn steps(text: &mut String, label: &str, heading: &str, edits: &EditLog, wire: Wire) {
    row(text, label, heading);
    for edit in edits.iter().take(NAMED) {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let at = paint(DIM, place(wire, edit.message));
        row(text, "", &format!("  {code} {at} {}", cut(&clean(&edit.note), 120)));
    }
    let more = edits.len().saturating_sub(edits.iter().take(NAMED).count());
    if more > 0 {
        row(text, "", &format!("  … and {more} more steps"));
    }
}

fn cache(text: &mut String, account: &Account) {
    let Some(prefix) = account.prefix else { return };
    let tokens = spaced(prefix.tokens);
    let said = match prefix.message {
        0 => format!("only what stands before the messages stays cached ({tokens} tokens)"),
        first => format!(
            "unchanged before message {first} ({tokens} tokens); from there on the prefix is new"
        ),
    };
    row(text, "cache", &said);
}

fn held(text: &mut String, told: &Told<'_>) {
    let held = told.held();
    if held.is_empty() {
        return;
    }
    let name = |(range, hold): &(Range<usize>, foxwedge_core::compact::Hold)| {
        format!("{} ({})", messages(range), hold.name())
    };
    let mut names: Vec<String> = held.iter().take(NAMED).map(name).collect();
    if held.len() > NAMED {
        names.push(format!("and {} more", held.len() - NAMED));
    }
    let one = matches!(held.as_slice(), [(only, _)] if only.len() == 1);
    let s = if one { "" } else { "s" };
    row(text, "held", &format!("message{s} {}", names.join(", ")));
}

fn remaining(text: &mut String, account: &Account, wire: Wire) {
    let findings = &account.remaining.findings;
    for (at, finding) in findings.iter().take(NAMED).enumerate() {
        let code = paint(WARNING, finding.rule.label());
        let place = paint(DIM, place(wire, finding.at.message));
        let label = if at == 0 { "still there" } else { "" };
        row(text, label, &format!("{code} {place} {}", cut(&clean(&finding.message), 160)));
    }
    let more = account.remaining.total().saturating_sub(findings.len().min(NAMED));
    if more > 0 {
        row(text, "", &format!("… and {more} more findings"));
    }
}
