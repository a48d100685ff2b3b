//! Makes databases like those of Crush and goose, where each message is one row, and damages them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;
use rusqlite::{Connection, params, types::ValueRef};
use serde_json::{Value, json};

/// The tables of Crush that sessions are in, from its migrations of August 2026, with their triggers.
const CRUSH: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
  message_count INTEGER NOT NULL DEFAULT 0 CHECK (message_count >= 0),
  prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
  summary_message_id TEXT, todos TEXT);
CREATE TRIGGER update_sessions_updated_at AFTER UPDATE ON sessions BEGIN
  UPDATE sessions SET updated_at = strftime('%s', 'now') WHERE id = new.id; END;
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
  parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT,
  is_summary_message INTEGER DEFAULT 0 NOT NULL,
  FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE);
CREATE INDEX idx_messages_session_id ON messages (session_id);
CREATE INDEX idx_messages_created_at ON messages (created_at);
CREATE TRIGGER update_messages_updated_at AFTER UPDATE ON messages BEGIN
  UPDATE messages SET updated_at = strftime('%s', 'now') WHERE id = new.id; END;
CREATE TRIGGER update_session_message_count_on_insert AFTER INSERT ON messages BEGIN
  UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id; END;
CREATE TRIGGER update_session_message_count_on_delete AFTER DELETE ON messages BEGIN
  UPDATE sessions SET message_count = message_count - 1 WHERE id = old.session_id; END;
";

/// The tables of goose 1.52 that sessions are in, as it made them.
const GOOSE: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version (version) VALUES (16);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  extension_data TEXT DEFAULT '{}', total_tokens INTEGER, accumulated_cost REAL, schedule_id TEXT,
  provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto',
  archived_at TIMESTAMP, project_id TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
  session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content_json TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER,
  metadata_json TEXT);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_session_created ON messages(session_id, created_timestamp, id);
";

/// A database with one row for each message.
pub(crate) struct RowStore {
    pub(crate) agent: SessionAgent,
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    clock: i64,
    /// Seconds between two rows of a turn.
    step: i64,
}

impl RowStore {
    /// Makes a database at its place below a home folder.
    pub(crate) fn create(home: &Path, agent: SessionAgent, step: i64) -> RowStore {
        let (path, schema) = match agent {
            SessionAgent::Crush => {
                let list = json!({"projects": [{"path": home.join("ulm"), "data_dir": home.join("ulm/.crush")}]});
                let global = home.join(".local/share/crush");
                fs::create_dir_all(&global).unwrap();
                fs::write(global.join("projects.json"), list.to_string()).unwrap();
                (home.join("ulm/.crush/crush.db"), CRUSH)
            }
            _ => (home.join(".local/share/goose/sessions/sessions.db"), GOOSE),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(schema).unwrap();
        RowStore { agent, path, connection, clock: 1_790_000_000, step }
    }

    pub(crate) fn session(&mut self, id: &str, title: &str) {
        let insert = match self.agent {
            SessionAgent::Crush => {
                "INSERT INTO sessions (id, title, updated_at, created_at) VALUES (?1, ?2, 1790000000, 1790000000)"
            }
            _ => {
                "INSERT INTO sessions (id, name, working_dir, updated_at) VALUES (?1, ?2, '/srv/ulm', '2026-09-21 14:13:20')"
            }
        };
        self.connection.execute(insert, params![id, title]).unwrap();
    }

    /// Adds a row. Returns its key.
    fn message(&mut self, session: &str, role: &str, parts: &[Value]) -> String {
        self.clock += self.step;
        let parts: Vec<String> = parts.iter().map(typed_first).collect();
        let (time, parts) = (self.clock, format!("[{}]", parts.join(",")));
        match self.agent {
            SessionAgent::Crush => {
                let count: i64 = self
                    .connection
                    .query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
                    .unwrap();
                let id = format!("0a1b2c3d-0000-4000-8000-{count:012}");
                self.connection
                    .execute(
                        "INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at)
                         VALUES (?1, ?2, ?3, ?4, 'm-1', ?5, ?5)",
                        params![id, session, role, parts, time],
                    )
                    .unwrap();
                id
            }
            _ => {
                let role = if role == "tool" { "user" } else { role };
                self.connection
                    .execute(
                        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json)
                         VALUES ('msg_' || ?4, ?1, ?2, ?3, ?4, '2026-09-21 14:13:20', '{\"userVisible\":true,\"agentVisible\":true}')",
                        params![session, role, parts, time],
                    )
                    .unwrap();
                self.connection.last_insert_rowid().to_string()
            }
        }
    }

