//! What the tests of this workspace share: transcripts written as shapes, random histories, and
//! a naive second opinion on what providers accept.
//!
//! The oracle and the generators share no code with the engine: a mistake made once must not be
//! able to hide itself.

#![forbid(unsafe_code)]

mod dialect;
mod random;
mod shape;
mod oracle;
mod generate;
pub mod laws;

pub use dialect::DIALECTS;
pub use generate::{PLACEHOLDERS, SessionFile, history, session_file, sound_history, spelled};
pub use oracle::{
    Inventory, PROFILES, View, Violation, all_text, inventory, lost, plain_walk, session_view,
    told, violations,
};
pub use random::Random;
pub use shape::{body, messages};
