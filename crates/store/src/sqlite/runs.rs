//! Runs and their events, within a transaction. Every check is made here, on stored data: another
//! process may have written since the last one.

use foxwedge_run::{EventPayload, RunEvent};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    error::SqliteResult,
    event_rows::{self, LogPart},
    row::{self, signed, unsigned},
    sessions,
    writer_thread::WriteContext,
};
use crate::{
    CloseAuthority, FinalizeResult, Lease, LogHead, NewRecord, NewRun, RunRow, StartResult,
    StoreError, StoredEvent,
    chain::{self, EventRange, ROOT},
    check, codec,
    event_draft::{self, EventDraft},
    limits,
};

/// The columns that decide whether a caller may write to a run.
pub(super) struct RunWriteState {
    /// Row number of the run.
    pub(super) serial: i64,
    /// Row number of its session.
    pub(super) session: i64,
    /// Number of the run in its session.
    pub(super) epoch: u64,
    /// The end of its log.
    pub(super) head: LogHead,
    /// The current lease.
    pub(super) lease: Lease,
    /// Whether it has ended.
    pub(super) ended: RunEndFlag,
}

/// Whether a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEndFlag {
    Ended,
    Open,
}

/// The end of a run, encoded.
pub(super) struct SqliteClosing {
    pub(super) drafts: Vec<EventDraft>,
    pub(super) ended: String,
    pub(super) summary: String,
    /// When the run ended, if its last event has a time.
    pub(super) at: Option<u64>,
    pub(super) records: Vec<NewRecord>,
}

/// Finds a run.
pub(super) fn find(connection: &Connection, id: &str) -> SqliteResult<Option<RunRow>> {
    find_one(connection, "r.id = ?1", &[&id])
}

/// Starts a run, or returns the existing one.
pub(super) fn start(
    context: &mut WriteContext<'_>,
    new: &NewRun,
    now: u64,
) -> SqliteResult<StartResult> {
    let connection = context.connection;
    let session = sessions::serial(connection, &new.session)?;
    if let Some(known) = find_existing(connection, session, new)? {
        return Ok(StartResult::Existing(known));
    }
    let epoch: i64 = connection
        .prepare_cached(
            "UPDATE sessions SET epoch = epoch + 1, touched = max(touched, ?2)
             WHERE serial = ?1 RETURNING epoch",
        )?
        .query_row(params![session, signed(now)], |row| row.get(0))?;
    let started = new.at.unwrap_or(now);
    let event = RunEvent {
        run: new.id.as_str().into(),
        epoch: Some(unsigned(epoch)),
        seq: Some(1),
        at: Some(started),
        unknown_word: None,
        body: EventPayload::Started(new.start.clone()),
    };
    let body = codec::write_event(&event);
    check::size("an event", body.len(), limits::EVENT_BYTES)?;
    let chain = chain::link(&ROOT, 1, &body);
    connection
        .prepare_cached(
            "INSERT INTO runs (id, session, epoch, key, started, agent, model, last, chain,
                               holder, fence, lease_until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?9, 1, ?10)",
        )?
        .execute(params![
            new.id,
            session,
            epoch,
            new.key,
            signed(started),
            new.start.agent.as_deref(),
            new.start.model.as_deref(),
            chain,
            new.owner,
            signed(now.saturating_add(new.ttl)),
        ])?;
    event_rows::insert(connection, connection.last_insert_rowid(), 1, &body, &chain)?;
    context.publish(&new.id, 1);
    let run = require_run(connection, &new.id)?;
    Ok(StartResult::New { run, lease: Lease { owner: new.owner.clone(), fence: 1 } })
}

/// Appends events to a run whose lease is valid.
pub(super) fn append(
    context: &mut WriteContext<'_>,
    id: &str,
    lease: &Lease,
    drafts: &[EventDraft],
) -> SqliteResult<u64> {
    let write_state = read_write_state(context.connection, id)?;
    may_write(context.connection, id, &write_state, lease)?;
    let head = add_events(context.connection, id, &write_state, drafts)?;
    if head != write_state.head {
        set_head(context.connection, write_state.serial, &head)?;
        context.publish(id, head.last);
    }
    Ok(head.last)
}

/// Ends a run unless it has ended.
pub(super) fn finalize(
    context: &mut WriteContext<'_>,
    id: &str,
    authority: &CloseAuthority,
    closing: &SqliteClosing,
    now: u64,
) -> SqliteResult<FinalizeResult> {
    let connection = context.connection;
    let write_state = read_write_state(connection, id)?;
    if write_state.ended == RunEndFlag::Ended {
        return Ok(FinalizeResult::AlreadyEnded(require_run(connection, id)?));
    }
    match authority {
        CloseAuthority::Holder(lease) => may_write(connection, id, &write_state, lease)?,
        CloseAuthority::Operator => {}
    }
    let head = add_events(connection, id, &write_state, &closing.drafts)?;
    let ended = connection
        .prepare_cached(
            "UPDATE runs SET last = ?2, chain = ?3, ended_at = ?4, ended = ?5, summary = ?6
             WHERE serial = ?1 AND ended_at IS NULL",
        )?
        .execute(params![
            write_state.serial,
            signed(head.last),
            head.chain,
            signed(closing.at.unwrap_or(now)),
            closing.ended,
            closing.summary,
        ])?;
    if ended == 0 {
        return Ok(FinalizeResult::AlreadyEnded(require_run(connection, id)?));
    }
    sessions::add_records(connection, write_state.session, &closing.records, now)?;
    context.publish(id, head.last);
    Ok(FinalizeResult::Recorded(require_run(connection, id)?))
}

