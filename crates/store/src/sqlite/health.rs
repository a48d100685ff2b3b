//! Counts the stored rows and runs SQLite's own checks.

use rusqlite::{Connection, Row};

use super::{
    error::SqliteResult,
    row::{self, unsigned},
};
use crate::{StoreError, StoreTotals};

/// Counts the stored rows.
pub(super) fn read_totals(connection: &Connection) -> SqliteResult<StoreTotals> {
    let number = |sql: &str| -> SqliteResult<u64> {
        Ok(unsigned(connection.query_row(sql, [], |row| row.get(0))?))
    };
    let pages = number("PRAGMA page_count")?;
    Ok(StoreTotals {
        schema: u32::try_from(number("PRAGMA user_version")?).unwrap_or(u32::MAX),
        sessions: number("SELECT count(*) FROM sessions")?,
        records: number("SELECT coalesce(sum(records), 0) FROM sessions")?,
        snapshots: number("SELECT count(*) FROM snapshots")?,
        runs: number("SELECT count(*) FROM runs")?,
        open: number("SELECT count(*) FROM runs WHERE ended_at IS NULL")?,
        events: number("SELECT coalesce(sum(last), 0) FROM runs")?,
        bytes: Some(pages.saturating_mul(number("PRAGMA page_size")?)),
    })
}

/// Returns the errors that SQLite finds, and records and snapshots whose seal is wrong.
pub(super) fn examine(connection: &Connection) -> SqliteResult<Vec<String>> {
    let mut errors: Vec<String> = connection
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    errors.retain(|error| error != "ok");
    let orphans: Vec<String> = connection
        .prepare("PRAGMA foreign_key_check")?
        .query_map([], |row| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of {table} refers to a missing row of {parent}"))
        })?
        .collect::<rusqlite::Result<_>>()?;
    errors.extend(orphans);
    let orphan_events = "SELECT count(*) FROM events WHERE run NOT IN (SELECT serial FROM runs)";
    for _ in 0..connection.query_row(orphan_events, [], |row| row.get::<_, i64>(0))? {
        errors.push("a row of events refers to a missing row of runs".to_owned());
    }
    let columns = row::RECORD;
    find_unsealed(connection, &format!("SELECT {columns} FROM records"), &mut errors, |row| {
        row::record(row).map(|_| ())
    })?;
    let snapshots = "SELECT name, body, expires, seal FROM snapshots";
    find_unsealed(connection, snapshots, &mut errors, |row| row::snapshot(row).map(|_| ()))?;
    Ok(errors)
}

/// Reads every row and adds an error for each that does not match its seal.
fn find_unsealed(
    connection: &Connection,
    sql: &str,
    errors: &mut Vec<String>,
    read: impl Fn(&Row<'_>) -> SqliteResult<()>,
) -> SqliteResult<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match read(row).map_err(StoreError::from) {
            Ok(()) => {}
            Err(error @ StoreError::Corrupt { .. }) => errors.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
