//! Files as Neovate writes them: one record per message, results in messages with the role `tool`.

use serde_json::{Value, json};

use super::WrittenSession;
use super::scribe::{LinkedFileWriter, blocks};
use crate::random::Random;

/// Writes a history. The agent itself does not find results beside the path.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = LinkedFileWriter::new(random);
    let mut siblings = false;
    if writer.random.chance(60) {
        writer
            .line(json!({"type": "config", "config": {"model": "mock/mock", "approvalTools": []}}));
    }
    for message in list {
        between(&mut writer, message);
        match message["role"].as_str() {
            Some("assistant") => reply(&mut writer, &blocks(message)),
            Some("user") => siblings |= say(&mut writer, &blocks(message)),
            _ => {}
        }
    }
    if writer.random.chance(20) {
        aside(&mut writer);
    }
    WrittenSession { messages: writer.messages(), records: writer.records, siblings }
}

fn reply(writer: &mut LinkedFileWriter<'_>, content_blocks: &[Value]) {
    let parts: Vec<Value> = content_blocks.iter().map(part).collect();
    let text: Vec<&str> =
        content_blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let fields = json!({"type": "message", "role": "assistant", "content": parts,
        "text": text.join(""), "model": "mock/mock", "usage": {"input_tokens": 1}});
    let id = writer.follow(fields);
    let sent_blocks: Vec<Value> =
        content_blocks.iter().filter(|block| block["type"] != "thinking").cloned().collect();
    if !sent_blocks.is_empty() {
        writer.tell(vec![id], vec![json!({"role": "assistant", "content": sent_blocks})]);
    }
}

/// A block in Neovate's form.
fn part(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("thinking") => json!({"type": "reasoning", "text": block["thinking"]}),
        _ => block.clone(),
    }
}

/// A user message and tool results. Returns whether the results are siblings.
fn say(writer: &mut LinkedFileWriter<'_>, content_blocks: &[Value]) -> bool {
    let is_answer = |block: &Value| block["type"] == "tool_result";
    let leading = content_blocks.iter().take_while(|block| is_answer(block)).count();
    let (answers, rest) = content_blocks.split_at(leading);
    let siblings = answer(writer, answers);
    if !rest.is_empty() {
        let parts: Vec<Value> = rest.iter().map(legacy).collect();
        let content = super::scribe::content(writer.random, &parts);
        let id = writer.follow(json!({"type": "message", "role": "user", "content": content}));
        writer.tell(vec![id], vec![json!({"role": "user", "content": rest})]);
    }
    siblings
}

/// A result as old versions wrote it; other blocks unchanged.
fn legacy(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_result") => json!({"type": "tool_result", "id": block["tool_use_id"],
            "name": "tool", "input": {}, "result": {"llmContent": content(&block["content"])}}),
        Some("image") => image(),
        _ => block.clone(),
    }
}

/// The content of a result, with images in Neovate's form.
fn content(content: &Value) -> Value {
    match content {
        Value::Array(parts) => {
            let converted = parts.iter().map(|part| match part["type"] == "image" {
                true => image(),
                false => part.clone(),
            });
            converted.collect()
        }
        Value::String(text) => json!(text),
        _ => Value::Null,
    }
}

fn image() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": "aGk="})
}

fn answer(writer: &mut LinkedFileWriter<'_>, answers: &[Value]) -> bool {
    if answers.is_empty() {
        return false;
    }
    let result = |block: &Value| {
        json!({"type": "tool-result", "toolCallId": block["tool_use_id"], "toolName": "tool",
            "input": {},
            "result": {"llmContent": content(&block["content"]), "returnDisplay": "shown"}})
    };
    let style = writer.random.below(4);
    let reply = writer.tail.clone();
    let groups: Vec<&[Value]> = match style {
        0 | 1 => vec![answers],
        _ => answers.chunks(1).collect(),
    };
    let siblings = style == 2 && groups.len() > 1;
    for group in groups {
        let fields = match style {
            1 => json!({"type": "message", "role": "user",
                "content": group.iter().map(legacy).collect::<Vec<_>>()}),
            _ => json!({"type": "message", "role": "tool",
                "content": group.iter().map(result).collect::<Vec<_>>()}),
        };
        // After a cancellation, every result is a child of the reply itself.
        let parent = if style == 2 { reply.clone() } else { writer.tail.clone() };
        let id = writer.hang(parent, fields);
        writer.move_to(id.clone());
        writer.tell(vec![id], vec![json!({"role": "user", "content": group})]);
    }
    siblings
}

/// Adds records between two messages.
fn between(writer: &mut LinkedFileWriter<'_>, next: &Value) {
    if writer.random.chance(15) {
        aside(writer);
    }
    if writer.random.chance(10) && next["role"] == "user" {
        branch(writer);
    }
    let starts = next["content"].is_string();
    if writer.random.chance(5) && next["role"] == "user" && starts {
        // A compaction: the summary is a new root.
        writer.tail = None;
        writer.turns.clear();
        writer.trail.clear();
        let number = writer.number();
        let text = format!("summary {number}.");
        let id = writer.follow(json!({"type": "message", "role": "user", "content": text,
            "uiContent": "Chat history compacted successfully."}));
        let content_blocks = json!([{"type": "text", "text": text}]);
        writer.tell(vec![id], vec![json!({"role": "user", "content": content_blocks})]);
    }
}

/// Records that are not messages.
fn aside(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let tail = writer.tail.clone();
    let lines = [
        json!({"type": "snapshot", "messageId": tail, "trackedFileBackups": {"a.rs": {"version": 1}}}),
        json!({"type": "custom-title", "customTitle": format!("title {number}")}),
        json!({"type": "file-history-snapshot", "messageId": tail, "isSnapshotUpdate": false}),
        json!({"type": "tomorrows-record", "uuid": format!("t{number}"), "n": 1.50}),
    ];
    let line = writer.random.pick(&lines).clone();
    writer.line(line);
}

/// An abandoned branch.
fn branch(writer: &mut LinkedFileWriter<'_>) {
    if writer.trail.is_empty() {
        return;
    }
    let mut parent = Some(writer.random.pick(&writer.trail).clone());
    let number = writer.number();
    let call = format!("gone_{number}");
    let says = format!("taken back {number}.");
    let calls = json!([{"type": "text", "text": says},
        {"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
    let answer = json!([{"type": "tool-result", "toolCallId": call, "toolName": "bash",
        "input": {}, "result": {"llmContent": says}}]);
    let records = [
        json!({"type": "message", "role": "user", "content": says}),
        json!({"type": "message", "role": "assistant", "content": calls}),
        json!({"type": "message", "role": "tool", "content": answer}),
    ];
    for record in records.into_iter().take(1 + writer.random.below(3)) {
        parent = Some(writer.hang(parent, record));
    }
}
