//! Runs and their events, within a transaction. Every check is made here and on what is stored:
//! another process may have written since the last one.

use foxwedge_run::{EventPayload, RunEvent};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    error::SqliteResult,
    row::{self, limit, signed, unsigned},
    sessions,
    writer_thread::WriteContext,
};
use crate::{
    CloseAuthority, FinalizeResult, Lease, LogHead, NewRecord, NewRun, RawEvent, RunRow,
    StartResult, StoreError, StoredEvent,
    chain::{self, ChainLink, EventRange, ROOT},
    check, codec,
    event_draft::{self, EventDraft},
    limits,
};

/// What decides whether somebody may write to a run.
pub(super) struct RunWriteState {
    /// The number of the run.
    pub(super) serial: i64,
    /// The number of its session.
    pub(super) session: i64,
    /// Its number in the session.
    pub(super) epoch: u64,
    /// The end of its log.
    pub(super) head: LogHead,
    /// Who holds it.
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

/// How a run is ended: what was told, spelled.
pub(super) struct SqliteClosing {
    pub(super) drafts: Vec<EventDraft>,
    pub(super) ended: String,
    pub(super) summary: String,
    /// When, if the last event says so.
    pub(super) at: Option<u64>,
    pub(super) records: Vec<NewRecord>,
}

/// A run.
pub(super) fn find(connection: &Connection, id: &str) -> SqliteResult<Option<RunRow>> {
    find_one(connection, "r.id = ?1", &[&id])
}

/// Starts a run, or finds it.
pub(super) fn start(
    work: &mut WriteContext<'_>,
    new: &NewRun,
    now: u64,
) -> SqliteResult<StartResult> {
    let connection = work.connection;
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
    insert_event(connection, connection.last_insert_rowid(), 1, &body, &chain)?;
    work.publish(&new.id, 1);
    let run = require_run(connection, &new.id)?;
    Ok(StartResult::New { run, lease: Lease { owner: new.owner.clone(), fence: 1 } })
}

/// Adds events to a run that is held.
pub(super) fn append(
    work: &mut WriteContext<'_>,
    id: &str,
    lease: &Lease,
    drafts: &[EventDraft],
) -> SqliteResult<u64> {
    let standing = read_write_state(work.connection, id)?;
    may_write(work.connection, id, &standing, lease)?;
    let head = add_events(work.connection, id, &standing, drafts)?;
    if head != standing.head {
        set_head(work.connection, standing.serial, &head)?;
        work.publish(id, head.last);
    }
    Ok(head.last)
}

/// Ends a run, if nobody has.
pub(super) fn finalize(
    work: &mut WriteContext<'_>,
    id: &str,
    authority: &CloseAuthority,
    closed: &SqliteClosing,
    now: u64,
) -> SqliteResult<FinalizeResult> {
    let connection = work.connection;
    let standing = read_write_state(connection, id)?;
    if standing.ended == RunEndFlag::Ended {
        return Ok(FinalizeResult::AlreadyEnded(require_run(connection, id)?));
    }
    match authority {
        CloseAuthority::Holder(lease) => may_write(connection, id, &standing, lease)?,
        CloseAuthority::Operator => {}
    }
    let head = add_events(connection, id, &standing, &closed.drafts)?;
    let ended = connection
        .prepare_cached(
            "UPDATE runs SET last = ?2, chain = ?3, ended_at = ?4, ended = ?5, summary = ?6
             WHERE serial = ?1 AND ended_at IS NULL",
        )?
        .execute(params![
            standing.serial,
            signed(head.last),
            head.chain,
            signed(closed.at.unwrap_or(now)),
            closed.ended,
            closed.summary,
        ])?;
    if ended == 0 {
        return Ok(FinalizeResult::AlreadyEnded(require_run(connection, id)?));
    }
    sessions::add_records(connection, standing.session, &closed.records, now)?;
    work.publish(id, head.last);
    Ok(FinalizeResult::Recorded(require_run(connection, id)?))
}

/// Events behind a place, verified.
pub(super) fn events(
    connection: &Connection,
    id: &str,
    after: u64,
    most: usize,
) -> SqliteResult<Vec<StoredEvent>> {
    let standing = read_write_state(connection, id)?;
    let RunWriteState { serial, epoch, head, .. } = standing;
    let span = EventRange { run: id, epoch, head, after, limit: most };
    if after >= span.end() {
        return Ok(Vec::new());
    }
    let before = connection
        .prepare_cached("SELECT chain FROM events WHERE place = ?1")?
        .query_row([event_key(serial, after)], |row| row::link(row, 0))
        .optional()?;
    let rows = raw_events(connection, serial, after, span.end(), most)?;
    Ok(span.read(before, rows)?)
}

/// Events as they lie there, up to a place.
pub(super) fn raw_events(
    connection: &Connection,
    run: i64,
    after: u64,
    end: u64,
    most: usize,
) -> SqliteResult<Vec<RawEvent>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, body, chain FROM events
         WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let span = params![event_key(run, after), event_key(run, end), limit(most)];
    let rows = statement.query_map(span, row::event)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What decides whether somebody may write to a run.
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
    let standing = connection
        .prepare_cached(
            "SELECT last, chain, serial, session, epoch, holder, fence, ended_at
             FROM runs WHERE id = ?1",
        )?
        .query_row([id], read)
        .optional()?;
    standing.ok_or_else(|| StoreError::NoRun(id.to_owned()).into())
}

