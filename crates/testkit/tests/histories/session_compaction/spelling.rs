//! How a compaction is written: as the agent itself does it.

use foxwedge_sessions::SessionAgent;
use serde_json::{Value, json};

use super::{
    story::{Left, SUMMARY, leave, records, story, summarized, told},
    workshop::MARKER,
};

/// What was added to the story.
fn added(agent: SessionAgent, after: &[u8]) -> Vec<Value> {
    records(after).split_off(records(&story(agent)).len())
}

#[test]
fn claude_code_gets_a_boundary_and_a_chain_of_its_own() {
    let added = added(SessionAgent::ClaudeCode, &summarized(SessionAgent::ClaudeCode));
    let [boundary, summary, asked, replied] = added.as_slice() else { panic!("{added:?}") };
    assert_eq!(boundary["subtype"], "compact_boundary");
    assert_eq!(boundary["content"], MARKER);
    assert_eq!(
        (&boundary["parentUuid"], &boundary["logicalParentUuid"]),
        (&json!(null), &json!("r5"))
    );
    assert_eq!(boundary["compactMetadata"], json!({"trigger": "manual", "preTokens": 1234}));
    assert_eq!(summary["isCompactSummary"], true);
    assert_eq!(summary["message"]["content"], SUMMARY);
    for (record, parent) in [(summary, boundary), (asked, summary), (replied, asked)] {
        assert_eq!(record["parentUuid"], parent["uuid"]);
        assert_eq!(record["sessionId"], "5e55107f");
        assert!(record["timestamp"].as_str() > parent["timestamp"].as_str());
    }
    // The copies are nobody's pieces.
    assert_ne!(replied["message"]["id"], "msg_5");
    assert_eq!(replied["requestId"], "req_5");
}

/// A shorter answer hangs on the copy of its call; the rest of a reply keeps its model.
#[test]
fn claude_code_gets_changed_messages_as_records_for_each_block() {
    let agent = SessionAgent::ClaudeCode;
    let short = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "x", "content": "short"},
        {"type": "text", "text": "a note"}]});
    let left = [Left::Kept(0), Left::Kept(1), Left::Changed(2, short.to_string()), Left::Kept(3)];
    let after = leave(agent, &story(agent), &left).expect("it can be made shorter");
    let added = added(agent, &after);
    let [_, _, call, answer, note, last] = added.as_slice() else { panic!("{added:?}") };
    assert_eq!(answer["message"]["content"][0]["content"], "short");
    assert_eq!((&answer["parentUuid"], &note["parentUuid"]), (&call["uuid"], &answer["uuid"]));
    assert_eq!(note["message"]["content"], json!([{"type": "text", "text": "a note"}]));
    assert_eq!(last["foxwedge"]["for"], "r5", "whoever goes on goes on from the end");
    assert_eq!(told(agent, &after).len(), 4);
}

#[test]
fn neovate_gets_a_new_root_that_says_what_it_is() {
    let added = added(SessionAgent::Neovate, &summarized(SessionAgent::Neovate));
    let [summary, asked, replied] = added.as_slice() else { panic!("{added:?}") };
    assert_eq!((&summary["parentUuid"], &summary["uiContent"]), (&json!(null), &json!(MARKER)));
    assert_eq!((&summary["role"], &summary["content"]), (&json!("user"), &json!(SUMMARY)));
    assert_eq!((&asked["parentUuid"], &replied["parentUuid"]), (&summary["uuid"], &asked["uuid"]));
    assert_eq!(asked.get("uiContent"), None);
}

#[test]
fn neovate_keeps_its_own_words_for_answers() {
    let agent = SessionAgent::Neovate;
    let short = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "x", "content": "short", "is_error": true}]});
    let left = [Left::Kept(0), Left::Kept(1), Left::Changed(2, short.to_string()), Left::Kept(3)];
    let after = leave(agent, &story(agent), &left).expect("it can be made shorter");
    let added = added(agent, &after);
    assert_eq!(added[2]["role"], "tool");
    let result = json!({"type": "tool-result", "toolCallId": "x", "toolName": "grep", "input": {},
        "result": {"llmContent": "short", "isError": true}});
    assert_eq!(added[2]["content"], json!([result]));
}

#[test]
fn codex_gets_one_record_with_the_history_that_is_left() {
    let added = added(SessionAgent::Codex, &summarized(SessionAgent::Codex));
    let [compacted] = added.as_slice() else { panic!("{added:?}") };
    assert_eq!((&compacted["type"], &compacted["ordinal"]), (&json!("compacted"), &json!(8)));
    assert_eq!(compacted["timestamp"], "2026-02-04T10:00:07.001Z");
    assert_eq!(compacted["payload"]["message"], SUMMARY);
    let list = compacted["payload"]["replacement_history"].as_array().expect("a list");
    assert_eq!(list.len(), 3);
    assert_eq!(list[1]["content"][0]["text"], "Change it.");
}

#[test]
fn gemini_cli_gets_one_snapshot_with_answers_inside_their_calls() {
    let agent = SessionAgent::GeminiCli;
    let added_lines = added(agent, &summarized(agent));
    let [set] = added_lines.as_slice() else { panic!("{added_lines:?}") };
    let messages = set["$set"]["messages"].as_array().expect("a list");
    assert_eq!(messages[0]["content"], json!([{"text": SUMMARY}]));
    // What is kept is the same message, under its own id.
    assert_eq!((&messages[1]["id"], &messages[2]["id"]), (&json!("m4"), &json!("m5")));
    let short = json!({"functionResponse": {"id": "x", "name": "grep",
        "response": {"output": "short"}}});
    let user = json!({"role": "user", "parts": [short]});
    let left = [Left::Kept(0), Left::Kept(1), Left::Changed(2, user.to_string()), Left::Kept(5)];
    let after = leave(agent, &story(agent), &left).expect("it can be made shorter");
    let set = added(agent, &after);
    let reply = &set[0]["$set"]["messages"][1];
    assert_eq!(reply["content"], "Looking.");
    assert_eq!(reply["toolCalls"][0]["result"], json!([short]));
    assert_eq!(reply["toolCalls"][0]["status"], "success");
    assert_ne!(reply["id"], "m2", "another message than the one that was there");
}

#[test]
fn cline_gets_tags_and_a_summary_or_a_marker_that_hides_itself() {
    let agent = SessionAgent::Cline;
    let list = records(&summarized(agent));
    let summary = &list[4];
    assert_eq!((&summary["isSummary"], &summary["content"]), (&json!(true), &json!(SUMMARY)));
    let tags: Vec<&Value> = list.iter().map(|message| &message["condenseParent"]).collect();
    let (id, none) = (&summary["condenseId"], &Value::Null);
    assert_eq!(tags, [id, id, id, id, none, none, none]);
    assert_eq!(summary["ts"], 1_031);
    let left = [Left::Kept(0), Left::Kept(3), Left::Kept(4), Left::Kept(5)];
    let list = records(&leave(agent, &story(agent), &left).expect("it can be made shorter"));
    let marker = &list[3];
    assert_eq!((&marker["isTruncationMarker"], &marker["content"]), (&json!(true), &json!(MARKER)));
    let tags: Vec<&Value> = list.iter().map(|message| &message["truncationParent"]).collect();
    let id = &marker["truncationId"];
    assert_eq!(tags, [none, id, id, id, none, none, none]);
}
