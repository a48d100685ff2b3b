//! Sessions, their records and their snapshots, within a transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::SqliteResult,
    row::{self, limit, signed, unsigned},
    seal,
};
use crate::{
    AgentSnapshot, NewRecord, NewSession, SessionRow, StoreError, StoredRecord,
    ordinals::{self, ExistingRecords},
};

/// Row number of a session.
pub(super) fn serial(connection: &Connection, id: &str) -> SqliteResult<i64> {
    let found = connection
        .prepare_cached("SELECT serial FROM sessions WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    found.ok_or_else(|| StoreError::NoSession(id.to_owned()).into())
}

/// Finds a session.
pub(super) fn find(connection: &Connection, id: &str) -> SqliteResult<Option<SessionRow>> {
    let columns = row::SESSION;
    let sql = format!("SELECT {columns} FROM sessions s WHERE s.id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], row::session).optional()?)
}

/// Creates a session, or returns the existing one.
pub(super) fn create(
    connection: &Connection,
    new: &NewSession,
    now: u64,
) -> SqliteResult<SessionRow> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, owner, title, meta, created, touched, epoch, records)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![new.id, new.owner, new.title, new.meta, signed(now)])?;
    find(connection, &new.id)?.ok_or_else(|| StoreError::NoSession(new.id.clone()).into())
}

/// Sets the time of the last change.
pub(super) fn touch(connection: &Connection, session: i64, now: u64) -> SqliteResult<()> {
    connection
        .prepare_cached("UPDATE sessions SET touched = max(touched, ?2) WHERE serial = ?1")?
        .execute(params![session, signed(now)])?;
    Ok(())
}

/// Adds records and skips existing ones. Returns their ordinals.
pub(super) fn add_records(
    connection: &Connection,
    session: i64,
    records: &[NewRecord],
    now: u64,
) -> SqliteResult<Vec<u64>> {
    let last: i64 = connection
        .prepare_cached("SELECT records FROM sessions WHERE serial = ?1")?
        .query_row([session], |row| row.get(0))?;
    let last = unsigned(last);
    let ordinals = ordinals::assign_ordinals(
        last,
        &find_existing_records(connection, session, records)?,
        records,
    )?;
    let mut count = last;
    for (ordinal, record) in ordinals::new_records(last, &ordinals, records) {
        insert_record(connection, session, ordinal, now, record)?;
        count = ordinal;
    }
    connection
        .prepare_cached(
            "UPDATE sessions SET records = ?2, touched = max(touched, ?3) WHERE serial = ?1",
        )?
        .execute(params![session, signed(count), signed(now)])?;
    Ok(ordinals)
}

/// Finds which of the given records, and which of their parents, exist.
pub(super) fn find_existing_records(
    connection: &Connection,
    session: i64,
    records: &[NewRecord],
) -> SqliteResult<ExistingRecords> {
    let mut existing = ExistingRecords::default();
    for record in records {
        if let Some(known) = find_record(connection, session, &record.id)? {
            existing.records.insert(record.id.clone(), known);
        } else if let Some(parent) = &record.parent
            && find_ordinal(connection, session, parent)?.is_some()
        {
            existing.parents.insert(parent.clone());
        }
    }
    Ok(existing)
}

/// Inserts a record.
pub(super) fn insert_record(
    connection: &Connection,
    session: i64,
    ordinal: u64,
    at: u64,
    record: &NewRecord,
) -> SqliteResult<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (session, ordinal, id, parent, run, kind, body, at, seal)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            session,
            signed(ordinal),
            record.id,
            record.parent,
            record.run,
            record.kind,
            record.body,
            signed(at),
            seal::seal_record(ordinal, at, record),
        ])?;
    Ok(())
}

/// Sets the number of records.
pub(super) fn set_records(connection: &Connection, session: i64, records: i64) -> SqliteResult<()> {
    connection
        .prepare_cached("UPDATE sessions SET records = ?2 WHERE serial = ?1")?
        .execute(params![session, records])?;
    Ok(())
}

/// Finds a record by id.
pub(super) fn find_record(
    connection: &Connection,
    session: i64,
    id: &str,
) -> SqliteResult<Option<StoredRecord>> {
    let columns = row::RECORD;
    let mut statement = connection
        .prepare_cached(&format!("SELECT {columns} FROM records WHERE session = ?1 AND id = ?2"))?;
    row::first(statement.query(params![session, id])?, row::record)
}

/// Returns records with an ordinal above `after`.
pub(super) fn records(
    connection: &Connection,
    session: i64,
    after: u64,
    max: usize,
) -> SqliteResult<Vec<StoredRecord>> {
    let columns = row::RECORD;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns} FROM records
         WHERE session = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3"
    ))?;
    row::all(statement.query(params![session, signed(after), limit(max)])?, row::record)
}

/// Stores a snapshot and replaces an earlier one.
pub(super) fn put_snapshot(
    connection: &Connection,
    session: i64,
    snapshot: &AgentSnapshot,
) -> SqliteResult<()> {
    connection
        .prepare_cached(
            "INSERT INTO snapshots (session, name, body, expires, seal)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session, name) DO UPDATE SET body = ?3, expires = ?4, seal = ?5",
        )?
        .execute(params![
            session,
            snapshot.name,
            snapshot.body,
            snapshot.expires.map(signed),
            seal::seal_snapshot(snapshot),
        ])?;
    Ok(())
}

/// Returns a snapshot, unless it has expired.
pub(super) fn snapshot(
    connection: &Connection,
    session: i64,
    name: &str,
    now: u64,
) -> SqliteResult<Option<AgentSnapshot>> {
    let mut statement = connection.prepare_cached(
        "SELECT name, body, expires, seal FROM snapshots
         WHERE session = ?1 AND name = ?2 AND (expires IS NULL OR expires > ?3)",
    )?;
    row::first(statement.query(params![session, name, signed(now)])?, row::snapshot)
}

/// Deletes a snapshot. Returns whether it existed.
pub(super) fn drop_snapshot(
    connection: &Connection,
    session: i64,
    name: &str,
) -> SqliteResult<bool> {
    let deleted = connection
        .prepare_cached("DELETE FROM snapshots WHERE session = ?1 AND name = ?2")?
        .execute(params![session, name])?;
    Ok(deleted > 0)
}

fn find_ordinal(connection: &Connection, session: i64, id: &str) -> SqliteResult<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT ordinal FROM records WHERE session = ?1 AND id = ?2")?
        .query_row(params![session, id], |row| row.get(0))
        .optional()?)
}
