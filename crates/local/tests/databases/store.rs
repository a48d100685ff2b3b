//! Makes databases like those of opencode 1.18, and damages them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, params, types::ValueRef};
use serde_json::{Value, json};

/// The tables that sessions are in, with the columns of 1.18.33.
const SCHEMA: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text,
  slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL,
  share_url text, summary_additions integer, summary_deletions integer, summary_files integer,
  summary_diffs text, metadata text, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL,
  tokens_output integer DEFAULT 0 NOT NULL, tokens_reasoning integer DEFAULT 0 NOT NULL,
  tokens_cache_read integer DEFAULT 0 NOT NULL, tokens_cache_write integer DEFAULT 0 NOT NULL,
  revert text, permission text, agent text, model text, time_created integer NOT NULL,
  time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
";

/// A database of opencode.
pub(crate) struct OpencodeStore {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    clock: i64,
}

/// A row, for comparisons.
pub(crate) type DumpedRow = (String, String, String);

impl OpencodeStore {
    pub(crate) fn create(path: &Path) -> OpencodeStore {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        OpencodeStore { path: path.to_owned(), connection, clock: 1_790_000_000_000 }
    }

    fn tick(&mut self) -> i64 {
        self.clock += 1000;
        self.clock
    }

    pub(crate) fn session(&mut self, id: &str, title: &str) {
        let time = self.tick();
        self.connection
            .execute(
                "INSERT INTO session (id, project_id, slug, directory, title, version, cost, time_created, time_updated)
                 VALUES (?1, 'global', 'quiet-fox', '/srv/ulm', ?2, '1.18.33', 0.125, ?3, ?3)",
                params![id, title, time],
            )
            .unwrap();
    }

    pub(crate) fn message(&mut self, session: &str, data: &Value) -> String {
        let time = self.tick();
        let id = format!("msg_{time:012x}Ulm0000000000");
        self.connection
            .execute(
                "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
                params![id, session, time, data.to_string()],
            )
            .unwrap();
        id
    }

    pub(crate) fn part(&mut self, session: &str, message: &str, data: &Value) -> String {
        let time = self.tick();
        let id = format!("prt_{time:012x}Ulm0000000000");
        self.connection
            .execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                params![id, message, session, time, data.to_string()],
            )
            .unwrap();
        id
    }

    /// A turn: the user asks, a tool runs, the model replies.
    pub(crate) fn turn(&mut self, session: &str, number: usize) {
        let user = self.message(session, &user());
        self.part(session, &user, &json!({"type": "text", "text": format!("question {number}")}));
        let reply = self.message(session, &assistant(&user));
        self.part(session, &reply, &json!({"type": "step-start"}));
        self.part(session, &reply, &tool(&format!("call_{number}"), &format!("output {number}")));
        self.part(session, &reply, &step_finish("tool-calls"));
        let reply = self.message(session, &assistant(&user));
        self.part(session, &reply, &json!({"type": "step-start"}));
        self.part(session, &reply, &json!({"type": "text", "text": format!("answer {number}")}));
        self.part(session, &reply, &step_finish("stop"));
    }

    /// A session with some turns.
    pub(crate) fn story(&mut self, session: &str, turns: usize) {
        self.session(session, "A story");
        (0..turns).for_each(|number| self.turn(session, number));
    }

    /// Writes the log into the database and closes it, as the last process of the agent does.
    pub(crate) fn close(self) -> PathBuf {
        self.connection.close().unwrap();
        self.path
    }
}

/// All rows of the database at a path.
pub(crate) fn dump_file(path: &Path) -> Vec<DumpedRow> {
    let connection = Connection::open(path).unwrap();
    let mut rows = Vec::new();
    for table in ["session", "message", "part"] {
        let mut query = connection.prepare(&format!("SELECT * FROM {table} ORDER BY id")).unwrap();
        let count = query.column_count();
        let mut found = query.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values = (1..count).map(|at| match row.get_ref(at).unwrap() {
                ValueRef::Text(text) => format!("'{}'", text.escape_ascii()),
                other => format!("{other:?}"),
            });
            let values: Vec<String> = values.collect();
            rows.push((table.to_owned(), row.get(0).unwrap(), values.join(" | ")));
        }
    }
    rows
}

pub(crate) fn user() -> Value {
    json!({"role": "user", "time": {"created": 1}, "agent": "build",
           "model": {"providerID": "mock", "modelID": "m-1"}})
}

pub(crate) fn assistant(parent: &str) -> Value {
    json!({"role": "assistant", "time": {"created": 1, "completed": 2}, "parentID": parent,
           "modelID": "m-1", "providerID": "mock", "mode": "build", "agent": "build",
           "path": {"cwd": "/srv/ulm", "root": "/srv/ulm"}, "cost": 0, "tokens": tokens()})
}

