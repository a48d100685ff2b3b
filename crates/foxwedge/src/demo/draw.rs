//! A history in one line for each message: who speaks, what is called, what is answered.

use std::io;

use anstyle::Style;
use foxwedge_core::{Draft, Kind, Message, Part, Report, Role};

use super::stage::{BAD, CODE, DIM, GOOD, Stage, WIDTH};

/// Columns in front of what a message says.
const MARGIN: usize = 19;

/// What is worth pointing at in a history.
pub(super) enum Marks<'m> {
    /// Before the repair: what was found.
    Broken(&'m Report),
    /// After it: what is not as it was.
    Mended(&'m Mended),
}

/// What a repair did to each message of its result, seen from the bytes alone.
pub(super) struct Mended {
    changes: Vec<Change>,
    /// For every part of the result: whether its bytes are new.
    fresh: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The same bytes, in the same order.
    None,
    /// The same bytes, further up.
    Moved,
    /// Old and new parts.
    Rewritten,
    /// Nothing of it is old.
    New,
}

impl Mended {
    /// Compares the bytes of two histories.
    pub(super) fn between(before: &Draft<'_>, after: &Draft<'_>) -> Mended {
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
                if overtakes { Change::Moved } else { Change::None }
            }
            None if message.range().all(|part| fresh[part]) => Change::New,
            None => Change::Rewritten,
        };
        let changes = after.messages.iter().enumerate().map(change).collect();
        Mended { changes, fresh }
    }
}

/// Draws a history.
pub(super) fn history(
    stage: &mut Stage<impl io::Write>,
    draft: &Draft<'_>,
    marks: &Marks<'_>,
) -> io::Result<()> {
    for (at, message) in draft.messages.iter().enumerate() {
        let (sign, style) = sign(at, marks);
        let lines = lines(pieces(draft, at, message, marks));
        for (row, line) in lines.into_iter().enumerate() {
            let body: Vec<String> = line
                .into_iter()
                .map(|Drawn { text, style, .. }| format!("{style}{text}{style:#}"))
                .collect();
            let body = body.join("  ");
            if row == 0 {
                let (number, role) = (at + 1, name(message.role));
                stage.line(format_args!(
                    "  {style}{sign}{style:#} {DIM}{number:>2}{DIM:#}  {role:<9}  {body}"
                ))?;
            } else {
                stage.line(format_args!("{:MARGIN$}{body}", ""))?;
            }
        }
        stage.beat(40)?;
    }
    Ok(())
}

/// Pieces on as many lines as they need; if they need several, words and calls do not share one.
fn lines(pieces: Vec<Drawn>) -> Vec<Vec<Drawn>> {
    const GAP: usize = 2;
    let length = |piece: &Drawn| piece.text.chars().count() + GAP;
    let fits = pieces.iter().map(length).sum::<usize>() <= WIDTH - MARGIN + GAP;
    let mut lines: Vec<Vec<Drawn>> = vec![Vec::new()];
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

fn sign(at: usize, marks: &Marks<'_>) -> (&'static str, Style) {
    match marks {
        Marks::Broken(report) => {
            let found = report.findings.iter().any(|finding| finding.at.message == at);
            if found { ("✗", BAD) } else { (" ", DIM) }
        }
        Marks::Mended(mended) => match mended.changes.get(at) {
            Some(Change::Moved) => ("↑", GOOD),
            Some(Change::Rewritten) => ("~", GOOD),
            Some(Change::New) => ("+", GOOD),
            Some(Change::None) | None => (" ", DIM),
        },
    }
}

/// A part as it is shown.
struct Drawn {
    text: String,
    style: Style,
    /// Plain words, not a call or an answer.
    words: bool,
}

fn pieces(draft: &Draft<'_>, at: usize, message: &Message, marks: &Marks<'_>) -> Vec<Drawn> {
    message
        .range()
        .zip(draft.parts_of(message))
        .filter_map(|(index, part)| {
            let (text, plain) = shown(draft, part)?;
            let (sign, style) = match marks {
                Marks::Broken(report) => {
                    let found = report
                        .findings
                        .iter()
                        .any(|found| found.at.message == at && found.at.span == part.span);
                    if found { ("✗ ", BAD) } else { ("", plain) }
                }
                Marks::Mended(mended) if mended.fresh.get(index) == Some(&true) => ("+ ", GOOD),
                Marks::Mended(_) => ("", plain),
            };
            let words = matches!(part.kind, Kind::Text(_));
            Some(Drawn { text: clipped(&format!("{sign}{text}")), style, words })
        })
        .collect()
}

/// A part in words; `None` for what says nothing.
fn shown(draft: &Draft<'_>, part: &Part<'_>) -> Option<(String, Style)> {
    let raw = part.span.of(draft.source);
    let said = match &part.kind {
        Kind::Text(_) => (Some(words(raw)).filter(|text| !text.is_empty())?, Style::new()),
        Kind::Reasoning(_) => {
            let words = words(raw);
            (
                if words.is_empty() {
                    "(empty reasoning)".to_owned()
                } else {
                    format!("({words})")
                },
                DIM,
            )
        }
        Kind::Call(call) => {
            let name = call.name.as_deref().unwrap_or("tool");
            let text = match call.id.as_deref() {
                Some(id) => format!("▸ {name} {id}"),
                None => format!("▸ {name}"),
            };
            (text, CODE)
        }
        Kind::Answer(answer) => {
            let id = answer.id.as_deref().or(answer.tool()).unwrap_or("?");
            (format!("◂ {id}: {}", words(answer.content.of(draft.source))), Style::new())
        }
        Kind::Media | Kind::ServerCall(_) | Kind::ServerAnswer(_) | Kind::Other => return None,
    };
    Some(said)
}

fn clipped(text: &str) -> String {
    let most = WIDTH - MARGIN;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

fn name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::Answer => "tool",
        Role::Neutral | Role::Unknown => "other",
    }
}

/// What a piece of JSON says: the string itself, or the text inside it.
pub(super) fn words(raw: &str) -> String {
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
