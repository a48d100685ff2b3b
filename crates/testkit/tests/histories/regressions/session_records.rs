//! What once went wrong with the place and the links of records in session files.

use foxwedge_core::{OrphanPolicy, Policy, TailPolicy};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use foxwedge_testkit::{
    laws::{
        LawTally,
        session::{case, judge, mutated, see},
    },
    session_view,
};
use serde_json::{Value, json};

use super::session_files::{
    called, lines, record, repaired_session, reply, result, spared_session,
};

/// Checks the laws of damaged files on one file.
fn hold(agent: SessionAgent, file: &str) {
    let case = case(1, agent, Policy::default(), 0);
    let verdict = mutated::judge(&case, agent, file.as_bytes(), &mut LawTally::default());
    assert_eq!(verdict, Ok(()), "{file}");
}

fn says(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn thinks() -> Value {
    json!([{"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="}])
}

#[test]
fn a_record_of_a_sub_agent_at_the_end_hid_the_last_turn() {
    let mut task = record("r4", None, "user", says("task"));
    (task["isSidechain"], task["agentId"]) = (json!(true), json!("a1"));
    let file = [
        record("r2", Some("r1"), "assistant", called("b")),
        reply("r5", Some("r3"), says("last words")),
        record("r1", None, "assistant", called("a")),
        task,
        reply("r3", Some("r2"), thinks()),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let view = session_view("claude-code", fixed.as_bytes());
    let last = view.messages.last().map(Value::to_string);
    assert!(last.is_some_and(|last| last.contains("last words")), "{fixed}");
}

#[test]
fn a_compaction_before_a_result_without_a_call_lost_what_it_carried_over() {
    let note = json!({"type": "progress", "uuid": "r3", "parentUuid": "r2", "sessionId": "s"});
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "r4",
        "parentUuid": "r3", "sessionId": "s", "compactMetadata":
            {"preservedMessages": {"anchorUuid": "r3", "uuids": ["r1"]}}});
    let file = [
        record("r1", None, "user", result("gone")),
        record("r2", None, "assistant", says("plan")),
        note.clone(),
        boundary.clone(),
        record("r5", Some("r4"), "user", result("gone too")),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains(&lines(&[note, boundary])), "{fixed}");
    let view = session_view("claude-code", fixed.as_bytes());
    assert!(Value::Array(view.messages).to_string().contains("result of gone"), "{fixed}");
}

#[test]
fn all_records_moved_because_the_last_turn_did() {
    let before = [
        reply("r1", None, called("a")),
        reply("r2", Some("r1"), says(" ")),
        record("r3", Some("r2"), "user", result("a")),
        reply("r4", Some("r2"), called("b")),
        record("r5", Some("r4"), "user", result("b")),
        record("r6", Some("r5"), "user", json!("by the way")),
    ];
    let rest = [
        record("r7", Some("r7"), "assistant", says("well")),
        record("r8", Some("r7"), "assistant", called("open")),
        record("r9", Some("r8"), "user", result("gone")),
        record("r10", Some("r9"), "user", result("gone too")),
    ];
    let file = [lines(&before), lines(&rest)].concat();
    hold(SessionAgent::ClaudeCode, &file);
    let (fixed, left) = spared_session(SessionAgent::ClaudeCode, &file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains(&lines(&before[1..])), "{fixed}");
}

#[test]
fn many_torn_lines_after_a_cleared_history_of_gemini_cli_were_removed_one_by_one() {
    let head = lines(&[
        json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-11-15T00:00:00.000Z"}),
        json!({"$set": {"messages": []}}),
    ]);
    let torn: String = (1..=12).map(|at| format!("{{\"content\":\"torn {at}\n")).collect();
    let file = format!("{head}{torn}");
    hold(SessionAgent::GeminiCli, &file);
    let (fixed, left) = spared_session(SessionAgent::GeminiCli, &file);
    assert_eq!((fixed, left), (head, Vec::new()));
}

