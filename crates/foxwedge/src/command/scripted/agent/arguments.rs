//! What Claude Code's arguments say. Those that nobody here needs are not looked at.

use std::{ffi::OsString, fs};

use serde_json::Value;

/// What counts of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ClaudeArguments {
    pub(super) resume: Option<String>,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) system: String,
    /// Servers of tools that live in the host.
    pub(super) servers: Vec<String>,
    pub(super) partial: bool,
    /// Whether the host decides what may run.
    pub(super) asks_permission: bool,
    /// Whether nothing is to be kept on disk.
    pub(super) no_persistence: bool,
    pub(super) version: bool,
}

impl ClaudeArguments {
    pub(super) fn read(words: &[OsString]) -> ClaudeArguments {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut read = ClaudeArguments::default();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            let mut value = || inline.or_else(|| words.next()).unwrap_or_default().to_owned();
            match name {
                "--resume" | "-r" => read.resume = Some(value()),
                "--session-id" => read.session = Some(value()),
                "--model" => read.model = Some(value()),
                "--system-prompt" | "--append-system-prompt" => read.add_system(&value()),
                "--system-prompt-file" | "--append-system-prompt-file" => {
                    read.add_system(&fs::read_to_string(value()).unwrap_or_default());
                }
                "--permission-prompt-tool" => read.asks_permission = value() == "stdio",
                "--mcp-config" => {
                    read.add_servers(&value());
                    // It takes several values.
                    while let Some(more) = words.next_if(|word| !word.starts_with('-')) {
                        read.add_servers(more);
                    }
                }
                "--include-partial-messages" => read.partial = true,
                "--no-session-persistence" => read.no_persistence = true,
                "--version" | "-v" => read.version = true,
                _ => {}
            }
        }
        read
    }

    /// More instructions.
    pub(super) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    /// The text of a configuration, or the name of a file that holds one.
    fn add_servers(&mut self, told: &str) {
        let text = if told.trim_start().starts_with('{') {
            told.to_owned()
        } else {
            fs::read_to_string(told).unwrap_or_default()
        };
        let config: Value = serde_json::from_str(&text).unwrap_or_default();
        let servers = config["mcpServers"].as_object().into_iter().flatten();
        let ours = servers.filter(|(_, server)| server["type"] == "sdk");
        self.servers.extend(ours.map(|(name, _)| name.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_real_one_are_taken_and_most_are_ignored() {
        let words = [
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
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let expected = ClaudeArguments {
            resume: Some("the-id".to_owned()),
            model: Some(String::new()),
            system: "be = kind".to_owned(),
            servers: vec!["client".to_owned()],
            partial: true,
            asks_permission: true,
            ..ClaudeArguments::default()
        };
        assert_eq!(ClaudeArguments::read(&words), expected);
    }
}
