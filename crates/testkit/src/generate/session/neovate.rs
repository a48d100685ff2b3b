//! Files as Neovate writes them: one record a message, answers in messages of the role `tool`.

use serde_json::{Value, json};

use super::Written;
use super::scribe::{Scribe, blocks};
use crate::random::Random;

/// Writes a history down. The agent itself does not find answers that hang beside the path.
pub(super) fn write(random: &mut Random, list: &[Value]) -> Written {
    let mut scribe = Scribe::new(random);
    let mut siblings = false;
    if scribe.random.chance(60) {
        scribe
            .line(json!({"type": "config", "config": {"model": "mock/mock", "approvalTools": []}}));
    }
    for message in list {
        between(&mut scribe, message);
        match message["role"].as_str() {
            Some("assistant") => reply(&mut scribe, &blocks(message)),
            Some("user") => siblings |= say(&mut scribe, &blocks(message)),
            _ => {}
        }
    }
    if scribe.random.chance(20) {
        aside(&mut scribe);
    }
    Written { told: scribe.told(), records: scribe.records, siblings }
}

fn reply(scribe: &mut Scribe<'_>, said: &[Value]) {
    let parts: Vec<Value> = said.iter().map(part).collect();
    let text: Vec<&str> = said.iter().filter_map(|block| block["text"].as_str()).collect();
    let fields = json!({"type": "message", "role": "assistant", "content": parts,
        "text": text.join(""), "model": "mock/mock", "usage": {"input_tokens": 1}});
    let id = scribe.follow(fields);
    let told: Vec<Value> =
        said.iter().filter(|block| block["type"] != "thinking").cloned().collect();
    if !told.is_empty() {
        scribe.tell(vec![id], vec![json!({"role": "assistant", "content": told})]);
    }
}

/// A block as Neovate calls it.
fn part(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("thinking") => json!({"type": "reasoning", "text": block["thinking"]}),
        _ => block.clone(),
    }
}

/// What the user says, and what tools answered. Says whether answers hang beside each other.
fn say(scribe: &mut Scribe<'_>, said: &[Value]) -> bool {
    let is_answer = |block: &Value| block["type"] == "tool_result";
    let leading = said.iter().take_while(|block| is_answer(block)).count();
    let (answers, rest) = said.split_at(leading);
    let siblings = answer(scribe, answers);
    if !rest.is_empty() {
        let parts: Vec<Value> = rest.iter().map(legacy).collect();
        let content = super::scribe::content(scribe.random, &parts);
        let id = scribe.follow(json!({"type": "message", "role": "user", "content": content}));
        scribe.tell(vec![id], vec![json!({"role": "user", "content": rest})]);
    }
    siblings
}

/// An answer as old versions wrote it; everything else as it is.
fn legacy(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_result") => json!({"type": "tool_result", "id": block["tool_use_id"],
            "name": "tool", "input": {}, "result": {"llmContent": content(&block["content"])}}),
        Some("image") => image(),
        _ => block.clone(),
    }
}

/// What a tool said, with images as Neovate keeps them.
fn content(content: &Value) -> Value {
    match content {
        Value::Array(parts) => {
            let kept = parts.iter().map(|part| match part["type"] == "image" {
                true => image(),
                false => part.clone(),
            });
            kept.collect()
        }
        Value::String(text) => json!(text),
        _ => Value::Null,
    }
}

fn image() -> Value {
    json!({"type": "image", "mimeType": "image/png", "data": "aGk="})
}

fn answer(scribe: &mut Scribe<'_>, answers: &[Value]) -> bool {
    if answers.is_empty() {
        return false;
    }
    let result = |block: &Value| {
        json!({"type": "tool-result", "toolCallId": block["tool_use_id"], "toolName": "tool",
            "input": {},
            "result": {"llmContent": content(&block["content"]), "returnDisplay": "shown"}})
    };
    let style = scribe.random.below(4);
    let reply = scribe.tail.clone();
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
        // A cancel hangs every answer on the reply itself.
        let parent = if style == 2 { reply.clone() } else { scribe.tail.clone() };
        let id = scribe.hang(parent, fields);
        scribe.move_to(id.clone());
        scribe.tell(vec![id], vec![json!({"role": "user", "content": group})]);
    }
    siblings
}

/// What can happen between two messages.
fn between(scribe: &mut Scribe<'_>, next: &Value) {
    if scribe.random.chance(15) {
        aside(scribe);
    }
    if scribe.random.chance(10) && next["role"] == "user" {
        branch(scribe);
    }
    let starts = next["content"].is_string();
    if scribe.random.chance(5) && next["role"] == "user" && starts {
        // A compaction: the summary is a new root.
        scribe.tail = None;
        scribe.turns.clear();
        scribe.trail.clear();
        let number = scribe.number();
        let text = format!("summary {number}.");
        let id = scribe.follow(json!({"type": "message", "role": "user", "content": text,
            "uiContent": "Chat history compacted successfully."}));
        let said = json!([{"type": "text", "text": text}]);
        scribe.tell(vec![id], vec![json!({"role": "user", "content": said})]);
    }
}

/// Records that are no messages.
fn aside(scribe: &mut Scribe<'_>) {
    let number = scribe.number();
    let tail = scribe.tail.clone();
    let lines = [
        json!({"type": "snapshot", "messageId": tail, "trackedFileBackups": {"a.rs": {"version": 1}}}),
        json!({"type": "custom-title", "customTitle": format!("title {number}")}),
        json!({"type": "file-history-snapshot", "messageId": tail, "isSnapshotUpdate": false}),
        json!({"type": "tomorrows-record", "uuid": format!("t{number}"), "n": 1.50}),
    ];
    let line = scribe.random.pick(&lines).clone();
    scribe.line(line);
}

/// A way that was taken back.
fn branch(scribe: &mut Scribe<'_>) {
    if scribe.trail.is_empty() {
        return;
    }
    let mut parent = Some(scribe.random.pick(&scribe.trail).clone());
    let number = scribe.number();
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
    for record in records.into_iter().take(1 + scribe.random.below(3)) {
        parent = Some(scribe.hang(parent, record));
    }
}
