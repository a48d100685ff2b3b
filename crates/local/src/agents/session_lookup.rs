//! Finds a session by its id or the beginning of its id.

use std::collections::HashSet;

use super::LocalSessionEntry;
use crate::{
    check_settings::shell_argument,
    output::{HelpfulError, clean, pluralize},
};
use foxwedge_core::nearest_name;
use foxwedge_sessions::SessionAgent;

/// Fewest characters of an id that select a session.
const MIN_ID_LENGTH: usize = 4;
/// Fewest characters of an id that are shown.
const MIN_SHOWN_LENGTH: usize = 8;
/// Sessions that are listed in a message.
const MAX_NAMED: usize = 5;

/// Whether a text can be a session id.
pub fn is_session_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(plain)
}

/// What ids of an agent are made of, if this is not one of them.
pub fn expected_notation(agent: SessionAgent, id: &str) -> Option<&'static str> {
    match agent {
        SessionAgent::Opencode if !id.starts_with("ses_") => Some("`ses_` and letters or digits"),
        SessionAgent::ClaudeCode
        | SessionAgent::Codex
        | SessionAgent::GeminiCli
        | SessionAgent::CopilotCli
        | SessionAgent::QwenCode
            if !is_uuid(id) =>
        {
            Some("a UUID, such as 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")
        }
        _ if !is_session_id(id) => Some("made of letters, digits, `-` and `_`"),
        _ => None,
    }
}

fn is_uuid(id: &str) -> bool {
    let groups: Vec<&str> = id.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The session with that id, or the only one whose id begins with it. If a session has several
/// files, the newest counts.
pub fn find_session<'e>(
    id: &str,
    entries: &'e [LocalSessionEntry],
) -> Result<&'e LocalSessionEntry, HelpfulError> {
    let mut seen = HashSet::new();
    let known: Vec<&LocalSessionEntry> =
        entries.iter().filter(|entry| seen.insert((entry.agent, entry.id.as_str()))).collect();
    let exact: Vec<&LocalSessionEntry> =
        known.iter().copied().filter(|entry| entry.id.eq_ignore_ascii_case(id)).collect();
    let starts_with = |entry: &&LocalSessionEntry| {
        entry.id.get(..id.len()).is_some_and(|head| head.eq_ignore_ascii_case(id))
    };
    let found = if exact.is_empty() && id.len() >= MIN_ID_LENGTH {
        known.iter().copied().filter(starts_with).collect()
    } else {
        exact
    };
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(no_match_error(id, &known)),
        several => {
            let count = pluralize(several.len(), "session");
            Err(HelpfulError::new(format!("{count} match this prefix"))
                .help(format!("type more of the id: {}", format_names(several))))
        }
    }
}

fn no_match_error(id: &str, known: &[&LocalSessionEntry]) -> HelpfulError {
    let error = HelpfulError::new("no such file, folder or session");
    if known.is_empty() {
        return error.help(
            "a target is a file, a folder, a session id, or `-` for stdin; no agent has a session \
             on this machine",
        );
    }
    if id.len() < MIN_ID_LENGTH {
        return error.help(format!(
            "a session id needs at least {MIN_ID_LENGTH} characters; `foxwedge list` lists all"
        ));
    }
    let similar = find_similar(id, known);
    let (kind, shown) = if similar.is_empty() {
        let top_level = known.iter().copied().filter(|entry| !entry.is_sub_agent());
        ("newest", top_level.take(3).collect())
    } else {
        ("most similar", similar)
    };
    error.help(format!(
        "the {kind} sessions are {}; `foxwedge list` lists all",
        format_names(&shown)
    ))
}

/// Sessions whose id begins almost like the given one.
fn find_similar<'e>(id: &str, known: &[&'e LocalSessionEntry]) -> Vec<&'e LocalSessionEntry> {
    let head = |entry: &'e LocalSessionEntry| entry.id.get(..id.len()).unwrap_or(&entry.id);
    let Some(best) = nearest_name(id, known.iter().map(|entry| head(entry))) else {
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

/// The argument that names a session: an id of it, or its file if the id needs quotes.
pub fn command_argument(entry: &LocalSessionEntry, id: &str) -> String {
    match is_session_id(id) {
        true => id.to_owned(),
        false => shell_argument(&entry.path.to_string_lossy()),
    }
}

/// The shortest unique prefix of each id. What is no session id stays whole: a part of it would name
/// nothing.
pub fn shorten_ids<'e>(ids: impl Iterator<Item = &'e str> + Clone) -> Vec<&'e str> {
    let mut sorted: Vec<&str> = ids.clone().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |one: &str, two: &str| {
        one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count()
    };
    let cut = |id: &'e str| {
        if !is_session_id(id) {
            return id;
        }
        let Ok(at) = sorted.binary_search(&id) else { return id };
        let before = at.checked_sub(1).and_then(|at| sorted.get(at));
        let neighbors = before.into_iter().chain(sorted.get(at + 1));
        let mut end =
            neighbors.map(|other| shared(id, other) + 1).max().unwrap_or(0).max(MIN_SHOWN_LENGTH);
        // A dash at the end looks like a truncated id.
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
    fn sessions_are_found_by_id_prefix() {
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
            ("0199", Err("2 sessions match this prefix")),
            ("0a1b2c", Err("2 sessions match this prefix")),
            ("0a1", Err("no such file, folder or session")),
            ("0a1c2c3d", Err("no such file, folder or session")),
        ];
        for (id, expected) in table {
            let picked = find_session(id, &entries).map(|entry| entry.id.as_str());
            assert_eq!(picked.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn shown_ids_are_short_and_unique() {
        let ids = ["0199aaaa-bb-1", "0199aaaa-bb-2", "ffffffffff", "abc", "0199aaaa-cc"];
        let shown = ["0199aaaa-bb-1", "0199aaaa-bb-2", "ffffffff", "abc", "0199aaaa-c"];
        assert_eq!(shorten_ids(ids.into_iter()), shown);
        let copies = ["0199aaaa-bb (copy)", "0199aaaa-bb", "0199aaaa-bb.1", "ffffffff (copy 2)"];
        assert_eq!(shorten_ids(copies.into_iter()), copies);
    }
}
