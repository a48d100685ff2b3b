//! Inserts many rows of one table. A statement for many rows costs a fraction of a statement for
//! each: its cursors stay where the row before was inserted, and rows come in the order of their keys.

use std::sync::OnceLock;

use rusqlite::{CachedStatement, Connection, ToSql};

use super::error::SqliteResult;

/// How many rows a statement inserts, the most first.
const GROUPS: [usize; 3] = [32, 8, 1];

/// A statement that inserts rows of one table.
pub(super) struct InsertStatement {
    /// The statement up to `VALUES`.
    insert: &'static str,
    columns: usize,
    /// The whole statement for each of [`GROUPS`].
    texts: [OnceLock<String>; GROUPS.len()],
}

/// Inserts a known number of rows.
pub(super) struct RowInserter<'c> {
    connection: &'c Connection,
    statement: &'static InsertStatement,
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
    /// For a number of rows.
    pub(super) fn new(
        connection: &'c Connection,
        statement: &'static InsertStatement,
        rows: usize,
    ) -> RowInserter<'c> {
        RowInserter { connection, statement, left: rows, group: None }
    }

    /// Adds the next row. The last one writes what is left.
    pub(super) fn add(&mut self, row: &[&dyn ToSql]) -> SqliteResult<()> {
        debug_assert!(row.len() == self.statement.columns && self.left > 0);
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.begin_group()?,
        };
        let first = group.bound * self.statement.columns + 1;
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
        let (rows, text) = self.statement.for_rows(self.left);
        Ok(RowGroup { statement: self.connection.prepare_cached(text)?, bound: 0, rows })
    }
}

impl InsertStatement {
    /// `insert` is the statement up to `VALUES`.
    pub(super) const fn new(insert: &'static str, columns: usize) -> InsertStatement {
        InsertStatement { insert, columns, texts: [const { OnceLock::new() }; GROUPS.len()] }
    }

    /// The largest statement for at most so many rows, and for how many it is.
    fn for_rows(&self, left: usize) -> (usize, &str) {
        let groups = GROUPS.into_iter().zip(&self.texts);
        let fitting = groups.clone().find(|(rows, _)| *rows <= left).or_else(|| groups.last());
        let Some((rows, text)) = fitting else { return (1, self.insert) };
        let text = text.get_or_init(|| {
            let row = format!("(?{})", ", ?".repeat(self.columns.saturating_sub(1)));
            format!("{} VALUES {row}{}", self.insert, format!(", {row}").repeat(rows - 1))
        });
        (rows, text)
    }
}
