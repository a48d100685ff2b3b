//! Writes the arguments of a tool call, as an object.

use foxwedge_core::{ArgumentsFix, Span};

use super::json_writer::{is_too_deep, write_compact, write_string};
use crate::{
    conversation::ToolCallPart,
    outline::is_json_object,
    splice::{ArgumentsEncoding, encode_arguments},
};

/// Writes the arguments of a call as a JSON object. Returns a note if they had to be repaired.
pub(crate) fn write_arguments_object(out: &mut String, call: &ToolCallPart<'_>) -> Option<String> {
    let text = &*call.arguments;
    if call.is_free_text() {
        out.push_str("{\"input\":");
        call.arguments.write(out);
        out.push('}');
        return None;
    }
    if is_json_object(text) && !is_too_deep(text) {
        write_compact(out, text);
        return None;
    }
    if text.trim().is_empty() {
        out.push_str("{}");
        return None;
    }
    let span = Some(Span::new(0, text.len()));
    let repaired =
        encode_arguments(text, span, ArgumentsFix::CompleteObject, ArgumentsEncoding::Object);
    if is_too_deep(&repaired) {
        out.push_str("{\"value\":");
        write_string(out, text);
        out.push('}');
    } else {
        write_compact(out, &repaired);
    }
    Some(format!("the arguments of `{}` are not a JSON object and are repaired", call.name))
}
