//! Codex: items in file order, until a compaction or a rollback replaces or removes them.

use serde_json::Value;

use super::{LineRecord, SessionConversation};

pub(super) fn view(records: &[LineRecord]) -> SessionConversation {
    let mut conversation = SessionConversation::default();
    for LineRecord { line, value } in records {
        let payload = &value["payload"];
        match value["type"].as_str() {
            Some("response_item") => push(&mut conversation, *line, payload),
            Some("compacted") => match payload["replacement_history"].as_array() {
                Some(list) => {
                    conversation.truncate(0);
                    list.iter().for_each(|item| push(&mut conversation, *line, item));
                }
                None => keep_users(&mut conversation),
            },
            Some("event_msg") if payload["type"] == "thread_rolled_back" => {
                roll_back(&mut conversation, payload["num_turns"].as_u64().unwrap_or(0));
            }
            _ => {}
        }
    }
    conversation
}

fn push(conversation: &mut SessionConversation, line: usize, item: &Value) {
    if !item.is_object() || item["type"] == "ghost_snapshot" {
        return;
    }
    let mut item = item.clone();
    item.as_object_mut().map(|item| item.remove("internal_chat_message_metadata_passthrough"));
    conversation.push(line, item);
}

/// Old compactions keep the user messages and summarize the rest.
fn keep_users(conversation: &mut SessionConversation) {
    let users: Vec<(usize, Value)> = conversation
        .messages
        .iter()
        .zip(&conversation.lines)
        .filter(|(item, _)| item["role"] == "user")
        .map(|(item, lines)| (lines[0], item.clone()))
        .collect();
    conversation.truncate(0);
    users.into_iter().for_each(|(line, item)| conversation.push(line, item));
}

/// Removes the last turns: each from a user message on, including the environment context directly
/// before it.
fn roll_back(conversation: &mut SessionConversation, turns: u64) {
    for _ in 0..turns {
        let Some(last) = conversation.messages.iter().rposition(is_turn) else { return };
        conversation.truncate(last);
    }
    let first = conversation.messages.iter().position(is_turn);
    while turns > 0
        && first.is_some()
        && conversation.messages.last().is_some_and(|item| {
            let has_role = ["developer", "system", "user"].iter().any(|role| item["role"] == *role);
            has_role && !is_turn(item)
        })
    {
        conversation.truncate(conversation.messages.len() - 1);
    }
}

/// Whether an item is a user message.
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
