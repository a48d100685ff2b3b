//! Files as Claude Code writes them: replies in pieces, answers beside each other.

use serde_json::{Value, json};

use super::Written;
use super::aside;
use super::scribe::{Scribe, blocks, content};
use crate::random::Random;

/// Writes a history down.
pub(super) fn write(random: &mut Random, list: &[Value]) -> Written {
    let mut scribe = Scribe::new(random);
    let mut at = 0;
    while let Some(message) = list.get(at) {
        aside::between(&mut scribe, message);
        at += 1;
        match message["role"].as_str() {
            Some("assistant") => {
                let next = list.get(at).filter(|next| next["role"] == "user");
                at += usize::from(next.is_some());
                turn(&mut scribe, message, next);
            }
            Some("user") => say(&mut scribe, &blocks(message)),
            _ => {
                let text = &message["content"];
                scribe.follow(json!({"type": "system", "subtype": "note", "content": text}));
            }
        }
    }
    aside::lines(&mut scribe);
    Written { told: scribe.told(), records: scribe.records, siblings: false }
}

/// Something that the user says.
fn say(scribe: &mut Scribe<'_>, said: &[Value]) {
    let content = content(scribe.random, said);
    let message = json!({"role": "user", "content": content});
    let id = scribe.follow(json!({"type": "user", "message": message, "isSidechain": false}));
    scribe.tell(vec![id], vec![json!({"role": "user", "content": said})]);
}

/// A reply that is being written.
struct Reply {
    id: String,
    request: Option<String>,
    /// Its records and the calls in them.
    calls: Vec<(String, String)>,
    ids: Vec<String>,
    answered: Vec<Value>,
}

/// A reply and what follows it.
fn turn(scribe: &mut Scribe<'_>, message: &Value, next: Option<&Value>) {
    let said = blocks(message);
    let number = scribe.number();
    let request = scribe.random.chance(85).then(|| format!("req_{number}"));
    let id = format!("msg_{number}");
    let mut reply = Reply { id, request, calls: Vec::new(), ids: Vec::new(), answered: Vec::new() };
    let follows = next.map(blocks).unwrap_or_default();
    let is_answer = |block: &Value| block["type"] == "tool_result";
    let leading = follows.iter().take_while(|block| is_answer(block)).count();
    let (answers, rest) = follows.split_at(leading);
    let mut answers = answers.to_vec();
    let early = scribe.random.chance(30);
    let size = *scribe.random.pick(&[1, 1, 1, 2, usize::MAX]);
    for piece in said.chunks(size) {
        aside::inside(scribe);
        write_piece(scribe, &mut reply, piece);
        if early {
            answer_early(scribe, &mut reply, &mut answers);
        }
    }
    if said.is_empty() {
        write_piece(scribe, &mut reply, &[]);
    }
    write_answers(scribe, &mut reply, answers);
    let mut told = vec![json!({"role": "assistant", "content": said})];
    if !reply.answered.is_empty() {
        told.push(json!({"role": "user", "content": reply.answered}));
    }
    scribe.tell(reply.ids, told);
    if !rest.is_empty() {
        say(scribe, rest);
    }
}

fn write_piece(scribe: &mut Scribe<'_>, reply: &mut Reply, piece: &[Value]) {
    let message = json!({
        "id": reply.id, "type": "message", "role": "assistant", "model": "claude-mock",
        "content": piece, "stop_reason": null
    });
    let mut fields = json!({"type": "assistant", "message": message, "isSidechain": false});
    if let Some(request) = &reply.request {
        fields["requestId"] = json!(request);
    }
    let id = scribe.follow(fields);
    let calls = piece.iter().filter(|block| block["type"] == "tool_use");
    let calls = calls.filter_map(|block| block["id"].as_str());
    reply.calls.extend(calls.map(|call| (call.to_owned(), id.clone())));
    reply.ids.push(id);
}

/// A tool that was quick: its answer stands between the pieces of the reply.
fn answer_early(scribe: &mut Scribe<'_>, reply: &mut Reply, answers: &mut Vec<Value>) {
    let known = |block: &Value| reply.calls.iter().any(|(call, _)| block["tool_use_id"] == *call);
    let Some(at) = answers.iter().position(known) else { return };
    if scribe.random.chance(40) {
        return;
    }
    let answer = answers.remove(at);
    let piece = scribe.tail.clone();
    answer_under_call(scribe, reply, answer);
    // The reply goes on behind the answer, or where it was.
    if scribe.random.chance(50)
        && let Some(piece) = piece
    {
        scribe.move_to(piece);
    }
}

/// Writes an answer under the record of its call.
fn answer_under_call(scribe: &mut Scribe<'_>, reply: &mut Reply, answer: Value) {
    let record = reply.calls.iter().find(|(call, _)| answer["tool_use_id"] == *call);
    let parent = record.map(|(_, id)| id.clone()).or_else(|| scribe.tail.clone());
    let message = json!({"role": "user", "content": [answer]});
    let mut fields = json!({"type": "user", "message": message, "isSidechain": false});
    if scribe.random.chance(70) {
        fields["sourceToolAssistantUUID"] = json!(parent);
        fields["toolUseResult"] = json!({"stdout": "as seen by the tool"});
    }
    let id = scribe.hang(parent, fields);
    scribe.move_to(id.clone());
    reply.ids.push(id);
    reply.answered.push(answer);
}

fn write_answers(scribe: &mut Scribe<'_>, reply: &mut Reply, answers: Vec<Value>) {
    let known = |answer: &Value| reply.calls.iter().any(|(call, _)| answer["tool_use_id"] == *call);
    // Only an answer to a call of this very reply hangs beside the others.
    let style = scribe.random.below(3);
    let style = if style == 1 && !answers.iter().all(known) { 2 } else { style };
    if style == 0 && !answers.is_empty() {
        // All in one record.
        let message = json!({"role": "user", "content": answers});
        let id = scribe.follow(json!({"type": "user", "message": message}));
        reply.ids.push(id);
        reply.answered.extend(answers);
        return;
    }
    for answer in answers {
        aside::inside(scribe);
        if style == 1 {
            answer_under_call(scribe, reply, answer);
        } else {
            let message = json!({"role": "user", "content": [answer]});
            let id = scribe.follow(json!({"type": "user", "message": message}));
            reply.ids.push(id);
            reply.answered.push(answer);
        }
    }
}
