//! What once went wrong, and how it has to be. Each name says what happened.

mod campaigns;
mod harm;
mod session_files;
mod session_records;

use crate::support::{asked, bold, fixed, mended, report};
use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, TailPolicy, UnansweredPolicy};
use serde_json::{Value, json};

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
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
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
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    let list = fixed.list();
    assert_eq!((&list[2]["content"], &list[4]["content"]), (&json!("1"), &json!("2")));
    assert!(!fixed.text.contains("[foxwedge]"), "{}", fixed.text);
}

#[test]
fn content_before_the_type_of_an_item_was_read_as_that_of_a_message() {
    let call = r#"{"content":[{"type":"output_text","text":"t"}],"role":"assistant","type":"computer_call"}"#;
    let odd = r#"{"content":0,"role":"developer","type":"new_item"}"#;
    for item in [call, odd] {
        let document = format!("[{item},{{\"role\":\"user\",\"content\":\"go\"}}]");
        let options = bold(Profile::OpenaiResponses);
        let fixed = mended(Format::OpenaiResponses, &options, &document);
        let left = report(Format::OpenaiResponses, &options, &fixed.text);
        assert!(left.is_clean(), "{}", fixed.text);
        assert_eq!(fixed.text.contains("new_item"), item == odd, "{}", fixed.text);
    }
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
        let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &history.to_string());
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
    let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &history.to_string());
    assert!(fixed.text.contains("[foxwedge] Answer to tool call delete"), "{}", fixed.text);
}

#[test]
fn a_quote_behind_a_running_turn_killed_its_open_call() {
    let policy = Policy { tail: TailPolicy::Pending, ..Policy::default() };
    let turn = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]});
    for extra in [answer("a", "other"), answer("zz", "stray")] {
        let document = chat(json!([user("go"), turn, answer("a", "done"), extra]));
        let fixed = mended(Format::OpenaiChat, &asked(Profile::OpenaiChat, policy), &document);
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
    let fixed = mended(Format::Anthropic, &asked(Profile::Anthropic, policy), &blocks.to_string());
    assert!(!fixed.text.contains("Interrupted") && fixed.text.contains("stray"), "{}", fixed.text);
}

#[test]
fn a_call_without_an_id_and_its_answer_were_not_joined() {
    let document = chat(json!([user("a"), call(""), answer("abc", "REAL"), user("b")]));
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert!(!fixed.text.contains("[foxwedge]"), "{}", fixed.text);
    let list = fixed.list();
    assert_eq!(list[1]["tool_calls"][0]["id"], list[2]["tool_call_id"]);
}

#[test]
fn a_message_with_its_words_in_an_unknown_field_was_thrown_away() {
    let request = json!({"model": "m", "messages": [
        user("x"), {"role": "assistant", "content": "k"}, {"role": "user", "content": null, "text": "IMPORTANT"}]});
    let plain = asked(Profile::OpenaiChat, Policy::default());
    let fixed = fixed(Format::OpenaiChat, &plain, &request.to_string());
    assert!(fixed.text.contains("IMPORTANT"), "{}", fixed.text);
    assert_eq!(fixed.codes(), [301], "it is found all the same");
}

#[test]
fn an_orphan_with_its_content_in_an_unknown_field_was_thrown_away() {
    let history = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "q", "output": "REALANSWER"}, {"type": "text", "text": "go"}]}]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &history.to_string());
    assert!(fixed.text.contains("REALANSWER"), "{}", fixed.text);
}

#[test]
fn a_request_of_nothing_but_empty_messages_was_emptied() {
    let request = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": ""}]}]});
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &request.to_string());
    assert_eq!(fixed.list().len(), 1);
}

