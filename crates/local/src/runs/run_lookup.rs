//! Finds a run by its id or the beginning of its id.

use foxwedge_store::{ListFilter, ListPage, RunRow, Store};

use super::OpenStore;
use crate::output::{HelpfulError, clean, pluralize};

/// Fewest characters of an id that select a run.
const MIN_ID_LENGTH: usize = 4;
/// Runs that are searched for an id prefix, newest first.
const MAX_SEARCHED: usize = 10_000;
const PAGE: usize = 1_000;
/// Runs that are listed in a message.
const MAX_NAMED: usize = 5;

/// The run with that id, or the only one whose id begins with it.
pub async fn find_run(store: &OpenStore, id: &str) -> anyhow::Result<RunRow> {
    if let Some(run) = store.with_store_error(store.store.run(id).await)? {
        return Ok(run);
    }
    let mut found = Vec::new();
    let mut seen = 0;
    let mut page = ListPage { after: None, limit: PAGE };
    while id.len() >= MIN_ID_LENGTH && seen < MAX_SEARCHED {
        let runs =
            store.with_store_error(store.store.runs(ListFilter::default(), page.clone()).await)?;
        let Some(last) = runs.last() else { break };
        page.after = Some(last.id.clone());
        seen += runs.len();
        found.extend(runs.into_iter().filter(|run| id_starts_with(&run.id, id)));
    }
    let several = found.len();
    match (found.pop(), several) {
        (Some(run), 1) => Ok(run),
        (None, _) => Err(no_run_error(id).into()),
        (Some(last), _) => {
            let ids =
                found.iter().chain([&last]).take(MAX_NAMED).map(|run| format!("`{}`", run.id));
            let more = several.saturating_sub(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let ids: Vec<String> = ids.collect();
            Err(HelpfulError::new(format!("{} match this prefix", pluralize(several, "run")))
                .help(format!("type more of the id: {}{more}", ids.join(", ")))
                .into())
        }
    }
}

/// The run that started last.
pub async fn newest_run(store: &OpenStore) -> anyhow::Result<RunRow> {
    let page = ListPage { after: None, limit: 1 };
    let runs = store.with_store_error(store.store.runs(ListFilter::default(), page).await)?;
    runs.into_iter().next().ok_or_else(|| {
        HelpfulError::new("no run is recorded yet")
            .help("`… | foxwedge follow --store FILE` records one")
            .into()
    })
}

fn id_starts_with(id: &str, prefix: &str) -> bool {
    // The common prefix may be omitted.
    let bare = id.strip_prefix("run-").unwrap_or(id);
    let head =
        |id: &str| id.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    head(id) || head(bare)
}

fn no_run_error(id: &str) -> HelpfulError {
    let error = HelpfulError::new(format!("there is no run `{}`", clean(id)));
    match id.len() {
        0..MIN_ID_LENGTH => error.help(format!(
            "a run id needs at least {MIN_ID_LENGTH} characters; `foxwedge runs` lists all"
        )),
        _ => error.help("`foxwedge runs` lists the newest"),
    }
}
