//! Parses the arguments: a few of its own, and those of Claude Code, of which most are ignored.

use std::{env, ffi::OsString, fs, path::PathBuf};

use serde_json::Value;

/// The arguments that the agent uses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AgentArguments {
    /// Quirks to simulate: `serial,no-partial,die-after=2`.
    pub(super) fake: String,
    /// File to log events to, as JSON lines.
    pub(super) fake_log: Option<PathBuf>,
    /// Recording to replay in place of asking the model.
    pub(super) replay: Option<PathBuf>,
    /// Replay speed as a multiple of the recorded one; without it, the replay waits only for input.
    pub(super) speed: String,
    pub(super) resume: Option<String>,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) system: String,
    /// MCP servers in the host.
    pub(super) servers: Vec<String>,
    pub(super) partial: bool,
    /// Whether the host is asked for permission.
    pub(super) asks_permission: bool,
    /// Whether no session file is written.
    pub(super) no_persistence: bool,
    pub(super) version: bool,
}

impl AgentArguments {
    /// Reads the command line; two of the agent's own arguments may also be variables.
    pub(super) fn read(args: impl Iterator<Item = OsString>) -> AgentArguments {
        let mut parsed = AgentArguments::parse(args);
        if parsed.fake.is_empty() {
            parsed.fake = env::var("FOXWEDGE_FAKE").unwrap_or_default();
        }
        if parsed.fake_log.is_none() {
            let log = env::var_os("FOXWEDGE_FAKE_LOG").filter(|log| !log.is_empty());
            parsed.fake_log = log.map(PathBuf::from);
        }
        parsed
    }

    fn parse(args: impl Iterator<Item = OsString>) -> AgentArguments {
        let args: Vec<_> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        let mut parsed = AgentArguments::default();
        let mut args = args.iter().map(String::as_str).peekable();
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (arg, None),
            };
            let mut value = || inline.or_else(|| args.next()).unwrap_or_default().to_owned();
            match name {
                "--fake" => parsed.fake = value(),
                "--fake-log" => parsed.fake_log = Some(value().into()),
                "--replay" => parsed.replay = Some(value().into()),
                "--speed" => parsed.speed = value(),
                "--resume" | "-r" => parsed.resume = Some(value()),
                "--session-id" => parsed.session = Some(value()),
                "--model" => parsed.model = Some(value()),
                "--system-prompt" | "--append-system-prompt" => parsed.add_system(&value()),
                "--system-prompt-file" | "--append-system-prompt-file" => {
                    parsed.add_system(&fs::read_to_string(value()).unwrap_or_default());
                }
                "--permission-prompt-tool" => parsed.asks_permission = value() == "stdio",
                "--mcp-config" => {
                    parsed.add_servers(&value());
                    // This flag takes several values.
                    while let Some(more) = args.next_if(|arg| !arg.starts_with('-')) {
                        parsed.add_servers(more);
                    }
                }
                "--include-partial-messages" => parsed.partial = true,
                "--no-session-persistence" => parsed.no_persistence = true,
                "--version" | "-v" => parsed.version = true,
                _ => {}
            }
        }
        parsed
    }

    /// Appends to the system prompt.
    pub(super) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    /// Adds servers from a JSON configuration or a configuration file.
    fn add_servers(&mut self, config_or_path: &str) {
        let text = if config_or_path.trim_start().starts_with('{') {
            config_or_path.to_owned()
        } else {
            fs::read_to_string(config_or_path).unwrap_or_default()
        };
        let config: Value = serde_json::from_str(&text).unwrap_or_default();
        let servers = config["mcpServers"].as_object().into_iter().flatten();
        let sdk_servers = servers.filter(|(_, server)| server["type"] == "sdk");
        self.servers.extend(sdk_servers.map(|(name, _)| name.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_claude_code_are_accepted_and_most_are_ignored() {
        let args = [
            "--fake",
            "serial,ask",
            "-p",
            "--output-format",
            "stream-json",
            "--bare",
            "--tools",
            "",
            "--mcp-config",
            r#"{"mcpServers":{"client":{"type":"sdk"},"other":{"type":"http"}}}"#,
            "--allowedTools",
            "mcp__client__a",
            "--system-prompt=be = kind",
            "--include-partial-messages",
            "--permission-prompt-tool",
            "stdio",
            "--resume",
            "the-id",
            "--model",
        ];
        let expected = AgentArguments {
            fake: "serial,ask".to_owned(),
            resume: Some("the-id".to_owned()),
            model: Some(String::new()),
            system: "be = kind".to_owned(),
            servers: vec!["client".to_owned()],
            partial: true,
            asks_permission: true,
            ..AgentArguments::default()
        };
        assert_eq!(AgentArguments::parse(args.iter().map(OsString::from)), expected);
    }
}
