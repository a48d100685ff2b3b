//! What long campaigns found: each document once broke a law of repair, and is judged by all of them.

use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, UnansweredPolicy};
use foxwedge_testkit::laws::{
    LawCase, LawTally, SessionAgent, judge,
    session::{self, mutated},
};
use serde_json::{Value, json};

use super::session_files::record;
use crate::support::{bold, fixed};

/// Judges a document by the laws of repair, with every fix allowed.
fn assert_lawful(wire: Format, profile: Profile, orphans: OrphanPolicy, document: &Value) {
    let policy = Policy { orphans, ..bold(profile).policy };
    let case = LawCase { seed: 1, agent: None, wire, profile, policy, size: 0 };
    let verdict = judge(&case, &document.to_string(), &mut LawTally::default());
    assert_eq!(verdict, Ok(()), "{document}");
}

/// Judges a file of Claude Code by the laws of repair.
fn assert_lawful_session(records: &[Value]) {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let policy = Policy { allow_unsafe: true, ..Policy::default() };
    let case = session::case(1, SessionAgent::ClaudeCode, policy, 0);
    let verdict =
        session::judge(&case, SessionAgent::ClaudeCode, lines.as_bytes(), &mut LawTally::default());
    assert_eq!(verdict, Ok(()), "{lines}");
}

#[test]
fn a_result_was_moved_behind_reasoning_that_led_to_the_next_call() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbA==",
        "summary": [{"type": "summary_text", "text": "next, read b"}]});
    let document = json!([output("a"), call("a"), reasoning, output("gone"), call("b")]);
    let profile = Profile::OpenaiResponses;
    assert_lawful(Format::OpenaiResponses, profile, OrphanPolicy::Drop, &document);
    let policy = Policy { orphans: OrphanPolicy::Drop, ..bold(profile).policy };
    let options = foxwedge_core::CheckOptions { policy, ..bold(profile) };
    let repaired = fixed(Format::OpenaiResponses, &options, &document.to_string());
    assert!(repaired.text.contains("next, read b"), "{}", repaired.text);
}

#[test]
fn a_program_was_dropped_without_its_output_and_an_output_without_its_program() {
    let caller = json!({"type": "program", "caller_id": "p"});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", "caller": caller});
    let output =
        json!({"type": "function_call_output", "call_id": "a", "output": "ok", "caller": caller});
    let program =
        json!({"type": "program", "id": "pr", "call_id": "p", "code": "x", "fingerprint": "z"});
    let result = json!({"type": "program_output", "id": "po", "call_id": "p", "result": "r", "status": "completed"});
    let message = |role: &str| json!({"type": "message", "role": role, "content": "text"});
    let (user, assistant) = (message("user"), message("assistant"));
    let between = json!([user, program, call("a"), output, call("b"), result, assistant, user]);
    let at_once = json!([user, program, call("a"), call("b"), output, result, assistant, user]);
    let profile = Profile::OpenaiResponses;
    let policy = Policy { unanswered: UnansweredPolicy::DropTurn, ..bold(profile).policy };
    let case =
        LawCase { seed: 1, agent: None, wire: Format::OpenaiResponses, profile, policy, size: 0 };
    for document in [between, at_once] {
        let verdict = judge(&case, &document.to_string(), &mut LawTally::default());
        assert_eq!(verdict, Ok(()), "{document}");
        let options = foxwedge_core::CheckOptions { policy, ..bold(profile) };
        let repaired = fixed(Format::OpenaiResponses, &options, &document.to_string());
        let left: Value = serde_json::from_str(&repaired.text).expect("JSON");
        assert_eq!(left, json!([user, user]), "{}", repaired.text);
    }
}

#[test]
fn a_message_stayed_rewritten_after_the_results_in_it_had_gone_to_other_rounds() {
    let calls: Vec<Value> = (0..129)
        .map(|at| json!({"toolUse": {"toolUseId": format!("c{at}"), "name": "f", "input": {}}}))
        .collect();
    for text in ["  ", "go on"] {
        let document = json!([
            {"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": text}
        ]);
        assert_lawful(Format::Bedrock, Profile::OpenaiChat, OrphanPolicy::Quote, &document);
    }
}

#[test]
fn an_asynchronous_call_without_an_id_got_a_result_although_it_only_lacked_the_id() {
    for kind in ["function_call", "custom_tool_call"] {
        let key = if kind == "function_call" { "arguments" } else { "input" };
        let call = json!({"type": kind, "async": true, "call_id": "", "name": "watch", key: "{}"});
        let user = json!({"type": "message", "role": "user", "content": "meanwhile?"});
        let output = json!({"type": format!("{kind}_output"), "call_id": "", "output": "seen"});
        for profile in [Profile::OpenaiResponses, Profile::Deepseek, Profile::Strict] {
            let open = json!([user, call, user]);
            assert_lawful(Format::OpenaiResponses, profile, OrphanPolicy::Quote, &open);
            let repaired = fixed(Format::OpenaiResponses, &bold(profile), &open.to_string());
            assert!(!repaired.text.contains("_output"), "{}", repaired.text);
            let answered = json!([user, call, output, user]);
            assert_lawful(Format::OpenaiResponses, profile, OrphanPolicy::Quote, &answered);
        }
    }
}

