//! Files as Claude Code writes them: replies as several records, results as siblings.

use serde_json::{Value, json};

use super::WrittenSession;
use super::aside;
use super::scribe::{LinkedFileWriter, blocks, content};
use crate::random::Random;

/// Writes a history.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = LinkedFileWriter::new(random);
    let mut at = 0;
    while let Some(message) = list.get(at) {
        aside::between(&mut writer, message);
        at += 1;
        match message["role"].as_str() {
            Some("assistant") => {
                let next = list.get(at).filter(|next| next["role"] == "user");
                at += usize::from(next.is_some());
                turn(&mut writer, message, next);
            }
            Some("user") => say(&mut writer, &blocks(message)),
            _ => {
                let text = &message["content"];
                writer.follow(json!({"type": "system", "subtype": "note", "content": text}));
            }
        }
    }
    aside::lines(&mut writer);
    WrittenSession { messages: writer.messages(), records: writer.records, siblings: false }
}

/// A user message.
fn say(writer: &mut LinkedFileWriter<'_>, content_blocks: &[Value]) {
    let content = content(writer.random, content_blocks);
    let message = json!({"role": "user", "content": content});
    let id = writer.follow(json!({"type": "user", "message": message, "isSidechain": false}));
    writer.tell(vec![id], vec![json!({"role": "user", "content": content_blocks})]);
}

/// A reply that is being written.
struct ClaudeReply {
    id: String,
    request: Option<String>,
    /// Its records and the calls in them.
    calls: Vec<(String, String)>,
    ids: Vec<String>,
    answered: Vec<Value>,
}

/// A reply and what follows it.
fn turn(writer: &mut LinkedFileWriter<'_>, message: &Value, next: Option<&Value>) {
    let content_blocks = blocks(message);
    let number = writer.number();
    let request = writer.random.chance(85).then(|| format!("req_{number}"));
    let id = format!("msg_{number}");
    let mut reply =
        ClaudeReply { id, request, calls: Vec::new(), ids: Vec::new(), answered: Vec::new() };
    let follows = next.map(blocks).unwrap_or_default();
    let is_answer = |block: &Value| block["type"] == "tool_result";
    let leading = follows.iter().take_while(|block| is_answer(block)).count();
    let (answers, rest) = follows.split_at(leading);
    let mut answers = answers.to_vec();
    let early = writer.random.chance(30);
    let size = *writer.random.pick(&[1, 1, 1, 2, usize::MAX]);
    for part in content_blocks.chunks(size) {
        aside::inside(writer);
        write_piece(writer, &mut reply, part);
        if early {
            answer_early(writer, &mut reply, &mut answers);
        }
    }
    if content_blocks.is_empty() {
        write_piece(writer, &mut reply, &[]);
    }
    write_answers(writer, &mut reply, answers);
    let mut messages = vec![json!({"role": "assistant", "content": content_blocks})];
    if !reply.answered.is_empty() {
        messages.push(json!({"role": "user", "content": reply.answered}));
    }
    writer.tell(reply.ids, messages);
    if !rest.is_empty() {
        say(writer, rest);
    }
}

fn write_piece(writer: &mut LinkedFileWriter<'_>, reply: &mut ClaudeReply, part: &[Value]) {
    let message = json!({
        "id": reply.id, "type": "message", "role": "assistant", "model": "claude-mock",
        "content": part, "stop_reason": null
    });
    let mut fields = json!({"type": "assistant", "message": message, "isSidechain": false});
    if let Some(request) = &reply.request {
        fields["requestId"] = json!(request);
    }
    let id = writer.follow(fields);
    let calls = part.iter().filter(|block| block["type"] == "tool_use");
    let calls = calls.filter_map(|block| block["id"].as_str());
    reply.calls.extend(calls.map(|call| (call.to_owned(), id.clone())));
    reply.ids.push(id);
}

/// The result of a fast tool, between the records of the reply.
fn answer_early(
    writer: &mut LinkedFileWriter<'_>,
    reply: &mut ClaudeReply,
    answers: &mut Vec<Value>,
) {
    let known = |block: &Value| reply.calls.iter().any(|(call, _)| block["tool_use_id"] == *call);
    let Some(at) = answers.iter().position(known) else { return };
    if writer.random.chance(40) {
        return;
    }
    let answer = answers.remove(at);
    let last_record = writer.tail.clone();
    answer_under_call(writer, reply, answer);
    // The reply continues after the result, or from its last record.
    if writer.random.chance(50)
        && let Some(last_record) = last_record
    {
        writer.move_to(last_record);
    }
}

/// Writes a result as a child of its call.
fn answer_under_call(writer: &mut LinkedFileWriter<'_>, reply: &mut ClaudeReply, answer: Value) {
    let record = reply.calls.iter().find(|(call, _)| answer["tool_use_id"] == *call);
    let parent = record.map(|(_, id)| id.clone()).or_else(|| writer.tail.clone());
    let message = json!({"role": "user", "content": [answer]});
    let mut fields = json!({"type": "user", "message": message, "isSidechain": false});
    if writer.random.chance(70) {
        fields["sourceToolAssistantUUID"] = json!(parent);
        fields["toolUseResult"] = json!({"stdout": "as seen by the tool"});
    }
    let id = writer.hang(parent, fields);
    writer.move_to(id.clone());
    reply.ids.push(id);
    reply.answered.push(answer);
}

fn write_answers(writer: &mut LinkedFileWriter<'_>, reply: &mut ClaudeReply, answers: Vec<Value>) {
    let known = |answer: &Value| reply.calls.iter().any(|(call, _)| answer["tool_use_id"] == *call);
    // Only a result of a call in this reply can be a sibling of the others.
    let style = writer.random.below(3);
    let style = if style == 1 && !answers.iter().all(known) { 2 } else { style };
    if style == 0 && !answers.is_empty() {
        // All results in one record.
        let message = json!({"role": "user", "content": answers});
        let id = writer.follow(json!({"type": "user", "message": message}));
        reply.ids.push(id);
        reply.answered.extend(answers);
        return;
    }
    for answer in answers {
        aside::inside(writer);
        if style == 1 {
            answer_under_call(writer, reply, answer);
        } else {
            let message = json!({"role": "user", "content": [answer]});
            let id = writer.follow(json!({"type": "user", "message": message}));
            reply.ids.push(id);
            reply.answered.push(answer);
        }
    }
}
