//! The report for people: how much is left, who took what, what it cost.

use std::ops::Range;

use foxwedge_core::{EditLog, Format};
use foxwedge_formats::compact::{CompactionAccount, HistorySize};

use super::{
    amount::format_spaced, compaction_result::CompactionResult, lost_messages, plot, strategies,
};
use crate::{
    cli_output::{BOLD, DIM, GOOD, WARNING, clean, cut, paint, width},
    outcome::message_path,
};

/// Columns of the words on the left.
const LABEL: usize = 12;
/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;
/// Ranges and steps that are named of each.
const MAX_NAMED: usize = 6;

/// Everything there is to say.
pub(crate) fn render_report(told: &CompactionResult<'_>, columns: Option<usize>) -> String {
    let account = &told.compacted.account;
    let mut text = format!(
        "{}  {}\n",
        paint(BOLD, clean(told.path)),
        paint(DIM, format_args!("{}, rules of {}", told.format, told.profile.name())),
    );
    push_sizes(&mut text, told);
    text.push('\n');
    let repaired = told.all_repairs();
    if !repaired.is_empty() {
        let heading = "first, because it was not sound:";
        push_steps(&mut text, "repaired", heading, &repaired, told.draft().format);
    }
    for stage in &account.stages {
        strategies::draw(&mut text, stage, told);
    }
    text.push('\n');
    text.push_str(&plot::draw(told, columns.unwrap_or(COLUMNS)));
    text.push('\n');
    lost_messages::draw(&mut text, told);
    push_cache(&mut text, account);
    push_protected(&mut text, told);
    push_remaining(&mut text, account, told.draft().format);
    text
}

/// That there was nothing to do.
pub(crate) fn render_unchanged(told: &CompactionResult<'_>) -> String {
    let before = told.compacted.account.before;
    let of = told.budget.limits.map(|limits| format!(" of {}", format_spaced(limits.max_tokens())));
    format!(
        "{}: {}{} tokens: {} {}\n",
        clean(told.path),
        format_spaced(before.tokens),
        of.unwrap_or_default(),
        paint(GOOD, "nothing to do"),
        paint(DIM, format_args!("({})", format_counting(told))),
    )
}

/// A line with its word on the left; no word means that it goes on.
pub(super) fn push_row(text: &mut String, label: &str, said: &str) {
    let pad = " ".repeat(LABEL.saturating_sub(width(label)));
    let label = if label.is_empty() { String::new() } else { paint(BOLD, label) };
    text.push_str(&format!("  {label}{pad}{said}\n"));
}

/// Messages, as people count them.
pub(super) fn format_message_range(range: &Range<usize>) -> String {
    match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}–{}", range.start, range.end.saturating_sub(1)),
    }
}

/// Many ranges of messages, the first of them named.
pub(super) fn format_message_ranges(ranges: &[Range<usize>]) -> String {
    let mut names: Vec<String> = ranges.iter().take(MAX_NAMED).map(format_message_range).collect();
    if ranges.len() > MAX_NAMED {
        names.push(format!("and {} more", ranges.len() - MAX_NAMED));
    }
    let one = matches!(ranges, [only] if only.len() == 1);
    format!("message{} {}", if one { "" } else { "s" }, names.join(", "))
}

fn push_sizes(text: &mut String, told: &CompactionResult<'_>) {
    let CompactionAccount { before, after, .. } = told.compacted.account;
    type SizeField = fn(&HistorySize) -> u64;
    let pairs: [(&str, SizeField); 4] = [
        ("tokens", |size| size.tokens),
        ("messages", |size| size.messages as u64),
        ("units", |size| size.units as u64),
        ("calls", |size| size.calls as u64),
    ];
    let widest =
        |size: &HistorySize| pairs.iter().map(|(_, of)| format_spaced(of(size)).len()).max();
    let (left, right) = (widest(&before).unwrap_or(0), widest(&after).unwrap_or(0));
    for (label, of) in pairs {
        let (was, is) = (format_spaced(of(&before)), format_spaced(of(&after)));
        let note =
            if label == "tokens" { format!("  {}", format_limit(told)) } else { String::new() };
        push_row(text, label, &format!("{was:>left$} → {is:>right$}{note}"));
    }
}

