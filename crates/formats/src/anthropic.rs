//! Anthropic Messages: `tool_use` and `tool_result` blocks, signed thinking, server tools.

mod outline;
mod references;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

use foxwedge_core::Format;

use crate::conversation::encode::json_writer::write_string;

pub(crate) use outline::read_message;
pub use outline::{is_known_type, known_role, read_block, read_content};
pub use patch::SPLICE_FORMAT;
pub(crate) use references::resolve_references;

/// The format of this folder.
const WIRE: Format = Format::Anthropic;

/// Writes a tool call up to its arguments.
fn open_call(out: &mut String, id: Option<&str>, name: &str) {
    out.push_str("{\"type\":\"tool_use\",\"id\":");
    write_string(out, id.unwrap_or_default());
    out.push_str(",\"name\":");
    write_string(out, name);
    out.push_str(",\"input\":");
}
