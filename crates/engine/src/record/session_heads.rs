//! Where conversations stood: one small record behind every reply, so that sessions are found again
//! after a restart.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use foxwedge_store::{
    AnyStore, ListFilter, ListPage, NewRecord, Result, SessionRow, Store, StoreError,
};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::session::SessionHead;

/// The kind of such a record.
const HEAD_RECORD_KIND: &str = "tip";
/// At most so many sessions are found again.
const MAX_SESSIONS: usize = 10_000;
/// Sessions are read in such pages, the newest first, and no more of them.
const PAGE_SIZE: usize = 1_000;
const MAX_PAGES: usize = 50;
/// How many sessions are read at the same time.
const PARALLEL_READS: usize = 16;
/// The place stands among the last records of a session.
const RECENT_RECORDS: u64 = 16;

/// The record behind a reply.
pub(super) fn head_record(run: &str, turn: u32, tip: u128) -> NewRecord {
    NewRecord {
        id: format!("{HEAD_RECORD_KIND}-{run}-{turn}"),
        parent: None,
        run: Some(run.to_owned()),
        kind: HEAD_RECORD_KIND.to_owned(),
        body: format!("{{\"tip\":\"{tip:032x}\"}}"),
    }
}

/// The newest places of sessions that were used not longer ago than that, the newest first, with
/// how long ago it was.
pub(super) async fn load_heads(
    store: &Arc<AnyStore>,
    longest: Duration,
    now: u64,
) -> Result<Vec<(SessionHead, Duration)>> {
    let sessions = recent_sessions(store, longest, now).await?;
    let mut tips: Vec<(SessionHead, Duration)> = Vec::with_capacity(sessions.len());
    let mut work = JoinSet::new();
    let mut sessions = sessions.into_iter();
    loop {
        while work.len() < PARALLEL_READS {
            let Some(session) = sessions.next() else { break };
            let store = store.clone();
            work.spawn(async move { session_head(&store, session).await });
        }
        match work.join_next().await {
            None => break,
            Some(Ok(found)) => {
                let aged = |tip: SessionHead| {
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

async fn recent_sessions(store: &AnyStore, longest: Duration, now: u64) -> Result<Vec<SessionRow>> {
    let oldest = now.saturating_sub(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = ListPage { after: after.take(), limit: PAGE_SIZE };
        let rows = store.sessions(ListFilter::default(), page).await?;
        let full = rows.len() == PAGE_SIZE;
        after = rows.last().map(|row| row.id.clone());
        found.extend(rows.into_iter().filter(|row| row.touched >= oldest && row.records > 0));
        if !full || found.len() >= MAX_SESSIONS {
            break;
        }
    }
    found.sort_by_key(|row| Reverse(row.touched));
    found.truncate(MAX_SESSIONS);
    Ok(found)
}

async fn session_head(store: &AnyStore, session: SessionRow) -> Result<Option<SessionHead>> {
    let after = session.records.saturating_sub(RECENT_RECORDS);
    let records = match store.records(&session.id, after, RECENT_RECORDS as usize).await {
        Ok(records) => records,
        // Somebody deleted it meanwhile, or its records are damaged: it is a new one then.
        Err(StoreError::NoSession(_) | StoreError::Corrupt { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let newest = records.iter().rev().find(|record| record.record.kind == HEAD_RECORD_KIND);
    let value = newest.and_then(|record| parse_head(&record.record.body));
    let session_id: Arc<str> = session.id.as_str().into();
    Ok(value.map(|value| SessionHead { session: session_id, value, at: session.touched }))
}

#[derive(Deserialize)]
struct SessionHeadRecord {
    tip: String,
}

fn parse_head(body: &str) -> Option<u128> {
    let written: SessionHeadRecord = serde_json::from_str(body).ok()?;
    (written.tip.len() == 32).then(|| u128::from_str_radix(&written.tip, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was() {
        for tip in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef << 60] {
            assert_eq!(parse_head(&head_record("r", 3, tip).body), Some(tip));
        }
        let long = format!(r#"{{"tip":"{}"}}"#, "0".repeat(33));
        for odd in ["", "{}", r#"{"tip":1}"#, r#"{"tip":"xyz"}"#, &long] {
            assert_eq!(parse_head(odd), None, "{odd}");
        }
    }
}
