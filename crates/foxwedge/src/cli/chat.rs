//! Arguments of `foxwedge chat`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use foxwedge_run::encode;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChatArgs {
    /// First prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Print the reply and exit; stdin is appended to the prompt
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Output format of the reply [default: text]
    #[arg(long, value_name = "FORMAT", requires = "print")]
    pub(crate) output_format: Option<ReplyFormat>,
    /// Print only errors: no notes, no tool status
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Resume a session by its id or a prefix of it; without an id, pick one from a list
    #[arg(long, value_name = "ID", help_heading = "Session", group = "resumed")]
    pub(crate) resume: Option<Option<String>>,
    /// Resume the newest session of this folder; with -p and no prompt, continue where it stopped
    #[arg(long = "continue", help_heading = "Session", group = "resumed")]
    pub(crate) newest: bool,
    /// Work on a copy of the resumed session
    #[arg(long, help_heading = "Session", requires = "resumed")]
    pub(crate) fork: bool,
    /// List sessions, newest first, and exit
    #[arg(long, help_heading = "Session", conflicts_with_all = ["prompt", "print", "resumed"])]
    pub(crate) list: bool,
    /// Store for sessions: a file, or postgres://… [env: FOXWEDGE_STORE] [default: a file in your data folder]
    #[arg(long, value_name = "URL", help_heading = "Session")]
    pub(crate) store: Option<String>,
    /// Model name, as its provider or a route in the configuration names it
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// Upstream to use: a URL, or the name of an upstream in the configuration
    #[arg(long, value_name = "URL|NAME", help_heading = "Model")]
    pub(crate) upstream: Option<String>,
    /// API of the upstream [default: detected from the URL, otherwise openai]
    #[arg(long, value_name = "API", help_heading = "Model")]
    pub(crate) api: Option<ChatApi>,
    /// Environment variable that holds the API key [default: the usual one for the API]
    #[arg(long, value_name = "VARIABLE", help_heading = "Model")]
    pub(crate) key_env: Option<String>,
    /// Gateway configuration file; its routes select the upstream [env: FOXWEDGE_CONFIG] [default: ~/.config/foxwedge/foxwedge.toml]
    #[arg(long, value_name = "FILE", help_heading = "Model", conflicts_with = "api")]
    pub(crate) config: Option<PathBuf>,
    /// System instructions: a text, or a file that contains them
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Model")]
    pub(crate) instructions: Option<String>,
    /// Maximum number of model replies per prompt
    #[arg(long, value_name = "NUMBER", help_heading = "Model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_turns: Option<u32>,
    /// Folder that tools work in [default: the current folder]
    #[arg(long, value_name = "FOLDER", help_heading = "Tools")]
    pub(crate) root: Option<PathBuf>,
    /// Enable only these built-in tools, separated by commas, or `none`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) tools: Option<Vec<String>>,
    /// Add the tools of an MCP server: a command or a URL
    #[arg(long, value_name = "NAME=COMMAND|URL", help_heading = "Tools")]
    pub(crate) mcp: Vec<String>,
    /// Add the MCP servers listed under `mcpServers` in a file
    #[arg(long, value_name = "FILE", help_heading = "Tools")]
    pub(crate) mcp_config: Option<PathBuf>,
    /// More environment variables to pass to commands of the `run` tool, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) pass_env: Vec<String>,
    /// Run this tool without asking; `all` allows every tool
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) allow: Vec<String>,
    /// Same as --allow all
    #[arg(short, long, help_heading = "Tools")]
    pub(crate) yes: bool,
    /// Enable only tools that change nothing
    #[arg(long, help_heading = "Tools", conflicts_with_all = ["allow", "yes"])]
    pub(crate) read_only: bool,
}

/// Output format of a reply.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReplyFormat {
    /// The model's text
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// Foxwedge run events, one per line, as they arrive
    Jsonl,
    /// AG-UI events
    Agui,
    /// UI message stream of the AI SDK
    AiSdk,
    /// Agent Client Protocol session updates
    Acp,
}

impl ReplyFormat {
    /// The frame format; `None` if the reply is not written as frames.
    pub(crate) fn frames(self) -> Option<encode::UiFormat> {
        match self {
            ReplyFormat::Text | ReplyFormat::Json => None,
            ReplyFormat::Jsonl => Some(encode::UiFormat::Jsonl),
            ReplyFormat::Agui => Some(encode::UiFormat::AgUi),
            ReplyFormat::AiSdk => Some(encode::UiFormat::AiSdk),
            ReplyFormat::Acp => Some(encode::UiFormat::Acp),
        }
    }
}

/// API of an upstream.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChatApi {
    /// OpenAI Chat Completions, supported by most servers
    Openai,
    /// Anthropic Messages
    Anthropic,
    /// Gemini generateContent
    Gemini,
    /// DeepSeek Chat Completions
    Deepseek,
    /// A Foxwedge gateway (`foxwedge serve`)
    Gateway,
    /// The built-in scripted model, which needs no key
    Scripted,
}

impl ChatApi {
    /// The value on the command line.
    pub(crate) fn name(self) -> &'static str {
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