#[test]
fn a_placeholder_was_replaced_by_a_result_that_came_with_a_reused_id() {
    let call = |id: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
    };
    let result = |text: &str| json!({"role": "tool", "tool_call_id": "a", "content": text});
    let user = json!({"role": "user", "content": "and now?"});
    let placeholder = result("No result provided");
    let document =
        json!([user, call("a"), placeholder, user, user, call("a"), result("one"), result("two")]);
    assert_lawful(Format::OpenaiChat, Profile::OpenaiChat, OrphanPolicy::Quote, &document);
}

#[test]
fn a_blank_text_beside_a_document_in_one_block_was_expected_to_go() {
    let document = json!([
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [{"document": "", "text": " "}]}
    ]);
    assert_lawful(Format::Bedrock, Profile::Bedrock, OrphanPolicy::Quote, &document);
}

#[test]
fn a_result_among_instructions_stayed_where_earlier_messages_are_on_the_server() {
    for id in [Value::Null, json!("call_7")] {
        let mut result = json!({"type": "tool_result", "content": "sunny"});
        if id.is_string() {
            result["tool_use_id"] = id;
        }
        for orphans in [OrphanPolicy::Quote, OrphanPolicy::Drop] {
            let document = json!({"thread": {"id": "thread_1", "type": "continue"}, "messages": [
                {"role": "user", "content": []}, {"role": "system", "content": [result]}]});
            assert_lawful(Format::Anthropic, Profile::Anthropic, orphans, &document);
        }
    }
}

#[test]
fn reasoning_was_cut_off_from_the_text_that_a_result_was_moved_before() {
    let document = json!([
        {"type": "function_call_output", "call_id": "a", "output": "of a"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "id": "rs_7", "encrypted_content": "c2VhbA==",
            "summary": [{"type": "summary_text", "text": "now I can answer"}]},
        {"type": "message", "id": "msg_7", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}]}
    ]);
    assert_lawful(Format::OpenaiResponses, Profile::Strict, OrphanPolicy::Quote, &document);
    let steps = json!({"input": [
        {"type": "function_result", "call_id": "a", "name": "f", "result": "of a"},
        {"type": "function_call", "id": "a", "name": "f", "arguments": {}},
        {"type": "thought", "signature": "c2VhbA==", "summary": [{"type": "text", "text": "now"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "done"}]}
    ]});
    assert_lawful(Format::GeminiInteractions, Profile::Strict, OrphanPolicy::Quote, &steps);
}

#[test]
fn an_assistant_message_was_inserted_before_a_message_that_was_then_removed_as_empty() {
    let document = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_8", "type": "custom", "custom": {"name": "edit", "input": "raw"}}]},
        {"role": "developer", "content": ""}
    ]);
    assert_lawful(Format::OpenaiChat, Profile::Strict, OrphanPolicy::Quote, &document);
    let repaired = fixed(Format::OpenaiChat, &bold(Profile::Strict), &document.to_string());
    assert!(!repaired.text.contains("Understood."), "{}", repaired.text);
}

#[test]
fn a_search_that_may_be_the_provider_s_went_because_an_earlier_output_has_its_id() {
    let search = json!({"type": "tool_search_call", "call_id": "a", "arguments": {"query": "fox"}});
    let document = json!([
        {"type": "tool_search_output", "call_id": "a",
            "tools": [{"type": "function", "name": "found", "description": "it"}]},
        {"role": "user", "content": "go"},
        search
    ]);
    let profile = Profile::OpenaiResponses;
    let unanswered = foxwedge_core::UnansweredPolicy::DropCall;
    let policy = Policy { orphans: OrphanPolicy::Drop, unanswered, ..bold(profile).policy };
    let options = foxwedge_core::CheckOptions { policy, ..bold(profile) };
    let repaired = fixed(Format::OpenaiResponses, &options, &document.to_string());
    assert!(repaired.text.contains("tool_search_call"), "{}", repaired.text);
    assert_lawful(Format::OpenaiResponses, profile, OrphanPolicy::Drop, &document);
}

#[test]
fn an_output_with_an_empty_name_and_no_id_has_no_call() {
    let document = json!({"input": [
        {"role": "user", "content": "go"},
        {"type": "function_call_output", "name": "", "output": "notice"}]});
    let profile = Profile::OpenaiResponses;
    assert_lawful(Format::OpenaiResponses, profile, OrphanPolicy::Drop, &document);
}

