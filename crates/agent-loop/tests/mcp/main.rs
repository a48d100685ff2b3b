#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
//! MCP servers from outside: a server of our own with many habits, over pipes and over HTTP, and, if
//! they are installed, real ones.

mod support;
mod fake;
mod talk;
mod strange;
mod lives;
mod http;
#[cfg(feature = "real-mcp")]
mod real;
