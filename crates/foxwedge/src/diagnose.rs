//! Logs what was read from a session file and what was left out of the conversation. Silent unless
//! `FOXWEDGE_LOG` enables it: `session`, `session=debug`, `debug`, or several of them separated by
//! commas.

use std::{collections::HashSet, env, sync::OnceLock};

use foxwedge_core::{PartKind, Repair, ResultMatch, pair_calls};
use foxwedge_sessions::{OmittedRecords, ParsedSession};

use foxwedge_local::output::{clean, cut, write_stderr};

/// How much is logged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum DiagnosticLevel {
    Off,
    /// Counts.
    Info,
    /// Ids as well.
    Debug,
}

/// The level from the environment.
fn requested_level() -> DiagnosticLevel {
    static LEVEL: OnceLock<DiagnosticLevel> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let filter = env::var_os("FOXWEDGE_LOG").unwrap_or_default();
        parse_level(&filter.to_string_lossy(), "session")
    })
}

/// Logs which messages a repair drops from a session.
pub(crate) fn log_dropped(path: &str, session: &ParsedSession<'_>, repair: &Repair<'_>) {
    if requested_level() < DiagnosticLevel::Debug || repair.is_untouched() {
        return;
    }
    let origins = repair.messages.iter().filter_map(|message| message.origin());
    let kept: HashSet<usize> = origins.collect();
    let dropped = (0..session.draft().messages.len()).filter(|message| !kept.contains(message));
    let ids = dropped.flat_map(|message| session.record_ids(message));
    let line = |id: &str| {
        format!("foxwedge:session {}: repair drops message {}\n", clean(path), clean(&cut(id, 64)))
    };
    write_stderr(&ids.map(line).collect::<String>());
}

/// Logs the content of a session file.
pub(crate) fn log_session(path: &str, session: &ParsedSession<'_>) {
    let level = requested_level();
    if level == DiagnosticLevel::Off {
        return;
    }
    let left_out = session.left_out();
    let mut lines = vec![format_counts(session, &left_out)];
    if level == DiagnosticLevel::Debug {
        push_unmatched(session, &mut lines);
        push_reasons(&left_out, &mut lines);
    }
    let line = |text: String| format!("foxwedge:session {}: {}\n", clean(path), clean(&text));
    write_stderr(&lines.into_iter().map(line).collect::<String>());
}

/// The level of a namespace, in the usual syntax of log filters: the last match counts, and an
/// entry for the namespace overrides one for everything.
fn parse_level(filter: &str, namespace: &str) -> DiagnosticLevel {
    let (mut everywhere, mut here) = (DiagnosticLevel::Off, None);
    for word in filter.split(',').map(str::trim) {
        match word.split_once('=') {
            Some((name, word)) if name.trim() == namespace => {
                here = parse_level_word(word.trim()).or(here);
            }
            Some(_) => {}
            None if word == namespace => here = Some(DiagnosticLevel::Debug),
            None => everywhere = parse_level_word(word).unwrap_or(everywhere),
        }
    }
    here.unwrap_or(everywhere)
}

fn parse_level_word(word: &str) -> Option<DiagnosticLevel> {
    match word.to_ascii_lowercase().as_str() {
        "trace" | "debug" => Some(DiagnosticLevel::Debug),
        "info" => Some(DiagnosticLevel::Info),
        "warn" | "error" | "off" => Some(DiagnosticLevel::Off),
        _ => None,
    }
}

fn format_counts(session: &ParsedSession<'_>, left_out: &OmittedRecords) -> String {
    let id = session.metadata.id.as_deref().map(|id| cut(id, 64)).unwrap_or_default();
    format!(
        "{} {id} records={} path={} open-calls={} branches={} sub-agents={} others={}",
        session.agent.name(),
        session.nodes().len(),
        session.draft().messages.len(),
        pair_calls(session.draft()).calls.iter().filter(|call| call.answer().is_none()).count(),
        left_out.branches.len(),
        left_out.sub_agents.len(),
        left_out.other_records,
    )
}

/// Tool calls without a result, and results without a call.
fn push_unmatched(session: &ParsedSession<'_>, lines: &mut Vec<String>) {
    let draft = session.draft();
    let pairing = pair_calls(draft);
    for call in pairing.calls.iter().filter(|call| call.answer().is_none()) {
        if let Some(PartKind::Call(call)) = draft.parts.get(call.part()).map(|part| &part.kind) {
            let (id, name) = (call.id.as_deref(), call.name.as_deref());
            lines.push(format!(
                "tool call {} to {} has no result",
                id_or_placeholder(id),
                id_or_placeholder(name)
            ));
        }
    }
    for answer in
        pairing.answers.iter().filter(|answer| answer.result_match() == ResultMatch::Orphan)
    {
        if let Some(PartKind::Answer(answer)) =
            draft.parts.get(answer.part()).map(|part| &part.kind)
        {
            let id = id_or_placeholder(answer.id.as_deref());
            lines.push(format!("tool result {id} has no call"));
        }
    }
}

/// An id or a name, cut to a limit.
fn id_or_placeholder(text: Option<&str>) -> String {
    text.map_or_else(|| "(no id)".to_owned(), |text| cut(text, 64))
}

/// The records that are not in the conversation, and why.
fn push_reasons(left_out: &OmittedRecords, lines: &mut Vec<String>) {
    let reasons = [
        (&left_out.branches, "on another branch"),
        (&left_out.sub_agents, "of a sub-agent"),
        (&left_out.duplicates, "repeats another record"),
        (&left_out.empty_replies, "empty reply"),
        (&left_out.hidden, "internal record of the agent"),
    ];
    for (ids, reason) in reasons {
        lines.extend(ids.iter().map(|id| format!("left out {}: {reason}", cut(id, 64))));
    }
    let unreadable = left_out.unreadable.iter();
    lines.extend(unreadable.map(|line| format!("left out line {line}: unreadable")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_filters_set_the_level() {
        let table = [
            ("", DiagnosticLevel::Off),
            ("session", DiagnosticLevel::Debug),
            ("session=debug", DiagnosticLevel::Debug),
            ("session=trace", DiagnosticLevel::Debug),
            ("session=info", DiagnosticLevel::Info),
            ("debug", DiagnosticLevel::Debug),
            ("other=debug", DiagnosticLevel::Off),
            ("other", DiagnosticLevel::Off),
            ("debug,session=off", DiagnosticLevel::Off),
            ("session=debug,warn", DiagnosticLevel::Debug),
            ("other=trace, session = DEBUG", DiagnosticLevel::Debug),
            ("session=loud", DiagnosticLevel::Off),
            ("off", DiagnosticLevel::Off),
        ];
        for (filter, expected) in table {
            assert_eq!(parse_level(filter, "session"), expected, "{filter}");
        }
    }
}
