//! OpenAI Responses: a flat list of items. Each tool call and each tool output is an item.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

pub use outline::read_item;
pub(crate) use patch::{rewrite_item, write_new_item};
