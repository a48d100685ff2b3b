//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

mod read;
mod write;

pub(crate) use read::message;
pub(crate) use write::SPELLING;
