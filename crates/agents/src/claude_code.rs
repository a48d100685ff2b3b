//! Claude Code: its `stream-json` pipe, its control channel, its session files.
//!
//! The client's tools are served over the control channel, as an in-process MCP server of the
//! agent. Client content is text only: it never becomes a command of the agent (`/compact`) or a
//! file of this machine (`@path`).

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

/// Name of the MCP server. The model sees `mcp__client__NAME`.
const SERVER: &str = "client";

/// Prefix of the client's tool names.
const PREFIX: &str = "mcp__client__";

/// The agent's tool for questions to people.
const QUESTIONS: &str = "AskUserQuestion";

/// Configuration of Claude Code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaudeCode {
    /// State folder: `CLAUDE_CONFIG_DIR`, or `.claude` in the home folder.
    pub state: PathBuf,
    /// Its own tools that it may use, by its names; usually none.
    pub tools: Vec<String>,
    /// `--permission-mode`.
    pub permissions: Option<String>,
    /// Runs without the user's settings, hooks, plugins and memory (`--bare`). Of its own tools
    /// only `Bash`, `Edit` and `Read` remain, so it cannot ask questions.
    pub bare: bool,
    /// Whether it may ask people for permissions and answers.
    pub may_ask: bool,
}

impl AgentLauncher for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn launch(&self, spec: LaunchSpec<'_>) -> AgentLaunch {
        let protocol = ClaudeCodePipe::new(self, spec.body);
        let (records, prompt) = session_file::split_history(spec.body, protocol.names());
        let mut arguments = self.arguments(spec.model);
        let mut files = Vec::new();
        if records.is_empty() {
            arguments.extend(["--session-id".to_owned(), spec.session.to_owned()]);
        } else {
            arguments.extend(["--resume".to_owned(), spec.session.to_owned()]);
            let path = session_file::session_path(&self.state, spec.folder, spec.session);
            files.push((path, session_file::write_session_file(&records, &spec)));
        }
        let environment = environment(prompt.is_none());
        AgentLaunch { arguments, environment, files, protocol: Box::new(protocol), prompt }
    }
}

impl ClaudeCode {
    /// The arguments that do not depend on the history. Their size does not depend on the client:
    /// instructions and tools go over the pipe.
    fn arguments(&self, model: Option<&str>) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            // Client content must not remain on this machine.
            "--no-session-persistence",
            "--strict-mcp-config",
            "--mcp-config",
        ]
        .map(str::to_owned)
        .into();
        let servers = json!({"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}});
        arguments.push(servers.to_string());
        arguments.extend(["--tools".to_owned(), self.own_tools().join(",")]);
        // The server name alone allows all its tools.
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

    /// Its own tools, including the one for questions if it may ask people.
    fn own_tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        if self.may_ask && !tools.contains(&QUESTIONS) && !tools.contains(&"default") {
            tools.push(QUESTIONS);
        }
        tools
    }
}

/// Environment variables. `resumed`: the agent continues by itself from its session file.
fn environment(resumed: bool) -> Vec<(String, String)> {
    let mut variables = vec![
        // The only reliable sign that it is idle.
        ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
        // Otherwise `@path` in client text reads that file of this machine.
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
        // A client may take days to return a tool result.
        ("MCP_TOOL_TIMEOUT", "2000000000"),
        // Otherwise only some of many parallel calls are requested at a time.
        ("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "1000"),
        // Otherwise a long result goes to a file that the model never sees.
        ("MAX_MCP_OUTPUT_TOKENS", "100000000"),
        // The history belongs to the client: nothing may be removed without its knowledge.
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
