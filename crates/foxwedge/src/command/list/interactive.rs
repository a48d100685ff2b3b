//! `foxwedge list -i`: a list to choose a session from, and what to do with it.

use std::{ffi::OsString, process::ExitCode, time::SystemTime};

use anstyle::Style;
use foxwedge_chat::{PickerRow, pick};

use super::{ListedSessionRow, table};
use crate::{
    cli::{CliCommand, CommandLine},
    command::continue_session::session_ref,
};
use foxwedge_local::{
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

/// Lets the user choose a session and an action, and performs it.
pub(super) fn run(rows: &[ListedSessionRow]) -> anyhow::Result<ExitCode> {
    if rows.is_empty() {
        return Err(HelpfulError::new("there is no session to choose").into());
    }
    let listed = table::picker_rows(rows, SystemTime::now());
    let mut first = 0;
    while let Some(row) = pick(&localize("Sessions"), &listed, first)? {
        first = row;
        let Some(chosen) = rows.get(row) else { continue };
        let actions = actions(chosen);
        let named: Vec<PickerRow> = actions.iter().map(|(_, text)| action_row(text)).collect();
        let title = format!("{} {}", chosen.entry.product, clean(&chosen.short_id));
        if let Some((action, _)) = pick(&title, &named, 0)?.and_then(|at| actions.get(at)) {
            return perform(*action, chosen);
        }
    }
    Ok(ExitCode::SUCCESS)
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