#[test]
fn joining_a_refusal_and_a_call_left_no_content_beside_the_call() {
    let request = json!({"messages": [
        {"role": "assistant", "refusal": "no"}, {"role": "assistant", "tool_calls": [{}]}]});
    mended(Format::OpenaiChat, &bold(Profile::Strict), &request.to_string());
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
    let found = report(Format::Anthropic, &bold(Profile::Anthropic), &history.to_string());
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn a_field_of_a_request_that_stands_there_twice_was_read_one_way_and_repaired_another() {
    let document = r#"{"toolConfig":{"tools":[]},"messages":[],"toolConfig":null}"#;
    let error = foxwedge_formats::read(
        document,
        Format::Bedrock,
        foxwedge_formats::OutlineOptions::default(),
    );
    let error = error.expect_err("which one counts would depend on the reader");
    assert_eq!(error.to_string(), "duplicate field `toolConfig`");
}

#[test]
fn a_part_of_an_unknown_type_was_taken_out_of_its_result() {
    let result = json!({"role": "tool", "tool_call_id": "x", "content": [
        {"type": "tomorrow", "text": "REAL"}]});
    let document = chat(json!([user("go"), call("x"), result, answer("y", "stray")]));
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert_eq!(fixed.list()[2]["content"][0]["text"], "REAL", "{}", fixed.text);
}

#[test]
fn only_media_leaves_a_result_and_what_says_nothing_does_not_stay_alone() {
    let result = json!({"role": "tool", "tool_call_id": "x", "content": [
        {"type": "text", "text": null},
        {"type": "tomorrow", "text": "REAL"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]});
    let document = chat(json!([user("go"), call("x"), result]));
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    let list = fixed.list();
    assert_eq!(list[2]["content"][0]["text"], "REAL", "{}", fixed.text);
    assert_eq!(list[3]["content"][1]["type"], "image_url", "{}", fixed.text);
}

#[test]
fn a_history_of_which_nothing_could_stay_was_emptied() {
    let search = json!([{"role": "assistant", "content": [
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}]}]);
    let thought = json!({"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]});
    let open = chat(json!([call("x")]));
    let dropping =
        Policy { unanswered: UnansweredPolicy::DropTurn, allow_unsafe: true, ..Policy::default() };
    let cases = [
        (Format::Anthropic, bold(Profile::Anthropic), search.to_string()),
        (Format::OpenaiResponses, bold(Profile::OpenaiResponses), thought.to_string()),
        (Format::OpenaiChat, asked(Profile::OpenaiChat, dropping), open),
    ];
    for (wire, question, document) in cases {
        let fixed = mended(wire, &question, &document);
        assert_eq!(fixed.list().len(), 1, "{}", fixed.text);
        assert!(fixed.text.contains("beginning of this conversation"), "{}", fixed.text);
    }
}

#[test]
fn media_beside_the_words_of_a_placeholder_was_thrown_away() {
    let history = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "shot",
            "response": {"error": "[Tool execution was interrupted]"},
            "parts": [{"inlineData": {"mimeType": "image/png", "data": "SHOWN"}}, null]}}]}
    ]);
    let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &history.to_string());
    assert!(fixed.text.contains("SHOWN"), "{}", fixed.text);
}

#[test]
fn what_a_command_printed_was_taken_for_a_placeholder() {
    let history = json!([
        {"role": "user", "content": "go"},
        {"type": "shell_call_output", "call_id": "s", "output": [
            {"stdout": "aborted", "stderr": "", "outcome": {"type": "exit", "exit_code": 3}}]}
    ]);
    let fixed =
        mended(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), &history.to_string());
    assert!(fixed.text.contains("aborted"), "{}", fixed.text);
}

#[test]
fn a_result_of_white_space_kept_the_real_one_from_its_call() {
    let result = |text: &str| {
        json!({"role": "user", "content": [
            {"toolResult": {"toolUseId": "t", "content": [{"text": text}]}}]})
    };
    let history = json!([
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
        result(" "),
        result("REAL")
    ]);
    let fixed = mended(Format::Bedrock, &bold(Profile::Bedrock), &history.to_string());
    let told = &fixed.list()[2]["content"][0]["toolResult"]["content"][0]["text"];
    assert_eq!(told, "REAL", "{}", fixed.text);
}

#[test]
fn a_gemini_result_that_names_its_tool_went_to_another_call_of_its_id() {
    let model = |name: &str| {
        json!({"role": "model", "parts": [
            {"functionCall": {"id": "c", "name": name, "args": {}}}]})
    };
    let history = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        model("read"),
        model("bash"),
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c", "name": "read", "response": {"output": "1"}}},
            {"functionResponse": {"name": "read", "response": {"output": "2"}}}]}
    ]);
    let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &history.to_string());
    let told = &fixed.list()[3]["parts"][0]["functionResponse"];
    assert_eq!((&told["name"], &told["response"]["output"]), (&json!("read"), &json!("1")));
}

