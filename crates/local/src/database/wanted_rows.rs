//! The rows that a session is to have, with the numbers and the order that a database gives them.

use std::path::Path;

use anyhow::bail;
use foxwedge_sessions::{DatabaseRow, RowChange, read_rows, write_rows};
use rusqlite::Connection;

use super::{
    SessionPath,
    layout::{RowTies, StoreLayout},
    reading::session_text,
    statements::apply,
};

/// The rows of a session as they are to be, the row of the session first.
pub(super) struct WantedRows {
    rows: Vec<DatabaseRow>,
    /// The number of the next row, for tables with numbered rows.
    next_number: i64,
}

impl WantedRows {
    /// Reads the text of a session. Rows without a number get the next ones.
    pub(super) fn read(
        connection: &Connection,
        layout: &StoreLayout,
        text: &str,
    ) -> anyhow::Result<WantedRows> {
        let rows = read_rows(text)?;
        let mut wanted = WantedRows { rows, next_number: 1 };
        let Some(table) = layout.tables.messages.first() else { return Ok(wanted) };
        for row in wanted.rows.iter_mut().filter(|row| row.table == table.name) {
            row.columns = in_column_order(&row.columns)?;
        }
        if layout.ties == RowTies::Numbered {
            let query = format!("SELECT coalesce(max({}), 0) + 1 FROM {}", table.key, table.name);
            wanted.next_number = connection.query_row(&query, [], |row| row.get(0))?;
            let is_new = |row: &DatabaseRow| row.table == table.name && row.id.starts_with('+');
            for at in 0..wanted.rows.len() {
                if wanted.rows.get(at).is_some_and(is_new) {
                    wanted.renumber(at);
                }
            }
        }
        Ok(wanted)
    }

    fn renumber(&mut self, at: usize) {
        if let Some(row) = self.rows.get_mut(at) {
            row.id = self.next_number.to_string();
            self.next_number += 1;
        }
    }

    /// The text of the session with these rows.
    pub(super) fn text(&self, layout: &StoreLayout) -> String {
        write_rows(layout.tables.agent.name(), &self.rows)
    }

    /// Puts rows with the same time into their order. Such rows are read in the order in which they
    /// were written, so those that are read too early are written once more.
    pub(super) fn put_in_order(
        &mut self,
        connection: &Connection,
        layout: &StoreLayout,
        session: &SessionPath,
    ) -> anyhow::Result<()> {
        if layout.ties == RowTies::Columns {
            return Ok(());
        }
        for _ in 0..self.rows.len() {
            let stored = stored_ids(connection, layout, session)?;
            let is_out_of_place = |(row, id): (&DatabaseRow, &String)| row.id != *id;
            let pairs = || self.rows.iter().zip(&stored);
            let Some(first) = pairs().position(is_out_of_place) else { return Ok(()) };
            let count = pairs().skip(first).take_while(|pair| is_out_of_place(*pair)).count();
            for at in first..first + count {
                self.write_again(connection, layout, &session.database, at)?;
            }
        }
        bail!("the rows cannot be put into the order of the repaired session; nothing is changed")
    }

    fn write_again(
        &mut self,
        connection: &Connection,
        layout: &StoreLayout,
        path: &Path,
        at: usize,
    ) -> anyhow::Result<()> {
        let Some(row) = self.rows.get(at).cloned() else { return Ok(()) };
        apply(connection, layout, path, &RowChange::Delete(row))?;
        if layout.ties == RowTies::Numbered {
            self.renumber(at);
        }
        let Some(row) = self.rows.get(at).cloned() else { return Ok(()) };
        apply(connection, layout, path, &RowChange::Insert(row))
    }
}

/// The ids of the rows in the order in which the agent reads them.
fn stored_ids(
    connection: &Connection,
    layout: &StoreLayout,
    session: &SessionPath,
) -> anyhow::Result<Vec<String>> {
    let text = session_text(connection, layout, session)?.unwrap_or_default();
    let rows = read_rows(std::str::from_utf8(&text)?)?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Columns as they are written when a row is read.
fn in_column_order(columns: &str) -> anyhow::Result<String> {
    let columns: serde_json::Map<String, serde_json::Value> = serde_json::from_str(columns)?;
    Ok(serde_json::to_string(&columns)?)
}
