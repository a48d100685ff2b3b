//! Runs and their events, within a transaction. Every check is made here and on what is stored:
//! another process may have written since the last one.

use foxwedge_run::{Body, Event};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    desk::Work,
    fault::Done,
    row::{self, limit, signed, unsigned},
    sessions,
};
use crate::{
    Authority, Finalized, Head, Lease, NewRecord, NewRun, RawEvent, RunRow, Started, StoreError,
    StoredEvent,
    chain::{self, Link, ROOT, Span},
    check, codec,
    draft::{self, Draft},
    limits,
};

/// What decides whether somebody may write to a run.
pub(super) struct Standing {
    /// The number of the run.
    pub(super) serial: i64,
    /// The number of its session.
    pub(super) session: i64,
    /// Its number in the session.
    pub(super) epoch: u64,
    /// The end of its log.
    pub(super) head: Head,
    /// Who holds it.
    pub(super) lease: Lease,
    /// Whether it has ended.
    pub(super) ended: Ended,
}

/// Whether a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Yes,
    No,
}

/// How a run is ended: what was told, spelled.
pub(super) struct Closed {
    pub(super) drafts: Vec<Draft>,
    pub(super) ended: String,
    pub(super) summary: String,
    /// When, if the last event says so.
    pub(super) at: Option<u64>,
    pub(super) records: Vec<NewRecord>,
}

/// A run.
pub(super) fn find(connection: &Connection, id: &str) -> Done<Option<RunRow>> {
    one(connection, "r.id = ?1", &[&id])
}

/// Starts a run, or finds it.
pub(super) fn start(work: &mut Work<'_>, new: &NewRun, now: u64) -> Done<Started> {
    let connection = work.connection;
    let session = sessions::serial(connection, &new.session)?;
    if let Some(known) = known(connection, session, new)? {
        return Ok(Started::Existing(known));
    }
    let epoch: i64 = connection
        .prepare_cached(
            "UPDATE sessions SET epoch = epoch + 1, touched = max(touched, ?2)
             WHERE serial = ?1 RETURNING epoch",
        )?
        .query_row(params![session, signed(now)], |row| row.get(0))?;
    let started = new.at.unwrap_or(now);
    let event = Event {
        run: new.id.as_str().into(),
        epoch: Some(unsigned(epoch)),
        seq: Some(1),
        at: Some(started),
        odd: None,
        body: Body::Started(new.start.clone()),
    };
    let body = codec::event(&event);
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
    work.tell(&new.id, 1);
    let run = found(connection, &new.id)?;
    Ok(Started::New { run, lease: Lease { owner: new.owner.clone(), fence: 1 } })
}

/// Adds events to a run that is held.
pub(super) fn append(work: &mut Work<'_>, id: &str, lease: &Lease, drafts: &[Draft]) -> Done<u64> {
    let standing = standing(work.connection, id)?;
    may_write(work.connection, id, &standing, lease)?;
    let head = add_events(work.connection, id, &standing, drafts)?;
    if head != standing.head {
        set_head(work.connection, standing.serial, &head)?;
        work.tell(id, head.last);
    }
    Ok(head.last)
}

/// Ends a run, if nobody has.
pub(super) fn finalize(
    work: &mut Work<'_>,
    id: &str,
    authority: &Authority,
    closed: &Closed,
    now: u64,
) -> Done<Finalized> {
    let connection = work.connection;
    let standing = standing(connection, id)?;
    if standing.ended == Ended::Yes {
        return Ok(Finalized::Lost(found(connection, id)?));
    }
    match authority {
        Authority::Holder(lease) => may_write(connection, id, &standing, lease)?,
        Authority::Operator => {}
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
        return Ok(Finalized::Lost(found(connection, id)?));
    }
    sessions::add_records(connection, standing.session, &closed.records, now)?;
    work.tell(id, head.last);
    Ok(Finalized::Won(found(connection, id)?))
}

/// Events behind a place, verified.
pub(super) fn events(
    connection: &Connection,
    id: &str,
    after: u64,
    most: usize,
) -> Done<Vec<StoredEvent>> {
    let standing = standing(connection, id)?;
    let Standing { serial, epoch, head, .. } = standing;
    let span = Span { run: id, epoch, head, after, limit: most };
    if after >= span.end() {
        return Ok(Vec::new());
    }
    let before = connection
        .prepare_cached("SELECT chain FROM events WHERE place = ?1")?
        .query_row([place(serial, after)], |row| row::link(row, 0))
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
) -> Done<Vec<RawEvent>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, body, chain FROM events
         WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
    )?;
    let span = params![place(run, after), place(run, end), limit(most)];
    let rows = statement.query_map(span, row::event)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What decides whether somebody may write to a run.
