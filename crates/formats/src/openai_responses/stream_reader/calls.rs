//! The Responses calls that the client runs.

use foxwedge_core::CallFamily;

use crate::{
    conversation::JsonText,
    event::{
        BlockStart,
        fields::{arguments_text, get, non_empty_text, optional_text},
    },
};
use foxwedge_json::{JsonObject, ScanResult};

/// Reads a call that the client runs. `None` for other items and for calls without a name.
pub(super) fn read_call<'a>(
    item: &JsonObject<'_, 'a>,
    kind: &str,
) -> ScanResult<Option<BlockStart<'a>>> {
    let Some((family, name, _)) = call_shape(kind) else { return Ok(None) };
    let mut id = non_empty_text(item, "call_id")?;
    match family {
        // A search that the server runs has no call id.
        CallFamily::ToolSearch if id.is_none() => return Ok(None),
        // A local shell call may have only its item id.
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

/// The family, the fixed tool name and the input key of each kind of call.
pub(super) fn call_shape(kind: &str) -> Option<(CallFamily, Option<&'static str>, &'static str)> {
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
