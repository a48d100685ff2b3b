//! Deletes within a transaction. Everything in a session or a run is deleted with it, and its bytes
//! are overwritten.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::{SqliteError, SqliteResult},
    row::{limit, signed},
    runs::{self, RunEndFlag},
    sessions, shared,
};
use crate::{PruneReport, StoreError};

/// Deletes a session without an open run.
pub(super) fn delete_session(connection: &Connection, id: &str) -> SqliteResult<bool> {
    let session = match sessions::serial(connection, id) {
        Ok(session) => session,
        Err(SqliteError::Refused(StoreError::NoSession(_))) => return Ok(false),
        Err(error) => return Err(error),
    };
    let open = connection
        .prepare_cached("SELECT id FROM runs WHERE session = ?1 AND ended_at IS NULL LIMIT 1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    if let Some(run) = open {
        return Err(StoreError::Busy { session: id.to_owned(), run }.into());
    }
    remove_session(connection, session)?;
    Ok(true)
}

/// Deletes an ended run.
pub(super) fn delete_run(connection: &Connection, id: &str) -> SqliteResult<bool> {
    let write_state = match runs::read_write_state(connection, id) {
        Ok(write_state) => write_state,
        Err(SqliteError::Refused(StoreError::NoRun(_))) => return Ok(false),
        Err(error) => return Err(error),
    };
    match write_state.ended {
        RunEndFlag::Ended => {
            connection
                .prepare_cached("DELETE FROM runs WHERE serial = ?1")?
                .execute([write_state.serial])?;
            Ok(true)
        }
        RunEndFlag::Open => {
            let session = runs::require_run(connection, id)?.session;
            Err(StoreError::Busy { session, run: id.to_owned() }.into())
        }
    }
}

/// Deletes sessions that did not change since `before`, and expired snapshots.
pub(super) fn prune(
    connection: &Connection,
    before: u64,
    max: usize,
    now: u64,
) -> SqliteResult<PruneReport> {
    shared::prune(connection, now)?;
    let mut report =
        PruneReport { snapshots: delete_expired(connection, now)?, ..PruneReport::default() };
    let old: Vec<(i64, i64, i64)> = connection
        .prepare_cached(
            "SELECT s.serial,
                    (SELECT count(*) FROM runs r WHERE r.session = s.serial),
                    (SELECT count(*) FROM snapshots k WHERE k.session = s.serial)
             FROM sessions s
             WHERE s.created < ?1 AND s.touched < ?1 AND NOT EXISTS
                 (SELECT 1 FROM runs r WHERE r.session = s.serial AND r.ended_at IS NULL)
             ORDER BY s.created LIMIT ?2",
        )?
        .query_map(params![signed(before), limit(max)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    for (session, runs, snapshots) in old {
        remove_session(connection, session)?;
        report.sessions += 1;
        report.runs += super::row::unsigned(runs);
        report.snapshots += super::row::unsigned(snapshots);
    }
    Ok(report)
}

fn remove_session(connection: &Connection, session: i64) -> SqliteResult<()> {
    connection.prepare_cached("DELETE FROM sessions WHERE serial = ?1")?.execute([session])?;
    Ok(())
}

fn delete_expired(connection: &Connection, now: u64) -> SqliteResult<u64> {
    let deleted = connection
        .prepare_cached("DELETE FROM snapshots WHERE expires IS NOT NULL AND expires <= ?1")?
        .execute([signed(now)])?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}