    fn parts(&self, kind: &str, number: usize) -> Vec<Value> {
        let (call, output) = (format!("call_{number}"), format!("output {number}"));
        let crush = self.agent == SessionAgent::Crush;
        let text = |text: String| match crush {
            true => json!({"type": "text", "data": {"text": text}}),
            false => json!({"type": "text", "text": text}),
        };
        let mut parts = match (kind, crush) {
            ("user", _) => vec![text(format!("question {number}"))],
            ("reply", _) => vec![text(format!("answer {number}"))],
            ("call", true) => vec![
                text(format!("I look at {number}")),
                json!({"type": "tool_call", "data": {"id": call, "name": "bash", "input": "{\"command\":\"ls\"}",
                       "provider_executed": false, "finished": true}}),
            ],
            ("call", false) => vec![
                text(format!("I look at {number}")),
                json!({"type": "toolRequest", "id": call, "toolCall": {"status": "success",
                       "value": {"name": "shell", "arguments": {"command": "ls"}}}}),
            ],
            (_, true) => {
                vec![json!({"type": "tool_result", "data": {"tool_call_id": call, "name": "bash",
                "content": output, "data": "", "mime_type": "", "metadata": "", "is_error": false}})]
            }
            (_, false) => {
                vec![json!({"type": "toolResponse", "id": call, "toolResult": {"status": "success",
                "value": {"content": [{"type": "text", "text": output}], "isError": false}}})]
            }
        };
        if crush {
            parts.push(json!({"type": "finish", "data": {"reason": "stop", "time": 0}}));
        }
        parts
    }

    /// A session with some turns. Returns the keys of the rows with calls and results.
    pub(crate) fn story(&mut self, session: &str, turns: usize) -> Vec<(String, String)> {
        self.session(session, "A story");
        let mut keys = Vec::new();
        for number in 0..turns {
            self.message(session, "user", &self.parts("user", number));
            let call = self.message(session, "assistant", &self.parts("call", number));
            let result = self.message(session, "tool", &self.parts("result", number));
            keys.push((call, result));
            self.message(session, "assistant", &self.parts("reply", number));
            self.clock += 10;
        }
        keys
    }

    pub(crate) fn close(self) -> PathBuf {
        self.connection.close().unwrap();
        self.path
    }
}

/// A part as agents write it: what it is comes first.
fn typed_first(part: &Value) -> String {
    let mut rest = part.as_object().unwrap().clone();
    let kind = rest.remove("type").unwrap();
    let rest = Value::from(rest).to_string();
    let rest = rest.replace(",\"type\":\"text\"}", "}");
    let rest = rest.replace("{\"text\":\"output", "{\"type\":\"text\",\"text\":\"output");
    format!("{{\"type\":{kind},{}", &rest[1..])
}

/// All rows of a database, messages in the order of the agent: key, then everything else.
pub(crate) fn dump(path: &Path, agent: SessionAgent) -> Vec<(String, String)> {
    let connection = Connection::open(path).unwrap();
    let time = time_column(agent);
    let mut rows = Vec::new();
    let queries = [
        "SELECT * FROM sessions ORDER BY id".to_owned(),
        format!("SELECT * FROM messages ORDER BY session_id, {time}, rowid"),
    ];
    for query in queries {
        let mut query = connection.prepare(&query).unwrap();
        let count = query.column_count();
        let mut found = query.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values = (1..count).map(|at| match row.get_ref(at).unwrap() {
                ValueRef::Text(text) => format!("'{}'", text.escape_ascii()),
                other => format!("{other:?}"),
            });
            let values: Vec<String> = values.collect();
            let key = match row.get_ref(0).unwrap() {
                ValueRef::Integer(key) => key.to_string(),
                other => other.as_str().unwrap().to_owned(),
            };
            rows.push((key, values.join(" | ")));
        }
    }
    rows
}

