//! OpenAI Responses: a flat list of items. Each tool call and each tool output is an item.

mod read;
mod write;

pub use read::read_item;
pub(crate) use write::{rewrite_item, write_new_item};
