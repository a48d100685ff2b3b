//! Where conversations stood: one small record behind every reply, so that sessions are found again
//! after a restart.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use foxwedge_store::{AnyStore, Filter, NewRecord, Page, Result, SessionRow, Store, StoreError};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::session::Tip;

/// The kind of such a record.
const KIND: &str = "tip";
/// At most so many sessions are found again.
const MOST: usize = 10_000;
/// Sessions are read in such pages, the newest first, and no more of them.
const PAGE: usize = 1_000;
const PAGES: usize = 50;
/// How many sessions are read at the same time.
const AT_ONCE: usize = 16;
/// The place stands among the last records of a session.
const LAST: u64 = 16;

/// The record behind a reply.
pub(super) fn record(run: &str, turn: u32, tip: u128) -> NewRecord {
    NewRecord {
        id: format!("{KIND}-{run}-{turn}"),
        parent: None,
        run: Some(run.to_owned()),
        kind: KIND.to_owned(),
        body: format!("{{\"tip\":\"{tip:032x}\"}}"),
    }
}

/// The newest places of sessions that were used not longer ago than that, the newest first, with
/// how long ago it was.
pub(super) async fn newest(
    store: &Arc<AnyStore>,
    longest: Duration,
    now: u64,
) -> Result<Vec<(Tip, Duration)>> {
    let sessions = recent(store, longest, now).await?;
    let mut tips: Vec<(Tip, Duration)> = Vec::with_capacity(sessions.len());
    let mut work = JoinSet::new();
    let mut sessions = sessions.into_iter();
    loop {
        while work.len() < AT_ONCE {
            let Some(session) = sessions.next() else { break };
            let store = store.clone();
            work.spawn(async move { tip_of(&store, session).await });
        }
        match work.join_next().await {
            None => break,
            Some(Ok(found)) => {
                let aged = |tip: Tip| {
                    let ago = Duration::from_millis(now.saturating_sub(tip.at));
                    (tip, ago)
                };
                tips.extend(found?.map(aged));
            }
            // One that cannot be read is not found again.
            Some(Err(_)) => {}
        }
    }
    tips.sort_by_key(|(tip, _)| Reverse(tip.at));
    Ok(tips)
}

async fn recent(store: &AnyStore, longest: Duration, now: u64) -> Result<Vec<SessionRow>> {
    let oldest = now.saturating_sub(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..PAGES {
        let page = Page { after: after.take(), limit: PAGE };
        let rows = store.sessions(Filter::default(), page).await?;
        let full = rows.len() == PAGE;
        after = rows.last().map(|row| row.id.clone());
        found.extend(rows.into_iter().filter(|row| row.touched >= oldest && row.records > 0));
        if !full || found.len() >= MOST {
            break;
        }
    }
    found.sort_by_key(|row| Reverse(row.touched));
    found.truncate(MOST);
    Ok(found)
}

async fn tip_of(store: &AnyStore, session: SessionRow) -> Result<Option<Tip>> {
    let after = session.records.saturating_sub(LAST);
    let records = match store.records(&session.id, after, LAST as usize).await {
        Ok(records) => records,
        // Somebody deleted it meanwhile, or its records are damaged: it is a new one then.
        Err(StoreError::NoSession(_) | StoreError::Corrupt { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let newest = records.iter().rev().find(|record| record.record.kind == KIND);
    let value = newest.and_then(|record| value(&record.record.body));
    let session_id: Arc<str> = session.id.as_str().into();
    Ok(value.map(|value| Tip { session: session_id, value, at: session.touched }))
}

#[derive(Deserialize)]
struct Written {
    tip: String,
}

fn value(body: &str) -> Option<u128> {
    let written: Written = serde_json::from_str(body).ok()?;
    (written.tip.len() == 32).then(|| u128::from_str_radix(&written.tip, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was() {
        for tip in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef << 60] {
            assert_eq!(value(&record("r", 3, tip).body), Some(tip));
        }
        let long = format!(r#"{{"tip":"{}"}}"#, "0".repeat(33));
        for odd in ["", "{}", r#"{"tip":1}"#, r#"{"tip":"xyz"}"#, &long] {
            assert_eq!(value(odd), None, "{odd}");
        }
    }
}
