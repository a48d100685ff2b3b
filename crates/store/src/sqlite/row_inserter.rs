//! Inserts many rows of one table. A statement for many rows costs a fraction of a statement for
//! each: its cursors stay where the row before was inserted, and rows come in the order of their keys.

use rusqlite::{CachedStatement, Connection, ToSql};

use super::error::SqliteResult;

/// How many rows a statement inserts, the most first.
const GROUPS: [usize; 3] = [32, 8, 1];

/// Inserts a known number of rows.
pub(super) struct RowInserter<'c> {
    connection: &'c Connection,
    /// The statement up to `VALUES`.
    insert: &'static str,
    columns: usize,
    /// Rows that are not bound yet.
    left: usize,
    group: Option<RowGroup<'c>>,
}

/// A statement whose rows are being bound.
struct RowGroup<'c> {
    statement: CachedStatement<'c>,
    bound: usize,
    rows: usize,
}

impl<'c> RowInserter<'c> {
    /// For a number of rows with a number of columns each.
    pub(super) fn new(
        connection: &'c Connection,
        insert: &'static str,
        columns: usize,
        rows: usize,
    ) -> RowInserter<'c> {
        RowInserter { connection, insert, columns, left: rows, group: None }
    }

    /// Adds the next row. The last one writes what is left.
    pub(super) fn add(&mut self, row: &[&dyn ToSql]) -> SqliteResult<()> {
        debug_assert!(row.len() == self.columns && self.left > 0);
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.begin_group()?,
        };
        let first = group.bound * self.columns + 1;
        for (parameter, value) in (first..).zip(row) {
            group.statement.raw_bind_parameter(parameter, value)?;
        }
        group.bound += 1;
        self.left = self.left.saturating_sub(1);
        if group.bound < group.rows {
            self.group = Some(group);
        } else {
            group.statement.raw_execute()?;
        }
        Ok(())
    }

    fn begin_group(&self) -> SqliteResult<RowGroup<'c>> {
        let rows = GROUPS.into_iter().find(|rows| *rows <= self.left).unwrap_or(1);
        let row = format!("(?{})", ", ?".repeat(self.columns.saturating_sub(1)));
        let more = format!(", {row}").repeat(rows - 1);
        let statement =
            self.connection.prepare_cached(&format!("{} VALUES {row}{more}", self.insert))?;
        Ok(RowGroup { statement, bound: 0, rows })
    }
}
