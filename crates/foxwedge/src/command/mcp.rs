//! `foxwedge mcp`: the sessions of agents for MCP clients.

use std::process::ExitCode;

use super::mcp_serve;
use crate::cli::{McpAction, McpArgs};

/// Serves.
pub(crate) fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    match args.action {
        McpAction::Serve => mcp_serve::run(),
    }
}
