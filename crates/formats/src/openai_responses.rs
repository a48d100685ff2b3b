//! OpenAI Responses: a flat list of items. Each tool call and each tool output is an item.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

use foxwedge_core::{CallFamily, Format};

use crate::conversation::encode::json_writer::write_string;

pub use outline::read_item;
pub(crate) use outline::read_untyped_content;
pub(crate) use patch::{rewrite_item, write_new_item};

/// The format of this folder.
const WIRE: Format = Format::OpenaiResponses;

/// Whether an item of this type is known.
pub(crate) fn is_known_item(kind: &str) -> bool {
    !matches!(outline::item_kind(kind), outline::ResponsesItemKind::Unknown)
}

/// Writes a tool call up to its arguments, or up to the input of a free-text tool. A built-in tool
/// of another format is written as a function.
fn open_call(
    out: &mut String,
    item_id: Option<&str>,
    id: Option<&str>,
    name: &str,
    family: CallFamily,
) {
    let (kind, key) = match family {
        CallFamily::Custom => ("custom_tool_call", "input"),
        _ => ("function_call", "arguments"),
    };
    out.extend(["{\"type\":\"", kind, "\""]);
    if let Some(item_id) = item_id {
        out.extend([",\"id\":\"", item_id, "\""]);
    }
    out.push_str(",\"call_id\":");
    write_string(out, id.unwrap_or_default());
    out.push_str(",\"name\":");
    write_string(out, name);
    out.extend([",\"", key, "\":"]);
}
