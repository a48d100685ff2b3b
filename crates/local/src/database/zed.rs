//! Threads of Zed, which are read and never written: one row for each, with all of it in one value.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use foxwedge_sessions::{ReadOnlyAgent, SessionAgent};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{SessionPath, error::explain, layout::table_columns, reading::StoredSession};
use crate::{read_only, size_limit::max_input_size, source::decompress_within};

/// The columns of the table of threads that are read.
const COLUMNS: [&str; 5] = ["id", "summary", "updated_at", "data_type", "data"];

/// The columns of the table of threads; `None` if the database is not one of Zed.
pub(super) fn columns(connection: &Connection) -> Option<BTreeSet<String>> {
    let columns = table_columns(connection, "threads").ok()?;
    COLUMNS.iter().all(|column| columns.contains(*column)).then_some(columns)
}

/// The threads in a database.
pub(super) fn list_threads(
    connection: &Connection,
    columns: &BTreeSet<String>,
    path: &Path,
) -> anyhow::Result<Vec<StoredSession>> {
    let or_null = |column: &'static str| if columns.contains(column) { column } else { "NULL" };
    let query = format!(
        "SELECT id, summary, unixepoch(updated_at), {}, {}, octet_length(data) FROM threads \
         ORDER BY 3 DESC",
        or_null("parent_id"),
        or_null("folder_paths"),
    );
    let read = |row: &Row<'_>| {
        let seconds = u64::try_from(row.get::<_, Option<i64>>(2)?.unwrap_or(0)).unwrap_or(0);
        Ok(StoredSession {
            agent: SessionAgent::ReadOnly(ReadOnlyAgent::Zed),
            path: SessionPath { database: path.to_owned(), id: row.get(0)? },
            folder: first_folder(row.get(4)?),
            title: row.get::<_, Option<String>>(1)?.filter(|title| !title.is_empty()),
            parent: row.get(3)?,
            updated: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            size: row.get::<_, i64>(5).ok().and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
        })
    };
    let list = || -> rusqlite::Result<Vec<StoredSession>> {
        connection.prepare(&query)?.query_map([], read)?.collect()
    };
    list().map_err(|error| explain(path, error))
}

/// The text of a thread; `None` if there is none with this id.
pub(super) fn thread_text(
    connection: &Connection,
    columns: &BTreeSet<String>,
    session: &SessionPath,
) -> anyhow::Result<Option<Vec<u8>>> {
    let folder = if columns.contains("folder_paths") { "folder_paths" } else { "NULL" };
    let query = format!("SELECT summary, {folder}, data_type, data FROM threads WHERE id = ?1");
    let read = |row: &Row<'_>| {
        let title: Option<String> = row.get(0)?;
        Ok((
            title,
            first_folder(row.get(1)?),
            row.get::<_, String>(2)?,
            row.get_ref(3)?.as_bytes()?.to_vec(),
        ))
    };
    let row = connection.query_row(&query, params![session.id], read).optional();
    let Some((title, folder, kind, data)) =
        row.map_err(|error| explain(&session.database, error))?
    else {
        return Ok(None);
    };
    let thread = match kind.as_str() {
        "zstd" => decompress_within(&data, max_input_size())
            .context("the thread cannot be read")?
            .into_owned(),
        _ => data,
    };
    read_only::zed_thread_text(&thread, &session.id, folder.as_deref(), title.as_deref()).map(Some)
}

/// The first of the folders of a thread, one in each line.
fn first_folder(folders: Option<String>) -> Option<String> {
    let first = folders?.lines().next()?.to_owned();
    (!first.is_empty()).then_some(first)
}
