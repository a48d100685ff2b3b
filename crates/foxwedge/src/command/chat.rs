//! `foxwedge chat`: the agent in the terminal or over pipes.

use std::process::ExitCode;

use foxwedge_gateway::config::ConfigError;

use super::serve::config_errors;
use crate::cli::ChatArgs;

/// Runs the chat until it ends, or lists its sessions.
pub(crate) fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        return foxwedge_chat::list_sessions(args.agent.store.as_deref());
    }
    foxwedge_chat::run(args.into_options()).or_else(|error| {
        let refused = error.downcast::<ConfigError>()?;
        Ok(config_errors::report_refused(&refused))
    })
}
