//! What the programs share that measure the gateway: `mock` is asked, `floor` relays as cheaply as
//! this language and this HTTP stack allow, `load` asks. `cargo xtask bench` runs them together.
//!
//! For development only; nothing here is part of the gateway, and nothing of the gateway is used
//! here, so that neither can hide a mistake of the other.

mod socket;
mod piece;
mod serve;
mod history;
mod ask;
mod answers;
mod retell;
mod histogram;
mod lateness;
mod process;
mod words;

pub use answers::Answers;
pub use ask::{Ask, Format};
pub use histogram::Histogram;
pub use history::{Damage, history};
pub use lateness::{Lateness, stamp};
pub use piece::{Whole, collect};
pub use process::Process;
pub use retell::{Retell, rewritten};
pub use serve::serve;
pub use socket::{Socket, connect};
pub use words::Words;

/// What goes wrong in a program that only measures.
pub type Trouble = Box<dyn std::error::Error + Send + Sync>;
