//! What once went wrong in session files.

use foxwedge_core::{CheckOptions, OrphanPolicy, Policy};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use foxwedge_testkit::laws::session::{case, see};
use serde_json::{Value, json};

/// A file of Claude Code after a repair under the default policy, and what is still found in it.
pub(super) fn repaired_session(records: &[Value]) -> (String, Vec<u16>) {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let question = case(1, SessionAgent::ClaudeCode, Policy::default(), 0).question();
    let seen = see(SessionAgent::ClaudeCode, &question, lines.as_bytes()).expect("it can be read");
    let again =
        see(SessionAgent::ClaudeCode, &question, &seen.fixed).expect("it can be read again");
    let left = again.report.findings.iter().map(|finding| finding.rule.code).collect();
    (String::from_utf8_lossy(&seen.fixed).into_owned(), left)
}

pub(super) fn record(id: &str, parent: Option<&str>, role: &str, content: Value) -> Value {
    json!({"type": role, "uuid": id, "parentUuid": parent, "sessionId": "s",
        "message": {"role": role, "id": format!("msg_{id}"), "content": content}})
}

#[test]
fn a_session_that_carried_over_a_reply_got_one_opening_after_another() {
    let mut summary = record("r3", Some("r2"), "user", json!("summary"));
    summary["isApiErrorMessage"] = json!(true);
    let (fixed, left) = repaired_session(&[
        record("r1", None, "assistant", json!([{"type": "text", "text": "hello"}])),
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "r2", "parentUuid": null,
            "compactMetadata": {"trigger": "auto", "preservedMessages": {
                "anchorUuid": "r3", "uuids": ["r1"], "allUuids": ["r1"]}}}),
        summary,
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert_eq!(fixed.matches("beginning of this conversation").count(), 1, "{fixed}");
}

#[test]
fn a_result_behind_an_error_of_the_api_was_linked_anew_without_need() {
    let calls = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}]);
    let mut error =
        record("r3", Some("r2"), "assistant", json!([{"type": "text", "text": "busy"}]));
    error["isApiErrorMessage"] = json!(true);
    let result = json!([{"type": "tool_result", "tool_use_id": "a", "content": "done"}]);
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        record("r2", Some("r1"), "assistant", calls("a")),
        error,
        record("r4", Some("r3"), "user", result),
        record("r5", Some("r2"), "assistant", calls("b")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains(r#""parentUuid":"r3""#), "{fixed}");
}

#[test]
fn a_copy_of_a_removed_record_stayed_behind_and_hid_the_conversation() {
    let piece = |id: &str, parent: Option<&str>, content: Value| {
        let mut record = record(id, parent, "assistant", content);
        record["message"]["id"] = json!("msg_1");
        record
    };
    let calls = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}]);
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="}]);
    let (fixed, left) = repaired_session(&[
        piece("r7", Some("r5"), calls("functions.get:17")),
        piece("r4", None, thinking.clone()),
        piece("r5", Some("r4"), calls("")),
        piece("r4", None, thinking),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("tool_result") && !fixed.contains("thinking"), "{fixed}");
}

#[test]
fn results_moved_to_carried_over_calls_stay_behind_the_summary() {
    let calls = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "a", "content": "done"}]);
    let aside = json!([{"type": "text", "text": "by the way"}]);
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "r3",
        "parentUuid": null, "logicalParentUuid": "r2", "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preservedMessages":
            {"anchorUuid": "r4", "uuids": ["r2"]}}});
    let mut summary = record("r4", Some("r3"), "user", json!("what happened"));
    summary["isCompactSummary"] = json!(true);
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        record("r2", Some("r1"), "assistant", calls("a")),
        boundary,
        summary,
        record("r5", Some("r4"), "assistant", aside),
        record("r6", Some("r5"), "user", result),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let last = fixed.lines().last().unwrap_or_default();
    assert!(last.contains("by the way"), "{fixed}");
}

