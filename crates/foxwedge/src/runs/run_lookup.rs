//! Finds the run that somebody means, by its id or how the id begins.

use foxwedge_store::{ListFilter, ListPage, RunRow, Store};

use super::OpenStore;
use crate::cli_output::{CliError, clean, pluralize};

/// The fewest characters that name a run.
const MIN_ID_LENGTH: usize = 4;
/// Runs that are looked at for one that begins so, the newest first.
const MAX_SEARCHED: usize = 10_000;
const PAGE: usize = 1_000;
/// Runs that are named in a message.
const MAX_NAMED: usize = 5;

/// The run of that id, or the only one whose id begins so.
pub(crate) async fn find_run(kept: &OpenStore, typed: &str) -> anyhow::Result<RunRow> {
    if let Some(run) = kept.with_store_error(kept.store.run(typed).await)? {
        return Ok(run);
    }
    let mut found = Vec::new();
    let mut seen = 0;
    let mut page = ListPage { after: None, limit: PAGE };
    while typed.len() >= MIN_ID_LENGTH && seen < MAX_SEARCHED {
        let runs =
            kept.with_store_error(kept.store.runs(ListFilter::default(), page.clone()).await)?;
        let Some(last) = runs.last() else { break };
        page.after = Some(last.id.clone());
        seen += runs.len();
        found.extend(runs.into_iter().filter(|run| id_starts_with(&run.id, typed)));
    }
    let several = found.len();
    match (found.pop(), several) {
        (Some(run), 1) => Ok(run),
        (None, _) => Err(no_run_error(typed).into()),
        (Some(last), _) => {
            let ids =
                found.iter().chain([&last]).take(MAX_NAMED).map(|run| format!("`{}`", run.id));
            let more = several.saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let ids: Vec<String> = ids.collect();
            Err(CliError::new(format!("{} begin so", pluralize(several, "run")))
                .help(format!("type more of the id: {}{more}", ids.join(", ")))
                .into())
        }
    }
}

/// The run that began last.
pub(crate) async fn newest_run(kept: &OpenStore) -> anyhow::Result<RunRow> {
    let page = ListPage { after: None, limit: 1 };
    let runs = kept.with_store_error(kept.store.runs(ListFilter::default(), page).await)?;
    runs.into_iter().next().ok_or_else(|| {
        CliError::new("no run is kept yet")
            .help("`… | foxwedge follow --store FILE` keeps one")
            .into()
    })
}

fn id_starts_with(id: &str, typed: &str) -> bool {
    // Nobody types what all of them have.
    let bare = id.strip_prefix("run-").unwrap_or(id);
    let head =
        |id: &str| id.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed));
    head(id) || head(bare)
}

fn no_run_error(typed: &str) -> CliError {
    let trouble = CliError::new(format!("there is no run `{}`", clean(typed)));
    match typed.len() {
        0..MIN_ID_LENGTH => trouble.help(format!(
            "the id of a run can be cut to {MIN_ID_LENGTH} characters and no less; `foxwedge runs` lists all"
        )),
        _ => trouble.help("`foxwedge runs` lists the newest"),
    }
}
