//! Damage to single fields of the list: missing, null, of another type.

#![expect(clippy::ptr_arg, reason = "all scratches have one signature, and some insert")]

use serde_json::{Map, Value, json};

use super::ListAccident;
use crate::dialect::TestFormat;
use crate::random::Random;

pub(super) const SCRATCHES: &[ListAccident] = &[
    lose_role,
    unknown_role,
    developer_role,
    foreign_role,
    lose_name,
    unknown_block,
    unknown_field,
    refer_to_tool,
    ask_for_compaction,
    wrong_item_id,
    lose_seal,
    junk_message,
    refer_to_item,
    approve,
    prefix,
    any_field_wrong,
    any_field_wrong,
    any_field_gone,
];

/// Damages the keys next to the list.
pub(super) fn scratch_request(random: &mut Random, format: TestFormat, body: &mut Value) {
    let Some(body) = body.as_object_mut() else { return };
    let others: Vec<String> =
        body.keys().filter(|key| *key != format.list_key()).cloned().collect();
    let has_input = matches!(format, TestFormat::Responses | TestFormat::Interactions);
    if has_input && random.chance(20) {
        body.insert("input".to_owned(), json!("only a question"));
    } else if !others.is_empty() {
        let key = random.pick(&others).clone();
        match random.chance(50) {
            true => body.remove(&key),
            false => body.insert(key, junk(random)),
        };
    }
}

/// JSON pointers of all objects that `wanted` accepts.
fn objects(list: &[Value], wanted: &dyn Fn(&Map<String, Value>) -> bool) -> Vec<(usize, String)> {
    fn walk(
        value: &Value,
        path: &str,
        wanted: &dyn Fn(&Map<String, Value>) -> bool,
        found: &mut Vec<String>,
    ) {
        match value {
            Value::Object(fields) => {
                if wanted(fields) {
                    found.push(path.to_owned());
                }
                for (key, value) in fields {
                    walk(value, &format!("{path}/{key}"), wanted, found);
                }
            }
            Value::Array(elements) => {
                for (index, value) in elements.iter().enumerate() {
                    walk(value, &format!("{path}/{index}"), wanted, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut all = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let mut found = Vec::new();
        walk(value, "", wanted, &mut found);
        all.extend(found.into_iter().map(|path| (index, path)));
    }
    all
}

/// One random object that `wanted` accepts.
pub(super) fn object<'a>(
    random: &mut Random,
    list: &'a mut [Value],
    wanted: &dyn Fn(&Map<String, Value>) -> bool,
) -> Option<&'a mut Map<String, Value>> {
    let places = objects(list, wanted);
    if places.is_empty() {
        return None;
    }
    let (index, path) = random.pick(&places);
    list.get_mut(*index)?.pointer_mut(path)?.as_object_mut()
}

/// One random object that has one of these keys, and the key.
pub(super) fn with_key<'a, 'k>(
    random: &mut Random,
    list: &'a mut [Value],
    keys: &'k [&'k str],
) -> Option<(&'a mut Map<String, Value>, &'k str)> {
    let found = object(random, list, &|fields| keys.iter().any(|key| fields.contains_key(*key)))?;
    let key = keys.iter().find(|key| found.contains_key(**key))?;
    Some((found, key))
}

pub(super) fn set(fields: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => fields.insert(key.to_owned(), value),
        None => fields.remove(key),
    };
}

fn junk(random: &mut Random) -> Value {
    let choices = [
        json!(null),
        json!(7),
        json!(true),
        json!(""),
        json!("x"),
        json!([]),
        json!({}),
        json!([null]),
    ];
    random.pick(&choices).clone()
}

fn set_role(random: &mut Random, list: &mut [Value], role: Option<Value>) {
    if let Some((message, key)) = with_key(random, list, &["role"]) {
        set(message, key, role);
    }
}

fn lose_role(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let role = random.pick(&[None, Some(Value::Null), Some(json!(1))]).clone();
    set_role(random, list, role);
}

fn unknown_role(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    set_role(random, list, Some(json!("robot")));
}

fn developer_role(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    set_role(random, list, Some(json!("developer")));
}

