//! Files as pi writes them: a header, then one record per message, each result in a record of its
//! own. Records are linked by `uuid` and `parentUuid` until [`crate::link_names`] renames them.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::WrittenSession;
use super::scribe::{LinkedFileWriter, WrittenTurn, blocks, content};
use crate::random::Random;

/// Writes a history. pi does not find results beside the path.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = LinkedFileWriter::new(random);
    let (mut siblings, mut summaries) = (false, HashSet::new());
    writer.line(json!({"type": "session", "version": 3, "cwd": "/p",
        "id": "5e55107f-0000-4000-8000-000000000001"}));
    for message in list {
        let message = &known_blocks(message);
        between(&mut writer, message, &mut summaries);
        match message["role"].as_str() {
            Some("assistant") => reply(&mut writer, &blocks(message)),
            Some("user") => siblings |= say(&mut writer, &blocks(message)),
            _ => {}
        }
    }
    if writer.random.chance(20) {
        aside(&mut writer);
    }
    let messages = writer.messages();
    let mut records = writer.records;
    for record in records.iter_mut().filter_map(Value::as_object_mut) {
        record.remove("sessionId");
    }
    WrittenSession { messages, records, siblings }
}

/// A message without the blocks that pi has no form for.
fn known_blocks(message: &Value) -> Value {
    let mut message = message.clone();
    let is_user = message["role"] == "user";
    if let Some(list) = message["content"].as_array_mut() {
        list.retain(|block| match block["type"].as_str() {
            Some("text") => true,
            Some("tool_use" | "thinking") => !is_user,
            Some("tool_result" | "image") => is_user,
            _ => false,
        });
    }
    message
}

fn reply(writer: &mut LinkedFileWriter<'_>, content_blocks: &[Value]) {
    let parts: Vec<Value> = content_blocks.iter().map(part).collect();
    let message = json!({"role": "assistant", "content": parts, "model": "mock",
        "provider": "mock", "stopReason": "stop", "timestamp": 1});
    let id = writer.follow(json!({"type": "message", "message": message}));
    let sent: Vec<Value> =
        content_blocks.iter().filter(|block| block["type"] != "thinking").cloned().collect();
    writer.tell(vec![id], vec![json!({"role": "assistant", "content": sent})]);
    if writer.random.chance(5) {
        // A reply that failed. pi does not send it.
        let number = writer.number();
        let parts = json!([{"type": "toolCall", "id": format!("failed_{number}"), "name": "bash",
            "arguments": {}}]);
        let reason = *writer.random.pick(&["error", "aborted"]);
        let message = json!({"role": "assistant", "content": parts, "stopReason": reason});
        writer.follow(json!({"type": "message", "message": message}));
    }
}

/// A block in pi's form.
fn part(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_use") => {
            let mut call = json!({"type": "toolCall", "id": block["id"], "name": block["name"]});
            if let Some(input) = block.get("input") {
                call["arguments"] = input.clone();
            }
            call
        }
        Some("image") => json!({"type": "image", "mimeType": "image/png", "data": "aGk="}),
        _ => block.clone(),
    }
}

/// A user message and tool results. Returns whether the results are siblings.
fn say(writer: &mut LinkedFileWriter<'_>, content_blocks: &[Value]) -> bool {
    let is_answer = |block: &Value| block["type"] == "tool_result";
    let beside = writer.random.chance(20);
    let (reply, mut results) = (writer.tail.clone(), 0);
    for group in content_blocks.chunk_by(|one, two| !is_answer(one) && !is_answer(two)) {
        if let [block] = group
            && is_answer(block)
        {
            let parent = if beside { reply.clone() } else { writer.tail.clone() };
            answer(writer, parent, block);
            results += 1;
            continue;
        }
        let parts: Vec<Value> = group.iter().map(part).collect();
        let text = content(writer.random, &parts);
        let id = match writer.random.chance(90) {
            true => {
                let message = json!({"role": "user", "content": text, "timestamp": 1});
                writer.follow(json!({"type": "message", "message": message}))
            }
            false => writer.follow(json!({"type": "custom_message", "customType": "x",
                "content": text, "display": true})),
        };
        writer.tell(vec![id], vec![json!({"role": "user", "content": group})]);
    }
    beside && results > 1
}

