//! Anthropic Messages: `tool_use` and `tool_result` blocks, signed thinking, server tools.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

pub(crate) use outline::read_message;
pub use outline::{known_role, read_block, read_content};
pub use patch::SPLICE_FORMAT;