#[test]
fn a_placeholder_that_the_agent_does_not_need_came_between_thinking_and_its_text() {
    // These models do not bind thinking to the history before it.
    let piece = |id: &str, parent: &str, content: Value| {
        let mut piece = reply(id, Some(parent), content);
        piece["message"]["model"] = json!("claude-opus-4-5");
        piece
    };
    let mut next = record("r4", Some("r3"), "assistant", says("so"));
    next["message"]["model"] = json!("claude-opus-4-5");
    let file = [
        record("r1", None, "user", json!("go")),
        piece("r2", "r1", called("open")),
        piece("r3", "r2", thinks()),
        next,
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = spared_session(SessionAgent::ClaudeCode, &lines(&file));
    assert_eq!((fixed, left), (lines(&file), Vec::new()));
}

#[test]
fn thinking_is_removed_where_a_line_that_is_repaired_shows_its_turn_has_ended() {
    let file = [
        reply("r2", Some("r1"), thinks()),
        record("r2", None, "user", says("go")),
        reply("r1", Some(""), says("well")),
        reply("r2", Some("r1"), thinks()),
    ];
    let last = record("r3", Some("r2"), "user", json!("and now?"));
    hold(SessionAgent::ClaudeCode, &format!("{}\0\0{last}\n", lines(&file)));
}

#[test]
fn a_call_attached_to_a_lost_result_was_found_only_after_the_repair() {
    let file = lines(&[
        record("r1", None, "assistant", called("a")),
        reply("r2", Some("gone"), called("b")),
        record("r3", Some("r3"), "user", result("b")),
        reply("r4", Some("r3"), called("c")),
        record("r5", Some("r2"), "user", result("stray")),
    ]);
    hold(SessionAgent::ClaudeCode, &file);
    // With calls that still run, the path must reach all records of the reply.
    let policy = Policy { tail: TailPolicy::Pending, ..Policy::default() };
    let case = case(1, SessionAgent::ClaudeCode, policy, 0);
    let tally = &mut LawTally::default();
    let verdict = judge(&case, SessionAgent::ClaudeCode, file.as_bytes(), tally);
    assert_eq!(verdict, Ok(()), "{file}");
}

#[test]
fn a_reply_of_thinking_only_was_linked_behind_records_that_are_written_after_it() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "r4",
        "parentUuid": null, "logicalParentUuid": "r3", "sessionId": "s", "compactMetadata":
            {"preservedSegment": {"anchorUuid": "r5", "headUuid": "r1", "tailUuid": "r3"}}});
    let skipped = record("r6", Some("r5"), "assistant", thinks());
    let file = [
        record("r1", None, "user", result("gone")),
        record("r2", Some("r1"), "assistant", called("open")),
        record("r3", Some("r2"), "assistant", says("well")),
        boundary,
        record("r5", Some("r4"), "user", json!("what happened")),
        skipped.clone(),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains(&lines(&[skipped])), "{fixed}");
}

#[test]
fn a_reply_of_white_space_only_moved_behind_the_next_question() {
    let end = [
        record("r4", Some("r3"), "assistant", says("so")),
        record("r5", Some("r4"), "user", json!("go on")),
        record("r6", Some("r5"), "assistant", says("\n\n")),
        record("r7", Some("r6"), "user", json!("and now?")),
    ];
    let both = json!([result("gone")[0], result("a")[0]]);
    let mut file = vec![
        record("r1", None, "assistant", called("a")),
        record("r2", Some("lost"), "assistant", says("well")),
        record("r3", Some("lost too"), "user", both),
    ];
    file.extend(end.clone());
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.ends_with(&lines(&end[1..])), "{fixed}");
}

