//! The heads of conversations, so that sessions are found again after a restart: one small record after
//! every reply. That of a first reply is mostly among the fields of its session.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use foxwedge_store::{
    AnyStore, ListFilter, ListPage, NewRecord, Result, SessionRow, Store, StoreError,
};
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::{ordered_id::push_hex, session::SessionHead};

/// The kind of a head record.
const HEAD_RECORD_KIND: &str = "tip";
/// Maximum number of restored sessions.
const MAX_SESSIONS: usize = 10_000;
/// Sessions are read in pages of this size, the newest first, up to a maximum number of pages.
const PAGE_SIZE: usize = 1_000;
const MAX_PAGES: usize = 50;
/// How many sessions are read at the same time.
const PARALLEL_READS: usize = 16;
/// The head is among the last records of a session.
const RECENT_RECORDS: u64 = 16;

/// The head record of a reply.
pub(super) fn head_record(run: &str, turn: u32, tip: u128) -> NewRecord {
    let mut body = String::with_capacity(48);
    body.push('{');
    push_tip(&mut body, tip);
    body.push('}');
    NewRecord {
        id: format!("{HEAD_RECORD_KIND}-{run}-{turn}"),
        parent: None,
        run: Some(run.to_owned()),
        kind: HEAD_RECORD_KIND.to_owned(),
        body,
    }
}

/// Appends the head as a field of a JSON object. A session that was stored with its first reply has it
/// among its own fields, which saves a record.
pub(super) fn push_tip(json: &mut String, tip: u128) {
    json.push_str("\"tip\":\"");
    push_hex(json, (tip >> 64) as u64, 16);
    push_hex(json, tip as u64, 16);
    json.push('"');
}

/// The heads of sessions that were used within `max_age`, the newest first, each with its age.
pub(super) async fn load_heads(
    store: &Arc<AnyStore>,
    max_age: Duration,
    now: u64,
) -> Result<Vec<(SessionHead, Duration)>> {
    let sessions = recent_sessions(store, max_age, now).await?;
    let mut heads: Vec<(SessionHead, Duration)> = Vec::with_capacity(sessions.len());
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
                let with_age = |head: SessionHead| {
                    let age = Duration::from_millis(now.saturating_sub(head.at));
                    (head, age)
                };
                heads.extend(found?.map(with_age));
            }
            // A session that cannot be read is not restored.
            Some(Err(_)) => {}
        }
    }
    heads.sort_by_key(|(head, _)| Reverse(head.at));
    Ok(heads)
}

async fn recent_sessions(store: &AnyStore, max_age: Duration, now: u64) -> Result<Vec<SessionRow>> {
    let oldest = now.saturating_sub(u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX));
    let (mut found, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = ListPage { after: after.take(), limit: PAGE_SIZE };
        let rows = store.sessions(ListFilter::default(), page).await?;
        let is_full = rows.len() == PAGE_SIZE;
        after = rows.last().map(|row| row.id.clone());
        found.extend(rows.into_iter().filter(|row| row.touched >= oldest && has_head(row)));
        if !is_full || found.len() >= MAX_SESSIONS {
            break;
        }
    }
    found.sort_by_key(|row| Reverse(row.touched));
    found.truncate(MAX_SESSIONS);
    Ok(found)
}

fn has_head(session: &SessionRow) -> bool {
    session.records > 0 || session.meta.as_deref().is_some_and(|meta| meta.contains("\"tip\""))
}

async fn session_head(store: &AnyStore, session: SessionRow) -> Result<Option<SessionHead>> {
    let after = session.records.saturating_sub(RECENT_RECORDS);
    let records = match session.records {
        0 => Vec::new(),
        _ => match store.records(&session.id, after, RECENT_RECORDS as usize).await {
            Ok(records) => records,
            // The session was deleted meanwhile, or its records are damaged: it will be a new one then.
            Err(StoreError::NoSession(_) | StoreError::Corrupt { .. }) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let newest = records.iter().rev().find(|record| record.record.kind == HEAD_RECORD_KIND);
    let value = match newest {
        Some(record) => parse_head(&record.record.body),
        None => session.meta.as_deref().and_then(parse_head),
    };
    let session_id: Arc<str> = session.id.as_str().into();
    Ok(value.map(|value| SessionHead { session: session_id, value, at: session.touched }))
}

#[derive(Deserialize)]
struct SessionHeadRecord {
    tip: String,
}

fn parse_head(body: &str) -> Option<u128> {
    let record: SessionHeadRecord = serde_json::from_str(body).ok()?;
    (record.tip.len() == 32).then(|| u128::from_str_radix(&record.tip, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed_as_it_was_written() {
        for tip in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef << 60] {
            let record = head_record("r", 3, tip);
            assert_eq!(record.body, format!(r#"{{"tip":"{tip:032x}"}}"#));
            assert_eq!(parse_head(&record.body), Some(tip));
        }
        let long = format!(r#"{{"tip":"{}"}}"#, "0".repeat(33));
        for odd in ["", "{}", r#"{"tip":1}"#, r#"{"tip":"xyz"}"#, &long] {
            assert_eq!(parse_head(odd), None, "{odd}");
        }
    }
}
