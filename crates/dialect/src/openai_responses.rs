//! OpenAI Responses: a flat list of items, each call and each output an item of its own.

mod read;
mod write;

pub(crate) use read::read_item;
pub(crate) use write::{rewrite_item, write_new_item};
