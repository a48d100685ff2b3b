//! OpenAI's Responses.
//!
//! A call and its output are matched by `call_id` at any distance, as long as the call comes first;
//! ids may repeat. No state is kept, so nothing that is stored on the server is known.

mod items;

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use serde_json::Value;

use super::{
    JudgeObjection, JudgeResult,
    openai::{check_token_count, empty_array, missing, wrong_type},
};
use crate::{
    json_fields::{non_null, text},
    stable_hasher::StableHasher,
};

/// The kinds of client calls: the call, its output, and the provider's name for it.
const FAMILIES: [(&str, &str, &str); 7] = [
    ("function_call", "function_call_output", "function call"),
    ("custom_tool_call", "custom_tool_call_output", "custom tool call"),
    ("local_shell_call", "local_shell_call_output", "local shell call"),
    ("shell_call", "shell_call_output", "shell call"),
    ("apply_patch_call", "apply_patch_call_output", "apply patch call"),
    ("computer_call", "computer_call_output", "computer call"),
    ("tool_search_call", "tool_search_output", "tool search call"),
];
const ENCRYPTED_PREFIX: &str = "gAAAAAfw";

/// The id of an item that was created together with reasoning; it names the reasoning.
pub(crate) fn id_with_reasoning(id: &str, reasoning: &str) -> String {
    format!("{id}_r{}", reasoning.trim_start_matches("rs_"))
}

/// Encrypted reasoning that only the scripted model can read.
pub(crate) fn encrypt_reasoning(reasoning: &str) -> String {
    let body = StableHasher::new("encrypted").with_field(reasoning.as_bytes()).letters(40);
    let check = StableHasher::new("check").with_field(body.as_bytes()).letters(8);
    format!("{ENCRYPTED_PREFIX}{body}{check}==")
}

/// Whether content that looks like ours is unchanged.
fn is_intact(content: &str) -> bool {
    let Some(body) = content.strip_prefix(ENCRYPTED_PREFIX) else { return true };
    let Some((body, check)) = body.strip_suffix("==").and_then(|body| body.split_at_checked(40))
    else {
        return false;
    };
    check == StableHasher::new("check").with_field(body.as_bytes()).letters(8)
}

pub(super) fn judge(request: &Value) -> JudgeResult {
    match request.get("model") {
        Some(Value::String(model)) if !model.is_empty() => {}
        None | Some(Value::Null | Value::String(_)) => return Err(missing("model")),
        Some(other) => return Err(wrong_type("model", "a string", other)),
    }
    server_state(request)?;
    check_token_count(request, "max_output_tokens", 1)?;
    let input = match request.get("input") {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(items)) if items.is_empty() => return Err(empty_array("input")),
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) if non_null(request, "prompt").is_some() => return Ok(()),
        None | Some(Value::Null) => {
            return Err(JudgeObjection::new(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must \
                 be provided.",
            ));
        }
        Some(other) => return Err(wrong_type("input", "one of a string or array", other)),
    };
    for (at, item) in input.iter().enumerate() {
        items::judge(item, &format!("input[{at}]"))?;
    }
    let before_last = input.split_last().map_or(&[][..], |(_, before)| before);
    if let Some(at) = before_last.iter().position(|it| kind(it) == "compaction_trigger") {
        let detail = "A 'compaction_trigger' must be the last item of the input.";
        return Err(JudgeObjection::new(detail).at(format!("input[{at}]")));
    }
    item_ids(request, input)?;
    pairs(input)?;
    reasoning(input)
}

fn server_state(request: &Value) -> JudgeResult {
    if let Some(id) = non_null(request, "previous_response_id") {
        let id = id.as_str().ok_or_else(|| wrong_type("previous_response_id", "a string", id))?;
        return Err(JudgeObjection::new(format!("Previous response with id '{id}' not found."))
            .at("previous_response_id")
            .code("previous_response_not_found"));
    }
    let Some(conversation) = non_null(request, "conversation") else { return Ok(()) };
    let id = conversation.as_str().or_else(|| text(conversation, "id")).unwrap_or_default();
    Err(JudgeObjection::new(format!("Conversation with id '{id}' not found.")).status(404))
}

fn kind(item: &Value) -> &str {
    // A reference needs no type.
    let is_bare = || {
        item.as_object().is_some_and(|fields| fields.keys().all(|key| key == "id" || key == "type"))
    };
    let has_id = text(item, "id").is_some();
    text(item, "type").unwrap_or(if has_id && is_bare() { "item_reference" } else { "message" })
}

