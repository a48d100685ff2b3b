//! Draws a history with one line per message: role, text, tool calls and tool results.

use std::io;

use anstyle::Style;
use foxwedge_core::{Draft, Message, Part, PartKind, Report, Role};
use foxwedge_local::language::localize;

use super::demo_screen::{BAD, CODE, DIM, DemoScreen, GOOD, WIDTH};

/// Columns in front of the content of a message.
const MARGIN: usize = 19;

/// What to mark in a history.
pub(super) enum HistoryMarks<'m> {
    /// Before the repair: the findings.
    Broken(&'m Report),
    /// After the repair: the changes.
    Repaired(&'m RepairedMarks),
}

/// What a repair changed in each message, derived from the bytes alone.
pub(super) struct RepairedMarks {
    changes: Vec<MessageChange>,
    /// For every part of the repaired history: whether its bytes are new.
    fresh: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageChange {
    /// The same bytes, in the same order.
    None,
    /// The same bytes, moved up.
    Moved,
    /// Old and new parts.
    Rewritten,
    /// All parts are new.
    New,
}

impl RepairedMarks {
    /// Compares the bytes of two histories.
    pub(super) fn between(before: &Draft<'_>, after: &Draft<'_>) -> RepairedMarks {
        let old: Vec<&str> = before.messages.iter().map(|m| m.span.of(before.source)).collect();
        let origins: Vec<Option<usize>> = after
            .messages
            .iter()
            .map(|message| old.iter().position(|text| *text == message.span.of(after.source)))
            .collect();
        let fresh: Vec<bool> = after
            .parts
            .iter()
            .map(|part| !before.source.contains(part.span.of(after.source)))
            .collect();
        let change = |(at, message): (usize, &Message)| match origins[at] {
            Some(origin) => {
                let overtakes = origins[at..].iter().flatten().any(|later| *later < origin);
                if overtakes { MessageChange::Moved } else { MessageChange::None }
            }
            None if message.range().all(|part| fresh[part]) => MessageChange::New,
            None => MessageChange::Rewritten,
        };
        let changes = after.messages.iter().enumerate().map(change).collect();
        RepairedMarks { changes, fresh }
    }
}

pub(super) fn draw_history(
    screen: &mut DemoScreen<impl io::Write>,
    draft: &Draft<'_>,
    marks: &HistoryMarks<'_>,
) -> io::Result<()> {
    for (at, message) in draft.messages.iter().enumerate() {
        let (sign, style) = message_sign(at, marks);
        let lines = wrap_parts(drawn_parts(draft, at, message, marks));
        for (row, line) in lines.into_iter().enumerate() {
            let body: Vec<String> = line
                .into_iter()
                .map(|DrawnPart { text, style, .. }| format!("{style}{text}{style:#}"))
                .collect();
            let body = body.join("  ");
            if row == 0 {
                let (number, role) = (at + 1, role_label(message.role));
                screen.line(format_args!(
                    "  {style}{sign}{style:#} {DIM}{number:>2}{DIM:#}  {role:<9}  {body}"
                ))?;
            } else {
                screen.line(format_args!("{:MARGIN$}{body}", ""))?;
            }
        }
        screen.pause(40)?;
    }
    Ok(())
}

/// Wraps parts into lines. If they need several lines, text and calls do not share one.
fn wrap_parts(parts: Vec<DrawnPart>) -> Vec<Vec<DrawnPart>> {
    const GAP: usize = 2;
    let length = |part: &DrawnPart| part.text.chars().count() + GAP;
    let fits = parts.iter().map(length).sum::<usize>() <= WIDTH - MARGIN + GAP;
    let mut lines: Vec<Vec<DrawnPart>> = vec![Vec::new()];
    let mut used = 0;
    for part in parts {
        let Some(line) = lines.last_mut() else { break };
        let differs = line.last().is_some_and(|last| last.is_text != part.is_text);
        if !line.is_empty() && !fits && (differs || used + length(&part) > WIDTH - MARGIN + GAP) {
            used = 0;
            lines.push(Vec::new());
        }
        used += length(&part);
        if let Some(line) = lines.last_mut() {
            line.push(part);
        }
    }
    lines
}

fn message_sign(at: usize, marks: &HistoryMarks<'_>) -> (&'static str, Style) {
    match marks {
        HistoryMarks::Broken(report) => {
            let found = report.findings.iter().any(|finding| finding.location.message == at);
            if found { ("✗", BAD) } else { (" ", DIM) }
        }
        HistoryMarks::Repaired(repaired) => match repaired.changes.get(at) {
            Some(MessageChange::Moved) => ("↑", GOOD),
            Some(MessageChange::Rewritten) => ("~", GOOD),
            Some(MessageChange::New) => ("+", GOOD),
            Some(MessageChange::None) | None => (" ", DIM),
        },
    }
}

/// A part as it is shown.
struct DrawnPart {
    text: String,
    style: Style,
    /// Plain text, not a tool call or result.
    is_text: bool,
}

fn drawn_parts(
    draft: &Draft<'_>,
    at: usize,
    message: &Message,
    marks: &HistoryMarks<'_>,
) -> Vec<DrawnPart> {
    message
        .range()
        .zip(draft.parts_of(message))
        .filter_map(|(index, part)| {
            let (text, plain_style) = part_text(draft, part)?;
            let (sign, style) = match marks {
                HistoryMarks::Broken(report) => {
                    let found = report.findings.iter().any(|found| {
                        found.location.message == at && found.location.span == part.span
                    });
                    if found { ("✗ ", BAD) } else { ("", plain_style) }
                }
                HistoryMarks::Repaired(repaired) if repaired.fresh.get(index) == Some(&true) => {
                    ("+ ", GOOD)
                }
                HistoryMarks::Repaired(_) => ("", plain_style),
            };
            let is_text = matches!(part.kind, PartKind::Text(_));
            Some(DrawnPart { text: clip_line(&format!("{sign}{text}")), style, is_text })
        })
        .collect()
}

/// A part as text with its style; `None` if there is nothing to show.
fn part_text(draft: &Draft<'_>, part: &Part<'_>) -> Option<(String, Style)> {
    let raw = part.span.of(draft.source);
    let drawn = match &part.kind {
        PartKind::Text(_) => (Some(json_text(raw)).filter(|text| !text.is_empty())?, Style::new()),
        PartKind::Reasoning(_) => {
            let text = json_text(raw);
            (
                match text.as_str() {
                    "" => localize("(empty reasoning)").into_owned(),
                    text => format!("({text})"),
                },
                DIM,
            )
        }
        PartKind::Call(call) => {
            let name = call.name.as_deref().unwrap_or("tool");
            let text = match call.id.as_deref() {
                Some(id) => format!("▸ {name} {id}"),
                None => format!("▸ {name}"),
            };
            (text, CODE)
        }
        PartKind::Answer(answer) => {
            let id = answer.id.as_deref().or(answer.tool()).unwrap_or("?");
            (format!("◂ {id}: {}", json_text(answer.content.of(draft.source))), Style::new())
        }
        PartKind::Media
        | PartKind::ServerCall(_)
        | PartKind::ServerAnswer(_)
        | PartKind::Fallback
        | PartKind::Other
        | PartKind::Unknown => {
            return None;
        }
    };
    Some(drawn)
}

fn clip_line(text: &str) -> String {
    let max = WIDTH - MARGIN;
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

fn role_label(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::Answer => "tool",
        Role::Neutral | Role::Unknown => "other",
    }
}

/// The text of a JSON value: the string itself, or the first text field inside it.
pub(super) fn json_text(raw: &str) -> String {
    let keys = ["text", "output", "content"].map(|key| format!("\"{key}\":"));
    let inner = keys.iter().filter(|_| !raw.starts_with('"')).find_map(|key| raw.split_once(key));
    let inner = inner.map_or(raw, |(_, rest)| rest.trim_start());
    let Some(inside) = inner.strip_prefix('"') else { return raw.to_owned() };
    let mut text = String::new();
    let mut escaped = false;
    for c in inside.chars() {
        match c {
            _ if escaped => {
                text.push(if c == 'n' { ' ' } else { c });
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => break,
            _ => text.push(c),
        }
    }
    text
}
