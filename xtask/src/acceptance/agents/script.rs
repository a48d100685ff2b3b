//! The script of the model: the same conversation for every agent.

use std::path::Path;

use serde_json::{Value, json};

use super::{cli::AgentVendor, folder::FILES, history::HistoryEntry};

/// What the user asks, turn by turn. During the last one the agent is killed.
pub(super) const PROMPTS: [&str; 3] = [
    "SCENARIO:remember the word is heron",
    "SCENARIO:three look around",
    "SCENARIO:parallel look again, and wait",
];

/// What the user asks of the resumed session.
pub(super) const FOLLOW_UP: &str = "SCENARIO:followup what was the word?";

/// What the user asks when it is resumed once more.
pub(super) const ONCE_MORE: &str = "SCENARIO:followup say it once more";

/// What the model answers to both.
pub(super) const ANSWERED: &str = "The word was heron.";

/// What the model says before the kill.
pub(super) const REPLIES: [&str; 4] =
    ["I shall remember it.", "Three things at once.", "All three are done.", "Three more."];

/// The calls of the story, and what comes back if it comes back.
pub(super) const CALLS: [(&str, &str); 6] = [
    ("call_three_1", "alpha"),
    ("call_three_2", "beta"),
    ("call_three_3", "gamma"),
    ("call_parallel_1", "alpha"),
    ("call_parallel_2", "slow"),
    ("call_parallel_3", "delta"),
];

/// What the model says: text, and the calls it makes.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptedReply {
    pub(super) text: &'static str,
    pub(super) calls: Vec<ScriptedCall>,
}

/// A call of one of the agent's own tools.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptedCall {
    pub(super) id: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// What the model replies to a history.
pub(super) fn say(
    vendor: AgentVendor,
    workspace: &Path,
    history: &[HistoryEntry],
) -> ScriptedReply {
    let [remembered, three, done, parallel] = REPLIES;
    let at = |mark: &str| {
        history
            .iter()
            .rposition(|entry| matches!(entry, HistoryEntry::User(text) if text.contains(mark)))
    };
    let last = at("SCENARIO:");
    let replied =
        history.iter().skip(last.unwrap_or(0)).any(|entry| !matches!(entry, HistoryEntry::User(_)));
    let asks = |mark| last.is_some() && at(mark) == last;
    let only = |text| ScriptedReply { text, calls: Vec::new() };
    if asks("SCENARIO:three") {
        if replied {
            only(done)
        } else {
            ScriptedReply { text: three, calls: calls(vendor, workspace, 0) }
        }
    } else if asks("SCENARIO:parallel") {
        if replied {
            only(done)
        } else {
            ScriptedReply { text: parallel, calls: calls(vendor, workspace, 3) }
        }
    } else if asks("SCENARIO:followup") {
        only(ANSWERED)
    } else {
        only(remembered)
    }
}

/// Three calls of the story, from the first on.
fn calls(vendor: AgentVendor, workspace: &Path, first: usize) -> Vec<ScriptedCall> {
    let [(one, _), (two, _)] = FILES;
    let work = if first == 0 {
        [ToolWork::Read(one), ToolWork::Read(two), ToolWork::Run("echo gamma")]
    } else {
        // A plain `sleep` is refused by newer agents.
        [
            ToolWork::Read(one),
            ToolWork::Run("sh -c 'sleep 30; echo slow'"),
            ToolWork::Run("echo delta"),
        ]
    };
    let ids = CALLS.iter().skip(first).map(|(id, _)| *id);
    let calls = ids.zip(work).map(|(id, work)| {
        let (tool, arguments) = match (vendor, work) {
            (AgentVendor::ClaudeCode, ToolWork::Read(file)) => {
                ("Read", json!({ "file_path": workspace.join(file) }))
            }
            (AgentVendor::ClaudeCode, ToolWork::Run(line)) => {
                ("Bash", json!({ "command": line, "description": "Part of the story" }))
            }
            (AgentVendor::Codex, ToolWork::Read(file)) => command(&format!("cat {file}")),
            (AgentVendor::Codex, ToolWork::Run(line)) => command(line),
            (AgentVendor::CopilotCli, ToolWork::Read(file)) => {
                ("view", json!({ "path": workspace.join(file) }))
            }
            (AgentVendor::CopilotCli, ToolWork::Run(line)) => {
                let line = json!({ "command": line, "description": "Part of the story",
                    "mode": "sync", "initial_wait": 60 });
                ("bash", line)
            }
            (AgentVendor::KimiCode, ToolWork::Read(file)) => {
                ("Read", json!({ "path": workspace.join(file) }))
            }
            (AgentVendor::KimiCode, ToolWork::Run(line)) => ("Bash", json!({ "command": line })),
            (AgentVendor::Opencode, ToolWork::Read(file)) => {
                ("read", json!({ "filePath": workspace.join(file) }))
            }
            (AgentVendor::Opencode, ToolWork::Run(line)) => {
                ("bash", json!({ "command": line, "description": "Part of the story" }))
            }
            (AgentVendor::Pi, ToolWork::Read(file)) => ("read", json!({ "path": file })),
            (AgentVendor::Pi, ToolWork::Run(line)) => ("bash", json!({ "command": line })),
            (AgentVendor::GeminiCli | AgentVendor::QwenCode, ToolWork::Read(file)) => {
                ("read_file", json!({ "file_path": workspace.join(file) }))
            }
            (AgentVendor::GeminiCli, ToolWork::Run(line)) => {
                ("run_shell_command", json!({ "command": line }))
            }
            (AgentVendor::QwenCode, ToolWork::Run(line)) => {
                ("run_shell_command", json!({ "command": line, "is_background": false }))
            }
        };
        ScriptedCall { id, tool, arguments }
    });
    calls.collect()
}

/// What a call does.
enum ToolWork {
    Read(&'static str),
    Run(&'static str),
}

/// A command of Codex, which is waited for.
fn command(line: &str) -> (&'static str, Value) {
    ("exec_command", json!({ "cmd": line, "yield_time_ms": 30_000 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_follows_the_last_prompt() {
        let user = |text: &str| HistoryEntry::User(text.to_owned());
        let call = HistoryEntry::Call("call_three_1".to_owned());
        let [remember, three, parallel] = PROMPTS.map(user);
        let follow_up = user(FOLLOW_UP);
        let table: [(&[&HistoryEntry], &str, usize); 6] = [
            (&[], REPLIES[0], 0),
            (&[&remember], REPLIES[0], 0),
            (&[&remember, &three], REPLIES[1], 3),
            (&[&remember, &three, &call], REPLIES[2], 0),
            (&[&three, &call, &parallel], REPLIES[3], 3),
            (&[&parallel, &call, &follow_up], ANSWERED, 0),
        ];
        for (history, text, calls) in table {
            let history: Vec<HistoryEntry> = history.iter().map(|entry| (*entry).clone()).collect();
            let said = say(AgentVendor::Codex, Path::new("w"), &history);
            assert_eq!((said.text, said.calls.len()), (text, calls), "{history:?}");
        }
    }
}
