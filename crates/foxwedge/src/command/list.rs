//! `foxwedge list`: the sessions of every agent on this machine, and how each of them is.

use std::{collections::HashMap, path::Path, process::ExitCode, time::SystemTime};

use crate::{
    agents::{self, LocalSessionEntry, SessionListing, SessionOrigin, session_lookup},
    cli::{ListArgs, ListFormat},
    cli_output::{self, HELP, clean, paint, pluralize, write_stderr},
    disk, pool,
    sessions::{SessionHealth, SessionOverview, read_overview},
};

mod table;
mod document;

/// A session in the list.
pub(crate) struct ListedSessionRow {
    entry: LocalSessionEntry,
    glance: SessionOverview,
    /// The beginning of its id that names it.
    short: String,
    /// How many sub-agents it started.
    sub_agents: usize,
}

/// Lists sessions, the newest first.
pub(crate) fn run(args: ListArgs) -> anyhow::Result<ExitCode> {
    let found = agents::find(&args.agent);
    note_closed(&found);
    // What killed repairs and copies left half done.
    found.entries.iter().filter_map(|entry| entry.path.parent()).for_each(disk::sweep_folder);
    let rows = session_rows(&args, &found);
    match args.output_format {
        ListFormat::Text => {
            cli_output::write_stdout_styled(|out| table::write(out, &rows, SystemTime::now()))?
        }
        ListFormat::Json => cli_output::write_stdout_raw(|out| document::write(out, &rows))?,
    }
    if args.output_format == ListFormat::Text {
        write_stderr(&footer(&args, &found, &rows));
        if args.agent.is_empty() {
            note_unsupported();
        }
    }
    let read = rows.iter().filter(|row| row.glance.health != SessionHealth::Unreadable).count();
    let nothing_readable = read == 0 && (!rows.is_empty() || !found.unreadable.is_empty());
    Ok(if nothing_readable { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// What cannot be looked into is worth a note.
fn note_closed(found: &SessionListing) {
    for (path, error) in &found.unreadable {
        cli_output::print_note(&format!(
            "{}: cannot be read: {error}",
            clean(&path.to_string_lossy())
        ));
    }
}

/// Names agents that keep sessions here in a form that is not read.
fn note_unsupported() {
    let home = agents::home_folder();
    let named = agents::find_unsupported().into_iter().map(|(name, path)| {
        format!(
            "{name} ({})",
            clean(&crate::screen::abbreviate_home(&path.to_string_lossy(), home.as_deref()))
        )
    });
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        cli_output::print_note(&format!(
            "not read, because they are not supported yet: {}",
            named.join(", ")
        ));
    }
}

/// Looks at every session that is asked for.
fn session_rows(args: &ListArgs, found: &SessionListing) -> Vec<ListedSessionRow> {
    let short = session_lookup::shorten_ids(found.entries.iter().map(|entry| entry.id.as_str()));
    let mut sub_agents: HashMap<&str, usize> = HashMap::new();
    for entry in &found.entries {
        if let SessionOrigin::SubAgent(Some(parent)) = &entry.origin {
            *sub_agents.entry(parent).or_default() += 1;
        }
    }
    let wanted = |entry: &LocalSessionEntry| args.sub_agents || !entry.is_sub_agent();
    let chosen = found.entries.iter().zip(short).filter(|(entry, _)| wanted(entry));
    let most = args.limit.unwrap_or(usize::MAX);
    // Where every session is in the list, the others need not be read.
    let first = if args.broken || args.project.is_some() { usize::MAX } else { most };
    let chosen: Vec<(&LocalSessionEntry, &str)> = chosen.take(first).collect();
    let glances = pool::map(&chosen, true, |(entry, _)| read_overview(entry));
    let rows = chosen.into_iter().zip(glances).map(|((entry, short), glance)| ListedSessionRow {
        sub_agents: sub_agents.get(entry.id.as_str()).copied().unwrap_or(0),
        entry: entry.clone(),
        glance,
        short: short.to_owned(),
    });
    let project = args.project.as_deref().map(ProjectFilter::new);
    rows.filter(|row| !args.broken || row.glance.health != SessionHealth::Ok)
        .filter(|row| {
            project.as_ref().is_none_or(|project| project.contains(row.glance.project.as_deref()))
        })
        .take(most)
        .collect()
}

/// A folder that sessions are about.
struct ProjectFilter {
    path: std::path::PathBuf,
    slug: String,
}

impl ProjectFilter {
    fn new(path: &Path) -> ProjectFilter {
        let path = std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned());
        ProjectFilter { slug: slug(&path.to_string_lossy()), path }
    }

    /// Whether a session is about this folder or one in it. Some agents tell only a name made
    /// from the path.
    fn contains(&self, folder: Option<&str>) -> bool {
        let Some(folder) = folder else { return false };
        Path::new(folder).starts_with(&self.path)
            || !Path::new(folder).is_absolute() && slug(folder) == self.slug
    }
}

/// The letters and digits of a path, as agents make names from it.
fn slug(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// Counts by health, and what to do next.
fn footer(args: &ListArgs, found: &SessionListing, rows: &[ListedSessionRow]) -> String {
    if rows.is_empty() {
        let filtered = args.broken || args.project.is_some() || !args.agent.is_empty();
        return if filtered {
            "No such session found.\n".to_owned()
        } else {
            let places = found.describe_empty_folders();
            format!(
                "No session found: no agent that we know has one on this machine.\n\
                 Looked in {places}.\n"
            )
        };
    }
    let counts: Vec<String> = SessionHealth::ALL
        .into_iter()
        .map(|health| (health, rows.iter().filter(|row| row.glance.health == health).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(health, count)| paint(health.style(), format_args!("{count} {}", health.label())))
        .collect();
    let mut text = format!("{}: {}.\n", pluralize(rows.len(), "session"), counts.join(", "));
    if let Some(row) = rows.iter().find(|row| row.glance.is_fixable) {
        let help = paint(HELP, "help");
        text.push_str(&format!("  {help}: `foxwedge fix {}` repairs it", clean(&row.short)));
        text.push('\n');
    }
    text
}
