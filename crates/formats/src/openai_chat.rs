//! OpenAI Chat Completions: `messages` with `tool_calls` and `role: "tool"`.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

use foxwedge_core::Format;

use crate::conversation::{JsonText, encode::json_writer::write_string};

pub(crate) use outline::read_message;
pub(crate) use patch::{rewrite_message, write_new_message};

/// The format of this folder.
const WIRE: Format = Format::OpenaiChat;

/// The fields with the arguments of a call that has no object for its tool.
const FLAT_ARGUMENTS: [&str; 3] = ["arguments", "args", "input"];

/// Writes a tool call up to its arguments, or up to the input of a free-text tool.
fn open_call(out: &mut String, id: Option<&str>, name: &str, is_free_text: bool) {
    out.push_str("{\"id\":");
    write_string(out, id.unwrap_or_default());
    let (head, key) = match is_free_text {
        true => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
        false => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
    };
    out.push_str(head);
    write_string(out, name);
    out.push_str(key);
}

/// Ends a tool call after its arguments.
fn close_call(out: &mut String, signature: Option<&JsonText<'_>>) {
    out.push('}');
    if let Some(signature) = signature {
        // Google's field for its signatures in this format.
        out.push_str(",\"extra_content\":{\"google\":{\"thought_signature\":");
        signature.write(out);
        out.push_str("}}");
    }
    out.push('}');
}
