//! Arguments of `foxwedge chat`.

use std::path::PathBuf;

use clap::Args;
use foxwedge_chat::{ALL_TOOLS, ChatApi, ChatOptions, ReplyFormat, SessionChoice};

use super::values::{chat_apis, reply_formats};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChatArgs {
    /// First prompt
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Print the reply and exit; stdin is appended to the prompt
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Output format of the reply [default: text]
    #[arg(long, value_name = "FORMAT", requires = "print", value_parser = reply_formats())]
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
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// The agent: its store, its model and its tools.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgentArgs {
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
    #[arg(long, value_name = "API", help_heading = "Model", value_parser = chat_apis())]
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

impl ChatArgs {
    /// The options of the conversation.
    pub(crate) fn into_options(self) -> ChatOptions {
        let resume = match (self.resume, self.newest) {
            (Some(Some(id)), _) => Some(SessionChoice::Id(id)),
            (Some(None), _) => Some(SessionChoice::Picked),
            (None, true) => Some(SessionChoice::Newest),
            (None, false) => None,
        };
        ChatOptions {
            prompt: self.prompt,
            print: self.print.then(|| self.output_format.unwrap_or_default()),
            quiet: self.quiet,
            resume,
            fork: self.fork,
            ..self.agent.into_options()
        }
    }
}

impl AgentArgs {
    /// The options of any conversation with this agent.
    pub(crate) fn into_options(self) -> ChatOptions {
        let mut allow = self.allow;
        allow.extend(self.yes.then(|| ALL_TOOLS.to_owned()));
        ChatOptions {
            store: self.store,
            model: self.model,
            upstream: self.upstream,
            api: self.api,
            key_env: self.key_env,
            config: self.config,
            instructions: self.instructions,
            max_turns: self.max_turns,
            root: self.root,
            tools: self.tools,
            mcp: self.mcp,
            mcp_config: self.mcp_config,
            pass_env: self.pass_env,
            allow,
            read_only: self.read_only,
            ..ChatOptions::default()
        }
    }
}
