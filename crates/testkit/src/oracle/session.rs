//! A naive reader of session files: which messages an agent would send if it resumed the session.
//!
//! Based on the known behavior of the agents, on plain JSON values, without regard to speed. Text
//! that cannot be parsed is skipped; a link to a missing record or a cycle ends the path. So for a
//! damaged file the conversation is the minimum that is certainly there.

mod lines;
mod linked;
mod claude_code;
mod neovate;
mod codex;
mod cline;
mod pi;
mod copilot_cli;
mod kimi_code;
mod qwen_code;
mod gemini_cli;
mod message_rows;
mod opencode;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use lines::LineRecord;

/// The conversation in a session file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionConversation {
    /// The messages, in the format of the agent.
    pub messages: Vec<Value>,
    /// For each message, its line numbers, counted from zero; in a file that is one list, its
    /// positions in the list.
    pub lines: Vec<Vec<usize>>,
    /// Lines that a compaction carried over. The path over parents does not contain them.
    pub carried: Vec<usize>,
    /// A hook put off the calls of the last reply.
    pub deferred: bool,
}

impl SessionConversation {
    /// Adds a message that comes from one line.
    fn push(&mut self, line: usize, message: Value) {
        self.messages.push(message);
        self.lines.push(vec![line]);
    }

    /// Removes everything from this index on.
    fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        self.lines.truncate(length);
    }
}

/// The conversation in a session file of `agent`. An unknown agent has none.
pub fn session_view(agent: &str, bytes: &[u8]) -> SessionConversation {
    match agent {
        "claude-code" => {
            let records = lines::records(bytes);
            let deferred = claude_code::is_deferred(&records);
            SessionConversation { deferred, ..linked::view(&records, &claude_code::MANNER) }
        }
        "neovate" => linked::view(&lines::records(bytes), &neovate::MANNER),
        "codex" => codex::view(&lines::records(bytes)),
        "cline" => cline::view(bytes),
        "copilot-cli" => copilot_cli::view(&lines::records(bytes)),
        "kimi-code" => kimi_code::view(&lines::records(bytes)),
        "pi" => linked::view(&pi::renamed(&lines::records(bytes)), &pi::MANNER),
        "gemini-cli" => gemini_cli::view(bytes),
        "qwen-code" => qwen_code::view(&lines::records(bytes)),
        "crush" | "goose" => message_rows::view(agent, &lines::records(bytes)),
        "opencode" => opencode::view(&lines::records(bytes)),
        _ => SessionConversation::default(),
    }
}

/// The lines on the path from the last message to its root, by parents only; `None` for agents that
/// write no parents.
pub fn plain_walk(agent: &str, bytes: &[u8]) -> Option<Vec<usize>> {
    let manner = match agent {
        "claude-code" => &claude_code::MANNER,
        "neovate" => &neovate::MANNER,
        "pi" => {
            return Some(linked::plain_walk(&pi::renamed(&lines::records(bytes)), &pi::MANNER));
        }
        "qwen-code" => return Some(qwen_code::walk(&lines::records(bytes))),
        _ => return None,
    };
    Some(linked::plain_walk(&lines::records(bytes), manner))
}

/// The messages of a list in comparable form: in Anthropic's format contents are lists, and only
/// role and content count. Codex stores results of shell calls like all others, but the API also
/// has its own type for them.
pub fn told(format: &str, messages: &[Value]) -> Vec<Value> {
    let comparable = |message: &Value| match (format, message["type"].as_str()) {
        ("anthropic", _) => {
            json!({"role": message["role"], "content": blocks(message.get("content"))})
        }
        ("openai-chat", _) => {
            // The arguments of a call are text; their white space means nothing.
            let mut message = message.clone();
            for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                let text = call["function"]["arguments"].as_str().unwrap_or_default();
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    call["function"]["arguments"] = json!(value.to_string());
                }
            }
            if message["tool_calls"].is_null() {
                message.as_object_mut().map(|fields| fields.remove("tool_calls"));
            }
            message
        }
        (_, Some("local_shell_call_output")) => {
            let mut message = message.clone();
            message["type"] = json!("function_call_output");
            message
        }
        _ => message.clone(),
    };
    messages.iter().map(comparable).collect()
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
