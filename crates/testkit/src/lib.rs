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
pub use generate::{PLACEHOLDERS, history, sound_history, spelled};
pub use oracle::{Inventory, PROFILES, Violation, all_text, inventory, lost, violations};
pub use random::Random;
pub use shape::{body, messages};
