//! Columns of rows as JSON, and JSON as values of columns.

use anyhow::{Context, bail};
use foxwedge_sessions::{DatabaseRow, RowPayload, StoreTable};
use rusqlite::{
    Row,
    types::{ToSql, ToSqlOutput, Value, ValueRef},
};
use serde_json::{Map, Value as JsonValue};

/// Reads a row of a table.
pub(super) fn read_row(row: &Row<'_>, table: &StoreTable) -> anyhow::Result<DatabaseRow> {
    let mut read = DatabaseRow {
        table: table.name.to_owned(),
        id: String::new(),
        columns: String::new(),
        payload: RowPayload::None,
        rows: Vec::new(),
    };
    let mut columns = Map::new();
    for (at, name) in row.as_ref().column_names().enumerate() {
        let value = row.get_ref(at)?;
        let place = || format!("column `{name}` of table `{}`", table.name);
        if name == table.key {
            read.id = match value {
                ValueRef::Text(text) => std::str::from_utf8(text).with_context(place)?.to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                _ => bail!("{} is not an id", place()),
            };
        } else if Some(name) == table.payload {
            read.payload = match value {
                ValueRef::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => RowPayload::Text(text.to_owned()),
                    Err(_) => RowPayload::Bytes(text.to_owned()),
                },
                _ => bail!("{} of row `{}` is not text", place(), read.id),
            };
        } else {
            columns.insert(name.to_owned(), column_json(value).with_context(place)?);
        }
    }
    read.columns = serde_json::to_string(&columns)?;
    Ok(read)
}

fn column_json(value: ValueRef<'_>) -> anyhow::Result<JsonValue> {
    Ok(match value {
        ValueRef::Null => JsonValue::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => std::str::from_utf8(text)?.into(),
        ValueRef::Blob(_) => bail!("it holds bytes"),
    })
}

/// The columns of a row by name, without its key and payload.
pub(super) fn column_values(row: &DatabaseRow) -> anyhow::Result<Vec<(String, Value)>> {
    let columns: Map<String, JsonValue> = serde_json::from_str(&row.columns)?;
    let values = columns.into_iter().map(|(name, value)| {
        let value = match value {
            JsonValue::Null => Value::Null,
            JsonValue::Number(number) => match number.as_i64() {
                Some(integer) => Value::Integer(integer),
                None => Value::Real(number.as_f64().unwrap_or_default()),
            },
            JsonValue::String(text) => Value::Text(text),
            _ => bail!("column `{name}` has no plain value"),
        };
        Ok((name, value))
    });
    values.collect()
}

/// A payload as a value. SQLite stores the bytes of a text that is not UTF-8 as they are.
pub(super) struct PayloadValue<'p>(pub(super) &'p RowPayload);

impl PayloadValue<'_> {
    /// The expression for a parameter with this payload.
    pub(super) fn expression(&self, number: usize) -> String {
        match self.0 {
            RowPayload::Bytes(_) => format!("CAST(?{number} AS TEXT)"),
            RowPayload::None | RowPayload::Text(_) => format!("?{number}"),
        }
    }
}

impl ToSql for PayloadValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            RowPayload::None => ValueRef::Null,
            RowPayload::Text(text) => ValueRef::Text(text.as_bytes()),
            RowPayload::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
