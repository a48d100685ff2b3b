//! Restores the items of an import, within a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::{SqliteError, SqliteResult},
    event_rows,
    row::{signed, unsigned},
    runs::{self, RunEndFlag, RunWriteState},
    sessions,
    writer_thread::WriteContext,
};
use crate::{
    LogHead, RawEvent, RestoreItem, RunRow, RunState, SessionRow, StoreError, StoredRecord,
    archive::{IMPORT_TTL, IMPORTER},
    chain::ROOT,
    codec,
};

/// Restores an item. Returns the number of new rows.
pub(super) fn restore(
    context: &mut WriteContext<'_>,
    item: &RestoreItem,
    now: u64,
) -> SqliteResult<u64> {
    let connection = context.connection;
    match item {
        RestoreItem::Session(session) => put_session(connection, session),
        RestoreItem::Records { session, records } => put_records(connection, session, records),
        RestoreItem::Run(run) => put_run(connection, run, now),
        RestoreItem::Events { run, events } => put_events(context, run, events, now),
        RestoreItem::Left { run } => release_run(connection, run),
        RestoreItem::End { run, ended, summary, at } => {
            let json = (codec::write_end(ended), codec::write_summary(summary));
            let state = RunState::Ended { ended: ended.clone(), summary: *summary, at: *at };
            put_end(context, run, &state, &json, *at)
        }
    }
}

fn put_session(connection: &Connection, session: &SessionRow) -> SqliteResult<u64> {
    let fixed_fields =
        |row: &SessionRow| (row.owner.clone(), row.title.clone(), row.meta.clone(), row.created);
    if let Some(known) = sessions::find(connection, &session.id)? {
        if fixed_fields(&known) != fixed_fields(session) {
            return conflict(&session.id);
        }
        connection
            .prepare_cached(
                "UPDATE sessions SET epoch = max(epoch, ?2), touched = max(touched, ?3) WHERE id = ?1",
            )?
            .execute(params![session.id, signed(session.epoch), signed(session.touched)])?;
        return Ok(0);
    }
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, owner, title, meta, created, touched, epoch, records)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)",
        )?
        .execute(params![
            session.id,
            session.owner,
            session.title,
            session.meta,
            signed(session.created),
            signed(session.touched),
            signed(session.epoch),
        ])?;
    Ok(1)
}

fn put_records(
    connection: &Connection,
    session: &str,
    records: &[StoredRecord],
) -> SqliteResult<u64> {
    let serial = sessions::serial(connection, session)?;
    let count: i64 = connection
        .prepare_cached("SELECT records FROM sessions WHERE serial = ?1")?
        .query_row([serial], |row| row.get(0))?;
    let mut last = unsigned(count);
    for record in records {
        let known = sessions::find_record(connection, serial, &record.record.id)?;
        match known {
            Some(known) if known == *record => {}
            // Another record has the id or the ordinal.
            Some(_) => return conflict(&record.record.id),
            None if record.ordinal != last + 1 => return conflict(&record.record.id),
            None => {
                let StoredRecord { ordinal, at, record } = record;
                sessions::insert_record(connection, serial, *ordinal, *at, record)?;
                last += 1;
            }
        }
    }
    sessions::set_records(connection, serial, signed(last))?;
    Ok(last - unsigned(count))
}

fn put_run(connection: &Connection, run: &RunRow, now: u64) -> SqliteResult<u64> {
    let session = sessions::serial(connection, &run.session)?;
    let fixed_fields = |row: &RunRow| {
        let RunRow { session, epoch, key, started, agent, model, .. } = row.clone();
        (session, epoch, key, started, agent, model)
    };
    if let Some(known) = runs::find(connection, &run.id)? {
        if fixed_fields(&known) != fixed_fields(run) {
            return conflict(&run.id);
        }
        return Ok(0);
    }
    let taken = connection
        .prepare_cached("SELECT 1 FROM runs WHERE session = ?1 AND (epoch = ?2 OR key = ?3)")?
        .query_row(params![session, signed(run.epoch), run.key], |_| Ok(()))
        .optional()?;
    if taken.is_some() {
        return conflict(&run.id);
    }
    connection
        .prepare_cached(
            "INSERT INTO runs (id, session, epoch, key, started, agent, model, last, chain,
                               holder, fence, lease_until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, 1, ?10)",
        )?
        .execute(params![
            run.id,
            session,
            signed(run.epoch),
            run.key,
            signed(run.started),
            run.agent,
            run.model,
            ROOT,
            IMPORTER,
            signed(now.saturating_add(IMPORT_TTL)),
        ])?;
    Ok(1)
}

fn put_events(
    context: &mut WriteContext<'_>,
    run: &str,
    events: &[RawEvent],
    now: u64,
) -> SqliteResult<u64> {
    let connection = context.connection;
    let write_state = runs::read_write_state(connection, run)?;
    let repeated = events.partition_point(|event| event.seq <= write_state.head.last);
    let (repeated, new) = events.split_at(repeated);
    for event in repeated {
        let stored = event_rows::find(connection, write_state.serial, event.seq)?;
        if stored.as_ref() != Some(event) {
            return conflict(&format!("{run}/{}", event.seq));
        }
    }
    let Some(first) = new.first() else { return Ok(0) };
    if !is_imported(&write_state) || first.seq != write_state.head.last + 1 {
        return conflict(&format!("{run}/{}", first.seq));
    }
    let mut head = write_state.head;
    for event in new {
        event_rows::insert(connection, write_state.serial, event.seq, &event.body, &event.chain)?;
        head = LogHead { last: event.seq, chain: event.chain };
    }
    runs::set_head(connection, write_state.serial, &head)?;
    set_lease(connection, &write_state, now.saturating_add(IMPORT_TTL))?;
    context.publish(run, head.last);
    Ok(u64::try_from(new.len()).unwrap_or(u64::MAX))
}

fn release_run(connection: &Connection, run: &str) -> SqliteResult<u64> {
    let write_state = runs::read_write_state(connection, run)?;
    if is_imported(&write_state) {
        set_lease(connection, &write_state, 0)?;
    }
    Ok(0)
}

fn put_end(
    context: &mut WriteContext<'_>,
    run: &str,
    state: &RunState,
    (ended, summary): &(String, String),
    at: u64,
) -> SqliteResult<u64> {
    let connection = context.connection;
    let write_state = runs::read_write_state(connection, run)?;
    if write_state.ended == RunEndFlag::Ended {
        let known = runs::require_run(connection, run)?;
        return if known.state == *state { Ok(0) } else { conflict(run) };
    }
    if !is_imported(&write_state) {
        return conflict(run);
    }
    connection
        .prepare_cached(
            "UPDATE runs SET ended_at = ?2, ended = ?3, summary = ?4
             WHERE serial = ?1 AND ended_at IS NULL",
        )?
        .execute(params![write_state.serial, signed(at), ended, summary])?;
    context.publish(run, write_state.head.last);
    Ok(1)
}

/// Whether the import holds the run. A run that another process holds is not changed.
fn is_imported(write_state: &RunWriteState) -> bool {
    write_state.ended == RunEndFlag::Open && write_state.lease.owner == IMPORTER
}

fn set_lease(connection: &Connection, write_state: &RunWriteState, until: u64) -> SqliteResult<()> {
    connection
        .prepare_cached("UPDATE runs SET lease_until = ?2 WHERE serial = ?1")?
        .execute(params![write_state.serial, signed(until)])?;
    Ok(())
}

fn conflict<T>(id: &str) -> SqliteResult<T> {
    Err(SqliteError::Refused(StoreError::Conflict(id.to_owned())))
}
