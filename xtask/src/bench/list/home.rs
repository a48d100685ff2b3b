//! A home with many sessions of Claude Code, Codex and opencode.

use std::{
    error::Error,
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

/// Turns of a session in the database, and the bytes of each: two megabytes in all.
const STORED_TURNS: usize = 500;
const RESULT_BYTES: usize = 4_000;
/// The time between a session file and the next one.
const STEP: Duration = Duration::from_secs(3_600);

/// The columns that are read.
const SCHEMA: &str = "
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text,
  version text, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer,
  data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
  time_updated integer, data text);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
BEGIN;
";

/// Writes session files of 8 to 500 kB, and a database. Both have sessions of all ages. In every eighth file the
/// last call is open.
pub(super) fn write(home: &Path, sessions: usize, megabytes: usize) -> Result<(), Box<dyn Error>> {
    let now = SystemTime::now();
    for number in 0..sessions {
        let id = format!("{number:08x}-1111-4111-8111-111111111111");
        let (folder, name, record): (_, _, fn(&str, usize) -> Vec<Value>) = match number % 2 {
            0 => (format!(".claude/projects/p{}", number % 40), id.clone(), claude_code_turn),
            _ => (
                ".codex/sessions".to_owned(),
                format!("rollout-2026-01-01T00-00-00-{id}"),
                codex_turn,
            ),
        };
        let turns = (8_000 << (number % 7)) / RESULT_BYTES;
        let mut records: Vec<Value> = (0..turns).flat_map(|turn| record(&id, turn)).collect();
        if number % 8 < 2 {
            records.pop();
        }
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        let path = home.join(folder).join(name + ".jsonl");
        fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        fs::write(&path, lines)?;
        let age = STEP * u32::try_from(number)?;
        fs::File::options().write(true).open(&path)?.set_modified(now - age)?;
    }
    let folder = home.join(".local/share/opencode");
    fs::create_dir_all(&folder)?;
    let database = Connection::open(folder.join("opencode.db"))?;
    database.execute_batch(SCHEMA)?;
    let stored = megabytes * 1_000_000 / (STORED_TURNS * RESULT_BYTES);
    for number in 0..stored {
        let age = STEP * u32::try_from(number * sessions / stored)?;
        let time = i64::try_from((now - age).duration_since(UNIX_EPOCH)?.as_millis())?;
        write_rows(&database, number, time)?;
    }
    Ok(database.execute_batch("COMMIT")?)
}

/// The output of a tool: lines of code.
fn output(turn: usize) -> String {
    let line = format!("    let value_{turn} = table.get(\"key\").copied().unwrap_or_default();\n");
    line.repeat(RESULT_BYTES / line.len())
}

/// A prompt, a call and its result.
fn claude_code_turn(session: &str, turn: usize) -> Vec<Value> {
    let id = format!("toolu_{turn:06}");
    let uuid = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
    let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/srv/app/main.rs"}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": output(turn)});
    let said = [
        ("user", json!("Please look at the file.")),
        ("assistant", json!([call])),
        ("user", json!([result])),
    ];
    let record = |(at, (role, content)): (usize, (&str, Value))| {
        let number = turn * 3 + at;
        let parent = number.checked_sub(1).map(uuid);
        json!({"parentUuid": parent, "uuid": uuid(number), "type": role, "sessionId": session,
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/app", "version": "2.1.325",
            "isSidechain": false, "message": {"role": role, "content": content}})
    };
    said.into_iter().enumerate().map(record).collect()
}

fn codex_turn(session: &str, turn: usize) -> Vec<Value> {
    let id = format!("call_{turn:06}");
    let text = json!([{"type": "input_text", "text": "Please look at the file."}]);
    let items = [
        json!({"type": "message", "role": "user", "content": text}),
        json!({"type": "function_call", "name": "shell", "call_id": id, "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": id, "output": output(turn)}),
    ];
    let time = "2026-01-01T00:00:00.000Z";
    let head = json!({"timestamp": time, "type": "session_meta",
        "payload": {"id": session, "cwd": "/srv/app", "cli_version": "0.166.0"}});
    let record = |item| json!({"timestamp": time, "type": "response_item", "payload": item});
    (turn == 0).then_some(head).into_iter().chain(items.map(record)).collect()
}

/// A session of opencode.
fn write_rows(database: &Connection, number: usize, time: i64) -> Result<(), Box<dyn Error>> {
    let session = format!("ses_{number:012x}benchmark");
    database.execute(
        "INSERT INTO session VALUES (?1, 'global', NULL, '/srv/app', ?2, '1.18.34', ?3, ?3)",
        params![session, format!("Session {number}"), time],
    )?;
    let mut message = database.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)")?;
    let mut part = database.prepare_cached("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)")?;
    for turn in 0..STORED_TURNS {
        let [prompt, reply] =
            [0, 1].map(|at| format!("msg_{number:06x}{:06x}benchmark", turn * 2 + at));
        let user = json!({"role": "user", "time": {"created": time}, "agent": "build",
            "model": {"providerID": "p", "modelID": "m"}});
        let assistant = json!({"role": "assistant", "time": {"created": time}, "parentID": prompt,
            "modelID": "m", "providerID": "p", "mode": "build", "agent": "build", "cost": 0,
            "path": {"cwd": "/srv/app", "root": "/"}, "tokens": {"input": 1, "output": 1,
            "reasoning": 0, "cache": {"read": 0, "write": 0}}});
        let question = json!({"type": "text", "text": "Please look at the file."});
        let call = json!({"type": "tool", "callID": format!("toolu_{turn:06}"), "tool": "read", "state": {
            "status": "completed", "input": {"filePath": "main.rs"}, "output": output(turn),
            "title": "main.rs", "metadata": {}, "time": {"start": time, "end": time}}});
        for (id, data, content) in [(prompt, user, question), (reply, assistant, call)] {
            message.execute(params![id, session, time, data.to_string()])?;
            part.execute(params![
                id.replace("msg", "prt"),
                id,
                session,
                time,
                content.to_string()
            ])?;
        }
    }
    Ok(())
}
