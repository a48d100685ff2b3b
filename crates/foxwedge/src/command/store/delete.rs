//! `foxwedge store delete`: deletes sessions with everything in them, or single runs.

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_store::Store;

use super::confirm::confirm;
use crate::{
    cli::DeleteArgs,
    cli_output::{self, CliError, GOOD, clean, paint, pluralize},
    runs::OpenStore,
};

/// What an id stands for.
enum DeleteTarget {
    Session(String),
    Run(String),
}

/// Deletes what was named. Nothing is deleted if one of the names is wrong.
pub(super) async fn run(flag: Option<&str>, args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    kept.sweep().await?;
    let mut named = Vec::new();
    for id in &args.ids {
        named.push(find_target(&kept, id).await?);
    }
    if !confirm(args.yes, &delete_question(&named))? {
        return Ok(ExitCode::FAILURE);
    }
    let mut code = ExitCode::SUCCESS;
    for named in named {
        let (what, id, gone) = match &named {
            DeleteTarget::Session(id) => ("session", id, kept.store.delete_session(id).await),
            DeleteTarget::Run(id) => ("run", id, kept.store.delete_run(id).await),
        };
        match kept.with_store_error(gone) {
            Ok(true) => {
                cli_output::write_stderr(&format!("{} {what} {id}\n", paint(GOOD, "deleted")))
            }
            // A session that was named, too, took it along.
            Ok(false) => cli_output::print_note(&format!("{what} {id} is gone already")),
            Err(error) => {
                cli_output::print_error(&error);
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

async fn find_target(kept: &OpenStore, id: &str) -> anyhow::Result<DeleteTarget> {
    let run = kept.with_store_error(kept.store.run(id).await)?;
    let session = kept.with_store_error(kept.store.session(id).await)?;
    match (run, session) {
        (Some(_), None) => Ok(DeleteTarget::Run(id.to_owned())),
        // A run without a session of its own lies in one that is called like it.
        (_, Some(_)) => Ok(DeleteTarget::Session(id.to_owned())),
        (None, None) => {
            bail!(CliError::new(format!("there is no session and no run `{}`", clean(id))).help(
                "nothing was deleted; ids have to be whole here: `foxwedge runs --json` tells them"
            ))
        }
    }
}

fn delete_question(named: &[DeleteTarget]) -> String {
    let runs = named.iter().filter(|named| matches!(named, DeleteTarget::Run(_))).count();
    let sessions = named.len() - runs;
    let mut parts = Vec::new();
    if sessions > 0 {
        let whose = if sessions == 1 { "its" } else { "their" };
        parts.push(format!("{} with all {whose} runs", pluralize(sessions, "session")));
    }
    if runs > 0 {
        parts.push(pluralize(runs, "run"));
    }
    format!("Delete {}?", parts.join(" and "))
}
