//! `foxwedge list`: the sessions of every agent on this machine, and their health.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    num::NonZeroUsize,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use crate::cli::{ListArgs, ListFormat};
use crate::{pool, sessions::project_filter::ProjectFilter};
use foxwedge_local::{
    agents::{self, LocalSessionEntry, SessionListing, SessionOrigin, session_lookup},
    disk,
    language::{list_separator, localize},
    output::{self, clean, format_help, paint, pluralize, write_stderr},
    session_health::SessionHealth,
    session_overview::{SessionOverview, read_overview},
};

mod table;
mod document;
mod interactive;

use table::ListTable;

/// A session in the list.
#[derive(Clone)]
pub(crate) struct ListedSessionRow {
    entry: LocalSessionEntry,
    overview: SessionOverview,
    /// The shortest unique prefix of its id.
    short_id: String,
    /// The number of sub-agents it started.
    sub_agents: usize,
}

/// Lists sessions, the newest first. A text is written as far as the sessions were read.
pub(crate) fn run(args: ListArgs) -> anyhow::Result<ExitCode> {
    let listing = agents::find(&args.agent);
    note_unreadable(&listing);
    // Removes temporary files of interrupted repairs and copies.
    let folders = listing.entries.iter().filter_map(|entry| entry.path.parent());
    folders.collect::<BTreeSet<_>>().into_iter().for_each(disk::sweep_folder);
    if args.interactive {
        return interactive::run(&args, &listing);
    }
    let mut rows = Vec::new();
    match args.output_format {
        ListFormat::Text => output::write_stdout_styled(|out| {
            let mut table = ListTable::new(SystemTime::now());
            read_rows(&args, &listing, |row| {
                rows.push(row);
                table.write_ready(out, &rows)
            })?;
            table.finish(out, &rows)
        })?,
        ListFormat::Json => {
            read_rows(&args, &listing, |row| {
                rows.push(row);
                Ok(())
            })?;
            output::write_stdout_raw(|out| document::write(out, &rows))?
        }
    }
    if args.output_format == ListFormat::Text {
        write_stderr(&footer(&args, &listing, &rows));
        if args.agent.is_empty() {
            note_unsupported();
        }
        note_links(&listing);
    }
    let read = rows.iter().filter(|row| row.overview.health != SessionHealth::Unreadable).count();
    let nothing_readable = read == 0 && (!rows.is_empty() || !listing.unreadable.is_empty());
    Ok(if nothing_readable { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Prints a note for each folder or file that cannot be read.
fn note_unreadable(listing: &SessionListing) {
    for (path, error) in &listing.unreadable {
        output::print_note(&format!("{}: cannot be read: {error}", clean(&path.to_string_lossy())));
    }
}

/// Names links where sessions are.
fn note_links(listing: &SessionListing) {
    let Some(first) = listing.links.first() else { return };
    let first = clean(&first.to_string_lossy());
    let more = match listing.links.len() {
        1 => String::new(),
        links => format!(" ({} more)", links - 1),
    };
    output::print_note(&format!("links are not listed, name what they lead to: {first}{more}"));
}

/// Names agents with sessions on this machine whose format is not supported.
fn note_unsupported() {
    let home = agents::home_folder();
    let names = agents::find_unsupported().into_iter().map(|(name, path)| {
        format!(
            "{name} ({})",
            clean(&foxwedge_local::screen::abbreviate_home(
                &path.to_string_lossy(),
                home.as_deref()
            ))
        )
    });
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        output::print_note(&format!("not supported yet, so not read: {}", names.join(", ")));
    }
}

/// Reads the sessions that the flags select, and passes each of them on as soon as it and all before it
/// are read. An error of `take` ends that.
fn read_rows(
    args: &ListArgs,
    listing: &SessionListing,
    mut take: impl FnMut(ListedSessionRow) -> io::Result<()>,
) -> io::Result<()> {
    let short_ids =
        session_lookup::shorten_ids(listing.entries.iter().map(|entry| entry.id.as_str()));
    let mut sub_agents: HashMap<&str, usize> = HashMap::new();
    for entry in &listing.entries {
        if let SessionOrigin::SubAgent(Some(parent)) = &entry.origin {
            *sub_agents.entry(parent).or_default() += 1;
        }
    }
    let is_selected = |entry: &LocalSessionEntry| args.sub_agents || !entry.is_sub_agent();
    let selected = listing.entries.iter().zip(short_ids).filter(|(entry, _)| is_selected(entry));
    let limit = args.limit.map_or(usize::MAX, NonZeroUsize::get);
    // Without a filter on content, only the sessions in the list are read.
    let read_limit = if args.broken || args.project.is_some() { usize::MAX } else { limit };
    let selected: Vec<(&LocalSessionEntry, &str)> = selected.take(read_limit).collect();
    let project = args.project.as_deref().map(ProjectFilter::new);
    let is_wanted = |overview: &SessionOverview| {
        let is_about = |project: &ProjectFilter| project.contains(overview.project.as_deref());
        (!args.broken || overview.health != SessionHealth::Ok)
            && project.as_ref().is_none_or(is_about)
    };
    let is_done = AtomicBool::new(false);
    let read = |(entry, short_id): &(&LocalSessionEntry, &str)| {
        (!is_done.load(Ordering::Relaxed)).then(|| ListedSessionRow {
            sub_agents: sub_agents.get(entry.id.as_str()).copied().unwrap_or(0),
            overview: read_overview(entry),
            entry: (*entry).clone(),
            short_id: (*short_id).to_owned(),
        })
    };
    let (mut taken, mut outcome) = (0, Ok(()));
    pool::for_each(&selected, !args.interactive, read, |row| {
        let Some(row) = row.filter(|row| taken < limit && is_wanted(&row.overview)) else { return };
        taken += 1;
        if outcome.is_ok() {
            outcome = take(row);
        }
        if taken >= limit || outcome.is_err() {
            is_done.store(true, Ordering::Relaxed);
        }
    });
    outcome
}

/// Maximum number of sessions that the next command names.
const MAX_NAMED: usize = 3;

/// Counts by health, and the next command.
fn footer(args: &ListArgs, listing: &SessionListing, rows: &[ListedSessionRow]) -> String {
    if rows.is_empty() {
        let filtered = args.broken || args.project.is_some() || !args.agent.is_empty();
        return if filtered {
            localize("No matching sessions found.\n").into_owned()
        } else {
            let places = listing.describe_empty_folders();
            let none = localize("No sessions found: no supported agent has any on this machine.\n");
            format!("{none}{}", localize(format!("Looked in {places}.\n")))
        };
    }
    let counts: Vec<String> = SessionHealth::ALL
        .into_iter()
        .map(|health| (health, rows.iter().filter(|row| row.overview.health == health).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(health, count)| {
            paint(health.style(), localize(format!("{count} {}", health.label())))
        })
        .collect();
    let sessions = pluralize(rows.len(), "session");
    let counts = counts.join(list_separator());
    let mut text = localize(format!("{sessions}: {counts}.\n")).into_owned();
    let argument =
        |row: &ListedSessionRow| session_lookup::command_argument(&row.entry, &row.short_id);
    let fixable: Vec<String> =
        rows.iter().filter(|row| row.overview.is_fixable).map(argument).collect();
    let repairs = match fixable.as_slice() {
        [] => return text,
        [only] => format!("`foxwedge fix {only}` repairs it"),
        [..] if fixable.len() <= MAX_NAMED => {
            format!("`foxwedge fix {}` repairs them", fixable.join(" "))
        }
        [first, ..] if args.project.is_some() => {
            format!("`foxwedge fix {first}` repairs the first of them")
        }
        [first, ..] => {
            let agents: Vec<&str> = args.agent.iter().map(|agent| agent.name()).collect();
            match agents.join(",") {
                all if all.is_empty() => format!(
                    "`foxwedge fix {first}` repairs the first of them, `foxwedge fix --broken` all"
                ),
                agents => format!(
                    "`foxwedge fix {first}` repairs the first of them, `fix --broken --agent {agents}` all"
                ),
            }
        }
    };
    text.push_str(&format_help(&repairs));
    text
}
