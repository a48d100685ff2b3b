//! OpenAI Responses: a flat list of items, each call and each output an item of its own.

mod read;
mod write;

pub(crate) use read::item;
pub(crate) use write::{rewritten, written};
