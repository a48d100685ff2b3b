//! What stands in a Claude Code file beside the conversation.

use serde_json::{Value, json};

use super::scribe::{Scribe, Turn};

/// Between two turns anything can happen; a conversation begins anew only with the user.
pub(super) fn between(scribe: &mut Scribe<'_>, next: &Value) {
    inside(scribe);
    if scribe.random.chance(6) {
        hidden(scribe);
    }
    if scribe.random.chance(5) {
        hollow(scribe);
    }
    // A branch is not the last thing that is said.
    if scribe.random.chance(12) && next["role"] != "system" {
        branch(scribe);
    }
    if scribe.random.chance(6) && !scribe.turns.is_empty() {
        compaction(scribe);
    } else if scribe.random.chance(3) && next["role"] == "user" {
        scribe.tail = None;
        scribe.trail.clear();
        scribe.turns.clear();
    }
}

/// Within a turn: records that are no messages, and the work of sub-agents.
pub(super) fn inside(scribe: &mut Scribe<'_>) {
    if scribe.random.chance(15) {
        lines(scribe);
    }
    if scribe.random.chance(15) {
        let note = note(scribe);
        if scribe.random.chance(70) {
            scribe.follow(note);
        } else {
            scribe.hang(scribe.tail.clone(), note);
        }
    }
    if scribe.random.chance(5) {
        sub_agent(scribe);
    }
}

/// A record with an id that is no message.
fn note(scribe: &mut Scribe<'_>) -> Value {
    let number = scribe.number();
    let notes = [
        json!({"type": "attachment", "attachment": {"type": "environment", "n": number}}),
        json!({"type": "progress", "toolUseID": "t", "data": {"type": "bash_progress", "n": 1.50}}),
        json!({"type": "system", "subtype": "informational", "content": format!("note {number}.")}),
        json!({"type": "moonbeam", "weight": 1e2, "deep": {"uuid": "r1", "type": "user"}}),
    ];
    scribe.random.pick(&notes).clone()
}

/// Records without an id.
pub(super) fn lines(scribe: &mut Scribe<'_>) {
    let number = scribe.number();
    let tail = scribe.tail.clone();
    let lines = [
        json!({"type": "queue-operation", "operation": "enqueue", "content": "later"}),
        json!({"type": "file-history-snapshot", "messageId": tail, "snapshot": {"n": number}}),
        json!({"type": "summary", "summary": format!("title {number}"), "leafUuid": tail}),
        json!({"type": "last-prompt", "lastPrompt": "question", "leafUuid": tail}),
        json!({"type": "tomorrows-record", "n": number, "message": {"role": "user"}}),
    ];
    let line = scribe.random.pick(&lines).clone();
    scribe.line(line);
}

/// An error of the provider's API, which the agent shows and does not send.
fn hidden(scribe: &mut Scribe<'_>) {
    let number = scribe.number();
    let text = json!([{"type": "text", "text": format!("API Error: overloaded {number}.")}]);
    let message = json!({"id": format!("err_{number}"), "role": "assistant",
        "model": "<synthetic>", "content": text});
    scribe.follow(json!({"type": "assistant", "isApiErrorMessage": true, "message": message}));
}

/// A reply that was cut before it said anything.
fn hollow(scribe: &mut Scribe<'_>) {
    let number = scribe.number();
    let blocks = [
        json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]),
        json!([{"type": "text", "text": "\n\n"}]),
    ];
    let content = scribe.random.pick(&blocks).clone();
    let message = json!({"id": format!("msg_{number}"), "role": "assistant", "content": content});
    scribe.follow(json!({"type": "assistant", "message": message}));
}

/// A way that was taken back.
fn branch(scribe: &mut Scribe<'_>) {
    let mut parent = match scribe.trail.is_empty() || scribe.random.chance(10) {
        true => None,
        false => Some(scribe.random.pick(&scribe.trail).clone()),
    };
    for _ in 0..1 + scribe.random.below(3) {
        let number = scribe.number();
        let (call, reply) = (format!("gone_{number}"), format!("msg_{number}"));
        let says = format!("taken back {number}.");
        let calls = json!([{"type": "text", "text": says},
            {"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
        let answer = json!([{"type": "tool_result", "tool_use_id": call, "content": says}]);
        let asks = json!({"type": "user", "message": {"role": "user", "content": says}});
        let replies = json!({"type": "assistant", "requestId": format!("req_{number}"),
            "message": {"role": "assistant", "id": reply, "content": calls}});
        let answers = json!({"type": "user", "message": {"role": "user", "content": answer}});
        for record in [asks, replies, answers].into_iter().take(1 + scribe.random.below(3)) {
            parent = Some(scribe.hang(parent, record));
        }
    }
}

/// A sub-agent at work, with its own conversation.
fn sub_agent(scribe: &mut Scribe<'_>) {
    let mut parent = scribe.tail.clone().filter(|_| scribe.random.chance(50));
    let number = scribe.number();
    let call = format!("sub_{number}");
    let task = json!([{"type": "text", "text": format!("task {number}.")}]);
    let calls = json!([{"type": "tool_use", "id": call, "name": "bash", "input": {}}]);
    let answer = json!([{"type": "tool_result", "tool_use_id": call, "content": "done"}]);
    let spoken = [
        json!({"type": "user", "message": {"role": "user", "content": task}}),
        json!({"type": "assistant", "message": {"role": "assistant", "id": format!("msg_{number}"),
            "content": calls}}),
        json!({"type": "user", "message": {"role": "user", "content": answer}}),
    ];
    for mut record in spoken.into_iter().take(1 + scribe.random.below(3)) {
        record["isSidechain"] = json!(true);
        record["agentId"] = json!("a1");
        parent = Some(scribe.hang(parent, record));
    }
}

/// A compaction: a new root, a summary, and perhaps the last turns carried over.
fn compaction(scribe: &mut Scribe<'_>) {
    let number = scribe.number();
    let last = scribe.tail.take();
    let count = scribe.random.below(4).min(scribe.turns.len());
    let mut kept: Vec<Turn> = scribe.turns.split_off(scribe.turns.len() - count);
    // Parents do not lead through what was carried over before.
    let walks = !kept.iter().any(|turn| turn.carried);
    scribe.turns.clear();
    scribe.trail.clear();
    let boundary = scribe.follow(json!({"type": "system", "subtype": "compact_boundary",
        "logicalParentUuid": last, "compactMetadata": {"trigger": "auto", "preTokens": number}}));
    let at = scribe.records.len() - 1;
    let text = format!("summary {number}.");
    let message = json!({"role": "user", "content": text});
    let anchor = scribe.follow(json!({"type": "user", "isCompactSummary": true,
        "message": message}));
    let said = json!({"role": "user", "content": [{"type": "text", "text": text}]});
    scribe.tell(vec![boundary, anchor.clone()], vec![said]);
    let ids: Vec<String> = kept.iter().flat_map(|turn| turn.ids.clone()).collect();
    let Some(head) = ids.first() else { return };
    let metadata = &mut scribe.records[at]["compactMetadata"];
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
    kept.iter_mut().for_each(|turn| turn.carried = true);
    scribe.turns.extend(kept);
}