#[test]
fn half_a_character_stayed_in_arguments_that_were_wrapped() {
    let document = r#"[{"role":"user","content":[{"text":"go"}]},
        {"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"f","input":["\ud83d"]}}]},
        {"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"text":"1"}]}}]}]"#;
    let fixed = mended(Format::Bedrock, &bold(Profile::Bedrock), document);
    assert!(!fixed.text.contains("ud83d"), "{}", fixed.text);
}

#[test]
fn a_block_whose_type_is_spelled_with_escapes_was_not_recognised() {
    let document = r#"[{"role":"user","content":"go"},{"role":"assistant","content":[
        {"type":"tool_u\u0073e","id":"t","name":"f","input":{}}]}]"#;
    let found = foxwedge_formats::detect(document).map(|found| found.wire);
    assert_eq!(found, Some(Format::Anthropic));
}

#[test]
fn an_empty_last_reply_was_continued_and_then_removed() {
    let request = |messages: Value| json!({"model": "claude-opus-4-6", "messages": messages});
    let table = [
        (json!([{"role": "assistant", "content": ""}]), 1),
        (json!([user("go"), {"role": "assistant", "content": " "}]), 1),
    ];
    for (messages, count) in table {
        let request = request(messages).to_string();
        let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &request);
        assert_eq!(fixed.list().len(), count, "{}", fixed.text);
        assert!(!fixed.text.contains("Continue."), "{}", fixed.text);
    }
}

#[test]
fn a_user_message_with_audio_and_without_content_was_not_found() {
    let messages = json!([user("go"), {"role": "user", "audio": {"id": "a"}}]);
    let plain = asked(Profile::OpenaiChat, Policy::default());
    let kept = fixed(Format::OpenaiChat, &plain, &messages.to_string());
    assert_eq!((kept.codes(), kept.text), (vec![301], messages.to_string()));
    let robot = json!([{"audio": [], "name": null, "role": "robot"}]);
    mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &robot.to_string());
}

#[test]
fn replies_of_reasoning_only_were_merged_before_they_were_removed() {
    let thought = |text: &str| {
        json!({"role": "assistant", "content": [{"reasoningContent": {"reasoningText":
            {"text": text, "signature": "c2VhbA=="}}}]})
    };
    let request = json!({"messages": [
        {"role": "user", "content": [{"text": "go"}]}, thought("one"), thought("two")]});
    let fixed = mended(Format::Bedrock, &bold(Profile::Bedrock), &request.to_string());
    let mut edits: Vec<(u16, usize)> =
        fixed.edits.iter().map(|edit| (edit.code, edit.message)).collect();
    edits.sort_unstable();
    assert_eq!(edits, [(501, 1), (501, 2)], "{}", fixed.text);
}

#[test]
fn an_opening_was_inserted_beside_instructions_that_became_one() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="});
    let request = json!({"messages": [
        {"role": "system", "content": [{"type": "text", "text": "note"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "plan"}]},
        {"role": "assistant", "content": [thought]}]});
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &request.to_string());
    assert_eq!(fixed.list().len(), 2, "{}", fixed.text);
}

#[test]
fn an_empty_reply_was_removed_although_only_reasoning_followed_it() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2VhbA=="});
    let request = json!({"messages": [user("go"),
        {"role": "assistant", "content": []}, {"role": "assistant", "content": [thought]}]});
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &request.to_string());
    assert_eq!(fixed.list().len(), 2, "{}", fixed.text);
}

#[test]
fn a_reference_without_a_type_was_removed_as_an_empty_message() {
    for kind in ["", r#","type":null"#] {
        let document = format!(
            r#"{{"model":"m","input":[{{"id":"msg_1"{kind}}},{{"role":"user","content":"Go on."}}]}}"#
        );
        let found = report(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), &document);
        assert!(found.findings.is_empty(), "{:?}", found.findings);
        let fixed = fixed(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), &document);
        assert_eq!(fixed.text, document);
    }
    // An output may answer a call that only the server has.
    let document = r#"[{"id":"fc_1"},{"type":"function_call_output","call_id":"c","output":"ok"}]"#;
    let fixed = fixed(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), document);
    assert_eq!(fixed.text, document);
}

#[test]
fn copies_of_a_call_kept_the_id_of_their_item() {
    let call = r#"{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}"#;
    let output =
        |text: &str| json!({"type": "function_call_output", "call_id": "c", "output": text});
    let document = format!(
        r#"[{{"role":"user","content":"Go."}},{call},{call},{},{}]"#,
        output("1"),
        output("2")
    );
    let fixed = mended(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), &document);
    let list = fixed.list();
    assert_eq!((list[1].get("id"), list[2].get("id")), (Some(&json!("fc_1")), None), "{list:?}");
    assert_ne!(list[1]["call_id"], list[2]["call_id"]);
    assert_eq!((&list[3]["output"], &list[4]["output"]), (&json!("1"), &json!("2")));
}

