//! The calls of Responses that the client answers.

use foxwedge_core::CallFamily;

use crate::{
    json::{JsonObject, ScanResult},
    model::JsonText,
    stream::{
        event::BlockStart,
        read::fields::{arguments_text, get, non_empty_text, optional_text},
    },
};

/// A call that the client answers; `None` if it is none, or has no name.
pub(super) fn read_call<'a>(
    item: &JsonObject<'_, 'a>,
    kind: &str,
) -> ScanResult<Option<BlockStart<'a>>> {
    let Some((family, name, _)) = call_shape(kind) else { return Ok(None) };
    let mut id = non_empty_text(item, "call_id")?;
    match family {
        // A search that the server runs itself has no id to answer.
        CallFamily::ToolSearch if id.is_none() => return Ok(None),
        // The local shell may go by the id of its item.
        CallFamily::LocalShell if id.is_none() => id = non_empty_text(item, "id")?,
        _ => {}
    }
    let name = match name {
        Some(name) => Some(JsonText::from(name)),
        None => non_empty_text(item, "name")?,
    };
    Ok(name.map(|name| BlockStart::Call { id, name, family, signature: None }))
}

/// The whole input of a call.
pub(super) fn read_input<'a>(item: &JsonObject<'_, 'a>) -> ScanResult<JsonText<'a>> {
    let kind = optional_text(item, "type")?.unwrap_or_default();
    let key = call_shape(&kind).map_or("arguments", |(_, _, key)| key);
    Ok(get(item, key).map(arguments_text).unwrap_or_default())
}

/// What each kind of call is called, and where its input stands.
fn call_shape(kind: &str) -> Option<(CallFamily, Option<&'static str>, &'static str)> {
    Some(match kind {
        "function_call" => (CallFamily::Function, None, "arguments"),
        "custom_tool_call" => (CallFamily::Custom, None, "input"),
        "local_shell_call" => (CallFamily::LocalShell, Some("local_shell"), "action"),
        "shell_call" => (CallFamily::Shell, Some("shell"), "action"),
        "apply_patch_call" => (CallFamily::ApplyPatch, Some("apply_patch"), "operation"),
        "computer_call" => (CallFamily::Computer, Some("computer"), "action"),
        "tool_search_call" => (CallFamily::ToolSearch, Some("tool_search"), "arguments"),
        _ => return None,
    })
}
