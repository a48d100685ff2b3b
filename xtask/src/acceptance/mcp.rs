//! `cargo xtask mcp`: our client talks to real MCP servers.
//!
//! Two servers of the protocol's authors, and a server with a login that is made with their SDK, are
//! installed in pinned versions, and the tests of the tool loop that need them run.

use super::{
    SuiteError,
    install::{Language, PackageFolder},
};
use crate::{ci, options::TaskOptions};

/// Installs the servers and runs the tests.
pub(super) fn run(_: &TaskOptions) -> Result<(), SuiteError> {
    let packages = PackageFolder::install(Language::TypeScript, "acceptance/mcp", "mcp")?;
    let mut command = ci::command();
    command.args(["test", "--quiet", "--workspace", "--features", "foxwedge-agent-loop/real-mcp"]);
    let servers = packages.path.join("node_modules").join("@modelcontextprotocol");
    command.args(["--test", "mcp", "real::"]).env("FOXWEDGE_MCP_SERVERS", servers);
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("real MCP servers: {status}").into()) }
}
