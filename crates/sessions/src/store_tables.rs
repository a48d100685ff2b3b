//! The tables in which agents keep sessions in a database, as far as they were checked.

use super::SessionAgent;

/// The tables of one agent.
#[derive(Debug)]
pub struct StoreTables {
    /// The agent.
    pub agent: SessionAgent,
    /// The versions of the agent for which they were checked.
    pub versions: &'static str,
    /// The table with one row for each session.
    pub session: StoreTable,
    /// The tables whose rows a repair may write: messages, then the rows that belong to them.
    pub messages: &'static [StoreTable],
    /// The triggers of these tables.
    pub triggers: &'static [&'static str],
    /// Where the agent notes the version of its schema.
    pub schema_version: Option<SchemaVersion>,
}

/// The table in which an agent notes the versions of its schema.
#[derive(Debug)]
pub struct SchemaVersion {
    /// Its name. Older databases may lack it.
    pub table: &'static str,
    /// The column with the number of a version.
    pub column: &'static str,
    /// The newest version that was checked.
    pub newest: i64,
}

/// A table.
#[derive(Debug)]
pub struct StoreTable {
    /// Its name.
    pub name: &'static str,
    /// The column with the id of a row.
    pub key: &'static str,
    /// The column that holds the content.
    pub payload: Option<&'static str>,
    /// The column that names the row that a row belongs to.
    pub owner: &'static str,
    /// The columns besides the key and the payload. The table of sessions may have more.
    pub columns: &'static [&'static str],
    /// The order in which the agent reads the rows, in SQL.
    pub order: &'static str,
}

impl StoreTable {
    /// All columns that are known.
    pub fn all_columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().copied().chain([self.key]).chain(self.payload)
    }

    /// Whether a column is known.
    pub fn knows(&self, column: &str) -> bool {
        self.all_columns().any(|known| known == column)
    }
}

/// opencode 1.x, and Kilo CLI, which shares its schema.
pub static OPENCODE_TABLES: StoreTables = StoreTables {
    agent: SessionAgent::Opencode,
    versions: "opencode 1.x up to 1.18.33",
    session: StoreTable {
        name: "session",
        key: "id",
        payload: None,
        owner: "",
        columns: &["project_id", "directory", "title", "version", "time_created", "time_updated"],
        order: "id",
    },
    messages: &[
        StoreTable {
            name: "message",
            key: "id",
            payload: Some("data"),
            owner: "session_id",
            columns: &["session_id", "time_created", "time_updated"],
            order: "time_created, id",
        },
        StoreTable {
            name: "part",
            key: "id",
            payload: Some("data"),
            owner: "message_id",
            columns: &["message_id", "session_id", "time_created", "time_updated"],
            order: "message_id, id",
        },
    ],
    triggers: &[],
    schema_version: None,
};

/// Crush.
pub static CRUSH_TABLES: StoreTables = StoreTables {
    agent: SessionAgent::Crush,
    versions: "Crush of August 2026 (seven migrations)",
    session: StoreTable {
        name: "sessions",
        key: "id",
        payload: None,
        owner: "",
        columns: &["title", "message_count", "updated_at", "created_at", "summary_message_id"],
        order: "id",
    },
    messages: &[StoreTable {
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
    triggers: &[
        "update_messages_updated_at",
        "update_session_message_count_on_insert",
        "update_session_message_count_on_delete",
    ],
    // A migration is named by its date: none after August 2026 was checked.
    schema_version: Some(SchemaVersion {
        table: "goose_db_version",
        column: "version_id",
        newest: 20_260_831_235_959,
    }),
};

/// goose.
pub static GOOSE_TABLES: StoreTables = StoreTables {
    agent: SessionAgent::Goose,
    versions: "goose 1.30 to 1.52",
    session: StoreTable {
        name: "sessions",
        key: "id",
        payload: None,
        owner: "",
        columns: &["name", "description", "working_dir", "session_type", "updated_at"],
        order: "id",
    },
    messages: &[StoreTable {
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
    triggers: &[],
    schema_version: Some(SchemaVersion { table: "schema_version", column: "version", newest: 16 }),
};

/// All of them.
pub static STORE_TABLES: [&StoreTables; 3] = [&OPENCODE_TABLES, &CRUSH_TABLES, &GOOSE_TABLES];
