//! Parses rows.

use foxwedge_run::{RunEnd, RunSummary};
use tokio_postgres::Row;

use super::{failure::AttemptFailure, token::AttemptToken};
use crate::{
    Lease, NewRecord, RawEvent, RunRow, RunState, SessionRow, StoreError, StoredRecord,
    chain::{self, ChainLink, ROOT},
    codec,
};

/// The columns of [`session`].
macro_rules! session_columns {
    () => {
        "id, owner, title, meta, created, touched, epoch, records, serial"
    };
}

/// The columns of [`run`].
macro_rules! run_columns {
    () => {
        "id, session, epoch, key, started, last, owner, fence, lease_until, agent, model, \
         ended_at, ended, summary, chain, serial, token"
    };
}

pub(super) use {run_columns, session_columns};

/// A run, with columns that only this backend needs.
#[derive(Clone, Debug)]
pub(super) struct PostgresRun {
    pub(super) row: RunRow,
    pub(super) serial: i64,
    pub(super) fence: u64,
    pub(super) chain: ChainLink,
    pub(super) token: AttemptToken,
}

/// Reads a session.
pub(super) fn session(row: &Row) -> Result<SessionRow, AttemptFailure> {
    Ok(SessionRow {
        id: row.try_get("id")?,
        owner: row.try_get("owner")?,
        title: row.try_get("title")?,
        meta: row.try_get("meta")?,
        created: number(row, "created")?,
        touched: number(row, "touched")?,
        epoch: number(row, "epoch")?,
        records: number(row, "records")?,
    })
}

/// Reads a run.
pub(super) fn run(row: &Row) -> Result<PostgresRun, AttemptFailure> {
    let id: String = row.try_get("id")?;
    let fence = number(row, "fence")?;
    let state = state(&id, row)?;
    let (lease, lease_until) = match state {
        RunState::Open => {
            let lease = Lease { owner: row.try_get("owner")?, fence };
            (Some(lease), Some(number(row, "lease_until")?))
        }
        RunState::Ended { .. } => (None, None),
    };
    let (serial, token) = (row.try_get("serial")?, AttemptToken(row.try_get("token")?));
    let chain = link(&id, row)?;
    let row = RunRow {
        session: row.try_get("session")?,
        epoch: number(row, "epoch")?,
        key: row.try_get("key")?,
        started: number(row, "started")?,
        last: number(row, "last")?,
        state,
        lease,
        lease_until,
        agent: row.try_get("agent")?,
        model: row.try_get("model")?,
        id,
    };
    Ok(PostgresRun { row, serial, fence, chain, token })
}

/// Reads a record.
pub(super) fn record(row: &Row) -> Result<StoredRecord, AttemptFailure> {
    Ok(StoredRecord {
        ordinal: number(row, "ordinal")?,
        at: number(row, "at")?,
        record: NewRecord {
            id: row.try_get("id")?,
            parent: row.try_get("parent")?,
            run: row.try_get("run")?,
            kind: row.try_get("kind")?,
            body: row.try_get("body")?,
        },
    })
}

/// Reads an event, unverified. An invalid link becomes [`ROOT`], which matches no event.
pub(super) fn event(row: &Row) -> Result<RawEvent, AttemptFailure> {
    let chain: Vec<u8> = row.try_get("chain")?;
    Ok(RawEvent {
        seq: number(row, "seq")?,
        body: row.try_get("body")?,
        chain: chain.try_into().unwrap_or(ROOT),
    })
}

/// Reads a chain link.
pub(super) fn link(run: &str, row: &Row) -> Result<ChainLink, AttemptFailure> {
    let chain: Vec<u8> = row.try_get("chain")?;
    let wrong_length = |chain: Vec<u8>| {
        let why = format!("its hash has {} bytes", chain.len());
        AttemptFailure::Refused(chain::damage_error(run, 0, why))
    };
    chain.try_into().map_err(wrong_length)
}

/// Reads a number that must not be negative.
pub(super) fn number(row: &Row, column: &str) -> Result<u64, AttemptFailure> {
    unsigned(column, row.try_get(column)?)
}

/// Converts a number for the database; larger numbers become the maximum.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Makes a text safe to search for. PostgreSQL cannot store U+0000, so no row matches such a text;
/// the empty string matches no row either.
pub(super) fn searchable(text: &str) -> &str {
    if text.contains('\0') { "" } else { text }
}

/// Converts a limit for the database.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn state(run: &str, row: &Row) -> Result<RunState, AttemptFailure> {
    let at: Option<i64> = row.try_get("ended_at")?;
    let (ended, summary): (Option<String>, Option<String>) =
        (row.try_get("ended")?, row.try_get("summary")?);
    match (at, ended, summary) {
        (Some(at), Some(ended), Some(summary)) => {
            let ended: RunEnd = codec::read_end(run, &ended)?;
            let summary: RunSummary = codec::read_summary(run, &summary)?;
            Ok(RunState::Ended { ended, summary, at: unsigned("ended_at", at)? })
        }
        (None, None, None) => Ok(RunState::Open),
        (_, _, _) => Err(AttemptFailure::Refused(StoreError::Corrupt {
            what: format!("the end of run `{run}`"),
            why: "half of it is missing".to_owned(),
        })),
    }
}

fn unsigned(column: &str, number: i64) -> Result<u64, AttemptFailure> {
    u64::try_from(number).map_err(|_| {
        let what = format!("column `{column}`");
        AttemptFailure::Refused(StoreError::Corrupt { what, why: format!("{number} is negative") })
    })
}