#[test]
fn carried_over_records_were_moved_because_the_content_of_one_changed() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "r3",
        "parentUuid": null, "logicalParentUuid": "r2", "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preservedMessages":
            {"anchorUuid": "r4", "uuids": ["r1", "r2"]}}});
    let summary = record("r4", Some("r3"), "user", json!("what happened"));
    let before = [
        record("r1", None, "user", json!([{"type": "text", "text": "go"}])),
        record("r2", Some("r1"), "user", result("gone")),
        boundary,
        summary,
        record("r5", Some("r4"), "user", result("gone too")),
    ];
    let (fixed, left) = repaired_session(&before);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let old: Vec<String> = before.iter().map(Value::to_string).collect();
    let new: Vec<&str> = fixed.lines().collect();
    assert_eq!(new.len(), old.len(), "{fixed}");
    for kept in [0, 2, 3] {
        assert_eq!(new[kept], old[kept], "{fixed}");
    }
}

#[test]
fn a_result_beside_a_circle_of_parents_keeps_its_call() {
    let calls = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}]);
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "done"}]);
    let (fixed, left) = repaired_session(&[
        record("r1", Some("r5"), "assistant", calls("a")),
        record("r2", Some("r1"), "user", result("a")),
        record("r3", Some("r1"), "user", json!("by the way")),
        record("r4", Some("r3"), "assistant", calls("b")),
        record("r5", Some("r4"), "user", result("c")),
        record("r6", Some("r4"), "user", result("b")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(!fixed.contains("Answer to tool call a"), "{fixed}");
    assert_eq!(fixed.matches(r#""tool_use_id":"a""#).count(), 1, "{fixed}");
}

#[test]
fn a_placeholder_after_a_reply_that_ends_in_an_empty_record_is_on_the_path() {
    let piece = |id: &str, parent: Option<&str>, content: Value| {
        let mut record = record(id, parent, "assistant", content);
        record["message"]["id"] = json!("msg_1");
        record
    };
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        piece("r2", Some("r1"), json!([{"type": "tool_use", "id": "a", "name": "f", "input": {}}])),
        piece("r3", Some("r2"), json!([{"type": "text", "text": ""}])),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let last = fixed.lines().last().unwrap_or_default();
    assert!(last.contains("tool_result"), "the agent begins to read here: {fixed}");
}

/// A file after a repair that leaves what its agent tolerates, and what is still found in it.
pub(super) fn spared_session(agent: SessionAgent, file: &str) -> (String, Vec<u16>) {
    let repaired = |file: &str| {
        let text = readable_text(file.as_bytes()).expect("it is text");
        let mut question = CheckOptions::for_profile(agent.profile());
        agent.restrict_rules(&mut question);
        let mut session =
            read(&text, agent, outline_options(question.profile)).expect("it can be read");
        session.spare_tolerated(&mut question, true);
        let (rewritten, repair) = session.fix(&question);
        let mut fixed = Vec::new();
        rewritten.write_to(&mut fixed).expect("it can be written");
        let edits: Vec<u16> = repair.edits.iter().map(|edit| edit.code).collect();
        (String::from_utf8_lossy(&fixed).into_owned(), edits)
    };
    let (fixed, _) = repaired(file);
    let (_, left) = repaired(&fixed);
    (fixed, left)
}

pub(super) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A record of the reply `msg_1`.
pub(super) fn reply(id: &str, parent: Option<&str>, content: Value) -> Value {
    let mut record = record(id, parent, "assistant", content);
    record["message"]["id"] = json!("msg_1");
    record["message"]["model"] = json!("claude-mock");
    record
}

pub(super) fn called(id: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}])
}

pub(super) fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": format!("result of {id}")}])
}

#[test]
fn a_result_that_was_left_to_save_thinking_moved_because_another_had_no_call() {
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="}]);
    let (fixed, left) = spared_session(
        SessionAgent::ClaudeCode,
        &lines(&[
            record("r1", None, "user", json!("go")),
            record("r2", Some("r1"), "assistant", json!([{"type": "text", "text": "well"}])),
            record("r3", Some("r2"), "user", result("a")),
            reply("r4", Some("r3"), thinking),
            reply("r5", Some("r4"), called("a")),
            reply("r6", Some("r5"), called("b")),
            record("r7", Some("r6"), "user", result("b")),
            record("r8", Some("r7"), "assistant", called("c")),
            record("r9", Some("gone"), "user", result("d")),
        ]),
    );
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("thinking"), "{fixed}");
    assert!(fixed.contains("Answer to tool call d"), "{fixed}");
}

