//! Reads sessions: the list of all, and the rows of one as text.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context, bail};
use foxwedge_sessions::{DatabaseRow, SessionAgent, StoreTable, write_rows};
use rusqlite::{Connection, params};

use super::{
    SessionPath,
    columns::read_row,
    connection::with_reader,
    error::explain,
    layout::{StoreLayout, recognize, table_columns},
    zed,
};
use crate::output::{HelpfulError, clean};

/// A session in a database.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// The agent.
    pub agent: SessionAgent,
    /// Where it is.
    pub path: SessionPath,
    /// The working directory.
    pub folder: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The session that started it.
    pub parent: Option<String>,
    /// When it was changed last.
    pub updated: SystemTime,
    /// Size of its content in bytes; zero if sizes were not asked for.
    pub size: u64,
}

/// Whether the sizes of sessions are needed. That takes a look at every row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredSizes {
    /// They are.
    Needed,
    /// They are not.
    Unneeded,
}

/// The sessions in a database.
///
/// # Errors
/// If the database cannot be read, or its schema is not known.
pub fn list_sessions(database: &Path, sizes: StoredSizes) -> anyhow::Result<Vec<StoredSession>> {
    with_reader(database, |connection| {
        if let Some(columns) = zed::columns(connection) {
            return zed::list_threads(connection, &columns, database);
        }
        let layout = recognize(connection, database)?;
        list_with(connection, layout, database, sizes).map_err(|error| explain(database, error))
    })
}

fn list_with(
    connection: &Connection,
    layout: &StoreLayout,
    database: &Path,
    sizes: StoredSizes,
) -> rusqlite::Result<Vec<StoredSession>> {
    let list = &layout.list;
    let sizes = match sizes {
        StoredSizes::Needed => session_sizes(connection, layout)?,
        StoredSizes::Unneeded => HashMap::new(),
    };
    let columns = table_columns(connection, layout.tables.session.name)?;
    let parent = if columns.contains(list.parent) { list.parent } else { "NULL" };
    let mut query = connection.prepare(&format!(
        "SELECT {}, {}, {}, {}, {} FROM {} ORDER BY 5 DESC",
        layout.tables.session.key,
        list.folder,
        list.title,
        parent,
        list.updated,
        layout.tables.session.name
    ))?;
    let rows = query.query_map([], |row| {
        let id: String = row.get(0)?;
        let updated = u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0);
        Ok(StoredSession {
            agent: layout.tables.agent,
            size: sizes.get(&id).copied().unwrap_or(0),
            path: SessionPath { database: database.to_owned(), id },
            folder: row.get::<_, Option<String>>(1)?.filter(|folder| !folder.is_empty()),
            title: row.get::<_, Option<String>>(2)?.filter(|title| !title.is_empty()),
            parent: row.get(3)?,
            updated: SystemTime::UNIX_EPOCH + Duration::from_millis(updated),
        })
    })?;
    rows.collect()
}

/// Bytes of content by session. The lengths of values are read, not the values.
fn session_sizes(
    connection: &Connection,
    layout: &StoreLayout,
) -> rusqlite::Result<HashMap<String, u64>> {
    let mut sizes = HashMap::new();
    for table in layout.tables.messages {
        let Some(payload) = table.payload else { continue };
        let mut query = connection.prepare(&format!(
            "SELECT session_id, sum(octet_length({payload})) FROM {} GROUP BY session_id",
            table.name
        ))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let size = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
            *sizes.entry(row.get(0)?).or_insert(0) += size;
        }
    }
    Ok(sizes)
}

/// The text of a session.
///
/// # Errors
/// If the database cannot be read, its schema is not known, or it has no such session.
pub fn read_session(session: &SessionPath) -> anyhow::Result<Vec<u8>> {
    let path = &session.database;
    with_reader(path, |connection| {
        let text = match zed::columns(connection) {
            Some(columns) => zed::thread_text(connection, &columns, session)?,
            None => session_text(connection, recognize(connection, path)?, session)?,
        };
        text.with_context(|| {
            HelpfulError::new(format!("the database has no session `{}`", clean(&session.id)))
                .help("`foxwedge list` lists its sessions")
        })
    })
}

/// The text of a session; `None` if there is none with this id.
pub(super) fn session_text(
    connection: &Connection,
    layout: &StoreLayout,
    session: &SessionPath,
) -> anyhow::Result<Option<Vec<u8>>> {
    let path = &session.database;
    let header = &layout.tables.session;
    let own = format!("SELECT * FROM {} WHERE {} = ?1", header.name, header.key);
    let mut rows = select(connection, &own, header, session, path)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let [messages, parts @ ..] = layout.tables.messages else { bail!("a layout without messages") };
    let query = format!(
        "SELECT * FROM {} WHERE {} = ?1 ORDER BY {}",
        messages.name, messages.owner, messages.order
    );
    let mut found = select(connection, &query, messages, session, path)?;
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, row) in found.iter().enumerate() {
        places.insert(row.id.clone(), at);
    }
    for table in parts {
        let query = format!(
            "SELECT * FROM {} WHERE {} IN (SELECT {} FROM {} WHERE {} = ?1) ORDER BY {}",
            table.name, table.owner, messages.key, messages.name, messages.owner, table.order
        );
        for part in select(connection, &query, table, session, path)? {
            let owner = owner_of(&part, table.owner);
            let place = owner.and_then(|owner| places.get(&owner)).copied();
            if let Some(message) = place.and_then(|place| found.get_mut(place)) {
                message.rows.push(part);
            }
        }
    }
    rows.append(&mut found);
    Ok(Some(write_rows(layout.tables.agent.name(), &rows).into_bytes()))
}

/// The row that a row belongs to.
fn owner_of(row: &DatabaseRow, column: &str) -> Option<String> {
    let columns: serde_json::Value = serde_json::from_str(&row.columns).ok()?;
    columns.get(column)?.as_str().map(str::to_owned)
}

fn select(
    connection: &Connection,
    query: &str,
    table: &StoreTable,
    session: &SessionPath,
    path: &Path,
) -> anyhow::Result<Vec<DatabaseRow>> {
    let run = || -> rusqlite::Result<Vec<anyhow::Result<DatabaseRow>>> {
        let mut query = connection.prepare(query)?;
        let rows = query.query_map(params![session.id], |row| Ok(read_row(row, table)))?;
        rows.collect()
    };
    run().map_err(|error| explain(path, error))?.into_iter().collect()
}
