//! The calls of Responses that the client answers.

use foxwedge_core::Family;

use crate::{
    canon::Words,
    json::{Object, Scan},
    stream::{
        event::Opened,
        read::fields::{arguments, get, said, words},
    },
};

/// A call that the client answers; `None` if it is none, or has no name.
pub(super) fn call<'a>(item: &Object<'_, 'a>, kind: &str) -> Scan<Option<Opened<'a>>> {
    let Some((family, name, _)) = shape(kind) else { return Ok(None) };
    let mut id = said(item, "call_id")?;
    match family {
        // A search that the server runs itself has no id to answer.
        Family::ToolSearch if id.is_none() => return Ok(None),
        // The local shell may go by the id of its item.
        Family::LocalShell if id.is_none() => id = said(item, "id")?,
        _ => {}
    }
    let name = match name {
        Some(name) => Some(Words::from(name)),
        None => said(item, "name")?,
    };
    Ok(name.map(|name| Opened::Call { id, name, family, signature: None }))
}

/// The whole input of a call.
pub(super) fn input<'a>(item: &Object<'_, 'a>) -> Scan<Words<'a>> {
    let kind = words(item, "type")?.unwrap_or_default();
    let key = shape(&kind).map_or("arguments", |(_, _, key)| key);
    Ok(get(item, key).map(arguments).unwrap_or_default())
}

/// What each kind of call is called, and where its input stands.
fn shape(kind: &str) -> Option<(Family, Option<&'static str>, &'static str)> {
    Some(match kind {
        "function_call" => (Family::Function, None, "arguments"),
        "custom_tool_call" => (Family::Custom, None, "input"),
        "local_shell_call" => (Family::LocalShell, Some("local_shell"), "action"),
        "shell_call" => (Family::Shell, Some("shell"), "action"),
        "apply_patch_call" => (Family::ApplyPatch, Some("apply_patch"), "operation"),
        "computer_call" => (Family::Computer, Some("computer"), "action"),
        "tool_search_call" => (Family::ToolSearch, Some("tool_search"), "arguments"),
        _ => return None,
    })
}
