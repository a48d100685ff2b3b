//! `foxwedge list -i`: a list to choose a session from, and what to do with it.

use std::{
    ffi::OsString,
    io,
    process::ExitCode,
    sync::{Mutex, MutexGuard, mpsc},
    thread,
    time::SystemTime,
};

use anstyle::Style;
use foxwedge_chat::{PickerRow, PickerRows, pick};

use super::{ListedSessionRow, read_rows, table::PickerTable};
use crate::{
    cli::{CliCommand, CommandLine, ListArgs},
    command::continue_session::session_ref,
};
use foxwedge_local::{
    agents::SessionListing,
    language::localize,
    output::{HelpfulError, clean},
};

/// What can be done with a chosen session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SessionAction {
    Continue,
    Fix,
    Show,
}

/// What the user chose.
type ChosenAction = (SessionAction, ListedSessionRow);

/// Lets the user choose a session and an action, and performs it. Sessions are shown as they are read.
pub(super) fn run(args: &ListArgs, listing: &SessionListing) -> anyhow::Result<ExitCode> {
    let rows = Mutex::new(Vec::new());
    let chosen = thread::scope(|scope| {
        let (sender, more) = mpsc::channel();
        scope.spawn(|| {
            let sender = sender;
            // It ends early when the choice is made, and nobody receives the rows.
            let _ = send_rows(args, listing, &rows, &sender);
        });
        choose(PickerRows::growing(more), &rows)
    });
    match chosen? {
        // Nothing is read any more, so that a database is free to be repaired.
        Some((action, row)) => perform(action, &row),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Reads the sessions and sends a row for each of them.
fn send_rows(
    args: &ListArgs,
    listing: &SessionListing,
    rows: &Mutex<Vec<ListedSessionRow>>,
    sender: &mpsc::Sender<PickerRow>,
) -> io::Result<()> {
    let mut table = PickerTable::new(SystemTime::now());
    let send = |ready: Vec<PickerRow>| {
        let sent = ready.into_iter().try_for_each(|row| sender.send(row));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    };
    read_rows(args, listing, |row| {
        let mut rows = lock(rows);
        rows.push(row);
        send(table.ready_rows(&rows))
    })?;
    send(table.rest(&lock(rows)))
}

fn lock(rows: &Mutex<Vec<ListedSessionRow>>) -> MutexGuard<'_, Vec<ListedSessionRow>> {
    rows.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// A session and an action; `None` if the user leaves.
fn choose(
    mut listed: PickerRows,
    rows: &Mutex<Vec<ListedSessionRow>>,
) -> anyhow::Result<Option<ChosenAction>> {
    if listed.is_empty() {
        return Err(HelpfulError::new("there is no session to choose").into());
    }
    let mut first = 0;
    while let Some(row) = pick(&localize("Sessions"), &mut listed, first)? {
        first = row;
        let Some(chosen) = lock(rows).get(row).cloned() else { continue };
        let actions = actions(&chosen);
        let named = actions.iter().map(|(_, text)| action_row(text)).collect();
        let title = format!("{} {}", chosen.entry.product, clean(&chosen.short_id));
        let picked = pick(&title, &mut PickerRows::complete(named), 0)?;
        if let Some((action, _)) = picked.and_then(|at| actions.get(at)) {
            return Ok(Some((*action, chosen)));
        }
    }
    Ok(None)
}

fn action_row(text: &str) -> PickerRow {
    PickerRow { status: (Style::new(), String::new()), text: text.to_owned() }
}

/// The actions for a session, the most likely one first.
fn actions(row: &ListedSessionRow) -> Vec<(SessionAction, String)> {
    let fixable = row.overview.is_fixable;
    let mut actions = Vec::new();
    if let Some(command) = session_ref(&row.entry, &row.overview).resume()
        && !row.entry.is_sub_agent()
    {
        let program = command.program;
        let action = match fixable {
            true => format!("Repair it, and continue in {program}"),
            false => format!("Continue in {program}"),
        };
        actions.push((SessionAction::Continue, localize(action).into_owned()));
    }
    if fixable {
        actions.push((SessionAction::Fix, localize("Repair it").into_owned()));
    }
    actions.push((SessionAction::Show, localize("Show it").into_owned()));
    actions
}

/// Runs the command that the action stands for.
fn perform(action: SessionAction, row: &ListedSessionRow) -> anyhow::Result<ExitCode> {
    let name = match action {
        SessionAction::Continue => "continue",
        SessionAction::Fix => "fix",
        SessionAction::Show => "show",
    };
    let words = [name, &row.entry.id, "--agent", row.entry.agent.name()];
    match CommandLine::parse_command(words.map(OsString::from))? {
        CliCommand::Continue(args) => crate::command::continue_session::run(args),
        CliCommand::Fix(args) => crate::command::fix::run(*args),
        CliCommand::Show(args) => crate::command::show::run(args),
        _ => Ok(ExitCode::FAILURE),
    }
}
