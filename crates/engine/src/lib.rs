//! The driver of the gateway: takes a request in any face, guards it, finds its session, sends it
//! to an upstream and gives back the reply, as bytes and as a run in the store.
//!
//! The shell around the pure crates: it decides nothing about conversations. One request goes one
//! way: [`Asked`] → guard → session → upstream → [`Answered`].

pub mod config;
mod secret;
mod batch;
mod face;
mod asked;
mod body;
mod fault;
mod guard;
pub mod http;
mod upstream;
mod child;
mod agent;
pub mod session;
pub mod record;
pub mod meter;
pub mod trace;
mod exchange;
pub mod model;
pub mod tool_loop;
#[cfg(feature = "mcp")]
pub mod mcp;

pub use agent::{Counts, Question};
pub use asked::{Answered, Asked, Caller, Own, Told, Way};
pub use batch::take_ready;
pub use body::{Body, BodyError};
pub use exchange::{Engine, EngineError};
pub use face::Face;
pub use fault::{Fault, Kind};
pub use foxwedge_agent::{AskKind, Decision};
pub use guard::{Action, Change, CountedList, Guarded, Noted};
pub use secret::Secret;

/// The example in the manual, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/chat/library.md")]
struct Manual;
