//! Making a conversation shorter: what was asked for, who summarizes, what is said about it. What
//! goes and what stays is decided elsewhere, in the pure crates.

mod amount;
mod limits;
mod wishes;
mod leash;
mod summarizer;
mod subject;
mod keep;
mod rewind;
mod told;
mod full;
mod strategies;
mod lost;
mod plot;
mod json;

pub(crate) use full::{draw, idle};
pub(crate) use json::{document, refusal};
pub(crate) use keep::{Shorter, check_replaceable, mended};
pub(crate) use limits::Room;
pub(crate) use rewind::rewind;
pub(crate) use subject::{Conversation, Subject};
pub(crate) use summarizer::summarizer;
pub(crate) use told::{Told, left};
pub(crate) use wishes::Wishes;