#[test]
fn links_that_the_agent_tolerates_were_changed_with_a_torn_line() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let torn = reply("r4", Some("r3"), called("a")).to_string();
    let torn = &torn[..torn.len() / 2];
    let note = json!({"type": "attachment", "uuid": "r5", "parentUuid": "r4", "sessionId": "s"});
    let records = [
        record("r1", None, "user", json!("go")),
        record("r2", Some("r3"), "user", json!("go on")),
        reply("r3", Some("gone"), text("well")),
    ];
    let last = lines(&[reply("r6", Some("r5"), called("b"))]);
    let file = format!("{}{torn}{note}\n{last}", lines(&records));
    let (fixed, left) = spared_session(SessionAgent::ClaudeCode, &file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert_eq!(fixed, format!("{}{note}\n{last}", lines(&records)));
}

#[test]
fn a_record_with_a_result_in_an_unknown_field_gave_way_to_a_placeholder() {
    let mut odd = record("r3", Some("r2"), "user", Value::Null);
    odd["message"] = json!({"role": "user", "contents": result("a")});
    let (fixed, _) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        record("r2", Some("r1"), "assistant", called("a")),
        odd,
    ]);
    assert!(fixed.contains("result of a") && fixed.contains("[foxwedge]"), "{fixed}");
    assert_eq!(fixed.lines().count(), 3, "{fixed}");
}

#[test]
fn records_of_neovate_moved_although_only_zeros_were_removed() {
    let message = |id: &str, parent: Option<&str>, role: &str| {
        json!({"type": "message", "uuid": id, "parentUuid": parent, "role": role, "sessionId": "s",
            "content": [{"type": "text", "text": id}]})
    };
    let file = lines(&[
        message("r4", Some("r3"), "user"),
        json!({"type": "snapshot", "messageId": "r2", "sessionId": "s", "trackedFileBackups": {}}),
        message("r2", Some("r1"), "user"),
        message("r1", None, "assistant"),
    ]);
    let last = lines(&[message("r3", Some("r2"), "assistant")]);
    let (fixed, left) = spared_session(SessionAgent::Neovate, &format!("{file}\0\0\0{last}"));
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert_eq!(fixed, format!("{file}{last}"));
}

#[test]
fn one_of_two_equal_records_was_linked_anew() {
    let note = json!({"type": "system", "uuid": "r2", "parentUuid": "r3", "sessionId": "s"});
    let (fixed, left) = spared_session(
        SessionAgent::ClaudeCode,
        &lines(&[
            record("r1", None, "user", json!("go")),
            note.clone(),
            record("r3", Some("r1"), "assistant", called("a")),
            note,
            record("r4", Some("r2"), "assistant", json!([{"type": "text", "text": "well"}])),
        ]),
    );
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let mut notes = fixed.lines().filter(|line| line.contains("system"));
    assert_eq!(notes.next(), notes.next(), "{fixed}");
}

#[test]
fn a_reply_of_thinking_only_came_between_a_call_and_its_result_and_was_removed() {
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let lost = json!([{"type": "tool_result", "tool_use_id": "a", "content":
        "Tool call f with id a was cancelled - another message came in before it could be completed."}]);
    let aside = json!([{"type": "text", "text": "by the way"}, result("a")[0]]);
    let (fixed, left) = spared_session(
        SessionAgent::ClaudeCode,
        &lines(&[
            record("r1", None, "user", json!("go")),
            record("r2", Some("r1"), "assistant", called("a")),
            record("r3", Some("r2"), "user", lost),
            record("r4", Some("r3"), "assistant", thinking),
            record("r5", Some("r4"), "assistant", called("b")),
            record("r6", Some("r5"), "user", aside),
        ]),
    );
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("thinking") && fixed.contains("result of a"), "{fixed}");
}

