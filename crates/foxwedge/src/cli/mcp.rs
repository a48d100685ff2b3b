//! Arguments of `foxwedge mcp`.

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) action: McpAction,
}

#[derive(Subcommand, Debug)]
pub(crate) enum McpAction {
    /// Be an MCP server on stdin and stdout that reads the sessions of agents
    Serve,
}
