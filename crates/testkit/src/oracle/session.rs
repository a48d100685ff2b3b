//! A naive reading of session files: which messages an agent would send if it went on.
//!
//! Written from what the agents are known to do, on plain JSON values, and as slow as it likes.
//! What cannot be parsed is skipped; a link that leads nowhere or in a circle ends the walk. So
//! for a damaged file the view is the least that is certainly there.

mod lines;
mod linked;
mod claude_code;
mod neovate;
mod codex;
mod cline;
mod gemini_cli;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use lines::Record;

/// The conversation in a session file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The messages, in the wire format of the agent.
    pub messages: Vec<Value>,
    /// For each message the lines that it comes from, counted from zero; in a file that is one
    /// list, the places in it.
    pub lines: Vec<Vec<usize>>,
    /// Lines that a compaction carried over: no walk over parents finds them.
    pub carried: Vec<usize>,
}

impl View {
    /// Adds a message that comes from one line.
    fn push(&mut self, line: usize, message: Value) {
        self.messages.push(message);
        self.lines.push(vec![line]);
    }

    /// Takes everything away from a place on.
    fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        self.lines.truncate(length);
    }
}

/// What a session file of `agent` tells. An agent that nobody knows tells nothing.
pub fn session_view(agent: &str, bytes: &[u8]) -> View {
    match agent {
        "claude-code" => linked::view(&lines::records(bytes), &claude_code::MANNER),
        "neovate" => linked::view(&lines::records(bytes), &neovate::MANNER),
        "codex" => codex::view(&lines::records(bytes)),
        "cline" => cline::view(bytes),
        "gemini-cli" => gemini_cli::view(bytes),
        _ => View::default(),
    }
}

/// The lines on the way from the last message to its root, by nothing but parents; `None` for
/// agents that write no parents.
pub fn plain_walk(agent: &str, bytes: &[u8]) -> Option<Vec<usize>> {
    let manner = match agent {
        "claude-code" => &claude_code::MANNER,
        "neovate" => &neovate::MANNER,
        _ => return None,
    };
    Some(linked::plain_walk(&lines::records(bytes), manner))
}

/// The messages of a list so that they can be compared: in Anthropic's format contents are lists,
/// and nothing but the role and the content counts. Codex stores answers to shell calls like any
/// other; whoever tells them may use the type that the API has for them.
pub fn told(wire: &str, messages: &[Value]) -> Vec<Value> {
    let told = |message: &Value| match (wire, message["type"].as_str()) {
        ("anthropic", _) => {
            json!({"role": message["role"], "content": blocks(message.get("content"))})
        }
        (_, Some("local_shell_call_output")) => {
            let mut message = message.clone();
            message["type"] = json!("function_call_output");
            message
        }
        _ => message.clone(),
    };
    messages.iter().map(told).collect()
}

/// Content as a list of blocks.
fn blocks(content: Option<&Value>) -> Vec<Value> {
    let block = |value: &Value| match value {
        Value::String(text) => json!({"type": "text", "text": text}),
        other => other.clone(),
    };
    match content {
        Some(text @ Value::String(_)) => vec![block(text)],
        Some(Value::Array(list)) => list.iter().map(block).collect(),
        _ => Vec::new(),
    }
}