#[test]
fn a_copy_of_a_record_that_got_a_new_id_came_into_the_conversation() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="});
    let twin = reply("r2", Some("r1"), json!([{"type": "text", "text": "well"}, thinking]));
    let (fixed, left) = spared_session(
        SessionAgent::ClaudeCode,
        &lines(&[
            reply("r2", Some("r1"), json!([thinking])),
            record("r1", None, "user", json!("go")),
            twin.clone(),
            reply("r3", Some("r2"), json!([{"type": "text", "text": "so"}])),
            twin,
        ]),
    );
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert_eq!(fixed.matches(r#""thinking":"hm""#).count(), 3, "{fixed}");
}

#[test]
fn a_result_in_a_message_that_the_agent_does_not_send_was_linked_into_the_path() {
    let mut error = record("r4", Some("r2"), "user", result("a"));
    error["isApiErrorMessage"] = json!(true);
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("r1"), called("a")),
        reply("r3", Some("r2"), called("b")),
        error.clone(),
        record("r5", Some("r3"), "user", result("b")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("result of a") && fixed.contains("[foxwedge]"), "{fixed}");
}

#[test]
fn a_result_before_the_second_call_of_its_id_was_left_out() {
    let other = json!([{"type": "tool_result", "tool_use_id": "a", "content": "another result"}]);
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("r1"), called("a")),
        record("r3", Some("r2"), "user", result("a")),
        reply("r4", Some("r2"), called("a")),
        record("r5", Some("r2"), "user", other),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(!fixed.contains("[foxwedge]"), "both calls have results: {fixed}");
}

#[test]
fn a_late_result_moved_because_a_record_of_another_turn_was_removed() {
    let records = [
        record("r1", None, "user", json!("go")),
        record("r2", Some("r1"), "assistant", called("a")),
        record("r3", Some("r2"), "user", result("stray")),
        record("r4", Some("r3"), "user", result("a")),
        reply("r5", Some("r4"), called("b")),
        reply("r6", Some("r5"), called("c")),
        record("r7", Some("r5"), "user", result("b")),
        record("r8", Some("r6"), "user", result("c")),
        record("r9", Some("r8"), "user", json!("by the way")),
        record("r10", Some("r9"), "user", result("b")),
    ];
    let policy = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
    let question = case(1, SessionAgent::ClaudeCode, policy, 0).question();
    let seen = see(SessionAgent::ClaudeCode, &question, lines(&records).as_bytes());
    let fixed = String::from_utf8_lossy(&seen.expect("it can be read").fixed).into_owned();
    let last = lines(&records[4..]);
    assert!(fixed.ends_with(&last) && !fixed.contains("stray"), "{fixed}");
}

#[test]
fn a_white_space_record_moved_behind_the_result_because_an_opening_was_missing() {
    let blank = json!([{"type": "text", "text": "\n\n"}]);
    let before = [
        reply("r1", None, json!([{"type": "text", "text": "plan"}])),
        reply("r2", Some("r1"), called("a")),
        record("r3", Some("r1"), "assistant", blank),
        record("r4", Some("r3"), "user", result("a")),
    ];
    let (fixed, left) = repaired_session(&before);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("beginning of this conversation"), "{fixed}");
    assert!(fixed.ends_with(&lines(&before[1..])), "{fixed}");
}

#[test]
fn the_result_of_a_copied_call_was_taken_for_a_late_one() {
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("r1"), called("a")),
        record("r3", Some("r2"), "user", result("b")),
        record("r4", Some("r3"), "assistant", called("c")),
        reply("r5", Some("r1"), called("a")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.lines().last().is_some_and(|last| last.contains("[foxwedge]")), "{fixed}");
}

