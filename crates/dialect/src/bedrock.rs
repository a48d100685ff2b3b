//! Amazon Bedrock Converse: `toolUse` and `toolResult` blocks.

mod read;
mod write;

pub(crate) use read::message;
pub(crate) use write::SPELLING;
