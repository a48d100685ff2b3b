//! Finds the session that somebody means, by its id or how the id begins.

use std::collections::HashSet;

use super::LocalSessionEntry;
use crate::{
    cli_output::{CliError, clean, pluralize},
    nearest::nearest,
};

/// The fewest characters that name a session.
const MIN_ID_LENGTH: usize = 4;
/// The fewest characters of an id that are shown.
const MIN_SHOWN_LENGTH: usize = 8;
/// Sessions that are named in a message.
const MAX_NAMED: usize = 5;

/// Whether a word may be the id of a session at all.
pub(crate) fn is_session_id(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !word.is_empty() && word.chars().all(plain)
}

/// The session of that id, or the only one whose id begins so. A session that lies in several
/// files is the newest of them.
pub(crate) fn find_session<'e>(
    typed: &str,
    entries: &'e [LocalSessionEntry],
) -> Result<&'e LocalSessionEntry, CliError> {
    let mut seen = HashSet::new();
    let known: Vec<&LocalSessionEntry> =
        entries.iter().filter(|entry| seen.insert((entry.agent, entry.id.as_str()))).collect();
    let whole: Vec<&LocalSessionEntry> =
        known.iter().copied().filter(|entry| entry.id.eq_ignore_ascii_case(typed)).collect();
    let begins = |entry: &&LocalSessionEntry| {
        entry.id.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed))
    };
    let found = if whole.is_empty() && typed.len() >= MIN_ID_LENGTH {
        known.iter().copied().filter(begins).collect()
    } else {
        whole
    };
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(no_match_error(typed, &known)),
        several => Err(CliError::new(format!("{} begin so", pluralize(several.len(), "session")))
            .help(format!("type more of the id: {}", format_names(several)))),
    }
}

fn no_match_error(typed: &str, known: &[&LocalSessionEntry]) -> CliError {
    let trouble = CliError::new("no such file, folder or session");
    if known.is_empty() {
        return trouble.help(
            "a target is a file, a folder, the id of a session, or `-` for stdin; no agent has a \
             session on this machine",
        );
    }
    if typed.len() < MIN_ID_LENGTH {
        return trouble.help(format!(
            "the id of a session can be cut to {MIN_ID_LENGTH} characters and no less; `foxwedge list` lists all"
        ));
    }
    let near = find_similar(typed, known);
    let (word, shown) = if near.is_empty() {
        let own = known.iter().copied().filter(|entry| !entry.is_sub_agent());
        ("newest", own.take(3).collect())
    } else {
        ("nearest", near)
    };
    trouble.help(format!(
        "the {word} sessions are {}; `foxwedge list` lists all",
        format_names(&shown)
    ))
}

/// Sessions whose ids begin nearly so.
fn find_similar<'e>(typed: &str, known: &[&'e LocalSessionEntry]) -> Vec<&'e LocalSessionEntry> {
    let head = |entry: &'e LocalSessionEntry| entry.id.get(..typed.len()).unwrap_or(&entry.id);
    let Some(best) = nearest(typed, known.iter().map(|entry| head(entry))) else {
        return Vec::new();
    };
    known.iter().copied().filter(|entry| head(entry) == best).take(3).collect()
}

fn format_names(entries: &[&LocalSessionEntry]) -> String {
    let name = |entry: &&LocalSessionEntry| format!("`{}` ({})", clean(&entry.id), entry.product);
    let mut names: Vec<String> = entries.iter().take(MAX_NAMED).map(name).collect();
    if entries.len() > MAX_NAMED {
        names.push(format!("and {} more", entries.len() - MAX_NAMED));
    }
    names.join(", ")
}

/// For each session the shortest beginning of its id that no other one shares.
pub(crate) fn shorten_ids<'e>(ids: impl Iterator<Item = &'e str> + Clone) -> Vec<&'e str> {
    let mut sorted: Vec<&str> = ids.clone().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |one: &str, two: &str| {
        one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count()
    };
    let cut = |id: &'e str| {
        let Ok(at) = sorted.binary_search(&id) else { return id };
        let before = at.checked_sub(1).and_then(|at| sorted.get(at));
        let beside = before.into_iter().chain(sorted.get(at + 1));
        let mut end =
            beside.map(|other| shared(id, other) + 1).max().unwrap_or(0).max(MIN_SHOWN_LENGTH);
        // A dash at the end looks as if something were missing.
        while id.as_bytes().get(end - 1) == Some(&b'-') {
            end += 1;
        }
        id.get(..end).unwrap_or(id)
    };
    ids.map(cut).collect()
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::SystemTime};

    use foxwedge_sessions::SessionAgent;

    use super::*;
    use crate::agents::SessionOrigin;

    fn entry(agent: SessionAgent, id: &str) -> LocalSessionEntry {
        LocalSessionEntry {
            agent,
            product: agent.name(),
            id: id.to_owned(),
            path: PathBuf::from(id),
            project: None,
            title: None,
            size: 0,
            modified: SystemTime::UNIX_EPOCH,
            origin: SessionOrigin::Session,
        }
    }

    #[test]
    fn ids_are_picked_by_how_they_begin() {
        let entries = [
            entry(SessionAgent::ClaudeCode, "0a1b2c3d-0000"),
            entry(SessionAgent::ClaudeCode, "0a1b2cff-0000"),
            entry(SessionAgent::Codex, "0199aaaa"),
            entry(SessionAgent::Codex, "0199aaaa"),
            entry(SessionAgent::Neovate, "0199aaaabb"),
        ];
        let table = [
            ("0a1b2c3d-0000", Ok("0a1b2c3d-0000")),
            ("0A1B2C3", Ok("0a1b2c3d-0000")),
            ("0199aaaa", Ok("0199aaaa")),
            ("0199", Err("2 sessions begin so")),
            ("0a1b2c", Err("2 sessions begin so")),
            ("0a1", Err("no such file, folder or session")),
            ("0a1c2c3d", Err("no such file, folder or session")),
        ];
        for (typed, expected) in table {
            let picked = find_session(typed, &entries).map(|entry| entry.id.as_str());
            assert_eq!(
                picked.map_err(|trouble| trouble.to_string()),
                expected.map_err(str::to_owned)
            );
        }
    }

    #[test]
    fn shown_ids_are_short_and_unique() {
        let ids = ["0199aaaa-bb-1", "0199aaaa-bb-2", "ffffffffff", "abc", "0199aaaa-cc"];
        let shown = ["0199aaaa-bb-1", "0199aaaa-bb-2", "ffffffff", "abc", "0199aaaa-c"];
        assert_eq!(shorten_ids(ids.into_iter()), shown);
    }
}
