//! What once went wrong, and how it has to be. Each name says what happened.

mod support;

use foxwedge_core::{Policy, Profile, Tail, Wire};
use serde_json::{Value, json};
use support::{asked, bold, fixed, mended, report};

fn chat(messages: Value) -> String {
    messages.to_string()
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]})
}

fn answer(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_stale_answer_became_the_answer_of_a_later_call_with_the_same_id() {
    let document = chat(json!([user("a"), answer("x", "OLD"), user("b"), call("x"), user("c")]));
    let fixed = mended(Wire::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    let list = fixed.list();
    assert_eq!(list[1]["role"], "user", "the old answer is told as text: {}", fixed.text);
    assert!(list[4]["content"].as_str().is_some_and(|text| text.contains("[foxwedge]")));
    assert!(fixed.text.contains("OLD"));
}

#[test]
fn a_surplus_answer_was_a_duplicate_although_the_next_call_had_its_id() {
    let document = chat(json!([
        user("a"),
        call("x"),
        answer("x", "1"),
        answer("x", "2"),
        call("x"),
        user("b")
    ]));
    let fixed = mended(Wire::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    let list = fixed.list();
    assert_eq!((&list[2]["content"], &list[4]["content"]), (&json!("1"), &json!("2")));
    assert!(!fixed.text.contains("[foxwedge]"), "{}", fixed.text);
}

#[test]
fn gemini_answers_without_ids_were_not_recovered_when_they_stood_apart() {
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let asked = model(json!([{"functionCall": {"name": "f", "args": {}}}]));
    let told = json!({"functionResponse": {"name": "f", "response": {"output": "REAL"}}});
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let go = || user(json!([{"text": "go"}]));
    let histories = [
        json!([go(), asked, model(json!([{"text": "mid"}])), user(json!([told]))]),
        json!([go(), asked, go(), model(json!([{"text": "so"}])), user(json!([told]))]),
        json!([go(), model(json!([{"functionCall": {"name": "f", "args": {}}}, told])), go()]),
    ];
    for history in histories {
        let fixed = mended(Wire::Gemini, &bold(Profile::Gemini), &history.to_string());
        assert!(!fixed.text.contains("[foxwedge]"), "the real answer is used: {}", fixed.text);
        assert!(fixed.text.contains("REAL"));
    }
}

#[test]
fn a_gemini_answer_of_another_tool_was_renamed_into_the_answer_of_this_one() {
    let history = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "read", "args": {}}},
            {"functionCall": {"name": "write", "args": {}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "delete", "response": {"output": "gone"}}}]},
        {"role": "user", "parts": [{"text": "and now?"}]}
    ]);
    let fixed = mended(Wire::Gemini, &bold(Profile::Gemini), &history.to_string());
    assert!(fixed.text.contains("[foxwedge] Answer to tool call delete"), "{}", fixed.text);
}

#[test]
fn a_quote_behind_a_running_turn_killed_its_open_call() {
    let policy = Policy { tail: Tail::Pending, ..Policy::default() };
    let turn = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]});
    for extra in [answer("a", "other"), answer("zz", "stray")] {
        let document = chat(json!([user("go"), turn, answer("a", "done"), extra]));
        let fixed = mended(Wire::OpenaiChat, &asked(Profile::OpenaiChat, policy), &document);
        let list = fixed.list();
        assert!(!fixed.text.contains("Interrupted"), "`b` is still running: {}", fixed.text);
        assert_eq!(list.last().map(|last| &last["role"]), Some(&json!("tool")), "{}", fixed.text);
    }
    let blocks = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "done"},
            {"type": "tool_result", "tool_use_id": "zz", "content": "stray"}]}
    ]);
    let fixed = mended(Wire::Anthropic, &asked(Profile::Anthropic, policy), &blocks.to_string());
    assert!(!fixed.text.contains("Interrupted") && fixed.text.contains("stray"), "{}", fixed.text);
}

#[test]
fn a_call_without_an_id_and_its_answer_were_not_joined() {
    let document = chat(json!([user("a"), call(""), answer("abc", "REAL"), user("b")]));
    let fixed = mended(Wire::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert!(!fixed.text.contains("[foxwedge]"), "{}", fixed.text);
    let list = fixed.list();
    assert_eq!(list[1]["tool_calls"][0]["id"], list[2]["tool_call_id"]);
}

#[test]
fn a_message_with_its_words_in_an_unknown_field_was_thrown_away() {
    let request = json!({"model": "m", "messages": [
        user("x"), {"role": "assistant", "content": "k"}, {"role": "user", "content": null, "text": "IMPORTANT"}]});
    let plain = asked(Profile::OpenaiChat, Policy::default());
    let fixed = fixed(Wire::OpenaiChat, &plain, &request.to_string());
    assert!(fixed.text.contains("IMPORTANT"), "{}", fixed.text);
    assert_eq!(fixed.codes(), [301], "it is found all the same");
}

#[test]
fn an_orphan_with_its_content_in_an_unknown_field_was_thrown_away() {
    let history = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "q", "output": "REALANSWER"}, {"type": "text", "text": "go"}]}]);
    let fixed = mended(Wire::Anthropic, &bold(Profile::Anthropic), &history.to_string());
    assert!(fixed.text.contains("REALANSWER"), "{}", fixed.text);
}

#[test]
fn a_request_of_nothing_but_empty_messages_was_emptied() {
    let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": ""}]}]});
    let fixed = mended(Wire::Anthropic, &bold(Profile::Anthropic), &request.to_string());
    assert_eq!(fixed.list().len(), 1);
}

#[test]
fn joining_a_refusal_and_a_call_left_no_content_beside_the_call() {
    let request = json!({"messages": [
        {"role": "assistant", "refusal": "no"}, {"role": "assistant", "tool_calls": [{}]}]});
    mended(Wire::OpenaiChat, &bold(Profile::Strict), &request.to_string());
}

#[test]
fn signed_thinking_was_lost_because_text_stood_between_its_calls() {
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "s1"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "text", "text": "second"},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "2"}]}
    ]);
    let found = report(Wire::Anthropic, &bold(Profile::Anthropic), &history.to_string());
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn a_field_of_a_request_that_stands_there_twice_was_read_one_way_and_repaired_another() {
    let document = r#"{"toolConfig":{"tools":[]},"messages":[],"toolConfig":null}"#;
    let error = foxwedge_dialect::read(document, Wire::Bedrock, foxwedge_dialect::Want::default());
    let error = error.expect_err("which one counts would depend on the reader");
    assert_eq!(error.to_string(), "the field `toolConfig` stands there twice");
}
