//! Claude Code: its `stream-json` pipe, its control channel, its session files.
//!
//! The client's tools are served over the control channel, as a tool server that the agent believes
//! to have in its own process. What a client says is text: it never becomes a command of the agent
//! (`/compact`) nor a file of this machine (`@path`).

use std::path::PathBuf;

use serde_json::json;

use crate::{AgentLaunch, AgentLauncher, LaunchSpec};

mod pipe;
mod control;
mod stream_reader;
mod tools;
mod content;
mod session_file;

pub use pipe::ClaudeCodePipe;

/// The name of the tool server. The model sees `mcp__client__NAME`.
const SERVER: &str = "client";

/// What stands before the client's names of tools.
const PREFIX: &str = "mcp__client__";

/// The agent's tool that asks people.
const QUESTIONS: &str = "AskUserQuestion";

/// How Claude Code is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaudeCode {
    /// Where it keeps its state: `CLAUDE_CONFIG_DIR`, or `.claude` in the home folder.
    pub state: PathBuf,
    /// Tools of its own that it may use, as it names them; none as a rule.
    pub tools: Vec<String>,
    /// `--permission-mode`.
    pub permissions: Option<String>,
    /// Without the user's own settings, hooks, plugins and memory (`--bare`). Of its own tools only
    /// `Bash`, `Edit` and `Read` are left then: it cannot ask questions.
    pub bare: bool,
    /// Whether people may be asked: permissions, and questions of the agent.
    pub may_ask: bool,
}

impl AgentLauncher for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn launch(&self, wish: LaunchSpec<'_>) -> AgentLaunch {
        let protocol = ClaudeCodePipe::new(self, wish.body);
        let (records, prompt) = session_file::split_history(wish.body, protocol.names());
        let mut arguments = self.arguments(wish.model);
        let mut files = Vec::new();
        if records.is_empty() {
            arguments.extend(["--session-id".to_owned(), wish.session.to_owned()]);
        } else {
            arguments.extend(["--resume".to_owned(), wish.session.to_owned()]);
            let path = session_file::session_path(&self.state, wish.folder, wish.session);
            files.push((path, session_file::write_session_file(&records, &wish)));
        }
        let environment = environment(prompt.is_none());
        AgentLaunch { arguments, environment, files, protocol: Box::new(protocol), prompt }
    }
}

impl ClaudeCode {
    /// The arguments that do not depend on the history. None of them grows with what the client
    /// sends: instructions and tools go over the pipe.
    fn arguments(&self, model: Option<&str>) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            // What clients say is not left on this machine.
            "--no-session-persistence",
            "--strict-mcp-config",
            "--mcp-config",
        ]
        .map(str::to_owned)
        .into();
        let servers = json!({"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}});
        arguments.push(servers.to_string());
        arguments.extend(["--tools".to_owned(), self.own_tools().join(",")]);
        // The server's name alone stands for all its tools.
        arguments.extend(["--allowedTools".to_owned(), format!("mcp__{SERVER}")]);
        if self.bare {
            arguments.push("--bare".to_owned());
        }
        if self.may_ask {
            arguments.extend(["--permission-prompt-tool".to_owned(), "stdio".to_owned()]);
        }
        if let Some(mode) = &self.permissions {
            arguments.extend(["--permission-mode".to_owned(), mode.clone()]);
        }
        if let Some(model) = model {
            arguments.extend(["--model".to_owned(), model.to_owned()]);
        }
        arguments
    }

    /// Its own tools; the one that asks people among them, if people may be asked.
    fn own_tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        if self.may_ask && !tools.contains(&QUESTIONS) && !tools.contains(&"default") {
            tools.push(QUESTIONS);
        }
        tools
    }
}

/// The variables it is started with. `resumed`: it goes on by itself with what its file says.
fn environment(resumed: bool) -> Vec<(String, String)> {
    let mut variables = vec![
        // The only sure sign that it is done.
        ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
        // Else `@path` in a client's words reads that file of this machine.
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
        // A client may take days to answer a call.
        ("MCP_TOOL_TIMEOUT", "2000000000"),
        // Else only some of many calls are wanted at a time.
        ("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "1000"),
        // Else a long answer goes to a file that the model never sees.
        ("MAX_MCP_OUTPUT_TOKENS", "100000000"),
        // The history is the client's: nothing of it is put away without its knowledge.
        ("DISABLE_AUTO_COMPACT", "1"),
        ("ENABLE_TOOL_SEARCH", "false"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    if resumed {
        variables.push(("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "1"));
    }
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
