//! `foxwedge store`: maintains the store of recorded runs.

mod path;
mod check;
mod prune;
mod delete;
mod transfer;
mod confirm;

pub(super) use prune::parse_age;

use std::process::ExitCode;

use anyhow::bail;
use foxwedge_store::ArchiveStore;

use crate::cli::{StoreAction, StoreArgs};
use foxwedge_local::{
    language::localize,
    output::{self, GOOD, HelpfulError, clean, paint, pluralize},
    runs::{self, OpenStore, StoreLookup},
    screen::format_size,
};

/// Runs one `store` subcommand.
pub(crate) fn run(args: StoreArgs) -> anyhow::Result<ExitCode> {
    let flag = args.store.store.as_deref();
    runs::block_on(async {
        match &args.action {
            StoreAction::Path(args) => path::run(flag, args).await,
            StoreAction::Check => check::run(flag).await,
            StoreAction::Sweep => sweep(flag).await,
            StoreAction::Prune(args) => prune::run(flag, args).await,
            StoreAction::Delete(args) => delete::run(flag, args).await,
            StoreAction::Export(args) => transfer::export(flag, args).await,
            StoreAction::Import(args) => transfer::import(flag, args).await,
            StoreAction::Compact => compact(flag).await,
        }
    })
}

/// Opens an existing store.
async fn open(flag: Option<&str>) -> anyhow::Result<OpenStore> {
    match runs::open(flag).await? {
        StoreLookup::Found(open_store) => Ok(open_store),
        StoreLookup::Absent(url) => bail!(
            HelpfulError::new(format!("there is no store at {url}"))
                .help("--store or FOXWEDGE_STORE names another store")
        ),
    }
}

/// Removes the copies of files that a deleted session kept for `/undo files`.
fn remove_file_copies(session: &str) {
    if let Err(error) = foxwedge_chat::remove_file_copies(session) {
        output::print_note(&format!("its copies of files for `/undo files` remain: {error}"));
    }
}

async fn sweep(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let open_store = open(flag).await?;
    let swept = open_store.sweep().await?;
    let mut lines = String::new();
    for closed in &swept {
        lines.push_str(&format!("{} {}", paint(GOOD, localize("closed")), closed.run.id));
        if let Some(damage) = &closed.damage {
            let damaged = localize(format!("its log is damaged: {}", clean(damage)));
            lines.push_str(&format!(": {damaged}"));
        }
        lines.push('\n');
    }
    output::write_stdout(&lines)?;
    output::write_stderr(&match swept.len() {
        0 => localize("No runs to close.\n"),
        closed => {
            let runs = pluralize(closed, "run");
            localize(format!("{runs} whose process is gone, closed as interrupted.\n"))
        }
    });
    Ok(ExitCode::SUCCESS)
}

async fn compact(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let open_store = open(flag).await?;
    let before = open_store.with_store_error(open_store.store.totals().await)?.bytes;
    open_store.with_store_error(open_store.store.compact().await)?;
    let after = open_store.with_store_error(open_store.store.totals().await)?.bytes;
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), format_size);
    let (before, after) = (size(before), size(after));
    output::write_stderr(&localize(format!(
        "{} {}: {before}, now {after}\n",
        paint(GOOD, "compacted"),
        open_store.url
    )));
    Ok(ExitCode::SUCCESS)
}