#[test]
fn a_result_behind_the_turn_that_it_follows_was_taken_for_a_late_one() {
    let before = [
        record("r1", None, "user", json!("go")),
        reply("r2", Some("r1"), called("a")),
        record("r3", Some("r2"), "user", result("a")),
        record("r4", Some("r3"), "assistant", called("b")),
        reply("r6", Some("r5"), called("c")),
        record("r7", Some("r6"), "user", result("c")),
        record("r5", Some("r4"), "user", result("b")),
    ];
    let mut in_order = before.clone();
    in_order[4..].rotate_right(1);
    let (fixed, left) = repaired_session(&in_order);
    assert_eq!((fixed, left), (lines(&in_order), Vec::new()));
}

#[test]
fn the_torn_history_of_gemini_cli_was_tolerated_until_its_line_was_closed() {
    let head = json!({"kind": "main", "projectHash": "ab12", "sessionId": "5e55107f",
        "startTime": "2026-11-15T00:00:00.000Z"});
    let file = format!("\0\0{head}\n{{\"$set\":{{\"messages\":[]}}}}\n{{\"$set\":{{\"mess");
    let (fixed, left) = spared_session(SessionAgent::GeminiCli, &file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
}

#[test]
fn messages_behind_a_list_that_ends_too_early_were_removed() {
    let message = r#"{"id":"m1","type":"user","content":[{"text":"first"}]}"#;
    let file = format!("{{\"sessionId\":\"s\",\"projectHash\":\"p\",\"messages\":[],\n{message}");
    let (fixed, left) = spared_session(SessionAgent::GeminiCli, &file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let read: Value = serde_json::from_str(&fixed).expect("it is whole");
    assert_eq!(read["messages"][0]["id"], "m1", "{fixed}");
}

#[test]
fn a_record_of_neovate_with_a_result_in_an_unknown_field_was_removed() {
    let message = |id: &str, parent: Option<&str>, role: &str| json!({"type": "message", "uuid": id, "parentUuid": parent, "role": role, "sessionId": "s"});
    let mut records = [
        message("r1", None, "user"),
        message("r2", Some("r1"), "assistant"),
        message("r3", Some("r2"), "tool"),
    ];
    records[0]["content"] = json!("go");
    records[1]["content"] = called("a");
    records[2]["contents"] = json!([{"type": "tool-result", "toolCallId": "a", "result": "done"}]);
    let (fixed, _) = spared_session(SessionAgent::Neovate, &lines(&records));
    assert!(fixed.contains(r#""result":"done""#), "{fixed}");
}

#[test]
fn a_late_result_of_a_reply_whose_records_form_a_cycle_ends() {
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("r3"), called("a")),
        reply("r3", Some("r2"), called("b")),
        record("r4", Some("r2"), "user", result("a")),
        record("r5", Some("r4"), "user", json!("well")),
        record("r6", Some("r3"), "user", result("b")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
}

#[test]
fn a_call_that_a_hook_put_off_got_a_placeholder() {
    let call = json!([{"type": "tool_use", "id": "a", "name": "f", "input": {}}]);
    let mut records = vec![
        record("r1", None, "user", json!("go")),
        record("r2", Some("r1"), "assistant", call),
        json!({"type": "attachment", "uuid": "r3", "parentUuid": "r2", "sessionId": "s",
            "attachment": {"type": "hook_deferred_tool", "toolUseID": "a"}}),
    ];
    let (fixed, left) = repaired_session(&records);
    assert_eq!(left, Vec::<u16>::new());
    assert_eq!(fixed.lines().count(), 3, "it waits on purpose: {fixed}");
    // The session went on without the answer.
    records.push(record("r4", Some("r3"), "user", json!("and now?")));
    let (fixed, left) = repaired_session(&records);
    assert_eq!(left, Vec::<u16>::new());
    assert!(fixed.contains("tool_result"), "{fixed}");
}

#[test]
fn a_text_before_a_result_was_lost_when_links_were_repaired() {
    let (fixed, left) = repaired_session(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("gone"), called("a")),
        record("r3", Some("r2"), "user", json!("wait")),
        record("r4", Some("r3"), "user", result("a")),
    ]);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.lines().last().is_some_and(|last| last.contains("wait")), "{fixed}");
}
