//! Arguments of `foxwedge scripted`.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScriptedArgs {
    /// Loopback address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4178")]
    pub(crate) listen: SocketAddr,
    #[command(subcommand)]
    pub(crate) other: Option<ScriptedAction>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ScriptedAction {
    /// Act as an agent on stdin and stdout, like Claude Code, backed by the scripted model
    Agent(ScriptedAgentArgs),
}

#[derive(Args, Debug)]
#[command(disable_version_flag = true)]
pub(crate) struct ScriptedAgentArgs {
    /// Quirks to simulate: `serial,no-partial,die-after=2`
    #[arg(long, value_name = "QUIRKS", env = "FOXWEDGE_FAKE")]
    pub(crate) fake: Option<String>,
    /// File to log events to, as JSON lines
    #[arg(long, value_name = "FILE", env = "FOXWEDGE_FAKE_LOG")]
    pub(crate) fake_log: Option<PathBuf>,
    /// Replay an agent's output from a recording, and wait for input where it did
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Replay speed as a multiple of the recorded one; 0 waits only for input
    #[arg(long, value_name = "FACTOR", default_value_t = 0.0, requires = "replay")]
    pub(crate) speed: f64,
    /// Any arguments of Claude Code; most are ignored
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}
