//! The tool loop: sends a conversation to a model, runs the tools that it calls, and stores every
//! step as a run. MCP servers are tools of the loop.

mod batch;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod tool_loop;

pub use batch::take_ready;

/// The example in the manual, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/chat/library.md")]
struct Manual;
