//! What can be typed about the scripted model.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScriptedArgs {
    /// Where to listen, at a loopback address; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4178")]
    pub(crate) listen: SocketAddr,
    #[command(subcommand)]
    pub(crate) other: Option<ScriptedAction>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ScriptedAction {
    /// Be an agent on stdin and stdout, as Claude Code is, with the built-in model behind it
    Agent(ScriptedAgentArgs),
}

#[derive(Args, Debug)]
#[command(disable_version_flag = true)]
pub(crate) struct ScriptedAgentArgs {
    /// What it does that a good agent does not: `serial,no-partial,die-after=2`
    #[arg(long, value_name = "HABITS", env = "FOXWEDGE_FAKE")]
    pub(crate) fake: Option<String>,
    /// Where it writes down what happens to it, a line of JSON each
    #[arg(long, value_name = "FILE", env = "FOXWEDGE_FAKE_LOG")]
    pub(crate) fake_log: Option<PathBuf>,
    /// Play what an agent said in a recording, and wait where it waited
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// How much faster than it was recorded; 0 waits for nothing but answers
    #[arg(long, value_name = "TIMES", default_value_t = 0.0, requires = "replay")]
    pub(crate) speed: f64,
    /// Whatever Claude Code takes; most of it is not looked at
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}
