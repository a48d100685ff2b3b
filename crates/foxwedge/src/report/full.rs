//! Findings as a compiler draws them: what, where, the pair, why, and the command that helps.

use anstyle::Style;
use foxwedge_core::{Edit, FixApplicability, Profile, RuleEvidence, Severity, Strategy};

use super::{
    excerpt::{ExcerptLine, ExcerptLineKind, ExcerptRail, FindingExcerpt, RailEnd},
    row::{MessageRow, SegmentMark},
};
use crate::{
    check_settings::CheckSettings,
    cli_output::{BOLD, DIM, ERROR, FRAME, HELP, WARNING, clean, cut, paint, width},
    outcome::{FileReport, LocatedFinding},
};

/// Findings drawn of one file.
pub(crate) const MAX_DRAWN: usize = 50;

/// Draws the findings of one file; `name` is how a command names it.
pub(crate) fn draw(path: &str, name: &str, judged: &FileReport, ask: &CheckSettings) -> String {
    let mut text = String::new();
    for found in judged.findings.iter().take(MAX_DRAWN) {
        draw_finding(&mut text, (path, name), found, judged.edits_of(found), ask);
        text.push('\n');
    }
    let shown = judged.findings.len().min(MAX_DRAWN);
    let left = judged.counts.total().saturating_sub(shown);
    if left > 0 {
        text.push_str(&format!(
            "… and {left} more in {}; --output-format concise lists {}\n\n",
            clean(path),
            if judged.unlisted() == 0 { "all" } else { "more" }
        ));
    }
    text
}

fn draw_finding(
    text: &mut String,
    (path, name): (&str, &str),
    found: &LocatedFinding,
    edits: &[Edit],
    ask: &CheckSettings,
) {
    let (word, style) = severity_style(found.finding.severity);
    let code = found.finding.rule.label();
    let message = cut(&clean(&found.finding.message), 240);
    text.push_str(&format!("{style}{word}[{code}]{style:#}{BOLD}: {message}{BOLD:#}\n",));
    let gutter = found.excerpt.as_deref().map_or(1, gutter_width);
    let pad = " ".repeat(gutter);
    text.push_str(&format!(
        "{pad}{} {}:{}:{}  {}\n",
        paint(FRAME, "-->"),
        clean(path),
        found.position.line,
        found.position.column,
        paint(DIM, found.message()),
    ));
    if let Some(excerpt) = found.excerpt.as_ref().filter(|excerpt| !excerpt.lines.is_empty()) {
        push_bar(text, &pad);
        for line in &excerpt.lines {
            draw_line(text, line, gutter, style);
        }
        push_bar(text, &pad);
    }
    let equals = paint(FRAME, "=");
    text.push_str(&format!("{pad} {equals} {}: {}\n", paint(BOLD, "why"), explain_cause(found)));
    let help = fix_help(name, found, edits, ask);
    text.push_str(&format!("{pad} {equals} {}: {help}\n", paint(HELP, "help")));
}

fn severity_style(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Error => ("error", ERROR),
        Severity::Warning => ("warning", WARNING),
    }
}

/// Columns of the widest index.
fn gutter_width(excerpt: &FindingExcerpt) -> usize {
    let index = |line: &ExcerptLine| match line.kind {
        ExcerptLineKind::Message(index, _) => index,
        ExcerptLineKind::Gap(_) | ExcerptLineKind::Absent(_) => 0,
    };
    excerpt.lines.iter().map(index).max().unwrap_or(0).to_string().len().max(2)
}

fn push_bar(text: &mut String, pad: &str) {
    text.push_str(&format!("{pad} {}\n", paint(FRAME, "|")));
}

fn draw_line(text: &mut String, line: &ExcerptLine, gutter: usize, style: Style) {
    let rail = paint(style, rail_text(line.rail));
    let label = match &line.kind {
        ExcerptLineKind::Message(index, _) => format!("{index:>gutter$}"),
        ExcerptLineKind::Gap(_) | ExcerptLineKind::Absent(_) => " ".repeat(gutter),
    };
    let head = format!("{} {rail}", paint(FRAME, format_args!("{label} |")));
    match &line.kind {
        ExcerptLineKind::Message(_, row) => {
            text.push_str(&format!("{head}{}\n", row_text(row)));
            if let Some(under) = underline(row, style) {
                let pad = " ".repeat(gutter);
                let rail = paint(style, rail_below(line.rail));
                text.push_str(&format!(
                    "{} {rail}{under}\n",
                    paint(FRAME, format_args!("{pad} |"))
                ));
            }
        }
        ExcerptLineKind::Gap(hidden) => {
            text.push_str(&format!("{head}{}\n", paint(DIM, format_args!("⋮ {hidden} more"))));
        }
        ExcerptLineKind::Absent(what) => text.push_str(&format!("{head}{}\n", paint(style, what))),
    }
}

