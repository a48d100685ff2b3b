//! Anthropic Messages: `tool_use` and `tool_result` blocks, signed thinking, server tools.

mod read;
mod write;

pub(crate) use read::read_message;
pub use read::{known_role, read_block, read_content};
pub use write::SPLICE_FORMAT;
