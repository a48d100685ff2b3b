//! Arguments of `foxwedge serve` and `foxwedge env`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::PossibleValuesParser};

/// Flags override environment variables, which override the configuration file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeArgs {
    /// Configuration file [env: FOXWEDGE_CONFIG] [default: ~/.config/foxwedge/foxwedge.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on [env: FOXWEDGE_LISTEN] [default: 127.0.0.1:4177]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Upstream for every model: the name of an upstream, or https://… [env: FOXWEDGE_UPSTREAM]
    #[arg(long, value_name = "NAME|URL")]
    pub(crate) upstream: Option<String>,
    /// Serve every model with the built-in scripted one, which needs no key
    #[arg(long, conflicts_with = "upstream")]
    pub(crate) demo: bool,
    /// What to do with invalid histories [env: FOXWEDGE_MODE] [default: fix]
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(["off", "observe", "fix", "strict"]))]
    pub(crate) mode: Option<String>,
    /// Store for runs: a file, or postgres://… [env: FOXWEDGE_STORE]
    #[arg(long, value_name = "URL", help_heading = "Record")]
    pub(crate) store: Option<String>,
    /// Whether requests are stored as runs [env: FOXWEDGE_STORE_RUNS] [default: true]
    #[arg(long, value_name = "BOOL", help_heading = "Record", value_parser = PossibleValuesParser::new(["true", "false"]))]
    pub(crate) store_runs: Option<String>,
    /// Whether runs include message content [env: FOXWEDGE_STORE_CONTENT] [default: false]
    #[arg(long, value_name = "BOOL", help_heading = "Record", value_parser = PossibleValuesParser::new(["true", "false"]))]
    pub(crate) store_content: Option<String>,
    /// The former name of --store-runs
    #[arg(long, hide = true)]
    pub(crate) record: Option<String>,
    /// The former name of --store-content
    #[arg(long, hide = true)]
    pub(crate) content: Option<String>,
    /// Log format; auto: text on a terminal, JSON elsewhere [env: FOXWEDGE_LOG] [default: auto]
    #[arg(long, value_name = "FORMAT", help_heading = "Record", value_parser = PossibleValuesParser::new(["auto", "text", "json", "off"]))]
    pub(crate) log: Option<String>,
    /// File with the token that clients must send [env: FOXWEDGE_TOKEN holds the token itself]
    #[arg(long, value_name = "FILE", help_heading = "Access", conflicts_with = "no_token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept clients without a token; only at a loopback address
    #[arg(long, help_heading = "Access")]
    pub(crate) no_token: bool,
    /// Show what would run, or every configuration error, and exit
    #[arg(long, help_heading = "Configuration")]
    pub(crate) check_config: bool,
    /// Print every setting and its source, and exit
    #[arg(long, help_heading = "Configuration", conflicts_with = "check_config")]
    pub(crate) print_config: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EnvArgs {
    /// Shell syntax to print [default: from $SHELL]
    #[arg(long, value_name = "SHELL")]
    pub(crate) shell: Option<EnvShell>,
    /// Client to point at the gateway
    #[arg(long = "for", value_name = "CLIENT", default_value = "all", ignore_case = true)]
    pub(crate) client: EnvClient,
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address of the gateway [default: from the configuration]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// File with the token [default: from the configuration]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Shells that `foxwedge env` can print variables for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvShell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// Clients that can be pointed at the gateway.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvClient {
    /// Every client that reads environment variables
    All,
    /// Claude Code and the Anthropic SDKs
    #[value(alias = "anthropic")]
    ClaudeCode,
    /// The OpenAI SDKs and clients built on them
    #[value(aliases = OPENAI_CLIENTS)]
    Openai,
    /// Codex
    Codex,
    /// Gemini CLI and the Google Gen AI SDKs
    #[value(aliases = ["google-genai", "google-adk"])]
    GeminiCli,
    /// goose
    Goose,
    /// opencode
    Opencode,
    /// Kilo CLI
    Kilo,
    /// GitHub Copilot CLI
    CopilotCli,
    /// Qwen Code
    QwenCode,
    /// Cline CLI
    Cline,
    /// Continue CLI
    Continue,
    /// pi
    Pi,
    /// llm
    Llm,
    /// aider and LiteLLM
    #[value(alias = "litellm")]
    Aider,
    /// Cursor
    #[value(hide = true)]
    Cursor,
}

/// Libraries that use an SDK of OpenAI, or read the same variables.
const OPENAI_CLIENTS: [&str; 17] = [
    "openai-agents",
    "langchain",
    "langgraph",
    "agent-framework",
    "autogen",
    "semantic-kernel",
    "llama-index",
    "agno",
    "strands",
    "haystack",
    "crewai",
    "dspy",
    "instructor",
    "smolagents",
    "pydantic-ai",
    "ai-sdk",
    "mastra",
];