/// Refuses whoever does not hold the run, and everybody once it has ended.
pub(super) fn may_write(
    connection: &Connection,
    id: &str,
    standing: &RunWriteState,
    lease: &Lease,
) -> SqliteResult<()> {
    if standing.ended == RunEndFlag::Ended {
        return Err(StoreError::Ended(Box::new(require_run(connection, id)?)).into());
    }
    if standing.lease != *lease {
        let (held, yours) = (standing.lease.fence, lease.fence);
        return Err(StoreError::Fenced { run: id.to_owned(), held, yours }.into());
    }
    Ok(())
}

/// The end of a log has moved.
pub(super) fn set_head(connection: &Connection, run: i64, head: &LogHead) -> SqliteResult<()> {
    connection
        .prepare_cached("UPDATE runs SET last = ?2, chain = ?3 WHERE serial = ?1")?
        .execute(params![run, signed(head.last), head.chain])?;
    Ok(())
}

/// Puts an event into its place.
pub(super) fn insert_event(
    connection: &Connection,
    run: i64,
    seq: u64,
    body: &str,
    chain: &ChainLink,
) -> SqliteResult<()> {
    insert_events(connection, run, [(seq, body, chain)])
}

/// Puts events into their places.
pub(super) fn insert_events<'a>(
    connection: &Connection,
    run: i64,
    events: impl IntoIterator<Item = (u64, &'a str, &'a ChainLink)>,
) -> SqliteResult<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO events (place, body, chain) VALUES (?1, ?2, ?3)")?;
    for (seq, body, chain) in events {
        statement.execute(params![event_key(run, seq), body, chain])?;
    }
    Ok(())
}

/// Whether there is a run with that id.
pub(super) fn exists(connection: &Connection, id: &str) -> SqliteResult<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?.exists([id])?)
}

/// An event as it lies in its place.
pub(super) fn raw_event(
    connection: &Connection,
    run: i64,
    seq: u64,
) -> SqliteResult<Option<RawEvent>> {
    Ok(connection
        .prepare_cached("SELECT seq, body, chain FROM events WHERE place = ?1")?
        .query_row([event_key(run, seq)], row::event)
        .optional()?)
}

/// A run that has to be there.
pub(super) fn require_run(connection: &Connection, id: &str) -> SqliteResult<RunRow> {
    find(connection, id)?.ok_or_else(|| StoreError::NoRun(id.to_owned()).into())
}

/// The run that a start means, if there is one already.
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

/// Stores what is new, and compares the rest with what is there. Returns the new end.
fn add_events(
    connection: &Connection,
    id: &str,
    standing: &RunWriteState,
    drafts: &[EventDraft],
) -> SqliteResult<LogHead> {
    event_draft::check_epochs(id, standing.epoch, drafts)?;
    let (again, new) =
        drafts.split_at(event_draft::count_repeated(id, standing.head.last, drafts)?);
    compare_repeated(connection, id, standing.serial, again)?;
    let mut head = standing.head;
    for draft in new {
        let chain = chain::link(&head.chain, draft.seq, &draft.body);
        insert_event(connection, standing.serial, draft.seq, &draft.body, &chain)?;
        head = LogHead { last: draft.seq, chain };
    }
    Ok(head)
}

fn compare_repeated(
    connection: &Connection,
    id: &str,
    run: i64,
    again: &[EventDraft],
) -> SqliteResult<()> {
    for draft in again {
        let stored = raw_event(connection, run, draft.seq)?
            .ok_or_else(|| chain::damage_error(id, draft.seq, "it is missing".to_owned()))?;
        draft.compare(id, &stored.body)?;
    }
    Ok(())
}

/// The key of an event: the number of its run, and its place in the log in the lower half.
fn event_key(run: i64, seq: u64) -> i64 {
    (run << 32) | signed(seq.min(limits::RUN_EVENTS))
}