fn rail_text(rail: ExcerptRail) -> &'static str {
    match rail {
        ExcerptRail::Off => "    ",
        ExcerptRail::Through => "│   ",
        ExcerptRail::First(RailEnd::Answer) => "╭─▸ ",
        ExcerptRail::First(RailEnd::Call | RailEnd::Nothing) => "╭── ",
        ExcerptRail::Middle(RailEnd::Answer) => "├─▸ ",
        ExcerptRail::Middle(RailEnd::Call | RailEnd::Nothing) => "├── ",
        ExcerptRail::Last(RailEnd::Answer) => "╰─▸ ",
        ExcerptRail::Last(RailEnd::Call | RailEnd::Nothing) => "╰── ",
    }
}

/// The rail on the line below.
fn rail_below(rail: ExcerptRail) -> &'static str {
    match rail {
        ExcerptRail::Off | ExcerptRail::Last(_) => "    ",
        ExcerptRail::Through | ExcerptRail::First(_) | ExcerptRail::Middle(_) => "│   ",
    }
}

const ROLE: usize = 11;
const BETWEEN: &str = " · ";

fn row_text(row: &MessageRow) -> String {
    let role = format!("{:<ROLE$}", row.role);
    let parts: Vec<&str> = row.segments.iter().map(|segment| segment.text.as_str()).collect();
    format!("{}{}", paint(DIM, role), parts.join(&paint(DIM, BETWEEN)))
}

/// The marks below a row; neighbours of one kind share one mark.
fn underline(row: &MessageRow, style: Style) -> Option<String> {
    let last = row.segments.iter().rposition(|segment| segment.mark != SegmentMark::Plain)?;
    let mut text = " ".repeat(ROLE);
    let mut before = SegmentMark::Plain;
    for (index, segment) in row.segments.iter().enumerate().take(last + 1) {
        let (sign, color) = match segment.mark {
            SegmentMark::Plain => (" ", Style::new()),
            SegmentMark::Primary => ("^", style),
            SegmentMark::Partner => ("-", FRAME),
        };
        if index > 0 {
            let joined = segment.mark == before && segment.mark == SegmentMark::Primary;
            let sign = if joined { sign } else { " " };
            text.push_str(&paint(color, sign.repeat(width(BETWEEN))));
        }
        text.push_str(&paint(color, sign.repeat(width(&segment.text))));
        before = segment.mark;
    }
    Some(text)
}

/// Who refuses it.
fn explain_cause(found: &LocatedFinding) -> String {
    let rule = found.finding.rule;
    let profile = found.finding.profile;
    if profile == Profile::Strict {
        let who: Vec<&str> = rule
            .applies
            .iter()
            .filter(|(who, evidence)| {
                *who != Profile::Strict && *evidence == RuleEvidence::Documented
            })
            .map(|(who, _)| who.name())
            .collect();
        let who = if who.is_empty() { "some provider".to_owned() } else { who.join(", ") };
        return format!("refused by {who}: {}", rule.summary);
    }
    if rule.code >= 700 {
        // The agent fails before any provider sees the history.
        let fails = match found.finding.severity {
            Severity::Error => "does not open the file as it is",
            Severity::Warning => "loses some of it",
        };
        return format!("the agent {fails}: {}", rule.summary);
    }
    let surely = match found.finding.severity {
        Severity::Error => "refuses",
        Severity::Warning => "probably refuses",
    };
    format!("{} {surely} this: {}", profile.name(), rule.summary)
}

/// The exact command, and what it does.
fn fix_help(name: &str, found: &LocatedFinding, edits: &[Edit], ask: &CheckSettings) -> String {
    let code = found.finding.rule.label();
    let note = edits.first().map(|edit| cut(&clean(&edit.note), 160));
    let does = note.unwrap_or_else(|| describe_strategy(found.finding.fix.strategy).to_owned());
    match found.finding.fix.applicability {
        FixApplicability::Safe => {
            format!("`{}`: {does}", ask.fix_command(Some(name), ask.allows_unsafe_fixes()))
        }
        FixApplicability::Unsafe => {
            let command = ask.fix_command(Some(name), true);
            format!("`{command}`: {does}; done only when asked for")
        }
        FixApplicability::None => format!("there is no repair; `foxwedge rule {code}` explains it"),
    }
}

/// What a fix does, where no single step is known.
fn describe_strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Recover => "the answer is put where it belongs",
        Strategy::Synthesize => "a placeholder is written",
        Strategy::Reorder => "the parts are put in order",
        Strategy::Merge => "the messages are joined",
        Strategy::Split => "the message is cut in two",
        Strategy::Rename => "it is renamed on both halves",
        Strategy::Drop => "it is removed",
        Strategy::DropThinking => "signed thinking behind the edit is removed",
        Strategy::Quote => "the answer is kept as user text",
        Strategy::Recode => "it is spelled as the provider wants it",
        Strategy::Insert => "a short message is put in",
        Strategy::Nothing => "there is nothing to do",
    }
}