fn item_ids(request: &Value, input: &[Value]) -> JudgeResult {
    let stored = request.get("store") != Some(&Value::Bool(false));
    let mut used_ids = BTreeSet::new();
    for item in input {
        let Some(id) = text(item, "id") else { continue };
        match kind(item) {
            "item_reference" => {
                return Err(
                    JudgeObjection::new(format!("Item with id '{id}' not found.")).at("input")
                );
            }
            "reasoning" => {
                let sealed = text(item, "encrypted_content").unwrap_or_default();
                if sealed.is_empty() && !stored {
                    return Err(JudgeObjection::new(format!(
                        "Item with id '{id}' not found. Items are not persisted when `store` is set \
                         to false. Try again with `store` set to true, or remove this item from your \
                         input."
                    ))
                    .at("input"));
                }
                if !is_intact(sealed) {
                    return Err(JudgeObjection::new(format!(
                        "The encrypted content for item {id} could not be verified. Reason: \
                         Encrypted content could not be decrypted or parsed."
                    ))
                    .code("invalid_encrypted_content"));
                }
            }
            _ => {}
        }
        let counts = ["fc", "ctc", "rs"].iter().any(|prefix| id.starts_with(prefix));
        if counts && !used_ids.insert(id) {
            return Err(JudgeObjection::new(format!(
                "Duplicate item found with id {id}. Remove duplicate items from your input and try \
                 again."
            ))
            .at("input"));
        }
    }
    Ok(())
}

fn pairs(input: &[Value]) -> JudgeResult {
    // Calls without an output, by kind and id, in order.
    let mut open: BTreeMap<(&str, &str), (usize, u32)> = BTreeMap::new();
    let hosted: BTreeSet<&str> =
        input.iter().filter(|item| items::is_hosted(item)).filter_map(items::call_id).collect();
    for (at, item) in input.iter().enumerate() {
        let (kind, id) = (kind(item), items::call_id(item));
        // The provider answers the calls that it runs itself.
        if items::is_hosted(item) {
            continue;
        }
        if let Some((call, _, _)) = FAMILIES.iter().find(|family| family.0 == kind) {
            if let Some(id) = id {
                open.entry((call, id)).or_insert((at, 0)).1 += 1;
            }
            continue;
        }
        let Some((call, _, label)) = FAMILIES.iter().find(|family| family.1 == kind) else {
            continue;
        };
        // Provider-run searches have no ids.
        let Some(id) = id else { continue };
        match open.entry((call, id)) {
            Entry::Occupied(mut waiting) => match waiting.get().1 {
                0 | 1 => drop(waiting.remove()),
                _ => waiting.get_mut().1 -= 1,
            },
            Entry::Vacant(_) if hosted.contains(id) => {}
            Entry::Vacant(_) => {
                // A function output may also be the result of a search or of the local shell.
                let taking = ["tool_search_call", "local_shell_call"];
                if kind == "function_call_output"
                    && taking.iter().any(|call| open.remove(&(*call, id)).is_some())
                {
                    continue;
                }
                return Err(JudgeObjection::new(format!(
                    "No tool call found for {label} output with call_id {id}."
                ))
                .at("input"));
            }
        }
    }
    let Some(((kind, id), _)) = open.into_iter().min_by_key(|(_, (at, _))| *at) else {
        return Ok(());
    };
    let label = FAMILIES.iter().find(|family| family.0 == kind).map_or("function call", |it| it.2);
    Err(JudgeObjection::new(format!("No tool output found for {label} {id}.")).at("input"))
}

fn reasoning(input: &[Value]) -> JudgeResult {
    // From the end: whether the next item that is not reasoning is from the model.
    let mut followed = false;
    for item in input.iter().rev() {
        if kind(item) != "reasoning" {
            followed = items::is_from_model(item);
        } else if let Some(id) = text(item, "id").filter(|_| !followed) {
            return Err(JudgeObjection::new(format!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            ))
            .at("input"));
        }
    }
    let mut thoughts = BTreeSet::new();
    for item in input {
        let Some(id) = text(item, "id") else { continue };
        if kind(item) == "reasoning" {
            thoughts.insert(id.trim_start_matches("rs_"));
        } else if let Some((_, thought)) = id.split_once("_r").filter(|_| is_scripted_id(id))
            && !thoughts.contains(thought)
        {
            return Err(JudgeObjection::new(format!(
                "Item '{id}' of type '{}' was provided without its required 'reasoning' item: \
                 'rs_{thought}'.",
                kind(item)
            ))
            .at("input"));
        }
    }
    Ok(())
}

/// Whether an id has the form of [`id_with_reasoning`]: a prefix, letters, and letters again.
fn is_scripted_id(id: &str) -> bool {
    let mut steps = id.split('_');
    let prefix = steps.next().is_some_and(|prefix| ["fc", "ctc", "msg"].contains(&prefix));
    let (Some(own), Some(thought), None) = (steps.next(), steps.next(), steps.next()) else {
        return false;
    };
    prefix && own.len() >= 16 && thought.len() >= 17 && thought.starts_with('r')
}
