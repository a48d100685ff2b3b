//! OpenAI Chat Completions: `messages` with `tool_calls` and `role: "tool"`.

mod read;
mod write;

pub(crate) use read::message;
pub(crate) use write::{rewritten, written};
