//! Records of a Claude Code file that are not part of the conversation.

use serde_json::{Value, json};

use super::scribe::{LinkedFileWriter, WrittenTurn};

/// Adds records between two turns. A conversation restarts only with a user message.
pub(super) fn between(writer: &mut LinkedFileWriter<'_>, next: &Value) {
    inside(writer);
    if writer.random.chance(6) {
        hidden(writer);
    }
    if writer.random.chance(5) {
        hollow(writer);
    }
    // A branch is never at the end.
    if writer.random.chance(12) && next["role"] != "system" {
        branch(writer);
    }
    if writer.random.chance(6) && !writer.turns.is_empty() {
        compaction(writer);
    } else if writer.random.chance(3) && next["role"] == "user" {
        writer.tail = None;
        writer.trail.clear();
        writer.turns.clear();
    }
}

/// Within a turn: records that are not messages, and the work of sub-agents.
pub(super) fn inside(writer: &mut LinkedFileWriter<'_>) {
    if writer.random.chance(15) {
        lines(writer);
    }
    if writer.random.chance(15) {
        let note = note(writer);
        if writer.random.chance(70) {
            writer.follow(note);
        } else {
            writer.hang(writer.tail.clone(), note);
        }
    }
    if writer.random.chance(5) {
        sub_agent(writer);
    }
}

/// A record with an id that is not a message.
fn note(writer: &mut LinkedFileWriter<'_>) -> Value {
    let number = writer.number();
    let notes = [
        json!({"type": "attachment", "attachment": {"type": "environment", "n": number}}),
        json!({"type": "progress", "toolUseID": "t", "data": {"type": "bash_progress", "n": 1.50}}),
        json!({"type": "system", "subtype": "informational", "content": format!("note {number}.")}),
        json!({"type": "moonbeam", "weight": 1e2, "deep": {"uuid": "r1", "type": "user"}}),
    ];
    writer.random.pick(&notes).clone()
}

/// Records without an id.
pub(super) fn lines(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let tail = writer.tail.clone();
    let lines = [
        json!({"type": "queue-operation", "operation": "enqueue", "content": "later"}),
        json!({"type": "file-history-snapshot", "messageId": tail, "snapshot": {"n": number}}),
        json!({"type": "summary", "summary": format!("title {number}"), "leafUuid": tail}),
        json!({"type": "last-prompt", "lastPrompt": "question", "leafUuid": tail}),
        json!({"type": "tomorrows-record", "n": number, "message": {"role": "user"}}),
    ];
    let line = writer.random.pick(&lines).clone();
    writer.line(line);
}

/// An API error that the agent shows but does not send.
fn hidden(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let text = json!([{"type": "text", "text": format!("API Error: overloaded {number}.")}]);
    let message = json!({"id": format!("err_{number}"), "role": "assistant",
        "model": "<synthetic>", "content": text});
    writer.follow(json!({"type": "assistant", "isApiErrorMessage": true, "message": message}));
}

/// A reply that was interrupted before its first text.
fn hollow(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let blocks = [
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]),
        json!([{"type": "text", "text": "\n\n"}]),
    ];
    let content = writer.random.pick(&blocks).clone();
    let message = json!({"id": format!("msg_{number}"), "role": "assistant", "content": content});
    writer.follow(json!({"type": "assistant", "message": message}));
}

/// An abandoned branch.
fn branch(writer: &mut LinkedFileWriter<'_>) {
    let mut parent = match writer.trail.is_empty() || writer.random.chance(10) {
        true => None,
        false => Some(writer.random.pick(&writer.trail).clone()),
    };
    for _ in 0..1 + writer.random.below(3) {
        let number = writer.number();
        let (call, reply) = (format!("gone_{number}"), format!("msg_{number}"));
        let says = format!("taken back {number}.");
        let calls = json!([{"type": "text", "text": says},
            {"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": call, "content": says}]);
        let asks = json!({"type": "user", "message": {"role": "user", "content": says}});
        let replies = json!({"type": "assistant", "requestId": format!("req_{number}"),
            "message": {"role": "assistant", "id": reply, "content": calls}});
        let answers = json!({"type": "user", "message": {"role": "user", "content": answer}});
        for record in [asks, replies, answers].into_iter().take(1 + writer.random.below(3)) {
            parent = Some(writer.hang(parent, record));
        }
    }
}

/// A sub-agent with its own conversation.
fn sub_agent(writer: &mut LinkedFileWriter<'_>) {
    let mut parent = writer.tail.clone().filter(|_| writer.random.chance(50));
    let number = writer.number();
    let call = format!("sub_{number}");
    let task = json!([{"type": "text", "text": format!("task {number}.")}]);
    let calls = json!([{"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
    let answer = json!([{"type": "tool_result", "tool_use_id": call, "content": "done"}]);
    let sub_records = [
        json!({"type": "user", "message": {"role": "user", "content": task}}),
        json!({"type": "assistant", "message": {"role": "assistant", "id": format!("msg_{number}"),
            "content": calls}}),
        json!({"type": "user", "message": {"role": "user", "content": answer}}),
    ];
    for mut record in sub_records.into_iter().take(1 + writer.random.below(3)) {
        record["isSidechain"] = json!(true);
        record["agentId"] = json!("a1");
        parent = Some(writer.hang(parent, record));
    }
}

/// A compaction: a new root, a summary, and possibly the last turns carried over.
fn compaction(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let last = writer.tail.take();
    let count = writer.random.below(4).min(writer.turns.len());
    let mut carried_turns: Vec<WrittenTurn> = writer.turns.split_off(writer.turns.len() - count);
    // The parent path does not lead through previously carried-over records.
    let walks = !carried_turns.iter().any(|turn| turn.carried);
    writer.turns.clear();
    writer.trail.clear();
    let boundary = writer.follow(json!({"type": "system", "subtype": "compact_boundary",
        "logicalParentUuid": last, "compactMetadata": {"trigger": "auto", "preTokens": number}}));
    let at = writer.records.len() - 1;
    let text = format!("summary {number}.");
    let message = json!({"role": "user", "content": text});
    let anchor = writer.follow(json!({"type": "user", "isCompactSummary": true,
        "message": message}));
    let summary = json!({"role": "user", "content": [{"type": "text", "text": text}]});
    writer.tell(vec![boundary, anchor.clone()], vec![summary]);
    let ids: Vec<String> = carried_turns.iter().flat_map(|turn| turn.ids.clone()).collect();
    let Some(head) = ids.first() else { return };
    let metadata = &mut writer.records[at]["compactMetadata"];
    match number % 3 {
        0 if walks => {
            metadata["preservedSegment"] =
                json!({"headUuid": head, "anchorUuid": anchor, "tailUuid": last});
        }
        1 => metadata["preservedMessages"] = json!({"anchorUuid": anchor, "uuids": ids}),
        _ => {
            metadata["preservedMessages"] =
                json!({"anchorUuid": anchor, "uuids": [head], "allUuids": ids});
        }
    }
    carried_turns.iter_mut().for_each(|turn| turn.carried = true);
    writer.turns.extend(carried_turns);
}
