//! The items of the Responses dialect: their sides, kinds, families and ids.

use serde_json::Value;

use super::reading::{Kind, Message, Role, field, id, text};

/// The side of an item, and whether it says what it is.
pub(super) fn role(item: &Value) -> (Role, bool) {
    match text(item, "type") {
        Some("message") => message_role(item).map_or((Role::User, false), |role| (role, true)),
        Some("mcp_approval_response" | "item_reference") => (Role::Other, true),
        Some("function_call_output") if kind(item) == Kind::Other => (Role::Other, true),
        Some(_) if kind(item) == Kind::Answer => (Role::Answer, true),
        Some(_) => (Role::Assistant, true),
        None => message_role(item).map_or((Role::User, false), |role| (role, true)),
    }
}

/// What an item is.
pub(super) fn kind(item: &Value) -> Kind {
    match text(item, "type") {
        // An output that names its tool needs no call.
        Some("function_call_output")
            if text(item, "name").is_some() && text(item, "call_id").is_none() =>
        {
            Kind::Other
        }
        Some(
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output",
        ) => Kind::Answer,
        Some("tool_search_output") => match text(item, "execution") {
            Some("client") => Kind::Answer,
            None if text(item, "call_id").is_some() => Kind::Answer,
            _ => Kind::Other,
        },
        Some("tool_search_call" | "shell_call") if is_hosted(item) => Kind::ServerCall,
        Some(
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
            | "apply_patch_call" | "computer_call",
        ) => Kind::Call,
        Some("tool_search_call") if text(item, "call_id").is_some() => Kind::Call,
        Some("reasoning") => Kind::Reasoning,
        Some("message") | None => Kind::Text,
        Some(_) => Kind::Other,
    }
}

/// True when the item says that the provider runs its tool.
fn is_hosted(item: &Value) -> bool {
    let place = field(item, "environment").and_then(|place| text(place, "type"));
    text(item, "execution").is_some_and(|who| who != "client")
        || place.is_some_and(|place| place != "local")
}

/// True when the model does not wait for the output: it may come in any later request.
fn goes_on(item: &Value) -> bool {
    let kinds = ["function_call", "custom_tool_call"];
    text(item, "type").is_some_and(|kind| kinds.contains(&kind))
        && field(item, "async") == Some(&Value::Bool(true))
}

/// Takes out of the pairs what the provider runs itself: outputs under the id of a call of the
/// provider, and searches without an output that do not say whose they are.
pub(super) fn set_hosted_apart(messages: &mut [Message<'_>]) {
    let ids = |messages: &[Message<'_>], wanted: Kind| -> Vec<(String, String)> {
        let items = messages.iter().filter(|item| item.has(wanted)).map(|item| item.value);
        let named = items.filter_map(|it| Some((family(it).to_owned(), call_id(it)?.to_owned())));
        named.collect()
    };
    let (hosted, clients) = (ids(messages, Kind::ServerCall), ids(messages, Kind::Call));
    let answered = ids(messages, Kind::Answer);
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        let Some(id) = call_id(block.value) else {
            continue;
        };
        let own = (family(block.value).to_owned(), id.to_owned());
        let said = text(block.value, "execution").is_some();
        block.kind = match block.kind {
            Kind::Answer if hosted.iter().any(|it| it.1 == id) && !clients.contains(&own) => {
                Kind::Other
            }
            Kind::Call
                if (own.0 == "tool_search_call" && !said || goes_on(block.value))
                    && !answered.iter().any(|it| it.1 == id) =>
            {
                Kind::Other
            }
            kind => kind,
        };
    }
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        let search = family(block.value) == "tool_search_call";
        let nameless = call_id(block.value).is_none() && text(block.value, "execution").is_none();
        if block.kind == Kind::Call && search && nameless {
            block.kind = Kind::Other;
        }
    }
}

/// The type of the call that an item is, or answers.
pub(super) fn family(item: &Value) -> &str {
    match text(item, "type") {
        Some("tool_search_output") => "tool_search_call",
        Some(kind) => kind.strip_suffix("_output").unwrap_or(kind),
        None => "",
    }
}

/// The id that joins a call and its answer.
pub(super) fn call_id(item: &Value) -> Option<&str> {
    let local = family(item) == "local_shell_call";
    id(item, "call_id").or_else(|| if local { id(item, "id") } else { None })
}

fn message_role(item: &Value) -> Option<Role> {
    match field(item, "role")?.as_str()? {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        _ => None,
    }
}