#[test]
fn calls_of_two_kinds_with_one_id_in_a_turn_got_new_ids_without_a_finding() {
    let document = json!([
        {"type": "function_call", "call_id": "call00009", "name": "f", "arguments": "{}"},
        {"type": "computer_call", "call_id": "call00009", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": null,
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}},
        {"type": "function_call_output", "call_id": "call00009", "output": "of f"}
    ]);
    assert_lawful(Format::OpenaiResponses, Profile::Strict, OrphanPolicy::Quote, &document);
}

#[test]
fn a_type_that_is_no_text_was_not_seen_if_its_name_was_escaped() {
    let document = r#"[{"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": [{"id": "abcdefghi", "ty\u0070e": {},
            "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "x"},
        {"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}]"#;
    let repaired = fixed(Format::OpenaiChat, &bold(Profile::Mistral), document);
    assert!(repaired.text.contains(r#""ty\u0070e": "function""#), "{}", repaired.text);
}

fn reply(id: &str, parent: &str, message: &str, content: Value) -> Value {
    let mut reply = record(id, Some(parent), "assistant", json!([content]));
    reply["message"]["id"] = json!(message);
    reply
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

fn result(id: &str, parent: &str, call: &str) -> Value {
    let content =
        json!([{"type": "tool_result", "tool_use_id": call, "content": format!("of {call}")}]);
    record(id, Some(parent), "user", content)
}

#[test]
fn a_reply_whose_parent_is_lost_was_linked_past_its_own_records() {
    let note = |id: &str, parent: &str| {
        json!({"type": "system", "subtype": "informational", "uuid": id, "parentUuid": parent,
            "sessionId": "s", "content": "note"})
    };
    let start = [
        result("r1", "lost", "a"),
        reply("r2", "r3", "msg_1", json!({"type": "text", "text": "plan"})),
        note("r3", "r1"),
    ];
    assert_lawful_session(&[&start[..], &[reply("r4", "gone", "msg_1", call("a"))]].concat());
    let end = [note("r4", "gone"), reply("r5", "r4", "msg_1", call("a"))];
    assert_lawful_session(&[&start[..], &end].concat());
}

#[test]
fn results_beside_the_path_were_read_in_another_order_than_their_links_say() {
    let mut first = reply("r1", "", "msg_1", call("a"));
    first["parentUuid"] = Value::Null;
    assert_lawful_session(&[
        first,
        reply("r2", "r1", "msg_1", call("b")),
        result("r3", "r5", "b"),
        result("r4", "r1", "a"),
        record("r5", Some("r4"), "user", json!([{"type": "text", "text": "by the way"}])),
        reply("r6", "gone", "msg_2", json!({"type": "text", "text": "done"})),
    ]);
}

#[test]
fn a_codex_file_ended_in_a_record_without_a_number() {
    let meta = json!({"ordinal": 0, "type": "session_meta", "payload": {
        "id": "01a1dd00-0000-7000-8000-000000000001", "cwd": "/src", "cli_version": "0.166.0"}});
    let message = |ordinal: u64, payload: Value| json!({"ordinal": ordinal, "type": "response_item", "payload": payload});
    let empty = json!({"type": "message", "role": "user"});
    let text = json!([{"type": "output_text", "text": "hello"}]);
    let reply = json!({"type": "message", "role": "assistant", "content": text});
    for records in [
        vec![meta.clone(), message(1, empty.clone())],
        vec![meta, message(1, empty), message(2, reply)],
    ] {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        let policy = Policy { allow_unsafe: true, ..Policy::default() };
        let case = session::case(1, SessionAgent::Codex, policy, 0);
        let verdict =
            session::judge(&case, SessionAgent::Codex, lines.as_bytes(), &mut LawTally::default());
        assert_eq!(verdict, Ok(()), "{lines}");
    }
}

#[test]
fn a_copy_of_a_record_of_pi_hid_a_result_that_is_not_on_the_path() {
    let message = |id: &str, parent: &str, message: Value| json!({"type": "message", "id": id, "parentId": parent, "message": message});
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "f", "arguments": {}});
    let calls = json!({"role": "assistant", "content": [call("a"), call("b\u{0}")],
        "provider": "p", "model": "m", "stopReason": "toolUse"});
    let result = |id: &str| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "f", "isError": false,
        "content": [{"type": "text", "text": id}]})
    };
    let records = [
        message("r1", "r0", calls.clone()),
        message("r1", "r0", calls),
        message("r2", "lost", result("a")),
        message("r3", "r1", result("b")),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let lines = lines.replace("\\u0000", "\u{0}");
    for allow_unsafe in [false, true] {
        let policy = Policy { allow_unsafe, ..Policy::default() };
        let case = session::case(1, SessionAgent::Pi, policy, 0);
        let verdict =
            mutated::judge(&case, SessionAgent::Pi, lines.as_bytes(), &mut LawTally::default());
        assert_eq!(verdict, Ok(()), "{lines}");
    }
}
