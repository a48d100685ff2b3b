//! Processes: starting one, talking to it over pipes, and ending it with everything it started; and
//! what the system says about the processes of others.
//!
//! A [`PipedProcess`] is a program that runs beside us: a live agent, an MCP server. A shell command
//! of a tool is watched more closely: a [`ProcessTree`] finds what has left its process group.
//!
//! ```
//! use foxwedge_process::{LineBuffer, LineLimits, OutputLine};
//!
//! // Output arrives in any pieces; a line that is too long does not fill the memory.
//! let mut buffer = LineBuffer::new(LineLimits::new(1 << 20));
//! buffer.push(b"{\"type\":\"init\"}\n{\"ty");
//! assert_eq!(buffer.next_line(), Some(OutputLine::Whole("{\"type\":\"init\"}".into())));
//! assert_eq!(buffer.next_line(), None);
//! ```

mod environment;
mod exit_watcher;
mod group;
mod input;
mod lines;
mod merged_output;
mod piped_process;
mod stat;
mod stderr_tail;
mod tree;

pub use environment::visible_environment;
pub use exit_watcher::ExitWatcher;
pub use group::{ProcessSignal, own_group, signal_group};
pub use input::{ChildInput, ChildInputError};
pub use lines::{LineBuffer, LineLimits, LineReader, OutputLine};
pub use merged_output::MergedOutput;
pub use piped_process::{GroupAtExit, PipedProcess, program_command};
pub use stat::{ProcessStat, is_alive, process_name, start_time};
pub use stderr_tail::STDERR_TAIL_BYTES;
pub use tree::{MARK_VARIABLE, ProcessTree, end_orphans, mark_prefix};
