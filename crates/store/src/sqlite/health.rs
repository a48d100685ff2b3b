//! How much is there, and whether SQLite finds it in order.

use rusqlite::{Connection, Row};

use super::{
    error::SqliteResult,
    row::{self, unsigned},
};
use crate::{StoreError, StoreTotals};

/// How much is stored.
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

/// What SQLite finds wrong.
pub(super) fn examine(connection: &Connection) -> SqliteResult<Vec<String>> {
    let mut complaints: Vec<String> = connection
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    complaints.retain(|complaint| complaint != "ok");
    let strays: Vec<String> = connection
        .prepare("PRAGMA foreign_key_check")?
        .query_map([], |row| {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of {table} belongs to nothing in {parent}"))
        })?
        .collect::<rusqlite::Result<_>>()?;
    complaints.extend(strays);
    let lost = "SELECT count(*) FROM events WHERE run NOT IN (SELECT serial FROM runs)";
    for _ in 0..connection.query_row(lost, [], |row| row.get::<_, i64>(0))? {
        complaints.push("a row of events belongs to nothing in runs".to_owned());
    }
    let columns = row::RECORD;
    find_unsealed(connection, &format!("SELECT {columns} FROM records"), &mut complaints, |row| {
        row::record(row).map(|_| ())
    })?;
    let snapshots = "SELECT name, body, expires, seal FROM snapshots";
    find_unsealed(connection, snapshots, &mut complaints, |row| row::snapshot(row).map(|_| ()))?;
    Ok(complaints)
}

/// Looks at every row, and adds what is not what was stored.
fn find_unsealed(
    connection: &Connection,
    sql: &str,
    complaints: &mut Vec<String>,
    read: impl Fn(&Row<'_>) -> SqliteResult<()>,
) -> SqliteResult<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match read(row).map_err(StoreError::from) {
            Ok(()) => {}
            Err(error @ StoreError::Corrupt { .. }) => complaints.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
