//! The oracle on small, readable files.

use serde_json::{Value, json};

use super::*;

/// A conversation in short form: roles, and the ids of calls and results.
fn short(agent: &str, records: &[Value]) -> String {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let conversation = session_view(agent, lines.as_bytes());
    let lines = conversation.messages.iter().map(|message| {
        let list = message.get("content").or_else(|| message.get("parts"));
        let blocks = list.and_then(Value::as_array).cloned().unwrap_or_default();
        let ids = blocks.iter().chain([message]).filter_map(|block| {
            let keys = ["id", "tool_use_id", "call_id", "text"];
            let body = ["functionCall", "functionResponse"].iter().find_map(|key| block.get(*key));
            keys.iter().find_map(|key| body.unwrap_or(block)[*key].as_str())
        });
        let ids: Vec<&str> = ids.chain(message["content"].as_str()).collect();
        format!("{}:{}", message["role"].as_str().unwrap_or("-"), ids.join(","))
    });
    lines.collect::<Vec<_>>().join(" ")
}

fn record(id: &str, parent: Option<&str>, message: Value) -> Value {
    json!({"type": message["role"], "uuid": id, "parentUuid": parent, "sessionId": "s",
        "message": message})
}

fn user(id: &str, parent: Option<&str>, text: &str) -> Value {
    record(id, parent, json!({"role": "user", "content": text}))
}

fn call(id: &str, parent: &str, reply: &str, call: &str) -> Value {
    let content = json!([{"type": "tool_use", "id": call, "name": "n", "input": {}}]);
    record(id, Some(parent), json!({"role": "assistant", "id": reply, "content": content}))
}

fn answer(id: &str, parent: &str, call: &str) -> Value {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "r"}]);
    record(id, Some(parent), json!({"role": "user", "content": content}))
}

#[test]
fn split_replies_and_sibling_results_are_joined() {
    let records = [
        user("1", None, "go"),
        call("2", "1", "m", "x"),
        answer("3", "2", "x"),
        call("4", "2", "m", "y"),
        user("5", Some("1"), "taken back"),
        answer("6", "4", "y"),
        user("7", Some("6"), "on"),
    ];
    assert_eq!(short("claude-code", &records), "user:go assistant:x,y user:x,y,on");
    // Line 5 is the only one that neither the path nor a reply leads to.
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let conversation = session_view("claude-code", lines.as_bytes());
    assert_eq!(conversation.lines, [vec![0], vec![1, 3], vec![2, 5, 6]]);
    assert_eq!(plain_walk("claude-code", lines.as_bytes()), Some(vec![0, 1, 3, 5, 6]));
}

#[test]
fn a_compaction_starts_a_new_root_and_carries_over_named_records() {
    let boundary = |metadata: Value| json!({"type": "system", "subtype": "compact_boundary", "uuid": "5", "parentUuid": null, "compactMetadata": metadata});
    let named = json!({"preservedMessages": {"anchorUuid": "6", "uuids": ["2", "3"]}});
    let segment =
        json!({"preservedSegment": {"anchorUuid": "6", "headUuid": "2", "tailUuid": "3"}});
    for (metadata, expected) in [
        (json!({}), "user:summary,next"),
        (named, "user:summary assistant:x user:x,next"),
        (segment, "user:summary assistant:x user:x,next"),
    ] {
        let records = [
            user("1", None, "go"),
            call("2", "1", "m", "x"),
            answer("3", "2", "x"),
            boundary(metadata),
            user("6", Some("5"), "summary"),
            user("7", Some("6"), "next"),
        ];
        assert_eq!(short("claude-code", &records), expected);
    }
}

#[test]
fn rollouts_are_replaced_and_rolled_back() {
    let item =
        |payload: Value| json!({"type": "response_item", "timestamp": "t", "payload": payload});
    let message =
        |role: &str, text: &str| item(json!({"type": "message", "role": role, "content": text}));
    let back = |turns: u64| {
        let payload = json!({"type": "thread_rolled_back", "num_turns": turns});
        json!({"type": "event_msg", "timestamp": "t", "payload": payload})
    };
    let replacement = json!([{"type": "message", "role": "user", "content": "summary"}]);
    let compacted = json!({"type": "compacted", "timestamp": "t", "payload": {"replacement_history": replacement}});
    let (one, two, three) =
        (message("user", "one"), message("assistant", "two"), message("user", "three"));
    let about = message("user", "<environment_context>");
    let all = [one.clone(), two.clone(), about.clone(), three.clone()];
    let with = |last: &[Value]| [&all[..], last].concat();
    assert_eq!(
        short("codex", &all),
        "user:one assistant:two user:<environment_context> user:three"
    );
    assert_eq!(short("codex", &with(&[back(1)])), "user:one assistant:two");
    assert_eq!(short("codex", &with(&[back(9), one])), "user:one");
    assert_eq!(short("codex", &with(&[compacted, three])), "user:summary user:three");
}

#[test]
fn the_last_version_of_a_message_counts_at_the_place_of_the_first() {
    let item = |id: &str, kind: &str, text: &str| json!({"id": id, "type": kind, "content": text});
    let calls = json!({"id": "2", "type": "gemini", "content": "", "toolCalls": [
        {"id": "x", "name": "n", "args": {}, "result": "r"}, {"id": "y", "name": "n", "args": {}}]});
    let start = [item("1", "user", "go"), item("2", "gemini", ""), item("3", "user", "on"), calls];
    let with = |last: &[Value]| [&start[..], last].concat();
    assert_eq!(short("gemini-cli", &start), "user:go model:x,y user:x user:on");
    assert_eq!(short("gemini-cli", &with(&[json!({"$rewindTo": "2"})])), "user:go");
    assert_eq!(short("gemini-cli", &with(&[json!({"$rewindTo": "?"})])), "");
    let set = json!({"$set": {"messages": [item("9", "user", "short")]}});
    assert_eq!(short("gemini-cli", &with(&[set, item("4", "info", "-")])), "user:short");
}

#[test]
fn a_list_is_read_as_far_as_it_goes_and_hidden_messages_are_left_out() {
    let list = json!([
        {"role": "user", "content": "one", "condenseParent": "c"},
        {"role": "assistant", "content": "two", "truncationParent": "gone"},
        {"role": "user", "content": "three", "isSummary": true, "condenseId": "c"},
        {"role": "assistant", "content": "four", "truncationParent": "t"},
        {"role": "user", "content": "five", "isTruncationMarker": true, "truncationId": "t"},
    ]);
    let texts = |text: &str| -> Vec<String> {
        let conversation = session_view("cline", text.as_bytes());
        conversation
            .messages
            .iter()
            .filter_map(|message| message["content"].as_str())
            .map(str::to_owned)
            .collect()
    };
    let text = list.to_string();
    assert_eq!(texts(&text), ["three", "five"]);
    // Without its marker the message is visible again.
    assert_eq!(texts(&text[..text.len() - 2]), ["three", "four"]);
    assert_eq!(texts("["), Vec::<String>::new());
}
