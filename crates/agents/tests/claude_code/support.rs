//! Recordings, how what was heard is written down, and what must hold whatever was heard.

use std::collections::BTreeSet;
use std::path::PathBuf;

use foxwedge_agents::AgentEvent;
use foxwedge_agents::claude_code::{ClaudeCode, ClaudeCodePipe};
use serde_json::{Value, json};

/// The lines of every recording, by name.
pub(crate) fn recordings() -> Vec<(String, Vec<String>)> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agents/claude-code/live");
    let mut all: Vec<(String, Vec<String>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let lines = std::fs::read_to_string(&path).unwrap();
            (name, lines.lines().map(str::to_owned).collect())
        })
        .collect();
    all.sort();
    assert!(all.len() > 15, "the recordings are there");
    all
}

/// An agent that may be asked things.
pub(crate) fn kind() -> ClaudeCode {
    ClaudeCode {
        state: PathBuf::from("/state"),
        tools: Vec::new(),
        permissions: None,
        bare: true,
        may_ask: true,
    }
}

/// A pipe with the tool of the recordings.
pub(crate) fn pipe() -> ClaudeCodePipe {
    let tool = json!({
        "name": "get_weather",
        "description": "weather by city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    });
    ClaudeCodePipe::new(&kind(), &json!({"tools": [tool], "messages": []}))
}

/// One line for each thing that was heard.
pub(crate) fn written(heard: &AgentEvent) -> String {
    match heard {
        AgentEvent::StreamEvent(event) => format!("said {}", said(event)),
        AgentEvent::ToolResultWanted { call, name, arguments, .. } => {
            format!("wants {name} {arguments} for {}", call.as_deref().unwrap_or("?"))
        }
        AgentEvent::PermissionRequested(ask) => {
            format!("asks {:?} {} {}", ask.kind, ask.tool, ask.input)
        }
        AgentEvent::CallClosed { call, error } => format!("closed {call} error={error}"),
        AgentEvent::TurnEnded { failure: trouble, text, more } => {
            format!("ended trouble={trouble:?} text={text:?} more={more}")
        }
        AgentEvent::Withdrawn { .. } => "withdrawn".to_owned(),
        AgentEvent::Ready => "ready".to_owned(),
        AgentEvent::Idle => "idle".to_owned(),
        AgentEvent::Unreadable => "noise".to_owned(),
    }
}

fn said(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or("?");
    let index = &event["index"];
    match kind {
        "message_start" => format!("{kind} {}", event["message"]["id"]),
        "content_block_start" => format!("{kind} {index} {}", event["content_block"]),
        "content_block_delta" => format!("{kind} {index} {}", event["delta"]),
        "message_delta" => format!("{kind} {}", event["delta"]["stop_reason"]),
        "content_block_stop" => format!("{kind} {index}"),
        _ => kind.to_owned(),
    }
}

/// Reads events one by one and complains about the first that does not fit: what a strict
/// reader of such streams needs.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    inside: bool,
    reason: bool,
    open: BTreeSet<u64>,
}

impl Judge {
    pub(crate) fn hear(&mut self, heard: &AgentEvent) {
        let AgentEvent::StreamEvent(event) = heard else { return };
        let index = || event["index"].as_u64().unwrap();
        let fits = match event["type"].as_str().unwrap() {
            "message_start" => {
                assert!(event["message"]["id"].is_string(), "{event}");
                !std::mem::replace(&mut self.inside, true)
            }
            "content_block_start" => {
                assert_ne!(event["content_block"]["type"], Value::Null, "{event}");
                self.inside && !self.reason && self.open.insert(index())
            }
            "content_block_delta" => self.open.contains(&index()),
            "content_block_stop" => self.open.remove(&index()),
            "message_delta" => {
                assert!(event["delta"]["stop_reason"].is_string(), "{event}");
                self.inside && self.open.is_empty() && !std::mem::replace(&mut self.reason, true)
            }
            "message_stop" => {
                self.inside = false;
                std::mem::take(&mut self.reason) && self.open.is_empty()
            }
            other => panic!("`{other}` is no event"),
        };
        assert!(fits, "this does not fit here: {event}");
    }

    pub(crate) fn between_messages(&self) -> bool {
        !self.inside
    }
}
