//! `foxwedge search`: the sessions that contain a text, newest first.

use std::{
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use crate::{
    cli::{ListFormat, SearchArgs},
    pool,
    sessions::project_filter::ProjectFilter,
    target,
};
use foxwedge_local::{
    agents::{self, LocalSessionEntry, session_lookup},
    calendar::format_timestamp,
    language::localize,
    output::{self, BOLD, DIM, HELP, HelpfulError, clean, cut, paint, pluralize, write_stderr},
    screen::{abbreviate_home, format_age},
    session_search::{SearchMatches, SessionSearchText, search_session},
};

/// Matches of one session that are listed.
const MAX_TEXT_MATCHES: usize = 2;
/// The same for programs.
const MAX_JSON_MATCHES: usize = 20;

/// A session with a match.
pub(crate) struct FoundSession {
    pub(crate) entry: LocalSessionEntry,
    /// The shortest unique prefix of its id.
    short_id: String,
    matches: SearchMatches,
}

#[derive(Serialize)]
pub(crate) struct SearchJson<'a> {
    version: u32,
    /// The number of sessions with a match, listed or not.
    total: usize,
    sessions: Vec<FoundSessionJson<'a>>,
}

#[derive(Serialize)]
struct FoundSessionJson<'a> {
    agent: &'static str,
    product: &'static str,
    id: &'a str,
    path: String,
    project: Option<&'a str>,
    title: Option<&'a str>,
    modified: String,
    /// The number of all matches, listed or not.
    total: usize,
    matches: Vec<MatchJson<'a>>,
}

#[derive(Serialize)]
struct MatchJson<'a> {
    message_index: usize,
    role: &'static str,
    snippet: &'a str,
}

/// Searches the sessions.
pub(crate) fn run(args: SearchArgs) -> anyhow::Result<ExitCode> {
    let Some(text) = SessionSearchText::new(&args.text.join(" ")) else {
        return Err(HelpfulError::new("there is no text to search for").into());
    };
    let is_json = args.json || args.output_format == ListFormat::Json;
    let max = if is_json { MAX_JSON_MATCHES } else { MAX_TEXT_MATCHES };
    let sessions = target::list_sessions(&args.agent);
    let mut found = search(&sessions, &text, args.sub_agents, max);
    if let Some(project) = args.project.as_deref().map(ProjectFilter::new) {
        found.retain(|one| project.contains(one.matches.project.as_deref()));
    }
    let total = found.len();
    found.truncate(args.limit.get());
    if is_json {
        output::write_stdout_raw(|out| crate::report::write_pretty(out, &document(&found, total)))?;
    } else {
        output::write_stdout(&format_found(&found))?;
        write_stderr(&footer(&found, total));
    }
    Ok(if total > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The sessions with a match, newest first.
pub(crate) fn search(
    sessions: &[LocalSessionEntry],
    text: &SessionSearchText,
    sub_agents: bool,
    max_matches: usize,
) -> Vec<FoundSession> {
    let ids = session_lookup::shorten_ids(sessions.iter().map(|entry| entry.id.as_str()));
    let searched: Vec<(&LocalSessionEntry, &str)> =
        sessions.iter().zip(ids).filter(|(entry, _)| sub_agents || !entry.is_sub_agent()).collect();
    let found = pool::map(&searched, true, |(entry, short_id)| {
        let matches = search_session(entry, text, max_matches)?;
        let (entry, short_id) = ((*entry).clone(), (*short_id).to_owned());
        Some(FoundSession { entry, short_id, matches })
    });
    found.into_iter().flatten().collect()
}

/// The found sessions as a document.
pub(crate) fn document(found: &[FoundSession], total: usize) -> SearchJson<'_> {
    SearchJson { version: 1, total, sessions: found.iter().map(session_json).collect() }
}

fn session_json(one: &FoundSession) -> FoundSessionJson<'_> {
    let FoundSession { entry, matches, .. } = one;
    let modified = entry.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    FoundSessionJson {
        agent: entry.agent.name(),
        product: entry.product,
        id: &entry.id,
        path: entry.path.to_string_lossy().into_owned(),
        project: matches.project.as_deref(),
        title: matches.title.as_deref(),
        modified: format_timestamp(modified.as_secs()),
        total: matches.total,
        matches: matches
            .matches
            .iter()
            .map(|one| MatchJson {
                message_index: one.message,
                role: one.role,
                snippet: &one.snippet,
            })
            .collect(),
    }
}

fn format_found(found: &[FoundSession]) -> String {
    let (now, home) = (SystemTime::now(), agents::home_folder());
    let mut text = String::new();
    for one in found {
        let FoundSession { entry, short_id, matches } = one;
        let project = matches.project.as_deref().unwrap_or_default();
        let project = abbreviate_home(project, home.as_deref());
        let title = matches.title.as_deref().unwrap_or_default();
        let line = format!(
            "{}  {}  {}  {}  {}",
            paint(BOLD, clean(short_id)),
            entry.product,
            localize(format_age(entry.modified, now)),
            clean(&project),
            clean(&cut(title, 60)),
        );
        text.push_str(&format!("{}\n", line.trim_end()));
        for found in &matches.matches {
            let place = paint(DIM, format_args!("{:>5} {:<9}", found.message, found.role));
            text.push_str(&format!("  {place}  {}\n", clean(&found.snippet)));
        }
        let more = matches.total.saturating_sub(matches.matches.len());
        if more > 0 {
            let more = localize(format!("… and {more} more"));
            text.push_str(&format!("  {}\n", paint(DIM, more)));
        }
    }
    text
}

fn footer(found: &[FoundSession], total: usize) -> String {
    let Some(first) = found.first() else {
        return localize("No session contains it.\n").into_owned();
    };
    let sessions = pluralize(total, "session");
    let count = localize(match total - found.len() {
        0 => format!("{sessions}."),
        more => format!("{sessions} ({more} more with a larger --limit)."),
    });
    let id = session_lookup::command_argument(&first.entry, &first.short_id);
    let show = localize(format!("`foxwedge show {id}` shows the first of them"));
    format!("{count}\n  {}: {show}\n", paint(HELP, localize("help")))
}
