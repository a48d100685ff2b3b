//! The report on a compaction for people: sizes, repairs, strategies, and what was removed.

use std::ops::Range;

use foxwedge_core::{EditLog, Format};
use foxwedge_formats::compact::{CompactionAccount, HistorySize};

use crate::report::{edit_note, finding_message};

use super::{
    amount::format_spaced, compaction_result::CompactionResult, lost_messages, plot, strategies,
};
use foxwedge_local::{
    language::localize,
    outcome::message_path,
    output::{BOLD, DIM, GOOD, WARNING, clean, cut, paint, width},
};

/// Width of the labels on the left.
const LABEL: usize = 12;
/// Terminal width if it is unknown.
const COLUMNS: usize = 80;
/// Max ranges, edits and findings that are listed.
const MAX_NAMED: usize = 6;

/// Renders the full report.
pub(crate) fn render_report(result: &CompactionResult<'_>, columns: Option<usize>) -> String {
    let account = &result.compacted.account;
    let mut text = format!(
        "{}  {}\n",
        paint(BOLD, clean(result.path)),
        paint(DIM, localize(format!("{}, rules of {}", result.format, result.profile.name()))),
    );
    push_sizes(&mut text, result);
    text.push('\n');
    let repairs = result.all_repairs();
    if !repairs.is_empty() {
        let heading = "first, because the history was invalid:";
        push_steps(&mut text, "repaired", heading, &repairs, result.draft().format);
    }
    for stage in &account.stages {
        strategies::draw(&mut text, stage, result);
    }
    text.push('\n');
    text.push_str(&plot::draw(result, columns.unwrap_or(COLUMNS)));
    text.push('\n');
    lost_messages::draw(&mut text, result);
    push_cache(&mut text, account);
    push_protected(&mut text, result);
    push_remaining(&mut text, account, result.draft().format);
    text
}

/// Renders the report if nothing was changed.
pub(crate) fn render_unchanged(result: &CompactionResult<'_>) -> String {
    let before = result.compacted.account.before;
    let of =
        result.budget.limits.map(|limits| format!(" of {}", format_spaced(limits.max_tokens())));
    let (tokens, of) = (format_spaced(before.tokens), of.unwrap_or_default());
    format!(
        "{}: {}: {} {}\n",
        clean(result.path),
        localize(format!("{tokens}{of} tokens")),
        paint(GOOD, localize("nothing to do")),
        paint(DIM, format_args!("({})", localize(format_counting(result)))),
    )
}

/// Adds a line with its label on the left. An empty label continues the line above.
pub(super) fn push_row(text: &mut String, label: &str, content: &str) {
    let (label, content) = (localize(label), localize(content));
    let pad = " ".repeat(LABEL.saturating_sub(width(&label)));
    let label = if label.is_empty() { String::new() } else { paint(BOLD, label) };
    text.push_str(&format!("  {label}{pad}{content}\n"));
}

/// A range of messages such as `3–7`, or one index.
pub(super) fn format_message_range(range: &Range<usize>) -> String {
    match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}–{}", range.start, range.end.saturating_sub(1)),
    }
}

/// Ranges of messages; the first of them are listed.
pub(super) fn format_message_ranges(ranges: &[Range<usize>]) -> String {
    let mut names: Vec<String> = ranges.iter().take(MAX_NAMED).map(format_message_range).collect();
    if ranges.len() > MAX_NAMED {
        names.push(format!("and {} more", ranges.len() - MAX_NAMED));
    }
    let one = matches!(ranges, [only] if only.len() == 1);
    let messages = format!("message{} {}", if one { "" } else { "s" }, names.join(", "));
    localize(messages).into_owned()
}

fn push_sizes(text: &mut String, result: &CompactionResult<'_>) {
    let CompactionAccount { before, after, .. } = result.compacted.account;
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
        let (old, new) = (format_spaced(of(&before)), format_spaced(of(&after)));
        let note =
            if label == "tokens" { format!("  {}", format_limit(result)) } else { String::new() };
        push_row(text, label, &format!("{old:>left$} → {new:>right$}{note}"));
    }
}

