//! `foxwedge store`: where runs are kept, and what becomes of old ones.

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

use crate::{
    cli::{StoreAction, StoreArgs},
    cli_output::{self, CliError, GOOD, clean, paint, pluralize},
    runs::{self, OpenStore, StoreLookup},
    screen::format_size,
};

/// Does what was asked for.
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

/// A store that is there.
async fn open(flag: Option<&str>) -> anyhow::Result<OpenStore> {
    match runs::open(flag).await? {
        StoreLookup::Found(kept) => Ok(kept),
        StoreLookup::Absent(url) => bail!(
            CliError::new(format!("nothing was kept yet: there is no {url}"))
                .help("--store or FOXWEDGE_STORE names another store")
        ),
    }
}

async fn sweep(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let kept = open(flag).await?;
    let swept = kept.sweep().await?;
    let mut lines = String::new();
    for swept in &swept {
        lines.push_str(&format!("{} {}", paint(GOOD, "closed"), swept.run.id));
        if let Some(damage) = &swept.damage {
            lines.push_str(&format!(": its log is damaged: {}", clean(damage)));
        }
        lines.push('\n');
    }
    cli_output::write_stdout(&lines)?;
    cli_output::write_stderr(&match swept.len() {
        0 => "No run was left behind.\n".to_owned(),
        closed => {
            format!("{} whose process is gone, closed as interrupted.\n", pluralize(closed, "run"))
        }
    });
    Ok(ExitCode::SUCCESS)
}

async fn compact(flag: Option<&str>) -> anyhow::Result<ExitCode> {
    let kept = open(flag).await?;
    let before = kept.with_store_error(kept.store.totals().await)?.bytes;
    kept.with_store_error(kept.store.compact().await)?;
    let after = kept.with_store_error(kept.store.totals().await)?.bytes;
    let told = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), format_size);
    let (before, after) = (told(before), told(after));
    cli_output::write_stderr(&format!(
        "{} {}: {before}, now {after}\n",
        paint(GOOD, "compacted"),
        kept.url
    ));
    Ok(ExitCode::SUCCESS)
}
