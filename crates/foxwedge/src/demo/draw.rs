//! A history in one line for each message: who speaks, what is called, what is answered.

use std::io;

use anstyle::Style;
use foxwedge_core::{Draft, Message, Part, PartKind, Report, Role};

use super::demo_screen::{BAD, CODE, DIM, DemoScreen, GOOD, WIDTH};

/// Columns in front of what a message says.
const MARGIN: usize = 19;

/// What is worth pointing at in a history.
pub(super) enum HistoryMarks<'m> {
    /// Before the repair: what was found.
    Broken(&'m Report),
    /// After it: what is not as it was.
    Repaired(&'m RepairedMarks),
}

/// What a repair did to each message of its result, seen from the bytes alone.
pub(super) struct RepairedMarks {
    changes: Vec<MessageChange>,
    /// For every part of the result: whether its bytes are new.
    fresh: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageChange {
    /// The same bytes, in the same order.
    None,
    /// The same bytes, further up.
    Moved,
    /// Old and new parts.
    Rewritten,
    /// Nothing of it is old.
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

/// Draws a history.
pub(super) fn draw_history(
    stage: &mut DemoScreen<impl io::Write>,
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
                stage.line(format_args!(
                    "  {style}{sign}{style:#} {DIM}{number:>2}{DIM:#}  {role:<9}  {body}"
                ))?;
            } else {
                stage.line(format_args!("{:MARGIN$}{body}", ""))?;
            }
        }
        stage.pause(40)?;
    }
    Ok(())
}

/// Pieces on as many lines as they need; if they need several, words and calls do not share one.
fn wrap_parts(pieces: Vec<DrawnPart>) -> Vec<Vec<DrawnPart>> {
    const GAP: usize = 2;
    let length = |piece: &DrawnPart| piece.text.chars().count() + GAP;
    let fits = pieces.iter().map(length).sum::<usize>() <= WIDTH - MARGIN + GAP;
    let mut lines: Vec<Vec<DrawnPart>> = vec![Vec::new()];
    let mut used = 0;
    for piece in pieces {
        let Some(line) = lines.last_mut() else { break };
        let parted = line.last().is_some_and(|last| last.words != piece.words);
        if !line.is_empty() && !fits && (parted || used + length(&piece) > WIDTH - MARGIN + GAP) {
            used = 0;
            lines.push(Vec::new());
        }
        used += length(&piece);
        if let Some(line) = lines.last_mut() {
            line.push(piece);
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
        HistoryMarks::Repaired(mended) => match mended.changes.get(at) {
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
    /// Plain words, not a call or an answer.
    words: bool,
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
            let (text, plain) = part_text(draft, part)?;
            let (sign, style) = match marks {
                HistoryMarks::Broken(report) => {
                    let found = report.findings.iter().any(|found| {
                        found.location.message == at && found.location.span == part.span
                    });
                    if found { ("✗ ", BAD) } else { ("", plain) }
                }
                HistoryMarks::Repaired(mended) if mended.fresh.get(index) == Some(&true) => {
                    ("+ ", GOOD)
                }
                HistoryMarks::Repaired(_) => ("", plain),
            };
            let words = matches!(part.kind, PartKind::Text(_));
            Some(DrawnPart { text: clip_line(&format!("{sign}{text}")), style, words })
        })
        .collect()
}

/// A part in words; `None` for what says nothing.
fn part_text(draft: &Draft<'_>, part: &Part<'_>) -> Option<(String, Style)> {
    let raw = part.span.of(draft.source);
    let said = match &part.kind {
        PartKind::Text(_) => (Some(json_text(raw)).filter(|text| !text.is_empty())?, Style::new()),
        PartKind::Reasoning(_) => {
            let words = json_text(raw);
            (
                if words.is_empty() {
                    "(empty reasoning)".to_owned()
                } else {
                    format!("({words})")
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
        PartKind::Media | PartKind::ServerCall(_) | PartKind::ServerAnswer(_) | PartKind::Other => {
            return None;
        }
    };
    Some(said)
}

fn clip_line(text: &str) -> String {
    let most = WIDTH - MARGIN;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
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

/// What a piece of JSON says: the string itself, or the text inside it.
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
