//! Random session files: a history as an agent writes it, sometimes damaged as by a crash.

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
mod scribe;
mod aside;
mod links;
mod bytes;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{history, sound_history};
use crate::random::Random;

/// A session file.
#[derive(Clone, Debug)]
pub struct SessionFile {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The conversation in the file, if it is known.
    pub truth: Option<Vec<Value>>,
    /// Whether both the history and the file are valid.
    pub sound: bool,
    /// Whether its lines or links are damaged.
    pub damaged: bool,
}

/// A session file of up to about `size` messages.
///
/// # Panics
///
/// On an unknown agent, which is a mistake in the test.
pub fn session_file(random: &mut Random, agent: &str, size: usize) -> SessionFile {
    let sound = random.chance(40);
    let format = match agent {
        "codex" => "openai-responses",
        "gemini-cli" | "qwen-code" => "gemini",
        "copilot-cli" | "kimi-code" => "openai-chat",
        _ => "anthropic",
    };
    let list = match sound {
        true => list(sound_history(random, format, size)),
        false => list(history(random, format, size)),
    };
    let old = agent == "gemini-cli" && random.chance(15);
    let mut written = match agent {
        "claude-code" => claude_code::write(random, &list),
        "neovate" => neovate::write(random, &list),
        "codex" => codex::write(random, &list),
        "cline" => cline::write(random, &list),
        "pi" => pi::write(random, &list),
        "copilot-cli" => copilot_cli::write(random, &list),
        "kimi-code" => kimi_code::write(random, &list),
        "gemini-cli" => gemini_cli::write(random, &list, old),
        "qwen-code" => qwen_code::write(random, &list),
        "crush" | "goose" => message_rows::write(random, agent, &list),
        "opencode" => opencode::write(random, &list),
        _ => panic!("nobody knows how `{agent}` writes"),
    };
    let damaged = random.chance(50);
    let linked = ["claude-code", "neovate", "pi", "qwen-code"].contains(&agent);
    let in_rows = ["crush", "goose", "opencode"].contains(&agent);
    if damaged && agent == "opencode" {
        opencode::damage(random, &mut written.records);
    } else if damaged && in_rows {
        message_rows::damage(random, &mut written.records);
    } else if damaged && random.chance(60) {
        links::damage(random, &mut written.records, linked);
    }
    let bytes = match agent {
        "cline" => cline::joined(random, &written.records, damaged),
        _ if old => gemini_cli::joined(random, &written.records, damaged),
        _ => {
            let mut lines = bytes::lines(random, &written.records);
            if damaged && !in_rows {
                bytes::damage(random, &mut lines);
            }
            bytes::joined(random, &lines)
        }
    };
    let bytes = if agent == "pi" { crate::link_names::with_pi_names(&bytes) } else { bytes };
    let truth = (sound && !damaged).then_some(written.messages);
    let (sound, damaged) = (sound && !damaged && !written.siblings, damaged || written.siblings);
    SessionFile { bytes, truth, sound, damaged }
}

/// The records that an agent wrote, and the conversation in them.
struct WrittenSession {
    records: Vec<Value>,
    messages: Vec<Value>,
    /// Whether results are siblings beside the path, where the agent does not look.
    siblings: bool,
}

/// The messages of a history, without those of unknown roles.
fn list(history: Value) -> Vec<Value> {
    let list = match history {
        Value::Array(list) => list,
        Value::Object(mut request) => {
            let keys = ["messages", "input", "contents"];
            let list = keys.iter().find_map(|key| request.remove(*key));
            list.and_then(|list| list.as_array().cloned()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let known = ["user", "assistant", "system", "developer", "model", "function", "tool"];
    let is_known = |message: &Value| match message.get("role") {
        Some(role) => known.iter().any(|known| role == known),
        None => message["type"].is_string(),
    };
    list.into_iter().filter(is_known).collect()
}