fn time_column(agent: SessionAgent) -> &'static str {
    if agent == SessionAgent::Crush { "created_at" } else { "created_timestamp" }
}

fn payload(agent: SessionAgent) -> &'static str {
    if agent == SessionAgent::Crush { "parts" } else { "content_json" }
}

/// Changes rows as the agent does not: triggers do not run.
fn run(store: &RowStore, sql: &str, key: &str) {
    let sql =
        sql.replace("PAYLOAD", payload(store.agent)).replace("TIME", time_column(store.agent));
    let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    store.connection.set_db_config(triggers, false).unwrap();
    assert_eq!(store.connection.execute(&sql, [key]).unwrap(), 1, "{sql}");
    store.connection.set_db_config(triggers, true).unwrap();
}

/// A kind of damage to the rows of a call and its result.
pub(crate) struct RowDamage {
    pub(crate) name: &'static str,
    pub(crate) make: fn(&RowStore, call: &str, result: &str),
}

/// All kinds of damage.
pub(crate) const ROW_DAMAGES: [RowDamage; 13] = [
    RowDamage {
        name: "result removed",
        make: |store, _, result| run(store, "DELETE FROM messages WHERE id = ?1", result),
    },
    RowDamage {
        name: "call removed",
        make: |store, call, _| run(store, "DELETE FROM messages WHERE id = ?1", call),
    },
    RowDamage { name: "call torn", make: |store, call, _| run(store, CUT, call) },
    RowDamage { name: "result torn", make: |store, _, result| run(store, CUT, result) },
    RowDamage {
        name: "call cut to its beginning",
        make: |store, call, _| {
            run(store, "UPDATE messages SET PAYLOAD = substr(PAYLOAD, 1, 9) WHERE id = ?1", call);
        },
    },
    RowDamage {
        name: "result empty",
        make: |store, _, result| {
            run(store, "UPDATE messages SET PAYLOAD = '' WHERE id = ?1", result)
        },
    },
    RowDamage {
        name: "result is an object",
        make: |store, _, result| {
            run(store, "UPDATE messages SET PAYLOAD = '{\"text\":1}' WHERE id = ?1", result);
        },
    },
    RowDamage {
        name: "result not UTF-8",
        make: |store, _, result| {
            run(
                store,
                "UPDATE messages SET PAYLOAD = CAST(x'5b7b22ff' AS TEXT) WHERE id = ?1",
                result,
            );
        },
    },
    RowDamage { name: "call twice", make: |store, call, _| duplicate(store, call) },
    RowDamage { name: "result twice", make: |store, _, result| duplicate(store, result) },
    RowDamage {
        name: "result before its call",
        make: |store, _, result| {
            run(store, "UPDATE messages SET TIME = TIME - 5 WHERE id = ?1", result)
        },
    },
    RowDamage {
        name: "result at the end",
        make: |store, _, result| {
            run(store, "UPDATE messages SET TIME = TIME + 900 WHERE id = ?1", result)
        },
    },
    RowDamage {
        name: "result with a part that cannot be decoded",
        make: |store, _, result| {
            run(
                store,
                "UPDATE messages SET PAYLOAD = json_insert(PAYLOAD, '$[#]', json('{\"text\":3}')) WHERE id = ?1",
                result,
            );
        },
    },
];

const CUT: &str =
    "UPDATE messages SET PAYLOAD = substr(PAYLOAD, 1, length(PAYLOAD) * 4 / 5) WHERE id = ?1";

fn duplicate(store: &RowStore, key: &str) {
    let copy = match store.agent {
        SessionAgent::Crush => {
            "INSERT INTO messages SELECT 'copy-of-' || id, session_id, role, parts, model, created_at,
               updated_at, finished_at, provider, is_summary_message FROM messages WHERE id = ?1"
        }
        _ => {
            "INSERT INTO messages SELECT NULL, message_id, session_id, role, content_json,
               created_timestamp, timestamp, tokens, metadata_json FROM messages WHERE id = ?1"
        }
    };
    run(store, copy, key);
}