/// What was allowed, and how it was measured.
fn format_limit(told: &CompactionResult<'_>) -> String {
    let room = &told.budget;
    let mut words = Vec::new();
    if let Some(limits) = room.limits {
        words.push(format!("{} allowed", format_spaced(limits.max_tokens())));
        if limits.goal() < limits.max_tokens() {
            words.push(format!("goal {}", format_spaced(limits.goal())));
        }
    }
    if let (Some(window), Some(reserve)) = (room.window, room.reserve) {
        let (window, reserve) = (format_spaced(window), format_spaced(reserve));
        words.push(format!("window {window}, {reserve} kept for the reply"));
    }
    words.push(format_counting(told));
    paint(DIM, format_args!("({})", words.join("; ")))
}

fn format_counting(told: &CompactionResult<'_>) -> String {
    let name = told.budget.tokenizer.counting().name();
    match told.compacted.account.exact {
        true => format!("counted with {name}"),
        false if name == "estimate" => "estimated".to_owned(),
        false => format!("estimated, {name}"),
    }
}

/// Steps of a repair, the first of them told.
pub(super) fn push_steps(
    text: &mut String,
    label: &str,
    heading: &str,
    edits: &EditLog,
    wire: Format,
) {
    push_row(text, label, heading);
    for edit in edits.iter().take(MAX_NAMED) {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let at = paint(DIM, message_path(wire, edit.message));
        push_row(text, "", &format!("  {code} {at} {}", cut(&clean(&edit.note), 120)));
    }
    let more = edits.len().saturating_sub(edits.iter().take(MAX_NAMED).count());
    if more > 0 {
        push_row(text, "", &format!("  … and {more} more steps"));
    }
}

fn push_cache(text: &mut String, account: &CompactionAccount) {
    let Some(prefix) = account.prefix else { return };
    let tokens = format_spaced(prefix.tokens);
    let said = match prefix.message {
        0 => format!("only what stands before the messages stays cached ({tokens} tokens)"),
        first => format!(
            "unchanged before message {first} ({tokens} tokens); from there on the prefix is new"
        ),
    };
    push_row(text, "cache", &said);
}

fn push_protected(text: &mut String, told: &CompactionResult<'_>) {
    let held = told.protected_units();
    if held.is_empty() {
        return;
    }
    let name = |(range, hold): &(Range<usize>, foxwedge_core::compact::UnitHold)| {
        format!("{} ({})", format_message_range(range), hold.name())
    };
    let mut names: Vec<String> = held.iter().take(MAX_NAMED).map(name).collect();
    if held.len() > MAX_NAMED {
        names.push(format!("and {} more", held.len() - MAX_NAMED));
    }
    let one = matches!(held.as_slice(), [(only, _)] if only.len() == 1);
    let s = if one { "" } else { "s" };
    push_row(text, "held", &format!("message{s} {}", names.join(", ")));
}

fn push_remaining(text: &mut String, account: &CompactionAccount, wire: Format) {
    let findings = &account.remaining.findings;
    for (at, finding) in findings.iter().take(MAX_NAMED).enumerate() {
        let code = paint(WARNING, finding.rule.label());
        let place = paint(DIM, message_path(wire, finding.location.message));
        let label = if at == 0 { "still there" } else { "" };
        push_row(text, label, &format!("{code} {place} {}", cut(&clean(&finding.message), 160)));
    }
    let more = account.remaining.total().saturating_sub(findings.len().min(MAX_NAMED));
    if more > 0 {
        push_row(text, "", &format!("… and {more} more findings"));
    }
}
