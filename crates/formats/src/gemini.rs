//! Google Gemini: `contents` with `functionCall` and `functionResponse` parts.

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
pub use outline::read_part;
pub use patch::SPLICE_FORMAT;

/// The format of this folder.
const WIRE: Format = Format::Gemini;

/// Writes a tool call up to its arguments.
fn open_call(out: &mut String, id: Option<&str>, name: &str) {
    out.push_str("{\"functionCall\":{");
    write_id_and_name(out, id, name);
    out.push_str(",\"args\":");
}

/// Writes the id of a call, if there is one, and the name of its tool.
fn write_id_and_name(out: &mut String, id: Option<&str>, name: &str) {
    if let Some(id) = id {
        out.push_str("\"id\":");
        write_string(out, id);
        out.push(',');
    }
    out.push_str("\"name\":");
    write_string(out, name);
}

/// Ends a tool call after its arguments.
fn close_call(out: &mut String, signature: Option<&JsonText<'_>>) {
    out.push('}');
    if let Some(signature) = signature {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}
