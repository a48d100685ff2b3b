//! Puts back what an export told, within a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    desk::Work,
    fault::{Done, Fault},
    row::{signed, unsigned},
    runs::{self, Ended, Standing},
    sessions,
};
use crate::{
    Head, Piece, RawEvent, Record, RunRow, RunState, SessionRow, StoreError,
    archive::{IMPORT_TTL, IMPORTER},
    chain::ROOT,
    codec,
};

/// Puts a piece back. Returns how many rows are new.
pub(super) fn restore(work: &mut Work<'_>, piece: &Piece, now: u64) -> Done<u64> {
    let connection = work.connection;
    match piece {
        Piece::Session(session) => put_session(connection, session),
        Piece::Records { session, records } => put_records(connection, session, records),
        Piece::Run(run) => put_run(connection, run, now),
        Piece::Events { run, events } => put_events(work, run, events, now),
        Piece::Left { run } => leave(connection, run),
        Piece::End { run, ended, summary, at } => {
            let spelled = (codec::ended(ended), codec::summary(summary));
            let state = RunState::Ended { ended: ended.clone(), summary: *summary, at: *at };
            end(work, run, &state, &spelled, *at)
        }
    }
}

fn put_session(connection: &Connection, session: &SessionRow) -> Done<u64> {
    let facts =
        |row: &SessionRow| (row.owner.clone(), row.title.clone(), row.meta.clone(), row.created);
    if let Some(known) = sessions::find(connection, &session.id)? {
        if facts(&known) != facts(session) {
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

fn put_records(connection: &Connection, session: &str, records: &[Record]) -> Done<u64> {
    let serial = sessions::serial(connection, session)?;
    let count: i64 = connection
        .prepare_cached("SELECT records FROM sessions WHERE serial = ?1")?
        .query_row([serial], |row| row.get(0))?;
    let mut last = unsigned(count);
    for record in records {
        let known = sessions::find_record(connection, serial, &record.record.id)?;
        match known {
            Some(known) if known == *record => {}
            // Somebody else's record has the id, or the place.
            Some(_) => return conflict(&record.record.id),
            None if record.ordinal != last + 1 => return conflict(&record.record.id),
            None => {
                let Record { ordinal, at, record } = record;
                sessions::insert_record(connection, serial, *ordinal, *at, record)?;
                last += 1;
            }
        }
    }
    sessions::set_records(connection, serial, signed(last))?;
    Ok(last - unsigned(count))
}

fn put_run(connection: &Connection, run: &RunRow, now: u64) -> Done<u64> {
    let session = sessions::serial(connection, &run.session)?;
    let facts = |row: &RunRow| {
        let RunRow { session, epoch, key, started, agent, model, .. } = row.clone();
        (session, epoch, key, started, agent, model)
    };
    if let Some(known) = runs::find(connection, &run.id)? {
        if facts(&known) != facts(run) {
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

fn put_events(work: &mut Work<'_>, run: &str, events: &[RawEvent], now: u64) -> Done<u64> {
    let connection = work.connection;
    let standing = runs::standing(connection, run)?;
    let again = events.partition_point(|event| event.seq <= standing.head.last);
    let (again, new) = events.split_at(again);
    for event in again {
        let stored = runs::raw_event(connection, standing.serial, event.seq)?;
        if stored.as_ref() != Some(event) {
            return conflict(&format!("{run}/{}", event.seq));
        }
    }
    let Some(first) = new.first() else { return Ok(0) };
    if !imported(&standing) || first.seq != standing.head.last + 1 {
        return conflict(&format!("{run}/{}", first.seq));
    }
    let mut head = standing.head;
    for event in new {
        runs::insert_event(connection, standing.serial, event.seq, &event.body, &event.chain)?;
        head = Head { last: event.seq, chain: event.chain };
    }
    runs::set_head(connection, standing.serial, &head)?;
    set_lease(connection, &standing, now.saturating_add(IMPORT_TTL))?;
    work.tell(run, head.last);
    Ok(u64::try_from(new.len()).unwrap_or(u64::MAX))
}

fn leave(connection: &Connection, run: &str) -> Done<u64> {
    let standing = runs::standing(connection, run)?;
    if imported(&standing) {
        set_lease(connection, &standing, 0)?;
    }
    Ok(0)
}

fn end(
    work: &mut Work<'_>,
    run: &str,
    state: &RunState,
    (ended, summary): &(String, String),
    at: u64,
) -> Done<u64> {
    let connection = work.connection;
    let standing = runs::standing(connection, run)?;
    if standing.ended == Ended::Yes {
        let known = runs::found(connection, run)?;
        return if known.state == *state { Ok(0) } else { conflict(run) };
    }
    if !imported(&standing) {
        return conflict(run);
    }
    connection
        .prepare_cached(
            "UPDATE runs SET ended_at = ?2, ended = ?3, summary = ?4
             WHERE serial = ?1 AND ended_at IS NULL",
        )?
        .execute(params![standing.serial, signed(at), ended, summary])?;
    work.tell(run, standing.head.last);
    Ok(1)
}

/// Whether a run is being imported. One that somebody works on is left alone.
fn imported(standing: &Standing) -> bool {
    standing.ended == Ended::No && standing.lease.owner == IMPORTER
}

fn set_lease(connection: &Connection, standing: &Standing, until: u64) -> Done<()> {
    connection
        .prepare_cached("UPDATE runs SET lease_until = ?2 WHERE serial = ?1")?
        .execute(params![standing.serial, signed(until)])?;
    Ok(())
}

fn conflict<T>(id: &str) -> Done<T> {
    Err(Fault::Refused(StoreError::Conflict(id.to_owned())))
}
