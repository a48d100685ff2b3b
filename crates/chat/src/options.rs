//! What a conversation is started with.

use std::path::PathBuf;

use foxwedge_run::encode::UiFormat;

/// Options of a conversation. The default is an interactive one with a new session, the default
/// model and all built-in tools, which ask before they change anything.
#[derive(Clone, Debug, Default)]
pub struct ChatOptions {
    /// The first prompt.
    pub prompt: Option<String>,
    /// Print one reply in this format and end; stdin is appended to the prompt.
    pub print: Option<ReplyFormat>,
    /// Print only errors: no notes, no tool status.
    pub quiet: bool,
    /// The session to resume; `None` for a new one.
    pub resume: Option<SessionChoice>,
    /// Work on a copy of the resumed session.
    pub fork: bool,
    /// The store: a file, or `postgres://…`; `None` for `FOXWEDGE_STORE` or the default file.
    pub store: Option<String>,
    /// The name of the model.
    pub model: Option<String>,
    /// A URL, or the name of an upstream in the configuration.
    pub upstream: Option<String>,
    /// The API of the upstream; `None` to detect it from the URL.
    pub api: Option<ChatApi>,
    /// The environment variable that holds the API key; `None` for the usual one.
    pub key_env: Option<String>,
    /// The configuration file of the gateway, whose routes select the upstream.
    pub config: Option<PathBuf>,
    /// System instructions: a text, or `@` and the file that contains them.
    pub instructions: Option<String>,
    /// The maximum number of model replies per prompt.
    pub max_turns: Option<u32>,
    /// The folder that tools work in; `None` for the current one.
    pub root: Option<PathBuf>,
    /// The built-in tools to enable, or `none`; `None` for all of them.
    pub tools: Option<Vec<String>>,
    /// MCP servers: `NAME=COMMAND` or `NAME=URL`.
    pub mcp: Vec<String>,
    /// A file that lists MCP servers under `mcpServers`.
    pub mcp_config: Option<PathBuf>,
    /// More environment variables that commands of tools receive.
    pub pass_env: Vec<String>,
    /// Tools that run without asking; [`ALL_TOOLS`](crate::ALL_TOOLS) allows every tool.
    pub allow: Vec<String>,
    /// Enable only tools that change nothing.
    pub read_only: bool,
}

/// A session to resume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionChoice {
    /// The newest one of the folder.
    Newest,
    /// The one with this id or prefix.
    Id(String),
    /// The one that the user picks from a list.
    Picked,
}

/// Output format of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplyFormat {
    /// The model's text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// Frames for user interfaces, as they arrive.
    Frames(UiFormat),
}

/// API of an upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChatApi {
    /// OpenAI Chat Completions, supported by most servers.
    Openai,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// DeepSeek Chat Completions.
    Deepseek,
    /// A Foxwedge gateway (`foxwedge serve`).
    Gateway,
    /// The built-in scripted model, which needs no key.
    Scripted,
}

impl ChatApi {
    /// The value on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ChatApi::Openai => "openai",
            ChatApi::Anthropic => "anthropic",
            ChatApi::Gemini => "gemini",
            ChatApi::Deepseek => "deepseek",
            ChatApi::Gateway => "gateway",
            ChatApi::Scripted => "scripted",
        }
    }
}
