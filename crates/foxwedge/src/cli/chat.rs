//! What can be typed about the agent in the terminal.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use foxwedge_run::encode;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChatArgs {
    /// The first prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Print the reply and end; what comes on stdin is added to the prompt
    #[arg(short, long)]
    pub(crate) print: bool,
    /// How the reply is printed [default: text]
    #[arg(long, value_name = "FORMAT", requires = "print")]
    pub(crate) output_format: Option<ReplyFormat>,
    /// No notes and no lines about tools; errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Go on with a session, by its id or how it begins; without one, pick from a list
    #[arg(long, value_name = "ID", help_heading = "Session", group = "going_on")]
    pub(crate) resume: Option<Option<String>>,
    /// Go on with the newest session of this folder; with -p and no prompt, where it stopped
    #[arg(long = "continue", help_heading = "Session", group = "going_on")]
    pub(crate) newest: bool,
    /// Work on a copy of that session
    #[arg(long, help_heading = "Session", requires = "going_on")]
    pub(crate) fork: bool,
    /// List the sessions, the newest first, and stop
    #[arg(long, help_heading = "Session", conflicts_with_all = ["prompt", "print", "going_on"])]
    pub(crate) list: bool,
    /// Where sessions are kept: a file, or postgres://… [env: FOXWEDGE_STORE] [default: a file in your data folder]
    #[arg(long, value_name = "URL", help_heading = "Session")]
    pub(crate) store: Option<String>,
    /// The model, by the name that its provider or a route of the configuration knows
    #[arg(short, long, value_name = "NAME", help_heading = "Model")]
    pub(crate) model: Option<String>,
    /// Who is asked: an address, or an upstream of the configuration by its name
    #[arg(long, value_name = "URL|NAME", help_heading = "Model")]
    pub(crate) upstream: Option<String>,
    /// What the address speaks [default: by the address, else openai]
    #[arg(long, value_name = "API", help_heading = "Model")]
    pub(crate) api: Option<ChatApi>,
    /// The variable that holds the key [default: the usual one of the API]
    #[arg(long, value_name = "VARIABLE", help_heading = "Model")]
    pub(crate) key_env: Option<String>,
    /// The gateway's configuration, whose routes are used [env: FOXWEDGE_CONFIG] [default: ~/.config/foxwedge/foxwedge.toml]
    #[arg(long, value_name = "FILE", help_heading = "Model", conflicts_with = "api")]
    pub(crate) config: Option<PathBuf>,
    /// What the model is told before everything else, or the file that says it
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Model")]
    pub(crate) instructions: Option<String>,
    /// Replies of the model to one prompt, at most
    #[arg(long, value_name = "NUMBER", help_heading = "Model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_turns: Option<u32>,
    /// The folder that the tools work in [default: this one]
    #[arg(long, value_name = "FOLDER", help_heading = "Tools")]
    pub(crate) root: Option<PathBuf>,
    /// Only these built-in tools, separated by commas, or `none`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) tools: Option<Vec<String>>,
    /// Add the tools of an MCP server: a command, or an address
    #[arg(long, value_name = "NAME=COMMAND|URL", help_heading = "Tools")]
    pub(crate) mcp: Vec<String>,
    /// Add the MCP servers that a file lists under `mcpServers`
    #[arg(long, value_name = "FILE", help_heading = "Tools")]
    pub(crate) mcp_config: Option<PathBuf>,
    /// Variables that commands of `run` see beside the usual ones, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) pass_env: Vec<String>,
    /// Let this tool run without asking; `all` lets every one
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Tools")]
    pub(crate) allow: Vec<String>,
    /// The same as --allow all
    #[arg(short, long, help_heading = "Tools")]
    pub(crate) yes: bool,
    /// Only tools that change nothing
    #[arg(long, help_heading = "Tools", conflicts_with_all = ["allow", "yes"])]
    pub(crate) read_only: bool,
}

/// How a reply is printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReplyFormat {
    /// What the model says
    #[default]
    Text,
    /// One object at the end
    Json,
    /// Our own events, one in a line, as they come
    Jsonl,
    /// AG-UI events
    Agui,
    /// The UI message stream of the AI SDK
    AiSdk,
    /// Session updates of the Agent Client Protocol
    Acp,
}

impl ReplyFormat {
    /// The frames it consists of, if it does.
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

/// What an address speaks.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChatApi {
    /// OpenAI's Chat Completions, which most servers speak
    Openai,
    /// Anthropic's Messages
    Anthropic,
    /// Gemini's generateContent
    Gemini,
    /// Chat Completions as DeepSeek has them
    Deepseek,
    /// A gateway of ours, as `foxwedge serve`
    Gateway,
    /// The built-in model, which needs no key
    Scripted,
}

impl ChatApi {
    /// As it is typed.
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
