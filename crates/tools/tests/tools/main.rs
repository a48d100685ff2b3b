//! The built-in tools, as their callers see them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
mod about;
mod paths;
mod list;
mod read;
mod search;
mod write;
mod edit;
mod changes;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod stops;
