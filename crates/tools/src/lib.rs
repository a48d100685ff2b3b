//! Tools that a model may call: what a tool is, how it is stopped, and a small set of them.
//!
//! A tool does its work and answers. Whether it may, when it starts, how long it may take and what
//! its answer means to a conversation is decided by whoever calls it.
//!
//! The built-in tools work in a [`Workspace`]: a folder that those for files cannot leave. A
//! command that `run` starts can, as it is a program like any other; but nothing of it is left
//! when its call is over.

mod tool;
mod stop;
mod output;
mod toolbox;
mod workspace;
mod limits;
mod builtin;
mod arguments;
mod path;
mod refusal;
mod dir_entry_kind;
mod cancel;
mod file_target;
mod swap;
mod walk;
mod ignore_rules;
mod text;
mod process;
mod random;

pub use builtin::{NAMES, UnknownTool};
pub use limits::{CommandSettings, ToolLimits};
pub use output::{CapturedOutput, OutputCapture};
pub use process::{end_orphans, hide_variables, launch, launched_command};
pub use stop::{StopLevel, StopReceiver, StopSender};
pub use tool::{
    Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolFuture, ToolInvocation,
    ToolResultContent, ToolSpec,
};
pub use toolbox::{ToolNameTaken, Toolbox};
pub use workspace::{ToolWorkspace, WorkspaceError};
