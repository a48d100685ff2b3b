//! Codex: items in the order of the file, until something replaces them or takes them back.

use serde_json::Value;

use super::{Record, View};

/// The conversation.
pub(super) fn view(records: &[Record]) -> View {
    let mut view = View::default();
    for Record { line, value } in records {
        let payload = &value["payload"];
        match value["type"].as_str() {
            Some("response_item") => push(&mut view, *line, payload),
            Some("compacted") => match payload["replacement_history"].as_array() {
                Some(list) => {
                    view.truncate(0);
                    list.iter().for_each(|item| push(&mut view, *line, item));
                }
                None => keep_users(&mut view),
            },
            Some("event_msg") if payload["type"] == "thread_rolled_back" => {
                roll_back(&mut view, payload["num_turns"].as_u64().unwrap_or(0));
            }
            _ => {}
        }
    }
    view
}

fn push(view: &mut View, line: usize, item: &Value) {
    if !item.is_object() || item["type"] == "ghost_snapshot" {
        return;
    }
    let mut item = item.clone();
    item.as_object_mut().map(|item| item.remove("internal_chat_message_metadata_passthrough"));
    view.push(line, item);
}

/// Old compactions keep what the users said, and tell the rest in words of their own.
fn keep_users(view: &mut View) {
    let users: Vec<(usize, Value)> = view
        .messages
        .iter()
        .zip(&view.lines)
        .filter(|(item, _)| item["role"] == "user")
        .map(|(item, lines)| (lines[0], item.clone()))
        .collect();
    view.truncate(0);
    users.into_iter().for_each(|(line, item)| view.push(line, item));
}

/// Takes back the last turns: from a message of the user on, together with what the agent said
/// about its surroundings just before it.
fn roll_back(view: &mut View, turns: u64) {
    for _ in 0..turns {
        let Some(last) = view.messages.iter().rposition(is_turn) else { return };
        view.truncate(last);
    }
    let first = view.messages.iter().position(is_turn);
    while turns > 0
        && first.is_some()
        && view.messages.last().is_some_and(|item| {
            let told = ["developer", "system", "user"].iter().any(|role| item["role"] == *role);
            told && !is_turn(item)
        })
    {
        view.truncate(view.messages.len() - 1);
    }
}

/// Whether an item is something that the user said.
fn is_turn(item: &Value) -> bool {
    let marks = ["<environment_context>", "<user_instructions>", "# AGENTS.md", "<turn_aborted>"];
    let about = |text: &Value| {
        let text = text.as_str().unwrap_or("");
        marks.iter().any(|mark| text.starts_with(mark))
    };
    let surroundings = match &item["content"] {
        Value::Array(parts) => !parts.is_empty() && parts.iter().all(|part| about(&part["text"])),
        text => about(text),
    };
    item["role"] == "user" && !surroundings
}