pub(super) fn standing(connection: &Connection, id: &str) -> Done<Standing> {
    let read = |row: &Row<'_>| {
        let ended: Option<i64> = row.get(7)?;
        Ok(Standing {
            head: row::head(row)?,
            serial: row.get(2)?,
            session: row.get(3)?,
            epoch: unsigned(row.get(4)?),
            lease: Lease { owner: row.get(5)?, fence: unsigned(row.get(6)?) },
            ended: if ended.is_some() { Ended::Yes } else { Ended::No },
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
    standing: &Standing,
    lease: &Lease,
) -> Done<()> {
    if standing.ended == Ended::Yes {
        return Err(StoreError::Ended(Box::new(found(connection, id)?)).into());
    }
    if standing.lease != *lease {
        let (held, yours) = (standing.lease.fence, lease.fence);
        return Err(StoreError::Fenced { run: id.to_owned(), held, yours }.into());
    }
    Ok(())
}

/// The end of a log has moved.
pub(super) fn set_head(connection: &Connection, run: i64, head: &Head) -> Done<()> {
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
    chain: &Link,
) -> Done<()> {
    insert_events(connection, run, [(seq, body, chain)])
}

/// Puts events into their places.
pub(super) fn insert_events<'a>(
    connection: &Connection,
    run: i64,
    events: impl IntoIterator<Item = (u64, &'a str, &'a Link)>,
) -> Done<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO events (place, body, chain) VALUES (?1, ?2, ?3)")?;
    for (seq, body, chain) in events {
        statement.execute(params![place(run, seq), body, chain])?;
    }
    Ok(())
}

/// Whether there is a run with that id.
pub(super) fn is_there(connection: &Connection, id: &str) -> Done<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?.exists([id])?)
}

/// An event as it lies in its place.
pub(super) fn raw_event(connection: &Connection, run: i64, seq: u64) -> Done<Option<RawEvent>> {
    Ok(connection
        .prepare_cached("SELECT seq, body, chain FROM events WHERE place = ?1")?
        .query_row([place(run, seq)], row::event)
        .optional()?)
}

/// A run that has to be there.
pub(super) fn found(connection: &Connection, id: &str) -> Done<RunRow> {
    find(connection, id)?.ok_or_else(|| StoreError::NoRun(id.to_owned()).into())
}

/// The run that a start means, if there is one already.
pub(super) fn known(connection: &Connection, session: i64, new: &NewRun) -> Done<Option<RunRow>> {
    if let Some(known) = find(connection, &new.id)? {
        let same_key = new.key.is_none() || new.key == known.key;
        if known.session != new.session || !same_key {
            return Err(StoreError::Conflict(new.id.clone()).into());
        }
        return Ok(Some(known));
    }
    match &new.key {
        Some(key) => one(connection, "r.session = ?1 AND r.key = ?2", &[&session, key]),
        None => Ok(None),
    }
}

fn one(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Done<Option<RunRow>> {
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
    standing: &Standing,
    drafts: &[Draft],
) -> Done<Head> {
    draft::epochs(id, standing.epoch, drafts)?;
    let (again, new) = drafts.split_at(draft::plan(id, standing.head.last, drafts)?);
    compare(connection, id, standing.serial, again)?;
    let mut head = standing.head;
    for draft in new {
        let chain = chain::link(&head.chain, draft.seq, &draft.body);
        insert_event(connection, standing.serial, draft.seq, &draft.body, &chain)?;
        head = Head { last: draft.seq, chain };
    }
    Ok(head)
}

fn compare(connection: &Connection, id: &str, run: i64, again: &[Draft]) -> Done<()> {
    for draft in again {
        let stored = raw_event(connection, run, draft.seq)?
            .ok_or_else(|| chain::damaged(id, draft.seq, "it is missing".to_owned()))?;
        draft.compare(id, &stored.body)?;
    }
    Ok(())
}

/// The key of an event: the number of its run, and its place in the log in the lower half.
fn place(run: i64, seq: u64) -> i64 {
    (run << 32) | signed(seq.min(limits::RUN_EVENTS))
}
