//! The schemas that are known: which tables hold sessions, and how they are listed and written.

use std::{collections::BTreeSet, path::Path};

use foxwedge_sessions::{
    CRUSH_TABLES, GOOSE_TABLES, OPENCODE_TABLES, SchemaVersion, StoreTable, StoreTables,
};
use rusqlite::Connection;

use super::error::explain;
use crate::output::{HelpfulError, clean};

/// How an agent stores sessions in a database.
pub(super) struct StoreLayout {
    /// Its tables.
    pub(super) tables: &'static StoreTables,
    /// The columns of the session table for lists.
    pub(super) list: ListColumns,
    /// The column of the session table with the number of its messages. Triggers do not run while rows
    /// are written: a repair does not change when a row was written, and keeps this number itself.
    pub(super) message_count: Option<&'static str>,
    /// How messages with the same time are ordered.
    pub(super) ties: RowTies,
}

/// How messages with the same time are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowTies {
    /// By their columns.
    Columns,
    /// By when they were written.
    Written,
    /// The same, as their keys show: numbers that the database chooses.
    Numbered,
}

/// Expressions over the session table.
pub(super) struct ListColumns {
    pub(super) folder: &'static str,
    pub(super) title: &'static str,
    /// A column that older versions may lack.
    pub(super) parent: &'static str,
    /// Milliseconds since 1970.
    pub(super) updated: &'static str,
}

const OPENCODE: StoreLayout = StoreLayout {
    tables: &OPENCODE_TABLES,
    list: ListColumns {
        folder: "directory",
        title: "title",
        parent: "parent_id",
        updated: "time_updated",
    },
    message_count: None,
    ties: RowTies::Columns,
};

const CRUSH: StoreLayout = StoreLayout {
    tables: &CRUSH_TABLES,
    list: ListColumns {
        folder: "NULL",
        title: "title",
        parent: "parent_session_id",
        // Newer versions write seconds.
        updated: "updated_at * iif(updated_at < 100000000000, 1000, 1)",
    },
    message_count: Some("message_count"),
    ties: RowTies::Written,
};

const GOOSE: StoreLayout = StoreLayout {
    tables: &GOOSE_TABLES,
    list: ListColumns {
        folder: "working_dir",
        title: "iif(name = '', description, name)",
        parent: "parent_session_id",
        updated: "coalesce(CAST(strftime('%s', updated_at) AS INTEGER), 0) * 1000",
    },
    message_count: None,
    ties: RowTies::Numbered,
};

static LAYOUTS: [StoreLayout; 3] = [OPENCODE, CRUSH, GOOSE];

/// The layout of a database.
///
/// # Errors
/// If no known agent uses such a schema.
pub(super) fn recognize(
    connection: &Connection,
    path: &Path,
) -> anyhow::Result<&'static StoreLayout> {
    let mut closest: Option<(usize, String)> = None;
    for layout in &LAYOUTS {
        let mut missing = Vec::new();
        for table in std::iter::once(&layout.tables.session).chain(layout.tables.messages) {
            let columns = table_columns(connection, table.name).map_err(|e| explain(path, e))?;
            match columns.is_empty() {
                true => missing.push(format!("table `{}`", table.name)),
                false => missing.extend(missing_columns(table, &columns)),
            }
        }
        if missing.is_empty() {
            return Ok(layout);
        }
        let why = format!("{} lacks {}", layout.tables.versions, missing.join(", "));
        if closest.as_ref().is_none_or(|(count, _)| missing.len() < *count) {
            closest = Some((missing.len(), why.replacen(" lacks ", " would have ", 1)));
        }
    }
    let tables = table_names(connection).map_err(|error| explain(path, error))?;
    let generation = match tables.contains("session_v2") {
        true => "the database is of opencode 2.x, whose schema is not supported yet",
        false => "the database has no schema of a supported agent",
    };
    let closest = closest.map_or_else(String::new, |(_, why)| why);
    Err(HelpfulError::new(generation).help(format!("nothing was read; {}", clean(&closest))).into())
}

/// Refuses to write if the tables have anything that is not known: a column or a trigger, or a newer
/// version of the schema.
pub(super) fn check_writable(
    connection: &Connection,
    layout: &StoreLayout,
    path: &Path,
) -> anyhow::Result<()> {
    if let Some(known) = &layout.tables.schema_version {
        let newest = newest_version(connection, known).map_err(|error| explain(path, error))?;
        if let Some(newer) = newest.filter(|newest| *newest > known.newest) {
            return Err(unknown_schema(layout, &format!("version {newer} of the schema")));
        }
    }
    for table in layout.tables.messages {
        let columns = table_columns(connection, table.name).map_err(|e| explain(path, e))?;
        if let Some(unknown) = columns.iter().find(|column| !table.knows(column)) {
            return Err(unknown_schema(
                layout,
                &format!("column `{unknown}` of table `{}`", table.name),
            ));
        }
        let triggers: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?1")
            .and_then(|mut query| query.query_map([table.name], |row| row.get(0))?.collect())
            .map_err(|error| explain(path, error))?;
        let is_known = |trigger: &&String| layout.tables.triggers.contains(&trigger.as_str());
        if let Some(trigger) = triggers.iter().find(|trigger| !is_known(trigger)) {
            return Err(unknown_schema(
                layout,
                &format!("trigger `{trigger}` of table `{}`", table.name),
            ));
        }
    }
    Ok(())
}

/// The newest version of the schema that the agent notes; `None` if it notes none.
fn newest_version(connection: &Connection, known: &SchemaVersion) -> rusqlite::Result<Option<i64>> {
    if !table_columns(connection, known.table)?.contains(known.column) {
        return Ok(None);
    }
    let query = format!("SELECT max({}) FROM {}", known.column, known.table);
    connection.query_row(&query, [], |row| row.get(0))
}

fn unknown_schema(layout: &StoreLayout, place: &str) -> anyhow::Error {
    HelpfulError::new(format!("{} is not known, so nothing is written", clean(place)))
        .help(format!(
            "the schema was checked for {}; a newer foxwedge may know it",
            layout.tables.versions
        ))
        .into()
}

fn missing_columns(table: &StoreTable, columns: &BTreeSet<String>) -> Vec<String> {
    let missing = table.all_columns().filter(|column| !columns.contains(*column));
    missing.map(|column| format!("column `{column}` of table `{}`", table.name)).collect()
}

pub(super) fn table_columns(
    connection: &Connection,
    table: &str,
) -> rusqlite::Result<BTreeSet<String>> {
    let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    query.query_map([table], |row| row.get(0))?.collect()
}

fn table_names(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut query = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    query.query_map([], |row| row.get(0))?.collect()
}
