//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

pub(crate) use outline::read_message;
pub use outline::read_part;
pub use patch::SPLICE_FORMAT;
