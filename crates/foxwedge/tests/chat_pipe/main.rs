//! `foxwedge chat` without a terminal: the binary, pipes, and the built-in model, which calls tools
//! on command.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stage;
mod options;
mod once;
mod formats;
mod lines;
mod commands;
mod sessions;
mod approval;
mod acp;
mod mcp;
mod proxy;
mod secrets;
mod bursts;
mod stopping;
mod store;