#[test]
fn results_with_numbers_as_ids_went_to_the_wrong_calls() {
    let list = [
        (
            Format::OpenaiChat,
            json!([user("Go."), {"role": "assistant", "content": null, "tool_calls": [
                {"id": 7, "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": 8, "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": 8, "content": "of 8"}]),
        ),
        (
            Format::Anthropic,
            json!([user("Go."), {"role": "assistant", "content": [
                {"type": "tool_use", "id": 7, "name": "f", "input": {}},
                {"type": "tool_use", "id": 8, "name": "f", "input": {}}]},
                {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": 8, "content": "of 8"}]}]),
        ),
        (
            Format::OpenaiResponses,
            json!([user("Go."),
                {"type": "function_call", "call_id": 7, "name": "f", "arguments": "{}"},
                {"type": "function_call", "call_id": 8, "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": 8, "output": "of 8"}]),
        ),
        (
            Format::Bedrock,
            json!([{"role": "user", "content": [{"text": "Go."}]}, {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": 7, "name": "f", "input": {}}},
                {"toolUse": {"toolUseId": 8, "name": "f", "input": {}}}]},
                {"role": "user", "content": [
                {"toolResult": {"toolUseId": 8, "content": [{"text": "of 8"}]}}]}]),
        ),
        (
            Format::GeminiInteractions,
            json!([{"type": "user_input", "content": "Go."},
                {"type": "function_call", "id": 7, "name": "f", "arguments": {}},
                {"type": "function_call", "id": 8, "name": "f", "arguments": {}},
                {"type": "function_result", "call_id": 8, "name": "f", "result": "of 8"}]),
        ),
    ];
    for (wire, document) in list {
        let fixed = mended(wire, &bold(Profile::for_format(wire)), &document.to_string());
        let placeholder = fixed.text.find("[foxwedge]").expect("one result is missing");
        let real = fixed.text.find("of 8").expect("the real result stays");
        assert!(placeholder < real, "the result of the second call is second: {}", fixed.text);
    }
}

#[test]
fn instructions_at_the_beginning_became_a_user_message_and_cost_the_thinking() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let list = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Gone."}]},
        {"role": "user", "content": "And?"}
    ]);
    let options = foxwedge_formats::convert::ConversionOptions::default();
    let source = list.to_string();
    let same = Format::Anthropic;
    let converted = foxwedge_formats::convert::request(&source, same, same, &options);
    let body: Value = serde_json::from_str(&converted.expect("a list").body).expect("JSON");
    assert!(body["system"].to_string().contains("Be brief."), "{body}");
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(3), "{body}");
    assert_eq!(body["messages"][1]["content"][0], thinking, "{body}");
}

#[test]
fn an_empty_reply_was_removed_although_all_that_followed_it_was_removed_too() {
    let document = |last: Value| json!([user("go"), {"role": "assistant", "content": []}, {"role": "user", "content": last}]);
    let stray = json!([{"type": "tool_result", "tool_use_id": "gone", "content": "x"}]);
    let policy = Policy { orphans: OrphanPolicy::Drop, ..bold(Profile::Anthropic).policy };
    let options = foxwedge_core::CheckOptions { policy, ..bold(Profile::Anthropic) };
    for last in [json!([]), stray] {
        let fixed = mended(Format::Anthropic, &options, &document(last).to_string());
        assert_eq!(fixed.list().len(), 2, "the last reply may be empty: {}", fixed.text);
    }
}

#[test]
fn a_misplaced_change_of_tools_became_a_user_message() {
    let tool = json!({"type": "tool_reference", "tool_name": "find_hotel"});
    let document = json!([
        user("go"),
        {"role": "assistant", "content": "fine"},
        {"role": "system", "content": [{"type": "tool_addition", "tool": tool}]},
        user("and now?")
    ])
    .to_string();
    let fixed = fixed(Format::Anthropic, &bold(Profile::Anthropic), &document);
    assert_eq!(fixed.codes(), [406]);
    assert_eq!(fixed.text, document, "a user message must not add tools");
}
