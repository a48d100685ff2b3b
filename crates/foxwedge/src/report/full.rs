//! Findings drawn as a compiler does: message, position, call and result, reason, fix command.

use std::borrow::Cow;

use anstyle::Style;
use foxwedge_core::{Edit, FixApplicability, Profile, RuleEvidence, Severity, Strategy};

use super::{edit_note, finding_message};
use foxwedge_local::{
    check_settings::CheckSettings,
    language::localize,
    outcome::{FileReport, LocatedFinding},
    output::{BOLD, DIM, ERROR, FRAME, HELP, WARNING, clean, cut, paint, width},
    screen::pad,
};
use foxwedge_local::{
    excerpt::{ExcerptLine, ExcerptLineKind, ExcerptRail, FindingExcerpt, RailEnd},
    message_row::{MessageRow, SegmentMark},
};

/// Max findings drawn for one file.
pub(crate) const MAX_DRAWN: usize = 50;

/// Draws the findings of one file. `name` is the name of the target in suggested commands.
pub(crate) fn draw(
    path: &str,
    name: &str,
    report: &FileReport,
    settings: &CheckSettings,
) -> String {
    let mut text = String::new();
    for located in report.findings.iter().take(MAX_DRAWN) {
        draw_finding(&mut text, (path, name), (report, located), settings);
        text.push('\n');
    }
    let shown = report.findings.len().min(MAX_DRAWN);
    let left = report.counts.total().saturating_sub(shown);
    if left > 0 {
        let path = clean(path);
        let listed = if report.unlisted() == 0 { "all" } else { "more" };
        text.push_str(&localize(format!(
            "… and {left} more in {path}; --output-format concise lists {listed}\n\n"
        )));
    }
    text
}

fn draw_finding(
    text: &mut String,
    (path, name): (&str, &str),
    (report, located): (&FileReport, &LocatedFinding),
    settings: &CheckSettings,
) {
    let (severity, style) = severity_style(located.finding.severity);
    let code = located.finding.rule.label();
    let message = cut(&clean(&finding_message(&located.finding)), 240);
    text.push_str(&format!("{style}{severity}[{code}]{style:#}{BOLD}: {message}{BOLD:#}\n",));
    let gutter = located.excerpt.as_deref().map_or(1, gutter_width);
    let pad = " ".repeat(gutter);
    text.push_str(&format!(
        "{pad}{} {}:{}:{}  {}\n",
        paint(FRAME, "-->"),
        clean(path),
        located.position.line,
        located.position.column,
        paint(DIM, located.message()),
    ));
    if let Some(excerpt) = located.excerpt.as_ref().filter(|excerpt| !excerpt.lines.is_empty()) {
        push_bar(text, &pad);
        for line in &excerpt.lines {
            draw_line(text, line, gutter, style);
        }
        push_bar(text, &pad);
    }
    let equals = paint(FRAME, "=");
    if let Some(request) = &located.request {
        let request = cut(&clean(&request.describe()), 240);
        text.push_str(&format!("{pad} {equals} {}: {request}\n", paint(BOLD, localize("request"))));
    }
    let cause = explain_cause(report, located);
    text.push_str(&format!("{pad} {equals} {}: {cause}\n", paint(BOLD, localize("why"))));
    let help = fix_help(name, located, report.edits_of(located), settings);
    text.push_str(&format!("{pad} {equals} {}: {help}\n", paint(HELP, localize("help"))));
}

fn severity_style(severity: Severity) -> (Cow<'static, str>, Style) {
    match severity {
        Severity::Error => (localize("error"), ERROR),
        Severity::Warning => (localize("warning"), WARNING),
    }
}

/// Width of the widest message index.
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
            let row = localize_row(row);
            text.push_str(&format!("{head}{}\n", row_text(&row)));
            if let Some(under) = underline(&row, style) {
                let pad = " ".repeat(gutter);
                let rail = paint(style, rail_below(line.rail));
                text.push_str(&format!(
                    "{} {rail}{under}\n",
                    paint(FRAME, format_args!("{pad} |"))
                ));
            }
        }
        ExcerptLineKind::Gap(hidden) => {
            let gap = paint(DIM, localize(format!("⋮ {hidden} more")));
            text.push_str(&format!("{head}{gap}\n"));
        }
        ExcerptLineKind::Absent(absent) => {
            text.push_str(&format!("{head}{}\n", paint(style, localize(absent))));
        }
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

