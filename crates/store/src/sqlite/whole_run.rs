//! Stores complete runs, within a transaction.

use rusqlite::{Connection, params};

use super::{
    error::{SqliteError, SqliteResult},
    event_rows,
    row::{signed, unsigned},
    runs, sessions,
    writer_thread::WriteContext,
};
use crate::{
    FinalizeResult, NewRecord, NewSession, RawEvent, Result, WholeRun,
    ordinals::{self, ExistingRecords},
    whole_run::{self, EncodedRun},
};

/// An existing session.
struct SessionCounters {
    serial: i64,
    epoch: i64,
    records: i64,
}

/// Where a run is inserted.
struct RunPlacement {
    session: i64,
    epoch: i64,
    now: u64,
}

/// Stores runs in order. A refused run has written nothing, so it does not affect the others.
pub(super) fn write_runs(
    context: &mut WriteContext<'_>,
    runs: &[EncodedRun],
    now: u64,
) -> SqliteResult<Vec<Result<FinalizeResult>>> {
    let mut results = Vec::with_capacity(runs.len());
    for run in runs {
        results.push(match write_run(context, run, now) {
            Ok(result) => Ok(result),
            Err(SqliteError::Refused(error)) => Err(error),
            Err(error @ SqliteError::Engine(_)) => return Err(error),
        });
    }
    Ok(results)
}

/// Makes all checks before it writes anything.
fn write_run(
    context: &mut WriteContext<'_>,
    encoded: &EncodedRun,
    now: u64,
) -> SqliteResult<FinalizeResult> {
    let connection = context.connection;
    let WholeRun { session, run, closing } = &*encoded.whole;
    let known = find_session(connection, &encoded.whole)?;
    // No session has the row number 0.
    let serial = known.as_ref().map_or(0, |known| known.serial);
    if (run.key.is_some() || runs::exists(connection, &run.id)?)
        && let Some(known) = runs::find_existing(connection, serial, run)?
    {
        return Ok(FinalizeResult::AlreadyEnded(known));
    }
    let epoch = known.as_ref().map_or(1, |known| known.epoch + 1);
    let log = encoded.log(unsigned(epoch), now)?;
    let existing = match &known {
        Some(known) => sessions::find_existing_records(connection, known.serial, &closing.records)?,
        None => ExistingRecords::default(),
    };
    let last = known.as_ref().map_or(0, |known| unsigned(known.records));
    let ordinals = ordinals::assign_ordinals(last, &existing, &closing.records)?;
    let records: Vec<(u64, &NewRecord)> =
        ordinals::new_records(last, &ordinals, &closing.records).collect();
    // From here on nothing is refused.
    let count = signed(records.last().map_or(last, |(ordinal, _)| *ordinal));
    let session = match known {
        Some(known) => update_session(connection, known.serial, epoch, count, now)?,
        None => create_session(connection, session, epoch, count, now)?,
    };
    insert_run(connection, &RunPlacement { session, epoch, now }, encoded, &log)?;
    for (ordinal, record) in records {
        sessions::insert_record(connection, session, ordinal, now, record)?;
    }
    let last = log.last().map_or(1, |event| event.seq);
    context.publish(&run.id, last);
    Ok(FinalizeResult::Recorded(encoded.row(unsigned(epoch), last, now)))
}

fn find_session(
    connection: &Connection,
    whole: &WholeRun,
) -> SqliteResult<Option<SessionCounters>> {
    let mut statement = connection
        .prepare_cached("SELECT serial, epoch, records, owner FROM sessions WHERE id = ?1")?;
    let mut rows = statement.query([&whole.session.id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let owner: String = row.get(3)?;
    whole_run::check_owner(whole, &owner)?;
    Ok(Some(SessionCounters { serial: row.get(0)?, epoch: row.get(1)?, records: row.get(2)? }))
}

/// Updates a session that gets one more run.
fn update_session(
    connection: &Connection,
    session: i64,
    epoch: i64,
    records: i64,
    now: u64,
) -> SqliteResult<i64> {
    connection
        .prepare_cached(
            "UPDATE sessions SET epoch = ?2, records = ?3, touched = max(touched, ?4)
             WHERE serial = ?1",
        )?
        .execute(params![session, epoch, records, signed(now)])?;
    Ok(session)
}

/// Creates a session with its first run.
fn create_session(
    connection: &Connection,
    new: &NewSession,
    epoch: i64,
    records: i64,
    now: u64,
) -> SqliteResult<i64> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, owner, title, meta, created, touched, epoch, records)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)",
        )?
        .execute(params![new.id, new.owner, new.title, new.meta, signed(now), epoch, records])?;
    Ok(connection.last_insert_rowid())
}

/// Inserts a run with its end and its log.
fn insert_run(
    connection: &Connection,
    placement: &RunPlacement,
    encoded: &EncodedRun,
    log: &[RawEvent],
) -> SqliteResult<()> {
    let Some(last) = log.last() else { return Ok(()) };
    let new = &encoded.whole.run;
    let now = placement.now;
    connection
        .prepare_cached(
            "INSERT INTO runs (id, session, epoch, key, started, agent, model, last, chain,
                               holder, fence, lease_until, ended_at, ended, summary)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            new.id,
            placement.session,
            placement.epoch,
            new.key,
            signed(new.at.unwrap_or(now)),
            new.start.agent.as_deref(),
            new.start.model.as_deref(),
            signed(last.seq),
            last.chain,
            new.owner,
            signed(now.saturating_add(new.ttl)),
            signed(encoded.ended_at().unwrap_or(now)),
            encoded.ended,
            encoded.summary,
        ])?;
    event_rows::insert_whole(connection, connection.last_insert_rowid(), log)
}
