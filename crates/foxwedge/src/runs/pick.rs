//! Finds the run that somebody means, by its id or how the id begins.

use foxwedge_store::{Filter, Page, RunRow, Store};

use super::Kept;
use crate::say::{Trouble, clean, count};

/// The fewest characters that name a run.
const LEAST: usize = 4;
/// Runs that are looked at for one that begins so, the newest first.
const MOST: usize = 10_000;
const PAGE: usize = 1_000;
/// Runs that are named in a message.
const NAMED: usize = 5;

/// The run of that id, or the only one whose id begins so.
pub(crate) async fn pick(kept: &Kept, typed: &str) -> anyhow::Result<RunRow> {
    if let Some(run) = kept.or_tell(kept.store.run(typed).await)? {
        return Ok(run);
    }
    let mut found = Vec::new();
    let mut seen = 0;
    let mut page = Page { after: None, limit: PAGE };
    while typed.len() >= LEAST && seen < MOST {
        let runs = kept.or_tell(kept.store.runs(Filter::default(), page.clone()).await)?;
        let Some(last) = runs.last() else { break };
        page.after = Some(last.id.clone());
        seen += runs.len();
        found.extend(runs.into_iter().filter(|run| begins(&run.id, typed)));
    }
    let several = found.len();
    match (found.pop(), several) {
        (Some(run), 1) => Ok(run),
        (None, _) => Err(none(typed).into()),
        (Some(last), _) => {
            let ids = found.iter().chain([&last]).take(NAMED).map(|run| format!("`{}`", run.id));
            let more = several.saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let ids: Vec<String> = ids.collect();
            Err(Trouble::new(format!("{} begin so", count(several, "run")))
                .help(format!("type more of the id: {}{more}", ids.join(", ")))
                .into())
        }
    }
}

/// The run that began last.
pub(crate) async fn newest(kept: &Kept) -> anyhow::Result<RunRow> {
    let page = Page { after: None, limit: 1 };
    let runs = kept.or_tell(kept.store.runs(Filter::default(), page).await)?;
    runs.into_iter().next().ok_or_else(|| {
        Trouble::new("no run is kept yet")
            .help("`… | foxwedge follow --store FILE` keeps one")
            .into()
    })
}

fn begins(id: &str, typed: &str) -> bool {
    // Nobody types what all of them have.
    let bare = id.strip_prefix("run-").unwrap_or(id);
    let head =
        |id: &str| id.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed));
    head(id) || head(bare)
}

fn none(typed: &str) -> Trouble {
    let trouble = Trouble::new(format!("there is no run `{}`", clean(typed)));
    match typed.len() {
        0..LEAST => trouble.help(format!(
            "the id of a run can be cut to {LEAST} characters and no less; `foxwedge runs` lists all"
        )),
        _ => trouble.help("`foxwedge runs` lists the newest"),
    }
}
