//! Threads of Zed: one JSON object, with calls and their results in the same message. Threads of older
//! versions (before 0.3.0) have other messages, which Zed converts when it opens them.

use foxwedge_sessions::ReadOnlyAgent;
use serde_json::{Value, json};

use super::{ReadOnlyText, field, image_block, list, parse_document, text_block, thinking_block};

/// How many bytes of messages of the user Zed keeps in front of a summary.
const KEPT_BYTES: usize = 80_000;

/// The text of a thread. The id, the folder and the title are in columns of its row.
pub(crate) fn thread_text(
    thread: &[u8],
    id: &str,
    folder: Option<&str>,
    title: Option<&str>,
) -> anyhow::Result<Vec<u8>> {
    let thread = parse_document(ReadOnlyAgent::Zed, thread)?;
    let (id, folder, title) = (json!(id), json!(folder), json!(title));
    let facts = [
        ("id", &id),
        ("folder", &folder),
        ("title", &title),
        ("model", field(field(&thread, "model"), "model")),
        ("version", field(&thread, "version")),
        ("updated", field(&thread, "updated_at")),
    ];
    let mut text = ReadOnlyText::new(ReadOnlyAgent::Zed, &facts);
    let messages = list(&thread, "messages");
    let (kept, sent) = after_compaction(messages);
    for message in kept.into_iter().chain(sent) {
        match message {
            Value::String(kind) if kind == "Resume" => {
                text.push(
                    "user",
                    vec![json!({"type": "text", "text": "Continue where you left off"})],
                );
            }
            message if message.get("role").is_some() => push_older(&mut text, message),
            message => push_message(&mut text, message),
        }
    }
    Ok(text.finish())
}

/// The last summary with everything after it, and the newest messages of the user before it.
fn after_compaction(messages: &[Value]) -> (Vec<&Value>, &[Value]) {
    let Some(at) = messages.iter().rposition(|message| message.get("Compaction").is_some()) else {
        return (Vec::new(), messages);
    };
    let (before, sent) = messages.split_at(at);
    let is_summary =
        sent.first().is_some_and(|it| field(it, "Compaction").get("Summary").is_some());
    let mut room = KEPT_BYTES;
    let users = before.iter().rev().filter(|message| message.get("User").is_some());
    let mut kept: Vec<&Value> = users
        .take_while(|message| {
            let size: usize = user_blocks(field(message, "User")).iter().map(text_size).sum();
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits && is_summary
        })
        .collect();
    kept.reverse();
    (kept, sent)
}

fn text_size(block: &Value) -> usize {
    field(block, "text").as_str().map_or(0, str::len)
}

fn push_message(text: &mut ReadOnlyText, message: &Value) {
    if let Some(user) = message.get("User") {
        text.push("user", user_blocks(user));
    } else if let Some(summary) =
        field(message, "Compaction").get("Summary").and_then(Value::as_str)
    {
        text.push("user", text_block(summary).into_iter().collect());
    } else if let Some(agent) = message.get("Agent") {
        text.push("assistant", list(agent, "content").iter().filter_map(agent_block).collect());
        for result in
            field(agent, "tool_results").as_object().into_iter().flat_map(|it| it.values())
        {
            push_result(text, result);
        }
    }
}

fn user_blocks(user: &Value) -> Vec<Value> {
    let of_part = |part: &Value| {
        if let Some(image) = part.get("Image") {
            return Some(image_of(image));
        }
        let mention = field(part, "Mention").get("content");
        text_block(part.get("Text").or(mention)?.as_str()?)
    };
    list(user, "content").iter().filter_map(of_part).collect()
}

fn image_of(image: &Value) -> Value {
    let data = field(image, "source").as_str().unwrap_or_default();
    image_block(&format!("data:image/png;base64,{data}"))
}

fn agent_block(part: &Value) -> Option<Value> {
    if let Some(thought) = part.get("Thinking") {
        let words = field(thought, "text").as_str().unwrap_or_default();
        return thinking_block(words, field(thought, "signature"));
    }
    if let Some(data) = part.get("RedactedThinking") {
        return Some(json!({"type": "redacted_thinking", "data": data}));
    }
    if let Some(call) = part.get("ToolUse") {
        let input = field(call, "input");
        let own = input.get("value").filter(|_| input.get("type").is_some_and(Value::is_string));
        return Some(
            json!({"type": "tool_use", "id": field(call, "id"), "name": field(call, "name"),
            "input": own.unwrap_or(input)}),
        );
    }
    text_block(part.get("Text")?.as_str()?)
}

/// Adds a result; its content is one value in older threads, a list in newer ones.
fn push_result(text: &mut ReadOnlyText, result: &Value) {
    let content = field(result, "content");
    let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let of_part = |part: &Value| match part {
        Value::String(words) => text_block(words),
        part if part.get("Image").is_some() => Some(image_of(field(part, "Image"))),
        part => text_block(part.get("Text").or(part.get("text"))?.as_str()?),
    };
    let blocks: Vec<Value> = parts.iter().filter_map(of_part).collect();
    let is_error = field(result, "is_error").as_bool() == Some(true);
    text.push_result(field(result, "tool_use_id"), json!(blocks), is_error);
}

/// Adds a message of an older thread.
fn push_older(text: &mut ReadOnlyText, message: &Value) {
    let mut content: Vec<Value> = list(message, "segments").iter().filter_map(segment).collect();
    content.extend(field(message, "text").as_str().and_then(text_block));
    if content.is_empty() {
        content.extend(field(message, "context").as_str().and_then(text_block));
    }
    let is_reply = field(message, "role") == "assistant";
    for call in list(message, "tool_uses").iter().filter(|_| is_reply) {
        content.push(json!({"type": "tool_use", "id": field(call, "id"),
            "name": field(call, "name"), "input": field(call, "input")}));
    }
    match field(message, "role").as_str() {
        Some("user") if !list(message, "tool_results").is_empty() => {}
        Some("user") => text.push("user", content),
        Some("assistant") => text.push("assistant", content),
        _ => return,
    }
    list(message, "tool_results").iter().for_each(|result| push_result(text, result));
}

fn segment(segment: &Value) -> Option<Value> {
    let words = || segment.get("text").and_then(Value::as_str);
    match segment.get("type").and_then(Value::as_str)? {
        "text" => text_block(words()?),
        "thinking" => thinking_block(words()?, field(segment, "signature")),
        _ => Some(json!({"type": "redacted_thinking", "data": segment.get("data")?})),
    }
}
