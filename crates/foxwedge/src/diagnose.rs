//! What was read from a session file and what was left out of the conversation, for whoever
//! wonders. Silent unless `FOXWEDGE_LOG` asks: `session`, `session=debug`, `debug`, or several of
//! them with commas between.

use std::{collections::HashSet, env, sync::OnceLock};

use foxwedge_core::{Fate, Kind, Repair, pair};
use foxwedge_dialect::session::{LeftOut, Session};

use crate::say::{clean, cut, talk};

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Nothing,
    /// Counts.
    Info,
    /// Ids as well.
    Debug,
}

/// How much was asked for.
fn asked() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let asked = env::var_os("FOXWEDGE_LOG").unwrap_or_default();
        level(&asked.to_string_lossy(), "session")
    })
}

/// Tells which messages a repair takes out of a session.
pub(crate) fn dropped(path: &str, session: &Session<'_>, repair: &Repair<'_>) {
    if asked() < Level::Debug || repair.is_untouched() {
        return;
    }
    let kept: HashSet<usize> = repair.slots.iter().filter_map(|slot| slot.origin).collect();
    let gone = (0..session.draft().messages.len()).filter(|message| !kept.contains(message));
    let ids = gone.flat_map(|message| session.record_ids(message));
    let line = |id: &str| {
        format!("foxwedge:session {}: repair drops message {}\n", clean(path), clean(&cut(id, 64)))
    };
    talk(&ids.map(line).collect::<String>());
}

/// Tells what is in a session file.
pub(crate) fn session(path: &str, session: &Session<'_>) {
    let level = asked();
    if level == Level::Nothing {
        return;
    }
    let left_out = session.left_out();
    let mut lines = vec![counts(session, &left_out)];
    if level == Level::Debug {
        unmatched(session, &mut lines);
        reasons(&left_out, &mut lines);
    }
    let line = |text: String| format!("foxwedge:session {}: {}\n", clean(path), clean(&text));
    talk(&lines.into_iter().map(line).collect::<String>());
}

/// The level of a namespace, as other tools spell it: the last word that fits it counts, and one
/// with a name counts more than one for everything.
fn level(asked: &str, namespace: &str) -> Level {
    let (mut everywhere, mut here) = (Level::Nothing, None);
    for word in asked.split(',').map(str::trim) {
        match word.split_once('=') {
            Some((name, word)) if name.trim() == namespace => {
                here = parse(word.trim()).or(here);
            }
            Some(_) => {}
            None if word == namespace => here = Some(Level::Debug),
            None => everywhere = parse(word).unwrap_or(everywhere),
        }
    }
    here.unwrap_or(everywhere)
}

fn parse(word: &str) -> Option<Level> {
    match word.to_ascii_lowercase().as_str() {
        "trace" | "debug" => Some(Level::Debug),
        "info" => Some(Level::Info),
        "warn" | "error" | "off" => Some(Level::Nothing),
        _ => None,
    }
}

fn counts(session: &Session<'_>, left_out: &LeftOut) -> String {
    let id = session.about.id.as_deref().map(|id| cut(id, 64)).unwrap_or_default();
    format!(
        "{} {id} records={} path={} open-calls={} branches={} sub-agents={} others={}",
        session.agent.name(),
        session.nodes().len(),
        session.draft().messages.len(),
        pair(session.draft()).calls.iter().filter(|call| call.answer().is_none()).count(),
        left_out.branches.len(),
        left_out.side.len(),
        left_out.others,
    )
}

/// Calls without an answer, and answers without a call.
fn unmatched(session: &Session<'_>, lines: &mut Vec<String>) {
    let draft = session.draft();
    let pairing = pair(draft);
    for call in pairing.calls.iter().filter(|call| call.answer().is_none()) {
        if let Some(Kind::Call(call)) = draft.parts.get(call.part()).map(|part| &part.kind) {
            let (id, name) = (call.id.as_deref(), call.name.as_deref());
            lines.push(format!("call {} to {} has no answer", word(id), word(name)));
        }
    }
    for answer in pairing.answers.iter().filter(|answer| answer.fate() == Fate::Orphan) {
        if let Some(Kind::Answer(answer)) = draft.parts.get(answer.part()).map(|part| &part.kind) {
            lines.push(format!("answer {} has no call", word(answer.id.as_deref())));
        }
    }
}

/// An id or a name, of any length.
fn word(text: Option<&str>) -> String {
    text.map_or_else(|| "(no id)".to_owned(), |text| cut(text, 64))
}

/// What is not in the conversation, and why.
fn reasons(left_out: &LeftOut, lines: &mut Vec<String>) {
    let reasons = [
        (&left_out.branches, "on another branch"),
        (&left_out.side, "of a sub-agent"),
        (&left_out.twins, "repeats another record"),
        (&left_out.hollow, "says nothing"),
        (&left_out.hidden, "kept by the agent for itself"),
    ];
    for (ids, reason) in reasons {
        lines.extend(ids.iter().map(|id| format!("left out {}: {reason}", cut(id, 64))));
    }
    let unreadable = left_out.unreadable.iter();
    lines.extend(unreadable.map(|line| format!("left out line {line}: it cannot be read")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_spelled_as_elsewhere() {
        let table = [
            ("", Level::Nothing),
            ("session", Level::Debug),
            ("session=debug", Level::Debug),
            ("session=trace", Level::Debug),
            ("session=info", Level::Info),
            ("debug", Level::Debug),
            ("other=debug", Level::Nothing),
            ("other", Level::Nothing),
            ("debug,session=off", Level::Nothing),
            ("session=debug,warn", Level::Debug),
            ("other=trace, session = DEBUG", Level::Debug),
            ("session=loud", Level::Nothing),
            ("off", Level::Nothing),
        ];
        for (asked, expected) in table {
            assert_eq!(level(asked, "session"), expected, "{asked}");
        }
    }
}
