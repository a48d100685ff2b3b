//! The statements that change one row.

use std::path::Path;

use anyhow::bail;
use foxwedge_sessions::{DatabaseRow, RowChange, RowPayload};
use rusqlite::{Connection, ToSql, types::Value};

use super::{
    columns::{PayloadValue, column_values},
    error::{changed_error, explain},
    layout::StoreLayout,
};
use crate::output::clean;

/// Makes one change. A row that is not as it was read is not changed.
pub(super) fn apply(
    connection: &Connection,
    layout: &StoreLayout,
    path: &Path,
    change: &RowChange,
) -> anyhow::Result<()> {
    let row = match change {
        RowChange::Insert(row) | RowChange::Delete(row) => row,
        RowChange::Update { after, .. } => after,
    };
    let mut tables = std::iter::once(&layout.tables.session).chain(layout.tables.messages);
    let Some(table) = tables.find(|table| table.name == row.table) else {
        bail!("table `{}` is not one of the session's", clean(&row.table));
    };
    let mut statement = RowStatement::default();
    let (key, payload) = (table.key, table.payload);
    let sql = match change {
        RowChange::Insert(row) => {
            let values = statement.row_values(row, key, payload)?;
            let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
            let places: Vec<&str> = values.iter().map(|(_, place)| place.as_str()).collect();
            format!(
                "INSERT INTO {} ({}) VALUES ({})",
                table.name,
                names.join(", "),
                places.join(", ")
            )
        }
        RowChange::Delete(row) => {
            let matches = statement.row_matches(row, key, payload)?;
            format!("DELETE FROM {} WHERE {matches}", table.name)
        }
        RowChange::Update { before, after } => {
            let values = statement.row_values(after, key, payload)?;
            let set: Vec<String> =
                values.iter().map(|(name, place)| format!("{name} = {place}")).collect();
            let matches = statement.row_matches(before, key, payload)?;
            format!("UPDATE {} SET {} WHERE {matches}", table.name, set.join(", "))
        }
    };
    let values: Vec<&dyn ToSql> = statement.values.iter().map(|value| &**value).collect();
    let changed = connection.execute(&sql, values.as_slice()).map_err(|e| explain(path, e))?;
    if changed != 1 {
        bail!(changed_error());
    }
    Ok(())
}

/// A statement about one row, with its values.
#[derive(Default)]
struct RowStatement<'r> {
    values: Vec<Box<dyn ToSql + 'r>>,
}

impl<'r> RowStatement<'r> {
    /// The columns of a row, each with the expression for its value.
    fn row_values(
        &mut self,
        row: &'r DatabaseRow,
        key: &str,
        payload: Option<&str>,
    ) -> anyhow::Result<Vec<(String, String)>> {
        let mut values = vec![(quoted(key), self.add(Value::Text(row.id.clone())))];
        for (name, value) in column_values(row)? {
            values.push((quoted(&name), self.add(value)));
        }
        if let Some(payload) = payload.filter(|_| row.payload != RowPayload::None) {
            let value = PayloadValue(&row.payload);
            let place = value.expression(self.values.len() + 1);
            self.values.push(Box::new(value));
            values.push((quoted(payload), place));
        }
        Ok(values)
    }

    /// The condition that a row is as it was read.
    fn row_matches(
        &mut self,
        row: &'r DatabaseRow,
        key: &str,
        payload: Option<&str>,
    ) -> anyhow::Result<String> {
        let values = self.row_values(row, key, payload)?;
        let matches: Vec<String> =
            values.iter().map(|(name, place)| format!("{name} IS {place}")).collect();
        Ok(matches.join(" AND "))
    }

    fn add(&mut self, value: Value) -> String {
        self.values.push(Box::new(value));
        format!("?{}", self.values.len())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
