//! `foxwedge mcp`: sessions for MCP clients, and logins at MCP servers.

use std::process::ExitCode;

use foxwedge_gateway::config::ConfigError;

use super::{mcp_serve, serve::config_errors};
use crate::cli::{McpAction, McpArgs};

/// Serves, or logs in or out.
pub(crate) fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    let done = match args.action {
        McpAction::Serve => return mcp_serve::run(),
        McpAction::Login(args) => foxwedge_chat::log_in_to_mcp(args.into()),
        McpAction::Logout(args) => foxwedge_chat::log_out_of_mcp(args.into()),
    };
    done.or_else(|error| {
        let refused = error.downcast::<ConfigError>()?;
        Ok(config_errors::report_refused(&refused))
    })
}
