//! Sessions of agents that are read and never written, as the text that `foxwedge_sessions` reads: one
//! line for the session and one for each message, as the agent would send it.
//!
//! Each agent has a file here. Nothing in them writes to a session.

use std::path::Path;

use anyhow::Context;
use foxwedge_sessions::ReadOnlyAgent;
use serde_json::{Map, Value, json};

use crate::output::HelpfulError;

mod continue_cli;
mod droid;
mod kimi_cli;
mod zed;

pub(crate) use zed::thread_text as zed_thread_text;

/// The text of a session, if a file is one of a read-only agent; otherwise its content.
///
/// # Errors
/// If it is such a file, but not whole.
pub(crate) fn session_text(path: &Path, content: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if kimi_cli::is_session(path, &content) {
        return Ok(kimi_cli::session_text(path, &content));
    }
    if droid::is_session(path, &content) {
        return Ok(droid::session_text(&content));
    }
    match continue_cli::is_session(path, &content) {
        true => continue_cli::session_text(&content),
        false => Ok(content),
    }
}

/// Reads the JSON of an agent.
fn parse_document(agent: ReadOnlyAgent, content: &[u8]) -> anyhow::Result<Value> {
    serde_json::from_slice(content)
        .map_err(|error| {
            HelpfulError::new(format!("the session is not whole: {error}"))
                .help(format!("nothing was changed; {}", agent.reason()))
        })
        .context("cannot be read")
}

/// Writes the text of a session.
struct ReadOnlyText {
    lines: String,
    /// Results of the last reply, which follow it in one message.
    results: Vec<Value>,
}

impl ReadOnlyText {
    /// Begins with the line of the session. Facts that are not texts are left out.
    fn new(agent: ReadOnlyAgent, facts: &[(&str, &Value)]) -> ReadOnlyText {
        let mut head = Map::from_iter([("read_only".to_owned(), json!(agent.name()))]);
        let known =
            facts.iter().filter(|(_, value)| value.as_str().is_some_and(|it| !it.is_empty()));
        head.extend(known.map(|(key, value)| ((*key).to_owned(), (*value).clone())));
        ReadOnlyText { lines: format!("{}\n", Value::Object(head)), results: Vec::new() }
    }

    /// Adds a message, unless it has no content.
    fn push(&mut self, role: &str, content: Vec<Value>) {
        self.flush_results();
        if !content.is_empty() {
            self.lines.push_str(&format!("{}\n", json!({"role": role, "content": content})));
        }
    }

    /// Adds the result of a call. Results in a row are one message.
    fn push_result(&mut self, id: &Value, content: Value, is_error: bool) {
        let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        if is_error && let Some(result) = result.as_object_mut() {
            result.insert("is_error".to_owned(), json!(true));
        }
        self.results.push(result);
    }

    /// Adds a line that cannot be read, as it is.
    fn push_torn(&mut self, line: &str) {
        self.flush_results();
        self.lines.push_str(line.trim_end_matches(['\r', '\n']));
        self.lines.push('\n');
    }

    fn flush_results(&mut self) {
        if !self.results.is_empty() {
            let results = std::mem::take(&mut self.results);
            self.lines.push_str(&format!("{}\n", json!({"role": "user", "content": results})));
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.flush_results();
        self.lines.into_bytes()
    }
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// A thought; its signature may be missing.
fn thinking_block(text: &str, signature: &Value) -> Option<Value> {
    let mut block = json!({"type": "thinking", "thinking": text});
    if signature.is_string()
        && let Some(block) = block.as_object_mut()
    {
        block.insert("signature".to_owned(), signature.clone());
    }
    (!text.trim().is_empty() || signature.is_string()).then_some(block)
}

/// A picture behind an address or inside a `data:` address.
fn image_block(url: &str) -> Value {
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let source = match inside {
        Some((media, data)) => json!({"type": "base64", "media_type": media, "data": data}),
        None => json!({"type": "url", "url": url}),
    };
    json!({"type": "image", "source": source})
}

/// A call whose arguments are JSON in a string.
fn call_block(id: &Value, name: &Value, arguments: &Value) -> Value {
    let text = arguments.as_str().unwrap_or_default();
    let input = match text.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    };
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn field<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}
