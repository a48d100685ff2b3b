//! Parses rows.

use rusqlite::{Row, Rows};

use super::{error::SqliteResult, seal};
use crate::{
    AgentSnapshot, Lease, LogHead, NewRecord, RunRow, RunState, SessionRow, StoredRecord,
    chain::{ChainLink, ROOT},
    codec,
};

/// The columns of a session, in the order in which [`session`] reads them.
pub(super) const SESSION: &str =
    "s.id, s.owner, s.title, s.meta, s.created, s.touched, s.epoch, s.records";

/// The columns of a run and its session.
pub(super) const RUN: &str = "r.id, s.id, r.epoch, r.key, r.started, r.last, r.holder, r.fence, \
     r.lease_until, r.agent, r.model, r.ended_at, r.ended, r.summary";

/// The columns of a record.
pub(super) const RECORD: &str = "ordinal, at, id, parent, run, kind, body, seal";

/// Converts a number to SQLite's signed integers; larger numbers become the maximum.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number from SQLite.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a limit for SQLite.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Reads a session from the columns [`SESSION`].
pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        owner: row.get(1)?,
        title: row.get(2)?,
        meta: row.get(3)?,
        created: unsigned(row.get(4)?),
        touched: unsigned(row.get(5)?),
        epoch: unsigned(row.get(6)?),
        records: unsigned(row.get(7)?),
    })
}

/// Reads a run from the columns [`RUN`].
pub(super) fn run(row: &Row<'_>) -> SqliteResult<RunRow> {
    let id: String = row.get(0)?;
    let ended_at: Option<i64> = row.get(11)?;
    let state = match ended_at {
        None => RunState::Open,
        Some(at) => RunState::Ended {
            ended: codec::read_end(&id, &row.get::<_, String>(12)?)?,
            summary: codec::read_summary(&id, &row.get::<_, String>(13)?)?,
            at: unsigned(at),
        },
    };
    let (lease, lease_until) = match ended_at {
        None => {
            let lease = Lease { owner: row.get(6)?, fence: unsigned(row.get(7)?) };
            (Some(lease), Some(unsigned(row.get(8)?)))
        }
        Some(_) => (None, None),
    };
    Ok(RunRow {
        id,
        session: row.get(1)?,
        epoch: unsigned(row.get(2)?),
        key: row.get(3)?,
        started: unsigned(row.get(4)?),
        last: unsigned(row.get(5)?),
        state,
        lease,
        lease_until,
        agent: row.get(9)?,
        model: row.get(10)?,
    })
}

/// Reads the end of a run's log from the columns `last, chain`.
pub(super) fn head(row: &Row<'_>) -> rusqlite::Result<LogHead> {
    Ok(LogHead { last: unsigned(row.get(0)?), chain: link(row, 1)? })
}

/// Reads a link. One of the wrong length becomes [`ROOT`], which matches no event.
pub(super) fn link(row: &Row<'_>, column: usize) -> rusqlite::Result<ChainLink> {
    let link = row.get_ref(column)?.as_blob().ok().and_then(|blob| blob.try_into().ok());
    Ok(link.unwrap_or(ROOT))
}

/// Reads a record from the columns [`RECORD`] and checks its seal.
pub(super) fn record(row: &Row<'_>) -> SqliteResult<StoredRecord> {
    let record = StoredRecord {
        ordinal: unsigned(row.get(0)?),
        at: unsigned(row.get(1)?),
        record: NewRecord {
            id: row.get(2)?,
            parent: row.get(3)?,
            run: row.get(4)?,
            kind: row.get(5)?,
            body: row.get(6)?,
        },
    };
    let what = || format!("record `{}`", record.record.id);
    let seal = seal::seal_record(record.ordinal, record.at, &record.record);
    seal::check_seal(what, seal, link(row, 7)?)?;
    Ok(record)
}

/// Reads a snapshot from the columns `name, body, expires, seal` and checks its seal.
pub(super) fn snapshot(row: &Row<'_>) -> SqliteResult<AgentSnapshot> {
    let expires: Option<i64> = row.get(2)?;
    let snapshot =
        AgentSnapshot { name: row.get(0)?, body: row.get(1)?, expires: expires.map(unsigned) };
    let what = || format!("snapshot `{}`", snapshot.name);
    seal::check_seal(what, seal::seal_snapshot(&snapshot), link(row, 3)?)?;
    Ok(snapshot)
}

/// Reads the first row.
pub(super) fn first<T>(
    mut rows: Rows<'_>,
    read: impl FnOnce(&Row<'_>) -> SqliteResult<T>,
) -> SqliteResult<Option<T>> {
    rows.next()?.map(read).transpose()
}

/// Reads all rows.
pub(super) fn all<T>(
    mut rows: Rows<'_>,
    read: impl Fn(&Row<'_>) -> SqliteResult<T>,
) -> SqliteResult<Vec<T>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}
