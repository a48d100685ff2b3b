//! The session file, with the location and format of Claude Code.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::PathBuf,
};

use serde_json::{Value, json};

/// A session file.
pub(super) struct ScriptedSessionFile {
    pub(super) id: String,
    file: Option<PathBuf>,
    /// If set, nothing is written.
    read_only: bool,
    folder: String,
    parent: Value,
}

impl ScriptedSessionFile {
    /// The session with this id. The file need not exist.
    pub(super) fn new(id: String, read_only: bool) -> ScriptedSessionFile {
        let folder = env::current_dir().and_then(|folder| folder.canonicalize());
        let folder = folder.unwrap_or_default().to_string_lossy().into_owned();
        let config = env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| {
            let home = env::var_os("HOME")?;
            Some(PathBuf::from(home).join(".claude"))
        });
        let slug_char = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let slug: String = folder.chars().map(slug_char).collect();
        let file =
            config.map(|config| config.join("projects").join(slug).join(format!("{id}.jsonl")));
        ScriptedSessionFile { id, file, read_only, folder, parent: Value::Null }
    }

    /// The messages in the file. Several lines of one model message are joined.
    pub(super) fn read(&mut self) -> Option<Vec<Value>> {
        let text = fs::read_to_string(self.file.as_ref()?).ok()?;
        let mut history: Vec<Value> = Vec::new();
        let mut last_id = Value::Null;
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if !line["message"].is_object() || line["isSidechain"] == true {
                continue;
            }
            self.parent = line["uuid"].clone();
            let (role, id) = (&line["message"]["role"], &line["message"]["id"]);
            let blocks = blocks(&line["message"]["content"]);
            let same_message = role == "user" || (!id.is_null() && *id == last_id);
            match history.last_mut() {
                Some(previous) if previous["role"] == *role && same_message => {
                    if let Some(list) = previous["content"].as_array_mut() {
                        list.extend(blocks);
                    }
                }
                _ => history.push(json!({"role": role, "content": blocks})),
            }
            last_id = id.clone();
        }
        Some(history)
    }

    /// Appends a message. Write errors are ignored.
    pub(super) fn append(&mut self, uuid: &str, message: &Value) {
        let Some(file) = self.file.as_ref().filter(|_| !self.read_only) else { return };
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

/// Converts content to blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