fn answer(writer: &mut LinkedFileWriter<'_>, parent: Option<String>, block: &Value) {
    let texts = match &block["content"] {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => json!([]),
    };
    let failed = block["is_error"] == true;
    let message = json!({"role": "toolResult", "toolCallId": block["tool_use_id"],
        "toolName": "tool", "content": texts, "isError": failed, "timestamp": 1});
    let id = writer.hang(parent, json!({"type": "message", "message": message}));
    writer.move_to(id.clone());
    let mut sent = json!({"type": "tool_result", "tool_use_id": block["tool_use_id"],
        "content": block["content"]});
    if let Value::String(_) = &block["content"] {
        sent["content"] = texts;
    } else if texts == json!([]) {
        sent["content"] = json!("");
    }
    if failed {
        sent["is_error"] = json!(true);
    }
    writer.tell(vec![id], vec![json!({"role": "user", "content": [sent]})]);
}

/// Adds records between two messages.
fn between(writer: &mut LinkedFileWriter<'_>, next: &Value, summaries: &mut HashSet<String>) {
    if writer.random.chance(15) {
        aside(writer);
    }
    let speaks = next["role"] == "user" && next["content"].is_string();
    if writer.random.chance(10) && speaks {
        branch(writer);
    }
    if writer.random.chance(8) && speaks && !writer.turns.is_empty() {
        compact(writer, summaries);
    }
}

/// A compaction. It keeps the turns from one on, or none.
fn compact(writer: &mut LinkedFileWriter<'_>, summaries: &mut HashSet<String>) {
    let starts = |turn: &WrittenTurn| {
        let content = &turn.messages[0]["content"];
        let is_result = |block: &Value| block["type"] == "tool_result";
        !content.as_array().is_some_and(|list| list.iter().any(is_result))
    };
    // A compaction keeps no other one.
    let is_summary = |turn: &WrittenTurn| turn.ids.iter().any(|id| summaries.contains(id));
    let may_begin = |turn: &WrittenTurn| starts(turn) && !is_summary(turn);
    let kept: Vec<usize> =
        (0..writer.turns.len()).filter(|at| may_begin(&writer.turns[*at])).collect();
    let from = match writer.random.chance(70) && !kept.is_empty() {
        true => *writer.random.pick(&kept),
        false => writer.turns.len(),
    };
    let number = writer.number();
    let text = format!("summary {number}.");
    let first = writer.turns.get(from).and_then(|turn| turn.ids.first().cloned());
    let id = writer.follow(json!({"type": "compaction", "summary": text, "tokensBefore": 1,
        "firstKeptEntryId": first.clone()}));
    if first.is_none()
        && let Some(record) = writer.records.last_mut()
    {
        record["firstKeptEntryId"] = json!(id);
    }
    let mut turns = writer.turns.split_off(from);
    // Only the latest compaction counts.
    turns.retain(|turn| !is_summary(turn));
    writer.turns.clear();
    summaries.insert(id.clone());
    writer.tell(
        vec![id],
        vec![json!({"role": "user",
        "content": [{"type": "text", "text": text}]})],
    );
    writer.turns.extend(turns);
}

/// Records that are not messages.
fn aside(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let tail = writer.tail.clone();
    let notes = [
        json!({"type": "model_change", "provider": "mock", "modelId": "mock"}),
        json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        json!({"type": "session_info", "name": format!("title {number}")}),
        json!({"type": "label", "targetId": tail, "label": "here"}),
        json!({"type": "custom", "customType": "x", "data": {"n": 1.50}}),
        json!({"type": "tomorrows-record", "n": 1}),
        json!({"type": "message", "message": {"role": "system", "content": "", "sections": {}}}),
        json!({"type": "message", "message": {"role": "bashExecution", "command": "ls",
            "output": "x", "excludeFromContext": true}}),
    ];
    let note = writer.random.pick(&notes).clone();
    writer.follow(note);
}

/// An abandoned branch.
fn branch(writer: &mut LinkedFileWriter<'_>) {
    if writer.trail.is_empty() {
        return;
    }
    let mut parent = Some(writer.random.pick(&writer.trail).clone());
    let number = writer.number();
    let (call, says) = (format!("gone_{number}"), format!("taken back {number}."));
    let records = [
        json!({"role": "user", "content": says}),
        json!({"role": "assistant", "content": [{"type": "text", "text": says},
            {"type": "toolCall", "id": call, "name": "bash", "arguments": {}}]}),
        json!({"role": "toolResult", "toolCallId": call, "toolName": "bash",
            "content": [{"type": "text", "text": says}], "isError": false}),
    ];
    for message in records.into_iter().take(1 + writer.random.below(3)) {
        parent = Some(writer.hang(parent, json!({"type": "message", "message": message})));
    }
}
