//! `foxwedge mcp`: logins at MCP servers.

use std::process::ExitCode;

use foxwedge_gateway::config::ConfigError;

use super::serve::config_errors;
use crate::cli::{McpAction, McpArgs};

/// Logs in or out.
pub(crate) fn run(args: McpArgs) -> anyhow::Result<ExitCode> {
    let done = match args.action {
        McpAction::Login(args) => foxwedge_chat::log_in_to_mcp(args.into()),
        McpAction::Logout(args) => foxwedge_chat::log_out_of_mcp(args.into()),
    };
    done.or_else(|error| {
        let refused = error.downcast::<ConfigError>()?;
        Ok(config_errors::report_refused(&refused))
    })
}
