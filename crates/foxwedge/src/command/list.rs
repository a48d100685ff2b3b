//! `foxwedge list`: the sessions of every agent on this machine, and how each of them is.

use std::{collections::HashMap, path::Path, process::ExitCode, time::SystemTime};

use crate::{
    agents::{self, Entry, Found, Rank, pick},
    cli::{ListArgs, ListFormat},
    disk, pool,
    say::{self, HELP, clean, count, paint, talk},
    sessions::{Glance, Health, glance},
};

mod table;
mod document;

/// A session in the list.
pub(crate) struct Row {
    entry: Entry,
    glance: Glance,
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
    let rows = rows(&args, &found);
    match args.output_format {
        ListFormat::Text => say::dressed(|out| table::write(out, &rows, SystemTime::now()))?,
        ListFormat::Json => say::plain(|out| document::write(out, &rows))?,
    }
    if args.output_format == ListFormat::Text {
        talk(&footer(&args, &found, &rows));
        if args.agent.is_empty() {
            note_unsupported();
        }
    }
    let read = rows.iter().filter(|row| row.glance.health != Health::Unreadable).count();
    let nothing_readable = read == 0 && (!rows.is_empty() || !found.closed.is_empty());
    Ok(if nothing_readable { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// What cannot be looked into is worth a note.
fn note_closed(found: &Found) {
    for (path, error) in &found.closed {
        say::note(&format!("{}: cannot be read: {error}", clean(&path.to_string_lossy())));
    }
}

/// Names agents that keep sessions here in a form that is not read.
fn note_unsupported() {
    let home = agents::home();
    let named = agents::unsupported().into_iter().map(|(name, path)| {
        format!(
            "{name} ({})",
            clean(&crate::screen::tilde(&path.to_string_lossy(), home.as_deref()))
        )
    });
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        say::note(&format!("not read, because they are not supported yet: {}", named.join(", ")));
    }
}

/// Looks at every session that is asked for.
fn rows(args: &ListArgs, found: &Found) -> Vec<Row> {
    let short = pick::short(found.entries.iter().map(|entry| entry.id.as_str()));
    let mut sub_agents: HashMap<&str, usize> = HashMap::new();
    for entry in &found.entries {
        if let Rank::SubAgent(Some(parent)) = &entry.rank {
            *sub_agents.entry(parent).or_default() += 1;
        }
    }
    let wanted = |entry: &Entry| args.sub_agents || !entry.is_sub_agent();
    let chosen = found.entries.iter().zip(short).filter(|(entry, _)| wanted(entry));
    let most = args.limit.unwrap_or(usize::MAX);
    // Where every session is in the list, the others need not be read.
    let first = if args.broken || args.project.is_some() { usize::MAX } else { most };
    let chosen: Vec<(&Entry, &str)> = chosen.take(first).collect();
    let glances = pool::map(&chosen, true, |(entry, _)| glance(entry));
    let rows = chosen.into_iter().zip(glances).map(|((entry, short), glance)| Row {
        sub_agents: sub_agents.get(entry.id.as_str()).copied().unwrap_or(0),
        entry: entry.clone(),
        glance,
        short: short.to_owned(),
    });
    let project = args.project.as_deref().map(Project::new);
    rows.filter(|row| !args.broken || row.glance.health != Health::Ok)
        .filter(|row| {
            project.as_ref().is_none_or(|project| project.holds(row.glance.project.as_deref()))
        })
        .take(most)
        .collect()
}

/// A folder that sessions are about.
struct Project {
    path: std::path::PathBuf,
    slug: String,
}

impl Project {
    fn new(path: &Path) -> Project {
        let path = std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned());
        Project { slug: slug(&path.to_string_lossy()), path }
    }

    /// Whether a session is about this folder or one in it. Some agents tell only a name made
    /// from the path.
    fn holds(&self, folder: Option<&str>) -> bool {
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
fn footer(args: &ListArgs, found: &Found, rows: &[Row]) -> String {
    if rows.is_empty() {
        let filtered = args.broken || args.project.is_some() || !args.agent.is_empty();
        return if filtered {
            "No such session found.\n".to_owned()
        } else {
            let places = found.places();
            format!(
                "No session found: no agent that we know has one on this machine.\n\
                 Looked in {places}.\n"
            )
        };
    }
    let counts: Vec<String> = Health::ALL
        .into_iter()
        .map(|health| (health, rows.iter().filter(|row| row.glance.health == health).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(health, count)| paint(health.style(), format_args!("{count} {}", health.word())))
        .collect();
    let mut text = format!("{}: {}.\n", count(rows.len(), "session"), counts.join(", "));
    if let Some(row) = rows.iter().find(|row| row.glance.healable) {
        let help = paint(HELP, "help");
        text.push_str(&format!("  {help}: `foxwedge fix {}` repairs it", clean(&row.short)));
        text.push('\n');
    }
    text
}
