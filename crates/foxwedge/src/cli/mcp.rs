//! Arguments of `foxwedge mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use foxwedge_chat::McpLoginOptions;

#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) action: McpAction,
}

#[derive(Subcommand, Debug)]
pub(crate) enum McpAction {
    /// Be an MCP server on stdin and stdout that reads the sessions of agents
    Serve,
    /// Log in at an MCP server over HTTP, with the browser
    Login(McpLoginArgs),
    /// Remove the login at an MCP server, and revoke it
    Logout(McpServerArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct McpServerArgs {
    /// URL of the server, or its name in the file
    #[arg(value_name = "NAME|URL")]
    pub(crate) server: String,
    /// File that lists MCP servers under `mcpServers` [default: .mcp.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct McpLoginArgs {
    #[command(flatten)]
    pub(crate) server: McpServerArgs,
    /// Scopes to request, separated by blanks [default: those that the server names]
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,
    /// Client that was registered by hand [default: one is registered]
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// Environment variable that holds the secret of the client
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) client_secret_env: Option<String>,
    /// Port on this machine that the browser is sent back to [default: a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) callback_port: Option<u16>,
}

impl From<McpServerArgs> for McpLoginOptions {
    fn from(args: McpServerArgs) -> McpLoginOptions {
        let McpServerArgs { server, mcp_config } = args;
        McpLoginOptions { server, mcp_config, ..McpLoginOptions::default() }
    }
}

impl From<McpLoginArgs> for McpLoginOptions {
    fn from(args: McpLoginArgs) -> McpLoginOptions {
        McpLoginOptions {
            scopes: args.scope,
            client_id: args.client_id,
            client_secret_env: args.client_secret_env,
            callback_port: args.callback_port,
            ..args.server.into()
        }
    }
}