fn foreign_role(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let role = *random.pick(&["user", "assistant", "model", "tool", "function", "system"]);
    if random.chance(30) {
        set_role(random, list, Some(json!(role)));
    }
}

fn lose_name(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let name = random.pick(&[None, Some(Value::Null), Some(json!(3))]).clone();
    if let Some((holder, key)) = with_key(random, list, &["name"]) {
        set(holder, key, name);
    }
}

fn unknown_block(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let block = random
        .pick(&[json!({"type": "hologram", "x": 1}), json!({}), json!(null), json!("loose")])
        .clone();
    let Some((holder, key)) = with_key(random, list, &["content", "parts"]) else { return };
    if let Some(Value::Array(blocks)) = holder.get_mut(key) {
        blocks.insert(random.below(blocks.len() + 1), block);
    }
}

fn unknown_field(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let value = junk(random);
    if let Some(holder) = object(random, list, &|_| true) {
        holder.insert((*random.pick(&["x_extra", "cache_control", "name2"])).to_owned(), value);
    }
}

fn refer_to_tool(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    let is_result = |fields: &Map<String, Value>| {
        let kind = fields.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.ends_with("tool_result"))
    };
    let found: Vec<Value> = (0..random.below(4))
        .map(|_| json!({"type": "tool_reference", "tool_name": random.pick(&["bash", "gone", "a\"b"])}))
        .collect();
    let Some(result) = object(random, list, &is_result).filter(|_| format == TestFormat::Anthropic)
    else {
        return;
    };
    let content = match result.get("type").and_then(Value::as_str) {
        Some("tool_result") => {
            let mut blocks = found;
            blocks.insert(0, json!({"type": "text", "text": "found"}));
            Value::Array(blocks)
        }
        _ => json!({"type": "tool_search_tool_search_result", "tool_references": found}),
    };
    set(result, "content", Some(content));
}

fn ask_for_compaction(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format == TestFormat::Responses && random.chance(30) {
        let at = random.below(list.len() + 1);
        list.insert(at, json!({"type": "compaction_trigger"}));
    }
}

fn wrong_item_id(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format == TestFormat::Responses && !list.is_empty() {
        let at = random.below(list.len());
        if let Some(item) = list[at].as_object_mut() {
            set(item, "id", Some(json!(format!("call_{at}"))));
        }
    }
}

fn lose_seal(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    if let Some((holder, key)) =
        with_key(random, list, &["encrypted_content", "signature", "thoughtSignature"])
    {
        let seal = random.pick(&[None, Some(json!("")), Some(json!(null))]).clone();
        set(holder, key, seal);
    }
}

fn junk_message(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let at = random.below(list.len() + 1);
    list.insert(at, junk(random));
}

fn refer_to_item(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format == TestFormat::Responses && random.chance(30) {
        let at = random.below(list.len() + 1);
        let bare = json!({"id": "msg_900"});
        let typed = json!({"type": "item_reference", "id": "msg_900"});
        list.insert(at, random.pick(&[typed, bare]).clone());
    }
}

fn approve(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format == TestFormat::Responses {
        let at = random.below(list.len() + 1);
        let approval =
            json!({"type": "mcp_approval_response", "approval_request_id": "a", "approve": true});
        list.insert(at, approval);
    }
}

fn prefix(_: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if format == TestFormat::Chat
        && let Some(message) = list.last_mut().and_then(Value::as_object_mut)
    {
        message.insert("prefix".to_owned(), json!(true));
    }
}

fn any_field_wrong(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let value = junk(random);
    let Some(holder) = object(random, list, &|fields| !fields.is_empty()) else { return };
    let keys: Vec<String> = holder.keys().cloned().collect();
    holder.insert(random.pick(&keys).clone(), value);
}

fn any_field_gone(random: &mut Random, _: TestFormat, list: &mut Vec<Value>) {
    let Some(holder) = object(random, list, &|fields| !fields.is_empty()) else { return };
    let keys: Vec<String> = holder.keys().cloned().collect();
    let removed = random.pick(&keys).clone();
    holder.remove(&removed);
}