/// Returns verified events after a sequence number.
pub(super) fn events(
    connection: &Connection,
    id: &str,
    after: u64,
    max: usize,
) -> SqliteResult<Vec<StoredEvent>> {
    let write_state = read_write_state(connection, id)?;
    let RunWriteState { serial, epoch, head, .. } = write_state;
    let range = EventRange { run: id, epoch, head, after, limit: max };
    if after >= range.end() {
        return Ok(Vec::new());
    }
    let LogPart { before, events } = event_rows::read(connection, serial, after, range.end(), max)?;
    Ok(range.read(before, events)?)
}

/// Reads the columns that decide whether a caller may write to a run.
pub(super) fn read_write_state(connection: &Connection, id: &str) -> SqliteResult<RunWriteState> {
    let read = |row: &Row<'_>| {
        let ended: Option<i64> = row.get(7)?;
        Ok(RunWriteState {
            head: row::head(row)?,
            serial: row.get(2)?,
            session: row.get(3)?,
            epoch: unsigned(row.get(4)?),
            lease: Lease { owner: row.get(5)?, fence: unsigned(row.get(6)?) },
            ended: if ended.is_some() { RunEndFlag::Ended } else { RunEndFlag::Open },
        })
    };
    let write_state = connection
        .prepare_cached(
            "SELECT last, chain, serial, session, epoch, holder, fence, ended_at
             FROM runs WHERE id = ?1",
        )?
        .query_row([id], read)
        .optional()?;
    write_state.ok_or_else(|| StoreError::NoRun(id.to_owned()).into())
}

/// Refuses a caller without the current lease, and every caller once the run has ended.
pub(super) fn may_write(
    connection: &Connection,
    id: &str,
    write_state: &RunWriteState,
    lease: &Lease,
) -> SqliteResult<()> {
    if write_state.ended == RunEndFlag::Ended {
        return Err(StoreError::Ended(Box::new(require_run(connection, id)?)).into());
    }
    if write_state.lease != *lease {
        let (held, yours) = (write_state.lease.fence, lease.fence);
        return Err(StoreError::Fenced { run: id.to_owned(), held, yours }.into());
    }
    Ok(())
}

/// Sets the end of a log.
pub(super) fn set_head(connection: &Connection, run: i64, head: &LogHead) -> SqliteResult<()> {
    connection
        .prepare_cached("UPDATE runs SET last = ?2, chain = ?3 WHERE serial = ?1")?
        .execute(params![run, signed(head.last), head.chain])?;
    Ok(())
}

/// Whether a run with this id exists.
pub(super) fn exists(connection: &Connection, id: &str) -> SqliteResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?.exists([id])?)
}

/// Returns a run, or an error if it does not exist.
pub(super) fn require_run(connection: &Connection, id: &str) -> SqliteResult<RunRow> {
    find(connection, id)?.ok_or_else(|| StoreError::NoRun(id.to_owned()).into())
}

/// Finds the run that a start refers to, if it exists already.
pub(super) fn find_existing(
    connection: &Connection,
    session: i64,
    new: &NewRun,
) -> SqliteResult<Option<RunRow>> {
    if let Some(known) = find(connection, &new.id)? {
        let same_key = new.key.is_none() || new.key == known.key;
        if known.session != new.session || !same_key {
            return Err(StoreError::Conflict(new.id.clone()).into());
        }
        return Ok(Some(known));
    }
    match &new.key {
        Some(key) => find_one(connection, "r.session = ?1 AND r.key = ?2", &[&session, key]),
        None => Ok(None),
    }
}

fn find_one(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> SqliteResult<Option<RunRow>> {
    let columns = row::RUN;
    let sql = format!(
        "SELECT {columns} FROM runs r JOIN sessions s ON s.serial = r.session WHERE {condition}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    row::first(statement.query(values)?, row::run)
}

/// Stores new events and compares repeated ones with the stored events. Returns the new end of the
/// log.
fn add_events(
    connection: &Connection,
    id: &str,
    write_state: &RunWriteState,
    drafts: &[EventDraft],
) -> SqliteResult<LogHead> {
    event_draft::check_epochs(id, write_state.epoch, drafts)?;
    let (repeated, new) =
        drafts.split_at(event_draft::count_repeated(id, write_state.head.last, drafts)?);
    compare_repeated(connection, id, write_state.serial, repeated)?;
    let mut head = write_state.head;
    for draft in new {
        let chain = chain::link(&head.chain, draft.seq, &draft.body);
        event_rows::insert(connection, write_state.serial, draft.seq, &draft.body, &chain)?;
        head = LogHead { last: draft.seq, chain };
    }
    Ok(head)
}

fn compare_repeated(
    connection: &Connection,
    id: &str,
    run: i64,
    repeated: &[EventDraft],
) -> SqliteResult<()> {
    for draft in repeated {
        let stored = event_rows::find(connection, run, draft.seq)?
            .ok_or_else(|| chain::damage_error(id, draft.seq, "it is missing".to_owned()))?;
        draft.compare(id, &stored.body)?;
    }
    Ok(())
}
