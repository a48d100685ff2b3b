//! Tools that a model may call: what a tool is, how it is stopped, and a small built-in set.
//!
//! A tool does its work and returns a result. The caller decides whether it may run, when it
//! starts, how long it may take and what its result means to a conversation.
//!
//! The built-in tools work in a [`ToolWorkspace`]: a folder that the file tools cannot leave. A
//! command that `run` starts can leave it, because it is a program like any other; but none of its
//! processes outlives its call.
//!
//! ```
//! use foxwedge_tools::{ToolLimits, ToolWorkspace};
//!
//! let tools = ToolWorkspace::open(&std::env::temp_dir())?.tools(ToolLimits::default());
//! let mut names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_ref()).collect();
//! names.sort_unstable();
//! assert_eq!(names, ["edit", "list", "read", "run", "search", "write"]);
//! # Ok::<(), foxwedge_tools::WorkspaceError>(())
//! ```

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
mod file_change;
mod swap;
mod walk;
mod ignore_rules;
mod text;
mod process;
mod random;

pub use builtin::{NAMES, UnknownTool};
pub use file_change::{FileChange, FileChangeObserver, RestoreError};
pub use limits::{CommandSettings, ToolLimits};
pub use output::{CapturedOutput, OutputCapture};
pub use process::{hide_variables, launch, launched_command};
pub use stop::{StopLevel, StopReceiver, StopSender};
pub use tool::{
    Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolFuture, ToolInvocation,
    ToolResultContent, ToolSpec,
};
pub use toolbox::{ToolNameTaken, Toolbox};
pub use workspace::{ToolWorkspace, WorkspaceError};
