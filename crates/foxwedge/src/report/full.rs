//! Findings as a compiler draws them: what, where, the pair, why, and the command that helps.

use anstyle::Style;
use foxwedge_core::{Applicability, Edit, Evidence, Profile, Severity, Strategy};

use super::{
    excerpt::{End, Excerpt, Line, LineKind, Rail},
    row::{Mark, Row},
};
use crate::{
    ask::Ask,
    outcome::{Found, Judged},
    say::{BOLD, DIM, ERROR, FRAME, HELP, WARNING, clean, cut, paint, width},
};

/// Findings drawn of one file.
pub(crate) const MOST: usize = 50;

/// Draws the findings of one file; `name` is how a command names it.
pub(crate) fn draw(path: &str, name: &str, judged: &Judged, ask: &Ask) -> String {
    let mut text = String::new();
    for found in judged.findings.iter().take(MOST) {
        finding(&mut text, (path, name), found, judged.edits_of(found), ask);
        text.push('\n');
    }
    let shown = judged.findings.len().min(MOST);
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

fn finding(
    text: &mut String,
    (path, name): (&str, &str),
    found: &Found,
    edits: &[Edit],
    ask: &Ask,
) {
    let (word, style) = severity(found.finding.severity);
    let code = found.finding.rule.label();
    let message = cut(&clean(&found.finding.message), 240);
    text.push_str(&format!("{style}{word}[{code}]{style:#}{BOLD}: {message}{BOLD:#}\n",));
    let gutter = found.excerpt.as_deref().map_or(1, gutter);
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
        bar(text, &pad);
        for line in &excerpt.lines {
            draw_line(text, line, gutter, style);
        }
        bar(text, &pad);
    }
    let equals = paint(FRAME, "=");
    text.push_str(&format!("{pad} {equals} {}: {}\n", paint(BOLD, "why"), why(found)));
    let help = help(name, found, edits, ask);
    text.push_str(&format!("{pad} {equals} {}: {help}\n", paint(HELP, "help")));
}

fn severity(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Error => ("error", ERROR),
        Severity::Warning => ("warning", WARNING),
    }
}

/// Columns of the widest index.
fn gutter(excerpt: &Excerpt) -> usize {
    let index = |line: &Line| match line.kind {
        LineKind::Message(index, _) => index,
        LineKind::Gap(_) | LineKind::Absent(_) => 0,
    };
    excerpt.lines.iter().map(index).max().unwrap_or(0).to_string().len().max(2)
}

fn bar(text: &mut String, pad: &str) {
    text.push_str(&format!("{pad} {}\n", paint(FRAME, "|")));
}

fn draw_line(text: &mut String, line: &Line, gutter: usize, style: Style) {
    let rail = paint(style, rail(line.rail));
    let label = match &line.kind {
        LineKind::Message(index, _) => format!("{index:>gutter$}"),
        LineKind::Gap(_) | LineKind::Absent(_) => " ".repeat(gutter),
    };
    let head = format!("{} {rail}", paint(FRAME, format_args!("{label} |")));
    match &line.kind {
        LineKind::Message(_, row) => {
            text.push_str(&format!("{head}{}\n", row_text(row)));
            if let Some(under) = underline(row, style) {
                let pad = " ".repeat(gutter);
                let rail = paint(style, below(line.rail));
                text.push_str(&format!(
                    "{} {rail}{under}\n",
                    paint(FRAME, format_args!("{pad} |"))
                ));
            }
        }
        LineKind::Gap(hidden) => {
            text.push_str(&format!("{head}{}\n", paint(DIM, format_args!("⋮ {hidden} more"))));
        }
        LineKind::Absent(what) => text.push_str(&format!("{head}{}\n", paint(style, what))),
    }
}

fn rail(rail: Rail) -> &'static str {
    match rail {
        Rail::Off => "    ",
        Rail::Through => "│   ",
        Rail::First(End::Answer) => "╭─▸ ",
        Rail::First(End::Call | End::Nothing) => "╭── ",
        Rail::Middle(End::Answer) => "├─▸ ",
        Rail::Middle(End::Call | End::Nothing) => "├── ",
        Rail::Last(End::Answer) => "╰─▸ ",
        Rail::Last(End::Call | End::Nothing) => "╰── ",
    }
}

/// The rail on the line below.
fn below(rail: Rail) -> &'static str {
    match rail {
        Rail::Off | Rail::Last(_) => "    ",
        Rail::Through | Rail::First(_) | Rail::Middle(_) => "│   ",
    }
}

const ROLE: usize = 11;
const BETWEEN: &str = " · ";

fn row_text(row: &Row) -> String {
    let role = format!("{:<ROLE$}", row.role);
    let parts: Vec<&str> = row.segments.iter().map(|segment| segment.text.as_str()).collect();
    format!("{}{}", paint(DIM, role), parts.join(&paint(DIM, BETWEEN)))
}

/// The marks below a row; neighbours of one kind share one mark.
fn underline(row: &Row, style: Style) -> Option<String> {
    let last = row.segments.iter().rposition(|segment| segment.mark != Mark::Plain)?;
    let mut text = " ".repeat(ROLE);
    let mut before = Mark::Plain;
    for (index, segment) in row.segments.iter().enumerate().take(last + 1) {
        let (sign, color) = match segment.mark {
            Mark::Plain => (" ", Style::new()),
            Mark::Here => ("^", style),
            Mark::There => ("-", FRAME),
        };
        if index > 0 {
            let joined = segment.mark == before && segment.mark == Mark::Here;
            let sign = if joined { sign } else { " " };
            text.push_str(&paint(color, sign.repeat(width(BETWEEN))));
        }
        text.push_str(&paint(color, sign.repeat(width(&segment.text))));
        before = segment.mark;
    }
    Some(text)
}

/// Who refuses it.
fn why(found: &Found) -> String {
    let rule = found.finding.rule;
    let profile = found.finding.profile;
    if profile == Profile::Strict {
        let who: Vec<&str> = rule
            .applies
            .iter()
            .filter(|(who, evidence)| *who != Profile::Strict && *evidence == Evidence::Sure)
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
fn help(name: &str, found: &Found, edits: &[Edit], ask: &Ask) -> String {
    let code = found.finding.rule.label();
    let note = edits.first().map(|edit| cut(&clean(&edit.note), 160));
    let does = note.unwrap_or_else(|| strategy(found.finding.fix.strategy).to_owned());
    match found.finding.fix.applicability {
        Applicability::Safe => {
            format!("`{}`: {does}", ask.command(Some(name), ask.is_bold()))
        }
        Applicability::Unsafe => {
            let command = ask.command(Some(name), true);
            format!("`{command}`: {does}; done only when asked for")
        }
        Applicability::None => format!("there is no repair; `foxwedge rule {code}` explains it"),
    }
}

/// What a fix does, where no single step is known.
fn strategy(strategy: Strategy) -> &'static str {
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