pub(crate) fn tokens() -> Value {
    json!({"input": 1, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}})
}

pub(crate) fn tool(call: &str, output: &str) -> Value {
    json!({"type": "tool", "callID": call, "tool": "bash", "state": {
        "status": "completed", "input": {"command": "ls"}, "output": output, "title": "List",
        "metadata": {}, "time": {"start": 1, "end": 2}}})
}

pub(crate) fn step_finish(reason: &str) -> Value {
    json!({"type": "step-finish", "reason": reason, "cost": 0, "tokens": tokens()})
}

/// A kind of damage. Gets the rows to damage: a message of the model with a tool part, and that part.
pub(crate) struct Damage {
    pub(crate) name: &'static str,
    pub(crate) make: fn(&Connection, message: &str, part: &str),
}

/// All kinds of damage.
pub(crate) const DAMAGES: [Damage; 13] = [
    Damage {
        name: "running",
        make: |db, _, part| {
            set_state(
                db,
                part,
                json!({"status": "running", "input": {"command": "ls"}, "time": {"start": 7}}),
            )
        },
    },
    Damage {
        name: "pending",
        make: |db, _, part| set_state(db, part, json!({"status": "pending", "input": {}})),
    },
    Damage {
        name: "no-state",
        make: |db, _, part| change(db, "part", part, |data| drop(data.remove("state"))),
    },
    Damage { name: "torn-part", make: |db, _, part| cut(db, "part", part) },
    Damage { name: "empty-part", make: |db, _, part| set(db, "part", part, "") },
    Damage { name: "torn-message", make: |db, message, _| cut(db, "message", message) },
    Damage {
        name: "legacy-message",
        make: |db, message, _| {
            change(db, "message", message, |data| {
                for key in ["parentID", "mode", "agent", "path", "cost", "tokens"] {
                    data.remove(key);
                }
            })
        },
    },
    Damage {
        name: "legacy-tool",
        make: |db, _, part| {
            change(db, "part", part, |data| {
                let state = data["state"].as_object_mut().unwrap();
                for key in ["title", "metadata", "time"] {
                    state.remove(key);
                }
            })
        },
    },
    Damage {
        name: "no-role",
        make: |db, message, _| change(db, "message", message, |data| drop(data.remove("role"))),
    },
    Damage {
        name: "string-input",
        make: |db, _, part| {
            change(db, "part", part, |data| data["state"]["input"] = json!("{\"command\":\"ls\"}"))
        },
    },
    Damage {
        name: "no-input",
        make: |db, _, part| {
            change(db, "part", part, |data| {
                drop(data["state"].as_object_mut().unwrap().remove("input"))
            })
        },
    },
    Damage {
        name: "repeated-call",
        make: |db, _, part| {
            let copy = format!("{}x", &part[..part.len() - 1]);
            db.execute("INSERT INTO part SELECT ?2, message_id, session_id, time_created, time_updated, data FROM part WHERE id = ?1", params![part, copy]).unwrap();
        },
    },
    Damage {
        name: "not-utf8",
        make: |db, _, part| {
            db.execute("UPDATE part SET data = CAST(x'7b2274797065223a2274657874222c2274657874223a22ff' AS TEXT) WHERE id = ?1", [part]).unwrap();
        },
    },
];

fn set(db: &Connection, table: &str, id: &str, data: &str) {
    db.execute(&format!("UPDATE {table} SET data = ?2 WHERE id = ?1"), params![id, data]).unwrap();
}

fn get(db: &Connection, table: &str, id: &str) -> String {
    let query = format!("SELECT data FROM {table} WHERE id = ?1");
    db.query_row(&query, [id], |row| row.get(0)).unwrap()
}

fn cut(db: &Connection, table: &str, id: &str) {
    let data = get(db, table, id);
    set(db, table, id, &data[..data.len() * 2 / 3]);
}

fn change(
    db: &Connection,
    table: &str,
    id: &str,
    work: impl FnOnce(&mut serde_json::Map<String, Value>),
) {
    let mut data: Value = serde_json::from_str(&get(db, table, id)).unwrap();
    work(data.as_object_mut().unwrap());
    set(db, table, id, &data.to_string());
}

fn set_state(db: &Connection, part: &str, state: Value) {
    change(db, "part", part, |data| drop(data.insert("state".to_owned(), state)));
}

/// The messages with a tool part, each with that part, in order.
pub(crate) fn tool_rows(db: &Connection) -> Vec<(String, String)> {
    let mut query = db
        .prepare("SELECT message_id, id FROM part WHERE json_valid(data) AND json_extract(data, '$.type') = 'tool' ORDER BY id")
        .unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}