/// The rail on the line below a message.
fn rail_below(rail: ExcerptRail) -> &'static str {
    match rail {
        ExcerptRail::Off | ExcerptRail::Last(_) => "    ",
        ExcerptRail::Through | ExcerptRail::First(_) | ExcerptRail::Middle(_) => "│   ",
    }
}

const ROLE: usize = 11;
const BETWEEN: &str = " · ";

/// The row with its descriptions in the language of the user.
fn localize_row(row: &MessageRow) -> MessageRow {
    let mut row = row.clone();
    for segment in &mut row.segments {
        segment.text = localize(segment.text.as_str()).into_owned();
    }
    row
}

fn row_text(row: &MessageRow) -> String {
    let role = pad(row.role, ROLE);
    let parts: Vec<&str> = row.segments.iter().map(|segment| segment.text.as_str()).collect();
    format!("{}{}", paint(DIM, role), parts.join(&paint(DIM, BETWEEN)))
}

/// The marks below a row. Adjacent primary segments share one mark.
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

/// Explains which provider or agent refuses the history, and why.
fn explain_cause(report: &FileReport, located: &LocatedFinding) -> String {
    let rule = located.finding.rule;
    let profile = located.finding.profile;
    if profile == Profile::Strict {
        let providers: Vec<&str> = rule
            .applies
            .iter()
            .filter(|(provider, evidence)| {
                *provider != Profile::Strict && *evidence == RuleEvidence::Documented
            })
            .map(|(provider, _)| provider.name())
            .collect();
        let providers = match providers.as_slice() {
            [] => localize("some provider").into_owned(),
            _ => providers.join(", "),
        };
        return localize(format!("refused by {providers}: {}", rule.summary)).into_owned();
    }
    if rule.code >= 700 {
        // The agent fails before any provider sees the history.
        let fails = match located.finding.severity {
            Severity::Error => "cannot open the file",
            Severity::Warning => "loses part of the session",
        };
        return localize(format!("the agent {fails}: {}", rule.summary)).into_owned();
    }
    let verb = match located.finding.severity {
        Severity::Error => "refuses",
        Severity::Warning => "probably refuses",
    };
    let is_ai_sdk = report.session.as_ref().is_some_and(|session| session.agent.is_ai_sdk());
    let name = if is_ai_sdk { "the AI SDK" } else { profile.name() };
    localize(format!("{name} {verb} this: {}", rule.summary)).into_owned()
}

/// The command that fixes the finding, and what it does.
fn fix_help(
    name: &str,
    located: &LocatedFinding,
    edits: &[Edit],
    settings: &CheckSettings,
) -> String {
    let code = located.finding.rule.label();
    let note = edits.first().map(|edit| cut(&clean(&edit_note(edit)), 160));
    let strategy = describe_strategy(located.finding.fix.strategy);
    let does = note.unwrap_or_else(|| localize(strategy).into_owned());
    match located.finding.fix.applicability {
        FixApplicability::Safe => {
            format!(
                "`{}`: {does}",
                settings.fix_command(Some(name), settings.allows_unsafe_fixes())
            )
        }
        FixApplicability::Unsafe => {
            let command = settings.fix_command(Some(name), true);
            localize(format!("`{command}`: {does}; not applied by default")).into_owned()
        }
        FixApplicability::None if located.request.is_some() => localize(format!(
            "a trace is read-only; `foxwedge rule {code}` explains what to change"
        ))
        .into_owned(),
        FixApplicability::None => {
            localize(format!("there is no fix; `foxwedge rule {code}` explains the rule"))
                .into_owned()
        }
    }
}

/// What a fix does, where its edits are not known.
pub(super) fn describe_strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Recover => "the tool result is moved to its call",
        Strategy::Synthesize => "a placeholder is written",
        Strategy::Reorder => "the parts are reordered",
        Strategy::Merge => "the messages are merged",
        Strategy::Split => "the message is split",
        Strategy::Rename => "it is renamed in the call and the result",
        Strategy::Drop => "it is removed",
        Strategy::DropThinking => "signed thinking after the edit is removed",
        Strategy::Quote => "the tool result is kept as user text",
        Strategy::Recode => "it is rewritten as the provider expects it",
        Strategy::Insert => "a short message is inserted",
        Strategy::Nothing => "nothing is changed",
    }
}
