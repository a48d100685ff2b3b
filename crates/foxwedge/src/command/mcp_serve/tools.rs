//! The tools of the MCP server, and the command behind each.

use foxwedge_local::agents::session_lookup::is_session_id;
use serde_json::{Map, Value, json};

/// A tool that runs one command.
pub(super) struct ToolCommand {
    pub(super) name: &'static str,
    description: &'static str,
    /// The command and the flags it always has.
    command: &'static [&'static str],
    parameters: &'static [ToolParameter],
}

/// A parameter of a tool.
struct ToolParameter {
    name: &'static str,
    description: &'static str,
    form: ParameterForm,
}

/// How a parameter becomes words of the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParameterForm {
    /// A required text, which is the argument of the command.
    Argument,
    /// A required session id, which is the argument of the command. Paths are refused.
    Session,
    /// A text after a flag.
    Text(&'static str),
    /// A number after a flag.
    Number(&'static str),
    /// A flag that is set or not.
    Switch(&'static str),
}

const AGENT: ToolParameter = ToolParameter {
    name: "agent",
    description: "Only sessions of this agent: claude-code, codex, gemini-cli, …",
    form: ParameterForm::Text("--agent"),
};
const PROJECT: ToolParameter = ToolParameter {
    name: "project",
    description: "Only sessions in this folder or its subfolders",
    form: ParameterForm::Text("--project"),
};
const LIMIT: ToolParameter = ToolParameter {
    name: "limit",
    description: "Maximum number of sessions, newest first",
    form: ParameterForm::Number("--limit"),
};
const SESSION: ToolParameter = ToolParameter {
    name: "session",
    description: "A session id or a unique prefix of it",
    form: ParameterForm::Session,
};

pub(super) const TOOLS: &[ToolCommand] = &[
    ToolCommand {
        name: "list_sessions",
        description: "Lists sessions of coding agents, newest first: agent, id, project, title, health, \
                      and how many of the messages reach the model",
        command: &["list", "--output-format=json"],
        parameters: &[
            AGENT,
            PROJECT,
            LIMIT,
            ToolParameter {
                name: "broken",
                description: "Only sessions that their agent does not open whole",
                form: ParameterForm::Switch("--broken"),
            },
        ],
    },
    ToolCommand {
        name: "show_session",
        description: "Shows one session: its messages, tool calls and health",
        command: &["show"],
        parameters: &[SESSION, AGENT],
    },
    ToolCommand {
        name: "check_session",
        description: "Lists what a provider or the agent would reject in one session, and how it can be \
                      repaired",
        command: &["check", "--output-format=json"],
        parameters: &[SESSION, AGENT],
    },
    ToolCommand {
        name: "explain_error",
        description: "Explains the error message of a provider, and what to do about it",
        command: &["explain"],
        parameters: &[ToolParameter {
            name: "text",
            description: "The error message",
            form: ParameterForm::Argument,
        }],
    },
    ToolCommand {
        name: "search_sessions",
        description: "Finds the sessions whose messages contain a text",
        command: &["search", "--json"],
        parameters: &[
            ToolParameter {
                name: "text",
                description: "The text, in any case",
                form: ParameterForm::Argument,
            },
            AGENT,
            PROJECT,
            LIMIT,
        ],
    },
];

impl ToolCommand {
    /// The tool as clients see it.
    pub(super) fn declaration(&self) -> Value {
        let mut properties = Map::new();
        for parameter in self.parameters {
            let kind = match parameter.form {
                ParameterForm::Argument | ParameterForm::Session | ParameterForm::Text(_) => {
                    "string"
                }
                ParameterForm::Number(_) => "integer",
                ParameterForm::Switch(_) => "boolean",
            };
            let schema = json!({ "type": kind, "description": parameter.description });
            properties.insert(parameter.name.to_owned(), schema);
        }
        let is_required = |it: &&ToolParameter| {
            matches!(it.form, ParameterForm::Argument | ParameterForm::Session)
        };
        let required: Vec<&str> =
            self.parameters.iter().filter(is_required).map(|it| it.name).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    }

    /// The command line for these arguments. A text never becomes a flag.
    pub(super) fn words(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let mut words: Vec<String> = self.command.iter().map(|word| (*word).to_owned()).collect();
        let mut argument = None;
        for parameter in self.parameters {
            let name = parameter.name;
            let value = arguments.get(name).filter(|value| !value.is_null());
            match (parameter.form, value) {
                (ParameterForm::Argument | ParameterForm::Session, None) => {
                    return Err(format!("`{name}` is missing"));
                }
                (ParameterForm::Session, Some(Value::String(id))) if !is_session_id(id) => {
                    return Err(format!("`{name}` is not a session id"));
                }
                (_, None) => {}
                (ParameterForm::Argument | ParameterForm::Session, Some(Value::String(text))) => {
                    argument = Some(text);
                }
                (ParameterForm::Text(flag), Some(Value::String(text))) => {
                    words.push(format!("{flag}={text}"));
                }
                (ParameterForm::Number(flag), Some(number)) if number.as_u64().is_some() => {
                    words.push(format!("{flag}={number}"));
                }
                (ParameterForm::Switch(flag), Some(Value::Bool(set))) => {
                    words.extend(set.then(|| flag.to_owned()));
                }
                (_, Some(_)) => return Err(format!("`{name}` has the wrong type")),
            }
        }
        if let Some(text) = argument {
            words.extend(["--".to_owned(), text.clone()]);
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_words_and_never_flags() {
        let words = |name: &str, arguments: Value| {
            let tool = TOOLS.iter().find(|tool| tool.name == name);
            tool.map_or(Err("no such tool".to_owned()), |tool| tool.words(&arguments))
        };
        assert_eq!(
            words("list_sessions", json!({"broken": true, "limit": 3, "agent": "codex"})),
            Ok(["list", "--output-format=json", "--agent=codex", "--limit=3", "--broken"]
                .map(str::to_owned)
                .to_vec())
        );
        assert_eq!(
            words("show_session", json!({"session": "--help"})),
            Ok(["show", "--", "--help"].map(str::to_owned).to_vec())
        );
        assert!(words("show_session", json!({"session": "/etc/passwd"})).is_err());
        assert!(words("show_session", json!({})).is_err());
        assert!(words("search_sessions", json!({"text": 5})).is_err());
    }
}
