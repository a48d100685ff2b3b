//! `foxwedge acp`: the agent for editors.

use std::process::ExitCode;

use foxwedge_gateway::config::ConfigError;

use super::serve::config_errors;
use crate::cli::AgentArgs;

/// Serves an editor until its input ends.
pub(crate) fn run(args: AgentArgs) -> anyhow::Result<ExitCode> {
    foxwedge_chat::serve_acp(args.into_options()).or_else(|error| {
        let refused = error.downcast::<ConfigError>()?;
        Ok(config_errors::report_refused(&refused))
    })
}
