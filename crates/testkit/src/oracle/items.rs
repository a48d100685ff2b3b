//! The items of the Responses format: their sides, kinds, families and ids.

use serde_json::Value;

use super::foreign;
use super::reading::{OracleBlockKind, OracleMessage, OracleRole, field, id, text};
use crate::dialect::TestFormat;

/// Whether an item only names another one, which the server has. Its type is optional.
pub(crate) fn is_reference(item: &Value) -> bool {
    let bare = || {
        let fields = item.as_object().map_or(0, |fields| fields.len());
        id(item, "id").is_some() && fields == 1 + usize::from(item.get("type").is_some())
    };
    match text(item, "type") {
        Some(kind) => kind == "item_reference",
        None => bare(),
    }
}

/// The side of an item, and whether the item states its type.
pub(super) fn role(item: &Value) -> (OracleRole, bool) {
    if is_reference(item) {
        return (OracleRole::Other, true);
    }
    match text(item, "type") {
        Some("message") => {
            message_role(item).map_or((OracleRole::User, false), |role| (role, true))
        }
        Some("mcp_approval_response" | "compaction_trigger") => (OracleRole::Other, true),
        Some("additional_tools" | "configuration_update") => (OracleRole::System, true),
        Some("function_call_output") if kind(item) == OracleBlockKind::Other => {
            (OracleRole::Other, true)
        }
        Some(_) if kind(item) == OracleBlockKind::Answer => (OracleRole::Answer, true),
        Some(_) => (OracleRole::Assistant, true),
        None if is_no_message(item) => (OracleRole::Assistant, true),
        None => message_role(item).map_or((OracleRole::User, false), |role| (role, true)),
    }
}

/// Whether an item without a type has nothing of a message, and fields of other items.
pub(super) fn is_no_message(item: &Value) -> bool {
    let has = |key: &str| item.get(key).is_some();
    let named = ["call_id", "encrypted_content"];
    let named = named.iter().any(|key| text(item, key).is_some_and(|text| !text.is_empty()));
    let other = named || ["arguments", "output", "input"].iter().any(|key| has(key));
    other && !has("role") && !has("content")
}

/// The kind of an item.
pub(super) fn kind(item: &Value) -> OracleBlockKind {
    if is_reference(item) {
        return OracleBlockKind::Other;
    }
    match text(item, "type") {
        // An output that names its tool needs no call.
        Some("function_call_output")
            if text(item, "name").is_some_and(|name| !name.is_empty())
                && text(item, "call_id").is_none() =>
        {
            OracleBlockKind::Other
        }
        Some(
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output",
        ) => OracleBlockKind::Answer,
        Some("tool_search_output") => match text(item, "execution") {
            Some("client") => OracleBlockKind::Answer,
            None if text(item, "call_id").is_some() => OracleBlockKind::Answer,
            _ => OracleBlockKind::Other,
        },
        Some("tool_search_call" | "shell_call") if is_hosted(item) => OracleBlockKind::ServerCall,
        Some(
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
            | "apply_patch_call" | "computer_call",
        ) => OracleBlockKind::Call,
        Some("tool_search_call") if text(item, "call_id").is_some() => OracleBlockKind::Call,
        Some("program" | "multi_agent_call" | "mcp_approval_request") => {
            OracleBlockKind::ServerCall
        }
        Some("program_output" | "multi_agent_call_output" | "mcp_approval_response") => {
            OracleBlockKind::ServerAnswer
        }
        Some("reasoning") => OracleBlockKind::Reasoning,
        None if is_no_message(item) => OracleBlockKind::Unknown,
        Some("message") | None => OracleBlockKind::Text,
        Some(
            "tool_search_call"
            | "web_search_call"
            | "file_search_call"
            | "code_interpreter_call"
            | "image_generation_call"
            | "mcp_list_tools"
            | "mcp_call"
            | "compaction"
            | "compaction_summary"
            | "compaction_trigger"
            | "additional_tools"
            | "configuration_update"
            | "agent_message"
            | "ghost_snapshot",
        ) => OracleBlockKind::Other,
        Some(_) => OracleBlockKind::Unknown,
    }
}

/// Whether the item is marked as run by the provider.
fn is_hosted(item: &Value) -> bool {
    let place = field(item, "environment").and_then(|place| text(place, "type"));
    text(item, "execution").is_some_and(|who| who != "client")
        || place.is_some_and(|place| place != "local")
}

/// Whether a call may have no output: the model does not wait for it, so that it may come in any
/// later request, or it is a search that does not say who runs it.
pub(super) fn may_stay_open(item: &Value) -> bool {
    match text(item, "type") {
        Some("function_call" | "custom_tool_call") => {
            field(item, "async") == Some(&Value::Bool(true))
        }
        Some("tool_search_call") => text(item, "execution").is_none(),
        _ => false,
    }
}

/// Excludes provider-run items from the pairs: outputs with the id of a provider-run call, and
/// searches without an output whose executor is not stated.
pub(super) fn set_hosted_apart(messages: &mut [OracleMessage<'_>]) {
    let ids = |messages: &[OracleMessage<'_>], wanted: OracleBlockKind| -> Vec<(String, String)> {
        let items = messages.iter().filter(|item| item.has(wanted)).map(|item| item.value);
        let named = items.filter_map(|it| Some((family(it).to_owned(), call_id(it)?.to_owned())));
        named.collect()
    };
    let (hosted, clients) =
        (ids(messages, OracleBlockKind::ServerCall), ids(messages, OracleBlockKind::Call));
    let answered = ids(messages, OracleBlockKind::Answer);
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        let Some(id) = call_id(block.value) else {
            continue;
        };
        let own = (family(block.value).to_owned(), id.to_owned());
        block.kind = match block.kind {
            OracleBlockKind::Answer
                if hosted.iter().any(|it| it.1 == id) && !clients.contains(&own) =>
            {
                OracleBlockKind::Other
            }
            OracleBlockKind::Call
                if may_stay_open(block.value) && !answered.iter().any(|it| it.1 == id) =>
            {
                OracleBlockKind::Other
            }
            kind => kind,
        };
    }
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        let search = family(block.value) == "tool_search_call";
        let nameless = call_id(block.value).is_none() && text(block.value, "execution").is_none();
        if block.kind == OracleBlockKind::Call && search && nameless {
            block.kind = OracleBlockKind::Other;
        }
    }
}

/// The type of the call that an item is, or belongs to.
pub(super) fn family(item: &Value) -> &str {
    match text(item, "type") {
        _ if foreign::whole(TestFormat::Responses, item).is_some() => "function_call",
        Some("tool_search_output") => "tool_search_call",
        Some(kind) => kind.strip_suffix("_output").unwrap_or(kind),
        None => "",
    }
}

/// The id that joins a call and its result.
pub(super) fn call_id(item: &Value) -> Option<&str> {
    let local = family(item) == "local_shell_call";
    let own = id(item, "call_id").or_else(|| if local { id(item, "id") } else { None });
    foreign::whole(TestFormat::Responses, item).or(own)
}

fn message_role(item: &Value) -> Option<OracleRole> {
    match field(item, "role")?.as_str()? {
        "user" => Some(OracleRole::User),
        "assistant" => Some(OracleRole::Assistant),
        "system" | "developer" => Some(OracleRole::System),
        _ => None,
    }
}
