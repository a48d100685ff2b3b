//! `foxwedge store delete`: deletes sessions with all their runs, or single runs.

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_store::Store;

use super::confirm::confirm;
use crate::cli::DeleteArgs;
use foxwedge_local::{
    language::localize,
    output::{self, GOOD, HelpfulError, clean, paint, pluralize},
    runs::OpenStore,
};

/// A session or run to delete.
enum DeleteTarget {
    Session(String),
    Run(String),
}

/// Deletes the named sessions and runs. If one id is unknown, nothing is deleted.
pub(super) async fn run(flag: Option<&str>, args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let open_store = super::open(flag).await?;
    open_store.sweep().await?;
    let mut targets = Vec::new();
    for id in &args.ids {
        targets.push(find_target(&open_store, id).await?);
    }
    if !confirm(args.yes, &delete_question(&targets))? {
        return Ok(ExitCode::FAILURE);
    }
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        let (kind, id, deleted) = match &target {
            DeleteTarget::Session(id) => ("session", id, open_store.store.delete_session(id).await),
            DeleteTarget::Run(id) => ("run", id, open_store.store.delete_run(id).await),
        };
        match open_store.with_store_error(deleted) {
            Ok(true) => {
                let line = format!("{} {kind} {id}\n", paint(GOOD, "deleted"));
                output::write_stderr(&localize(line));
                if let DeleteTarget::Session(id) = &target {
                    super::remove_file_copies(id);
                }
            }
            // It was deleted together with its session.
            Ok(false) => output::print_note(&format!("{kind} {id} is already deleted")),
            Err(error) => {
                output::print_error(&error);
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

async fn find_target(open_store: &OpenStore, id: &str) -> anyhow::Result<DeleteTarget> {
    let run = open_store.with_store_error(open_store.store.run(id).await)?;
    let session = open_store.with_store_error(open_store.store.session(id).await)?;
    match (run, session) {
        (Some(_), None) => Ok(DeleteTarget::Run(id.to_owned())),
        // A run without a session is stored in a session with the same id.
        (_, Some(_)) => Ok(DeleteTarget::Session(id.to_owned())),
        (None, None) => {
            bail!(HelpfulError::new(format!("there is no session or run `{}`", clean(id))).help(
                "nothing was deleted; ids must be complete: `foxwedge runs --json` lists them"
            ))
        }
    }
}

fn delete_question(targets: &[DeleteTarget]) -> String {
    let runs = targets.iter().filter(|target| matches!(target, DeleteTarget::Run(_))).count();
    let sessions = targets.len() - runs;
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
