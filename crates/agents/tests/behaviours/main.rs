//! What a conversation with a live agent has to do, as scripts: what happens on the left, what is
//! done about it on the right.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod stage;
mod calls;
mod answers;
mod words;
mod ends;
mod questions;

use stage::plays;
