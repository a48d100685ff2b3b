//! OpenAI Chat Completions: `messages` with `tool_calls` and `role: "tool"`.

mod read;
mod write;

pub(crate) use read::read_message;
pub(crate) use write::{rewrite_message, write_new_message};
