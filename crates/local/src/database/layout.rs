//! The schemas that are known: which tables hold sessions, and which columns they have.

use std::{collections::BTreeSet, path::Path};

use foxwedge_sessions::SessionAgent;
use rusqlite::Connection;

use super::error::explain;
use crate::output::{HelpfulError, clean};

/// How an agent stores sessions in a database.
pub(super) struct StoreLayout {
    pub(super) agent: SessionAgent,
    /// The versions of the agent for which it was checked.
    versions: &'static str,
    /// The table with one row for each session.
    pub(super) session: TableLayout,
    /// The tables whose rows a repair may write: messages, then the rows that belong to them.
    pub(super) tables: &'static [TableLayout],
    /// The columns of the session table for lists.
    pub(super) list: ListColumns,
    /// The triggers of the tables that are known. They do not run while rows are written: a repair
    /// does not change when a row was written, and the number of messages is kept by
    /// [`message_count`](StoreLayout::message_count).
    triggers: &'static [&'static str],
    /// The column of the session table with the number of its messages.
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

/// A table.
pub(super) struct TableLayout {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    /// The column that holds the content.
    pub(super) payload: Option<&'static str>,
    /// The column that names the row that a row belongs to.
    pub(super) owner: &'static str,
    /// The columns besides the key and the payload.
    columns: &'static [&'static str],
    /// The order in which the agent reads the rows.
    pub(super) order: &'static str,
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
    agent: SessionAgent::Opencode,
    versions: "opencode 1.x up to 1.18.33",
    session: TableLayout {
        name: "session",
        key: "id",
        payload: None,
        owner: "",
        columns: &["project_id", "directory", "title", "version", "time_created", "time_updated"],
        order: "id",
    },
    tables: &[
        TableLayout {
            name: "message",
            key: "id",
            payload: Some("data"),
            owner: "session_id",
            columns: &["session_id", "time_created", "time_updated"],
            order: "time_created, id",
        },
        TableLayout {
            name: "part",
            key: "id",
            payload: Some("data"),
            owner: "message_id",
            columns: &["message_id", "session_id", "time_created", "time_updated"],
            order: "message_id, id",
        },
    ],
    list: ListColumns {
        folder: "directory",
        title: "title",
        parent: "parent_id",
        updated: "time_updated",
    },
    triggers: &[],
    message_count: None,
    ties: RowTies::Columns,
};

const CRUSH: StoreLayout = StoreLayout {
    agent: SessionAgent::Crush,
    versions: "Crush of August 2026 (seven migrations)",
    session: TableLayout {
        name: "sessions",
        key: "id",
        payload: None,
        owner: "",
        columns: &["title", "message_count", "updated_at", "created_at", "summary_message_id"],
        order: "id",
    },
    tables: &[TableLayout {
        name: "messages",
        key: "id",
        payload: Some("parts"),
        owner: "session_id",
        columns: &[
            "session_id",
            "role",
            "model",
            "created_at",
            "updated_at",
            "finished_at",
            "provider",
            "is_summary_message",
        ],
        order: "created_at, rowid",
    }],
    list: ListColumns {
        folder: "NULL",
        title: "title",
        parent: "parent_session_id",
        // Newer versions write seconds.
        updated: "updated_at * iif(updated_at < 100000000000, 1000, 1)",
    },
    triggers: &[
        "update_messages_updated_at",
        "update_session_message_count_on_insert",
        "update_session_message_count_on_delete",
    ],
    message_count: Some("message_count"),
    ties: RowTies::Written,
};

const GOOSE: StoreLayout = StoreLayout {
    agent: SessionAgent::Goose,
    versions: "goose 1.30 to 1.52",
    session: TableLayout {
        name: "sessions",
        key: "id",
        payload: None,
        owner: "",
        columns: &["name", "description", "working_dir", "session_type", "updated_at"],
        order: "id",
    },
    tables: &[TableLayout {
        name: "messages",
        key: "id",
        payload: Some("content_json"),
        owner: "session_id",
        columns: &[
            "message_id",
            "session_id",
            "role",
            "created_timestamp",
            "timestamp",
            "tokens",
            "metadata_json",
        ],
        order: "created_timestamp, id",
    }],
    list: ListColumns {
        folder: "working_dir",
        title: "iif(name = '', description, name)",
        parent: "parent_session_id",
        updated: "coalesce(CAST(strftime('%s', updated_at) AS INTEGER), 0) * 1000",
    },
    triggers: &[],
    message_count: None,
    ties: RowTies::Numbered,
};

const LAYOUTS: [StoreLayout; 3] = [OPENCODE, CRUSH, GOOSE];

/// The layout of a database.
///
/// # Errors
/// If no known agent uses such a schema.
pub(super) fn recognize(
    connection: &Connection,
    path: &Path,
) -> anyhow::Result<&'static StoreLayout> {
    const KNOWN: &[StoreLayout] = &LAYOUTS;
    let mut closest: Option<(usize, String)> = None;
    for layout in KNOWN {
        let mut missing = Vec::new();
        for table in std::iter::once(&layout.session).chain(layout.tables) {
            let columns = table_columns(connection, table.name).map_err(|e| explain(path, e))?;
            match columns.is_empty() {
                true => missing.push(format!("table `{}`", table.name)),
                false => missing.extend(table.missing_columns(&columns)),
            }
        }
        if missing.is_empty() {
            return Ok(layout);
        }
        let why = format!("{} lacks {}", layout.versions, missing.join(", "));
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

/// Refuses to write if the tables have anything that is not known: a column or a trigger.
pub(super) fn check_writable(
    connection: &Connection,
    layout: &StoreLayout,
    path: &Path,
) -> anyhow::Result<()> {
    for table in layout.tables {
        let columns = table_columns(connection, table.name).map_err(|e| explain(path, e))?;
        let known = |column: &&String| {
            table.columns.contains(&column.as_str())
                || table.key == column.as_str()
                || table.payload == Some(column.as_str())
        };
        if let Some(unknown) = columns.iter().find(|column| !known(column)) {
            return Err(unknown_schema(
                layout,
                &format!("column `{unknown}` of table `{}`", table.name),
            ));
        }
        let triggers: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?1")
            .and_then(|mut query| query.query_map([table.name], |row| row.get(0))?.collect())
            .map_err(|error| explain(path, error))?;
        let is_known = |trigger: &&String| layout.triggers.contains(&trigger.as_str());
        if let Some(trigger) = triggers.iter().find(|trigger| !is_known(trigger)) {
            return Err(unknown_schema(
                layout,
                &format!("trigger `{trigger}` of table `{}`", table.name),
            ));
        }
    }
    Ok(())
}

fn unknown_schema(layout: &StoreLayout, place: &str) -> anyhow::Error {
    HelpfulError::new(format!("{} is not known, so nothing is written", clean(place)))
        .help(format!(
            "the schema was checked for {}; a newer foxwedge may know it",
            layout.versions
        ))
        .into()
}

impl TableLayout {
    fn missing_columns(&self, columns: &BTreeSet<String>) -> Vec<String> {
        let needed = self.columns.iter().copied().chain([self.key]).chain(self.payload);
        let missing = needed.filter(|column| !columns.contains(*column));
        missing.map(|column| format!("column `{column}` of table `{}`", self.name)).collect()
    }
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
