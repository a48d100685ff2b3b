//! Leases of runs, within a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::SqliteResult,
    row::{self, limit, signed, unsigned},
    runs::{self, RunWriteState},
};
use crate::{Lease, RunRow};

/// Extends a lease.
pub(super) fn renew(
    connection: &Connection,
    id: &str,
    lease: &Lease,
    ttl: u64,
    now: u64,
) -> SqliteResult<()> {
    let write_state = runs::read_write_state(connection, id)?;
    runs::may_write(connection, id, &write_state, lease)?;
    connection
        .prepare_cached("UPDATE runs SET lease_until = ?2 WHERE serial = ?1")?
        .execute(params![write_state.serial, signed(now.saturating_add(ttl))])?;
    Ok(())
}

/// Takes over a run whose lease has expired.
pub(super) fn take_over(
    connection: &Connection,
    id: &str,
    owner: &str,
    ttl: u64,
    now: u64,
) -> SqliteResult<Option<Lease>> {
    let RunWriteState { serial, .. } = runs::read_write_state(connection, id)?;
    let fence: Option<i64> = connection
        .prepare_cached(
            "UPDATE runs SET holder = ?2, fence = fence + 1, lease_until = ?3
             WHERE serial = ?1 AND ended_at IS NULL AND lease_until <= ?4 RETURNING fence",
        )?
        .query_row(params![serial, owner, signed(now.saturating_add(ttl)), signed(now)], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(fence.map(|fence| Lease { owner: owner.to_owned(), fence: unsigned(fence) }))
}

/// Takes over an open run from its holder.
pub(super) fn hand_over(
    connection: &Connection,
    id: &str,
    owner: &str,
    ttl: u64,
    now: u64,
) -> SqliteResult<Option<Lease>> {
    let fence: Option<i64> = connection
        .prepare_cached(
            "UPDATE runs SET holder = ?2, fence = fence + 1, lease_until = ?3
             WHERE id = ?1 AND ended_at IS NULL RETURNING fence",
        )?
        .query_row(params![id, owner, signed(now.saturating_add(ttl))], |row| row.get(0))
        .optional()?;
    Ok(fence.map(|fence| Lease { owner: owner.to_owned(), fence: unsigned(fence) }))
}

/// Milliseconds until the first lease expires.
pub(super) fn earliest_lease(connection: &Connection, now: u64) -> SqliteResult<Option<u64>> {
    let until: Option<i64> = connection
        .prepare_cached("SELECT min(lease_until) FROM runs WHERE ended_at IS NULL")?
        .query_row([], |row| row.get(0))?;
    Ok(until.map(|until| unsigned(until).saturating_sub(now)))
}

/// Runs whose lease has expired, oldest first.
pub(super) fn abandoned_runs(
    connection: &Connection,
    max: usize,
    now: u64,
) -> SqliteResult<Vec<RunRow>> {
    let columns = row::RUN;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns} FROM runs r JOIN sessions s ON s.serial = r.session
         WHERE r.ended_at IS NULL AND r.lease_until <= ?1 ORDER BY r.lease_until LIMIT ?2"
    ))?;
    row::all(statement.query(params![signed(now), limit(max)])?, row::run)
}