#[test]
fn results_behind_a_reply_of_thinking_only_brought_it_into_the_conversation() {
    let both = json!([result("gone")[0], result("b")[0]]);
    let file = lines(&[
        record("r1", None, "user", json!("go")),
        reply("r2", Some("lost"), called("a")),
        reply("r3", Some("r2"), called("b")),
        record("r4", Some("r3"), "user", both),
        record("r5", Some("r4"), "assistant", thinks()),
        record("r6", Some("r5"), "assistant", says("plan")),
    ]);
    hold(SessionAgent::ClaudeCode, &file);
    let (fixed, left) = spared_session(SessionAgent::ClaudeCode, &file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    assert!(fixed.contains("thinking"), "{fixed}");
}

#[test]
fn a_child_of_a_renamed_record_with_a_copy_kept_its_old_parent() {
    let second = record("r1", Some("r2"), "assistant", says("well"));
    let file = [
        record("r1", None, "user", json!("go")),
        record("r2", None, "user", json!("what happened")),
        second.clone(),
        second,
        record("r3", Some("r1"), "user", json!("and now?")),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let view = session_view("claude-code", fixed.as_bytes());
    let said = Value::Array(view.messages).to_string();
    assert!(said.contains("what happened") && said.contains("and now?"), "{fixed}");
}

#[test]
fn a_result_written_before_its_reply_was_left_out_when_white_space_ended_the_reply() {
    let file = [
        record("r3", Some("r2"), "user", result("gone")),
        reply("r1", None, called("a")),
        reply("r2", Some("r1"), says("\n")),
        record("r4", Some("r3"), "user", result("a")),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let view = session_view("claude-code", fixed.as_bytes());
    assert!(Value::Array(view.messages).to_string().contains("result of gone"), "{fixed}");
}

#[test]
fn words_of_the_user_were_linked_behind_a_reply_of_thinking_only_at_the_end() {
    let calling = json!([thinks()[0], called("a")[0]]);
    let file = [
        reply("r1", None, calling),
        record("r2", Some("r1"), "user", says("wait")),
        record("r3", Some("r2"), "user", result("a")),
        record("r4", Some("r3"), "assistant", thinks()),
    ];
    hold(SessionAgent::ClaudeCode, &lines(&file));
    let (fixed, left) = repaired_session(&file);
    assert_eq!(left, Vec::<u16>::new(), "{fixed}");
    let view = session_view("claude-code", fixed.as_bytes());
    assert!(Value::Array(view.messages).to_string().contains("wait"), "{fixed}");
}

#[test]
fn a_root_of_neovate_behind_a_snapshot_took_over_another_conversation() {
    let message = |id: &str, parent: Option<&str>, role: &str, content: Value| json!({"type": "message", "uuid": id, "parentUuid": parent, "role": role, "sessionId": "s", "content": content});
    let stray = |id: &str| json!([{"type": "tool-result", "toolCallId": id, "toolName": "f", "result": {}}]);
    let bystander = message("r1", None, "tool", stray("a"));
    let file = [
        bystander.clone(),
        message("r2", None, "tool", stray("b")),
        json!({"type": "snapshot", "messageId": "r2", "sessionId": "s"}),
        message("r3", Some("r2"), "user", says("well?")),
    ];
    let policy = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
    let case = case(1, SessionAgent::Neovate, policy, 0);
    // With a message behind the snapshot, and with a new one instead of the removed one.
    for count in [4, 3] {
        let file = lines(&file[..count]);
        let seen = see(SessionAgent::Neovate, &case.question(), file.as_bytes());
        let fixed = String::from_utf8_lossy(&seen.expect("it can be read").fixed).into_owned();
        assert!(fixed.contains(&lines(std::slice::from_ref(&bystander))), "{fixed}");
        assert!(!fixed.contains("\"toolCallId\":\"b\""), "{fixed}");
    }
}

#[test]
fn what_a_copy_of_a_record_held_besides_its_message_was_lost_uncounted() {
    let mut copy = record("r1", None, "user", json!("go"));
    copy["content"] = json!("later");
    let file = lines(&[record("r1", None, "user", json!("go")), copy]);
    hold(SessionAgent::ClaudeCode, &file);
    let text = readable_text(file.as_bytes()).expect("it is text");
    let question = case(1, SessionAgent::ClaudeCode, Policy::default(), 0).question();
    let outline = outline_options(question.profile);
    let session = read(&text, SessionAgent::ClaudeCode, outline).expect("it can be read");
    let (_, repair) = session.fix(&question);
    assert_eq!(repair.losses(session.draft()).other_parts_removed, 1);
}
