#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
//! MCP servers: a fake server with many behaviors, over pipes and over HTTP, and real servers if
//! they are installed.

mod support;
mod fake;
mod calls;
mod misbehavior;
mod restarts;
mod loopback;
mod http;
mod sse;
mod oauth;
#[cfg(feature = "real-mcp")]
mod real;