/// The token limits, and how tokens were counted.
fn format_limit(result: &CompactionResult<'_>) -> String {
    let budget = &result.budget;
    let mut parts = Vec::new();
    if let Some(limits) = budget.limits {
        parts.push(format!("{} allowed", format_spaced(limits.max_tokens())));
        if limits.goal() < limits.max_tokens() {
            parts.push(format!("goal {}", format_spaced(limits.goal())));
        }
    }
    if let (Some(window), Some(reserve)) = (budget.window, budget.reserve) {
        let (window, reserve) = (format_spaced(window), format_spaced(reserve));
        parts.push(format!("window {window}, {reserve} reserved for the reply"));
    }
    parts.push(format_counting(result));
    let parts: Vec<_> = parts.into_iter().map(localize).collect();
    paint(DIM, format_args!("({})", parts.join("; ")))
}

fn format_counting(result: &CompactionResult<'_>) -> String {
    let name = result.budget.tokenizer.counting().name();
    match result.compacted.account.exact {
        true => format!("counted with {name}"),
        false if name == "estimate" => "estimated".to_owned(),
        false => format!("estimated, {name}"),
    }
}

/// Adds the edits of a repair; the first of them are listed.
pub(super) fn push_steps(
    text: &mut String,
    label: &str,
    heading: &str,
    edits: &EditLog,
    format: Format,
) {
    push_row(text, label, heading);
    for edit in edits.iter().take(MAX_NAMED) {
        let code = paint(GOOD, format_args!("FW{}", edit.code));
        let at = paint(DIM, message_path(format, edit.message));
        push_row(text, "", &format!("  {code} {at} {}", cut(&clean(&edit_note(edit)), 120)));
    }
    let more = edits.len().saturating_sub(edits.iter().take(MAX_NAMED).count());
    if more > 0 {
        push_row(text, "", &format!("  … and {more} more steps"));
    }
}

fn push_cache(text: &mut String, account: &CompactionAccount) {
    let Some(prefix) = account.prefix else { return };
    let tokens = format_spaced(prefix.tokens);
    let content = match prefix.message {
        0 => format!("only the part before the messages stays cached ({tokens} tokens)"),
        first => format!(
            "unchanged before message {first} ({tokens} tokens); from there on the prefix is new"
        ),
    };
    push_row(text, "cache", &content);
}

fn push_protected(text: &mut String, result: &CompactionResult<'_>) {
    let protected = result.protected_units();
    if protected.is_empty() {
        return;
    }
    let name = |(range, hold): &(Range<usize>, foxwedge_core::compact::UnitHold)| {
        format!("{} ({})", format_message_range(range), localize(hold.name()))
    };
    let mut names: Vec<String> = protected.iter().take(MAX_NAMED).map(name).collect();
    if protected.len() > MAX_NAMED {
        names.push(format!("and {} more", protected.len() - MAX_NAMED));
    }
    let one = matches!(protected.as_slice(), [(only, _)] if only.len() == 1);
    let s = if one { "" } else { "s" };
    push_row(text, "protected", &format!("message{s} {}", names.join(", ")));
}

fn push_remaining(text: &mut String, account: &CompactionAccount, format: Format) {
    let findings = &account.remaining.findings;
    for (at, finding) in findings.iter().take(MAX_NAMED).enumerate() {
        let code = paint(WARNING, finding.rule.label());
        let place = paint(DIM, message_path(format, finding.location.message));
        let label = if at == 0 { "remaining" } else { "" };
        push_row(
            text,
            label,
            &format!("{code} {place} {}", cut(&clean(&finding_message(finding)), 160)),
        );
    }
    let more = account.remaining.total().saturating_sub(findings.len().min(MAX_NAMED));
    if more > 0 {
        push_row(text, "", &format!("… and {more} more findings"));
    }
}
