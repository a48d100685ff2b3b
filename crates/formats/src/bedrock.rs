//! Amazon Bedrock Converse: `toolUse` and `toolResult` blocks.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

pub(crate) use outline::read_message;
pub(crate) use patch::SPLICE_FORMAT;
