//! Anthropic Messages: `tool_use` and `tool_result` blocks, signed thinking, server tools.

mod read;
mod write;

pub(crate) use read::{block, body, known, message};
pub(crate) use write::SPELLING;
