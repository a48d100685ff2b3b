#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
//! Claude Code's pipe from outside: recordings of real processes, broken and hostile lines, and, if
//! one is named, a real process.

mod replay;
mod launch;
mod orders;
mod talk;
mod hostile;
#[cfg(feature = "real")]
mod real;
mod support;
