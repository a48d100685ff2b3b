//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

mod read;
mod write;

pub(crate) use read::{read_message, read_part};
pub(crate) use write::SPLICE_FORMAT;
