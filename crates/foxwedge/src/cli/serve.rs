//! What can be typed about the gateway.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::PossibleValuesParser};

/// Flags win over variables, and variables over the file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeArgs {
    /// The configuration file [env: FOXWEDGE_CONFIG] [default: ~/.config/foxwedge/foxwedge.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen [env: FOXWEDGE_LISTEN] [default: 127.0.0.1:4177]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Send every model there: an upstream by its name, or https://… [env: FOXWEDGE_UPSTREAM]
    #[arg(long, value_name = "NAME|URL")]
    pub(crate) upstream: Option<String>,
    /// What is done about broken histories [env: FOXWEDGE_MODE] [default: fix]
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(["off", "observe", "fix", "strict"]))]
    pub(crate) mode: Option<String>,
    /// Where runs are kept: a file, or postgres://… [env: FOXWEDGE_STORE]
    #[arg(long, value_name = "URL", help_heading = "Record")]
    pub(crate) store: Option<String>,
    /// Which requests become runs [env: FOXWEDGE_RECORD] [default: all]
    #[arg(long, value_name = "WHICH", help_heading = "Record", value_parser = PossibleValuesParser::new(["all", "none"]))]
    pub(crate) record: Option<String>,
    /// Whether what was said is kept with them [env: FOXWEDGE_CONTENT] [default: left]
    #[arg(long, value_name = "WHETHER", help_heading = "Record", value_parser = PossibleValuesParser::new(["kept", "left"]))]
    pub(crate) content: Option<String>,
    /// How lines of the log look [env: FOXWEDGE_LOG] [default: text]
    #[arg(long, value_name = "FORMAT", help_heading = "Record", value_parser = PossibleValuesParser::new(["text", "json", "off"]))]
    pub(crate) log: Option<String>,
    /// The file with the token that clients show [env: FOXWEDGE_TOKEN holds the token itself]
    #[arg(long, value_name = "FILE", help_heading = "Access", conflicts_with = "no_token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let everybody in who can reach the address; at a loopback address only
    #[arg(long, help_heading = "Access")]
    pub(crate) no_token: bool,
    /// Say what would run, or everything that is wrong, and stop
    #[arg(long, help_heading = "Configuration")]
    pub(crate) check_config: bool,
    /// Print every setting and who set it, and stop
    #[arg(long, help_heading = "Configuration", conflicts_with = "check_config")]
    pub(crate) print_config: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EnvArgs {
    /// The shell that reads it [default: that of $SHELL]
    #[arg(long, value_name = "SHELL")]
    pub(crate) shell: Option<EnvShell>,
    /// The client that is pointed at the gateway
    #[arg(long = "for", value_name = "CLIENT", default_value = "all")]
    pub(crate) client: EnvClient,
    /// The configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the gateway listens, if not where the configuration says
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The file with the token, if not where the configuration says
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// A shell that can be told variables.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvShell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// Who is pointed at the gateway.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnvClient {
    /// Everything that reads variables
    All,
    /// Claude Code, and the SDKs of Anthropic
    ClaudeCode,
    /// The SDKs of OpenAI, and what is built on them
    Openai,
    /// Codex
    Codex,
    /// Gemini CLI
    GeminiCli,
    /// goose
    Goose,
    /// opencode
    Opencode,
}
