//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

mod read;
mod write;

pub(crate) use read::{message, part};
pub(crate) use write::SPELLING;
