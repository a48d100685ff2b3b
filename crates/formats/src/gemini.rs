//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

mod read;
mod write;

pub(crate) use read::read_message;
pub use read::read_part;
pub use write::SPLICE_FORMAT;
