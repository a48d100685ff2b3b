//! `foxwedge store delete`: deletes sessions with everything in them, or single runs.

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_store::Store;

use super::confirm::confirmed;
use crate::{
    cli::DeleteArgs,
    runs::Kept,
    say::{self, GOOD, Trouble, clean, count, paint},
};

/// What an id stands for.
enum Named {
    Session(String),
    Run(String),
}

/// Deletes what was named. Nothing is deleted if one of the names is wrong.
pub(super) async fn run(flag: Option<&str>, args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let kept = super::open(flag).await?;
    kept.sweep().await?;
    let mut named = Vec::new();
    for id in &args.ids {
        named.push(find(&kept, id).await?);
    }
    if !confirmed(args.yes, &question(&named))? {
        return Ok(ExitCode::FAILURE);
    }
    let mut code = ExitCode::SUCCESS;
    for named in named {
        let (what, id, gone) = match &named {
            Named::Session(id) => ("session", id, kept.store.delete_session(id).await),
            Named::Run(id) => ("run", id, kept.store.delete_run(id).await),
        };
        match kept.or_tell(gone) {
            Ok(true) => say::talk(&format!("{} {what} {id}\n", paint(GOOD, "deleted"))),
            // A session that was named, too, took it along.
            Ok(false) => say::note(&format!("{what} {id} is gone already")),
            Err(error) => {
                say::error(&error);
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

async fn find(kept: &Kept, id: &str) -> anyhow::Result<Named> {
    let run = kept.or_tell(kept.store.run(id).await)?;
    let session = kept.or_tell(kept.store.session(id).await)?;
    match (run, session) {
        (Some(_), None) => Ok(Named::Run(id.to_owned())),
        // A run without a session of its own lies in one that is called like it.
        (_, Some(_)) => Ok(Named::Session(id.to_owned())),
        (None, None) => {
            bail!(Trouble::new(format!("there is no session and no run `{}`", clean(id))).help(
                "nothing was deleted; ids have to be whole here: `foxwedge runs --json` tells them"
            ))
        }
    }
}

fn question(named: &[Named]) -> String {
    let runs = named.iter().filter(|named| matches!(named, Named::Run(_))).count();
    let sessions = named.len() - runs;
    let mut parts = Vec::new();
    if sessions > 0 {
        let whose = if sessions == 1 { "its" } else { "their" };
        parts.push(format!("{} with all {whose} runs", count(sessions, "session")));
    }
    if runs > 0 {
        parts.push(count(runs, "run"));
    }
    format!("Delete {}?", parts.join(" and "))
}
