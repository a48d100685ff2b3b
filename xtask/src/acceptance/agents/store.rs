//! Sessions as text, whether an agent keeps them in files or as rows of a database.
//!
//! A session in a database is named by the path of the database and its id. Its text has one line for each row:
//! the table and the values. This is written without the readers of foxwedge, which are what is tested.

use std::{fs, path::Path};

use rusqlite::{Connection, OptionalExtension as _, params_from_iter, types::Value as SqlValue};
use serde_json::{Map, Value, json};

/// The tables of opencode whose rows belong to a session, in the order in which rows are written.
const TABLES: [&str; 2] = ["message", "part"];

/// The only session of a database.
pub(super) fn only_session(database: &Path) -> Option<String> {
    let connection = Connection::open(database).ok()?;
    connection.query_row("SELECT id FROM session", [], |row| row.get(0)).optional().ok()?
}

/// The text of a session.
pub(super) fn read(session: &Path) -> Result<Vec<u8>, String> {
    match rows_of(session) {
        Some((database, id)) => read_rows(database, id).map_err(|error| error.to_string()),
        None => fs::read(session).map_err(|error| error.to_string()),
    }
    .map_err(|error| format!("{}: {error}", session.display()))
}

/// Gives a session this text.
pub(super) fn write(session: &Path, text: &[u8]) -> Result<(), String> {
    match rows_of(session) {
        Some((database, id)) => write_rows(database, id, text),
        None => fs::write(session, text).map_err(|error| error.to_string()),
    }
    .map_err(|error| format!("{}: {error}", session.display()))
}

/// Copies the text of a session into a file.
pub(super) fn copy(session: &Path, file: &Path) -> Result<(), String> {
    fs::write(file, read(session)?).map_err(|error| format!("{}: {error}", file.display()))
}

/// The database and the id that a path names.
fn rows_of(session: &Path) -> Option<(&Path, &str)> {
    let database = session.parent().filter(|parent| parent.is_file())?;
    Some((database, session.file_name()?.to_str()?))
}

fn read_rows(database: &Path, id: &str) -> rusqlite::Result<Vec<u8>> {
    let connection = Connection::open(database)?;
    let mut text = Vec::new();
    for table in TABLES {
        let query =
            format!("SELECT * FROM {table} WHERE session_id = ?1 ORDER BY time_created, id");
        let mut query = connection.prepare(&query)?;
        let columns: Vec<String> = query.column_names().map(str::to_owned).collect();
        let mut rows = query.query([id])?;
        while let Some(row) = rows.next()? {
            let values = columns.iter().enumerate().map(|(at, column)| {
                let value = match row.get(at)? {
                    SqlValue::Integer(number) => json!(number),
                    SqlValue::Real(number) => json!(number),
                    SqlValue::Text(text) => json!(text),
                    SqlValue::Null | SqlValue::Blob(_) => Value::Null,
                };
                Ok((column.clone(), value))
            });
            let values = values.collect::<rusqlite::Result<Map<String, Value>>>()?;
            text.extend(format!("{}\n", json!({ "table": table, "row": values })).bytes());
        }
    }
    Ok(text)
}

fn write_rows(database: &Path, id: &str, text: &[u8]) -> Result<(), String> {
    let rows = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let rows: Vec<Value> = rows
        .map(serde_json::from_slice)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("a row: {error}"))?;
    let write = || -> rusqlite::Result<()> {
        let mut connection = Connection::open(database)?;
        let transaction = connection.transaction()?;
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table} WHERE session_id = ?1"), [id])?;
        }
        for row in &rows {
            let Some(values) = row["row"].as_object() else { continue };
            let names: Vec<&str> = values.keys().map(String::as_str).collect();
            let marks = vec!["?"; names.len()].join(", ");
            let (table, names) = (row["table"].as_str().unwrap_or_default(), names.join(", "));
            let values = values.values().map(|value| match value {
                Value::Null => SqlValue::Null,
                Value::String(text) => SqlValue::Text(text.clone()),
                number => number.as_i64().map_or(SqlValue::Null, SqlValue::Integer),
            });
            transaction.execute(
                &format!("INSERT INTO {table} ({names}) VALUES ({marks})"),
                params_from_iter(values),
            )?;
        }
        transaction.commit()
    };
    write().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acceptance::process::TemporaryFolder;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = TemporaryFolder::new("agent-store", &[]).expect("a folder");
        let database = folder.path.join("opencode.db");
        let connection = Connection::open(&database).expect("a database");
        let schema = "CREATE TABLE session (id); INSERT INTO session VALUES ('s');
            CREATE TABLE message (id, session_id, time_created, data);
            CREATE TABLE part (id, session_id, time_created, data);
            INSERT INTO part VALUES ('other', 't', 1, '{}');";
        connection.execute_batch(schema).expect("tables");
        assert_eq!(only_session(&database).as_deref(), Some("s"));
        let session = database.join("s");
        let text = concat!(
            r#"{"row":{"data":"{\"role\":","id":"m","session_id":"s","time_created":2},"table":"message"}"#,
            "\n",
            r#"{"row":{"data":null,"id":"p","session_id":"s","time_created":3},"table":"part"}"#,
            "\n"
        );
        for _ in 0..2 {
            write(&session, text.as_bytes()).expect("it can be written");
            let read = read(&session).expect("it can be read");
            assert_eq!(String::from_utf8(read).as_deref(), Ok(text));
        }
        let count = "SELECT count(*) FROM part";
        assert_eq!(connection.query_row(count, [], |row| row.get(0)), Ok(2), "others stay");
    }
}
