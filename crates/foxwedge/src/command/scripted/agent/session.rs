//! The session file, where Claude Code keeps it and as it spells it.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
};

use serde_json::{Value, json};

/// A session on disk.
pub(super) struct ScriptedSessionFile {
    pub(super) id: String,
    file: Option<PathBuf>,
    /// Whether nothing is written.
    forgets: bool,
    folder: String,
    parent: Value,
}

impl ScriptedSessionFile {
    /// The session of that id; nothing of it needs to be there.
    pub(super) fn new(id: String, forgets: bool) -> ScriptedSessionFile {
        let folder = env::current_dir().and_then(|folder| folder.canonicalize());
        let folder = folder.unwrap_or_default().to_string_lossy().into_owned();
        let state = env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| {
            let home = env::var_os("HOME")?;
            Some(PathBuf::from(home).join(".claude"))
        });
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let mangled: String = folder.chars().map(plain).collect();
        let file =
            state.map(|state| state.join("projects").join(mangled).join(format!("{id}.jsonl")));
        ScriptedSessionFile { id, file, forgets, folder, parent: Value::Null }
    }

    /// The messages in its file: lines of one message of the model are one message again.
    pub(super) fn read(&mut self) -> Option<Vec<Value>> {
        let text = fs::read_to_string(self.file.as_ref()?).ok()?;
        let mut history: Vec<Value> = Vec::new();
        let mut last = Value::Null;
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if !line["message"].is_object() || line["isSidechain"] == true {
                continue;
            }
            self.parent = line["uuid"].clone();
            let (role, id) = (&line["message"]["role"], &line["message"]["id"]);
            let blocks = blocks(&line["message"]["content"]);
            let same = role == "user" || (!id.is_null() && *id == last);
            match history.last_mut() {
                Some(before) if before["role"] == *role && same => {
                    if let Some(list) = before["content"].as_array_mut() {
                        list.extend(blocks);
                    }
                }
                _ => history.push(json!({"role": role, "content": blocks})),
            }
            last = id.clone();
        }
        Some(history)
    }

    /// Writes a message down. What cannot be kept is not: the agent goes on.
    pub(super) fn append(&mut self, uuid: &str, message: &Value) {
        let Some(file) = self.file.as_ref().filter(|_| !self.forgets) else { return };
        let line = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external",
            "cwd": self.folder, "sessionId": self.id, "version": super::VERSION,
            "type": message["role"], "message": message, "uuid": uuid,
            "timestamp": "2026-01-01T00:00:00.000Z",
        });
        self.parent = json!(uuid);
        if let Some(folder) = file.parent() {
            let _ = fs::create_dir_all(folder);
        }
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file) {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// Content as blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
