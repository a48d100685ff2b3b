//! Amazon Bedrock Converse: `toolUse` and `toolResult` blocks.

mod read;
mod write;

pub(crate) use read::read_message;
pub(crate) use write::SPLICE_FORMAT;
