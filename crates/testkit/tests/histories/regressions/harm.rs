//! Repairs that a provider refused, or that lost more than they had to.

use foxwedge_core::{CheckOptions, Format, Policy, Profile, UnansweredPolicy};
use foxwedge_formats::{OutlineOptions, read};
use serde_json::{Value, json};

use crate::support::{asked, fixed, mended, report};

fn safe(profile: Profile) -> CheckOptions {
    asked(profile, Policy::default())
}

/// Repairs a document by safe fixes. Nothing may be left to find.
fn repaired(wire: Format, options: &CheckOptions, document: &Value) -> Value {
    let repaired = mended(wire, options, &document.to_string());
    serde_json::from_str(&repaired.text).expect("JSON")
}

#[test]
fn a_late_result_at_the_end_left_a_request_that_ends_with_the_model() {
    let call = json!({"type": "tool_use", "id": "a", "name": "build", "input": {}});
    let result = |text: &str| json!({"type": "tool_result", "tool_use_id": "a", "content": text});
    let placeholder = result(
        "[foxwedge] Interrupted: no answer was recorded. The call may have run; check before repeating it.",
    );
    let document = json!({"model": "claude-opus-4-8", "max_tokens": 9, "messages": [
        {"role": "user", "content": "build it"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [placeholder, {"type": "text", "text": "?"}]},
        {"role": "assistant", "content": "waiting"},
        {"role": "user", "content": [result("built")]}]});
    let repaired = repaired(Format::Anthropic, &safe(Profile::Anthropic), &document);
    assert_eq!(repaired["messages"][2]["content"][0]["content"], "built");
    assert_eq!(repaired["messages"][4]["role"], "user");
}

#[test]
fn signed_thinking_with_half_a_character_kept_its_signature() {
    for model in ["claude-fable-5-1", "claude-sonnet-4-5"] {
        let document = format!(
            r#"{{"model": "{model}", "max_tokens": 9, "messages": [
            {{"role": "user", "content": "q"}},
            {{"role": "assistant", "content": [
                {{"type": "thinking", "thinking": "x\ud83d", "signature": "s"}},
                {{"type": "text", "text": "a"}}]}},
            {{"role": "user", "content": "z"}}]}}"#
        );
        let repaired = mended(Format::Anthropic, &safe(Profile::Anthropic), &document);
        assert!(!repaired.text.contains("signature"), "{}", repaired.text);
    }
}

#[test]
fn the_only_signed_call_of_gemini_was_dropped_and_the_next_call_was_left_without_a_signature() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let mut signed = call("a");
    signed["thoughtSignature"] = json!("c2VhbA==");
    let document = json!({"tools": [], "contents": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [signed, call("b")]},
        {"role": "user", "parts": [{"functionResponse": {"id": "b", "name": "f", "response": {"ok": 1}}}]}]});
    let policy = Policy { unanswered: UnansweredPolicy::DropCall, ..Policy::default() };
    let options = CheckOptions { policy, ..safe(Profile::Gemini) };
    let repaired = repaired(Format::Gemini, &options, &document);
    let left = &repaired["contents"][1]["parts"][0];
    assert_eq!(left["thoughtSignature"], "skip_thought_signature_validator", "{repaired}");
}

#[test]
fn a_model_behind_an_inference_profile_was_taken_for_no_claude() {
    let profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc";
    let tool = json!({"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}});
    let document = json!({"modelId": profile, "toolConfig": {"tools": [tool]}, "messages": [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}}, {"text": "and now?"}]}]});
    let found = report(Format::Bedrock, &safe(Profile::Bedrock), &document.to_string());
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn thinking_was_switched_off_but_not_the_edit_that_requires_it() {
    let clear = json!({"type": "clear_thinking_20251015", "keep": "all"});
    let other = json!({"type": "clear_tool_uses_20250919"});
    let thinking = json!({"type": "enabled", "budget_tokens": 1024});
    for (edits, kept) in
        [(json!([clear]), Value::Null), (json!([clear, other]), json!({"edits": [other]}))]
    {
        let document = json!({"model": "claude-sonnet-4-5", "max_tokens": 9000,
            "thinking": thinking, "context_management": {"edits": edits}, "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}]});
        let repaired = repaired(Format::Anthropic, &safe(Profile::Anthropic), &document);
        assert_eq!(repaired["thinking"], json!({"type": "disabled"}));
        assert_eq!(repaired["context_management"], kept);
    }
}

#[test]
fn claude_on_bedrock_kept_thinking_in_a_turn_without_it() {
    let document = json!({"modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
        "messages": [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}}]}]});
    let repaired = repaired(Format::Bedrock, &safe(Profile::Bedrock), &document);
    let settings = &repaired["additionalModelRequestFields"];
    assert_eq!(settings["thinking"], json!({"type": "disabled"}));
}

#[test]
fn an_empty_message_took_its_reasoning_along_unsaid() {
    for (key, value) in [
        ("reasoning", json!("deep thought")),
        ("reasoning_details", json!([{"type": "reasoning.text", "text": "deep thought"}])),
        ("reasoning_content", json!("deep thought")),
    ] {
        let mut message = json!({"role": "assistant", "content": null});
        message[key] = value;
        let document = json!({"model": "gpt-5", "messages": [
            {"role": "user", "content": "q"}, message, {"role": "user", "content": "n"}]});
        let source = document.to_string();
        let outline = OutlineOptions::default();
        let reading = read(&source, Format::OpenaiChat, outline).expect("a request");
        let (_, repair) = reading.fix(&safe(Profile::OpenaiChat));
        assert_eq!(repair.losses(&reading.draft).thinking_blocks_removed, 1, "{key}");
    }
}

#[test]
fn a_chat_call_of_an_unknown_type_was_made_a_function() {
    let call = json!({"id": "c", "type": "mcp", "mcp": {"server": "s", "tool": "t"}});
    let document = json!({"model": "gpt-6", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r"}]});
    let source = document.to_string();
    let found = report(Format::OpenaiChat, &safe(Profile::OpenaiChat), &source);
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn a_screenshot_without_its_call_became_text() {
    let call = json!({"type": "computer_call", "call_id": "c", "id": "cu_1", "status": "completed",
        "pending_safety_checks": [], "action": {"type": "screenshot"}});
    let user = |text: &str| json!({"role": "user", "content": text});
    for (key, image) in [("image_url", "data:image/png;base64,AAAA"), ("file_id", "file-1")] {
        let result = |image: &str| {
            json!({"type": "computer_call_output", "call_id": "c",
            "output": {"type": "computer_screenshot", key: image}})
        };
        let orphan = json!({"model": "gpt-5", "input": [user("q"), result(image), user("n")]});
        let second = json!({"model": "gpt-5", "input": [
            user("q"), call, result("other"), result(image), user("n")]});
        for document in [orphan, second] {
            let options = safe(Profile::OpenaiResponses);
            let repaired = repaired(Format::OpenaiResponses, &options, &document);
            let quoted = json!({"type": "input_image", key: image});
            let items = repaired["input"].as_array().expect("a list");
            let holds_image = |item: &&Value| item["content"][1] == quoted;
            assert_eq!(items.iter().filter(holds_image).count(), 1, "{repaired}");
            assert_eq!(repaired.to_string().matches(image).count(), 1, "{repaired}");
        }
    }
}

#[test]
fn a_result_that_is_written_as_in_another_format_was_replaced_by_a_placeholder() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let function =
        json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
    let tool_use = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]});
    let tool_calls = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let chat = |content: Value| json!({"role": "tool", "tool_call_id": "c1", "content": content});
    let output = |content: Value| json!({"type": "function_call_output", "call_id": "c1", "output": content});
    let block =
        |content: Value| json!({"type": "tool_result", "tool_use_id": "c1", "content": content});
    let in_user = |blocks: Value| json!({"role": "user", "content": blocks});
    let text = |kind: &str| json!([{"type": kind, "text": "REAL"}]);
    let mut named = chat(json!("REAL"));
    named["name"] = json!("f");
    let responses = [
        (chat(json!("REAL")), output(json!("REAL"))),
        (chat(text("text")), output(text("input_text"))),
        (named.clone(), output(json!("REAL"))),
    ];
    let anthropic = [
        (chat(json!("REAL")), in_user(json!([block(json!("REAL"))]))),
        (chat(text("text")), in_user(json!([block(text("text"))]))),
        (named, in_user(json!([block(json!("REAL"))]))),
    ];
    let openai = [
        (output(json!("REAL")), chat(json!("REAL"))),
        (output(text("input_text")), chat(text("text"))),
        (in_user(json!([block(json!("REAL"))])), chat(json!("REAL"))),
        (in_user(json!([block(text("text"))])), chat(text("text"))),
    ];
    let formats = [
        (Format::OpenaiResponses, Profile::OpenaiResponses, "input", function, &responses[..]),
        (Format::Anthropic, Profile::Anthropic, "messages", tool_use, &anthropic[..]),
        (Format::OpenaiChat, Profile::OpenaiChat, "messages", tool_calls, &openai[..]),
    ];
    let reply = json!({"role": "assistant", "content": "a"});
    for (wire, profile, list, call, results) in formats {
        for (result, expected) in results {
            let messages = json!([user("q"), call, result, reply, user("n")]);
            let document = json!({"model": "m", list: messages});
            let repaired = repaired(wire, &safe(profile), &document);
            let expected = json!([user("q"), call, expected, reply, user("n")]);
            assert_eq!(repaired[list], expected, "{document}");
            let found = report(wire, &safe(profile), &document.to_string());
            assert!(found.findings.iter().any(|found| found.rule.code == 407), "{document}");
        }
    }
}

#[test]
fn text_beside_results_of_another_format_stays_behind_them() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let block = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let document = json!({"model": "m", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
        {"role": "user", "content": [block("a"), {"type": "text", "text": "go on"}, block("b")]}]});
    let repaired = repaired(Format::OpenaiChat, &safe(Profile::OpenaiChat), &document);
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    assert_eq!(repaired["messages"][2], result("a"));
    assert_eq!(repaired["messages"][3], result("b"));
    assert_eq!(repaired["messages"][4]["content"].to_string().matches("go on").count(), 1);
}

#[test]
fn a_call_of_code_that_is_not_in_the_history_stayed() {
    let code =
        json!({"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}});
    let call = |id: &str| {
        json!({"type": "tool_use", "id": id, "name": "f", "input": {},
        "caller": {"type": "code_execution_20260120", "tool_id": "srv1"}})
    };
    let assistant = |blocks: Value| json!({"role": "assistant", "content": blocks});
    let user = |text: &str| json!({"role": "user", "content": text});
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t2", "content": "REAL"}]});
    let code_result =
        json!({"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": {}});
    let end = assistant(json!([code_result, {"type": "text", "text": "Done."}]));
    let whole = json!([
        user("q"),
        assistant(json!([code, call("t1")])),
        assistant(json!([call("t2")])),
        result,
        end,
        user("n")
    ]);
    let cut = json!([user("q"), assistant(json!([call("t2")])), result, end, user("n")]);
    for (messages, unanswered) in
        [(whole, UnansweredPolicy::DropTurn), (cut, UnansweredPolicy::Answer)]
    {
        let options = asked(Profile::Anthropic, Policy { unanswered, ..Policy::default() });
        let document = json!({"model": "m", "max_tokens": 9, "messages": messages});
        let repaired = repaired(Format::Anthropic, &options, &document).to_string();
        assert!(!repaired.contains("srv1") && repaired.contains("REAL"), "{repaired}");
    }
}

#[test]
fn a_call_of_a_program_that_is_not_in_the_history_stayed() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let caller = json!({"type": "program", "caller_id": "p"});
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "caller": caller});
    let output =
        json!({"type": "function_call_output", "call_id": "c", "output": "REAL", "caller": caller});
    let mut document = json!({"model": "gpt-6", "input": [user("q"), call, output, user("n")]});
    let options = safe(Profile::OpenaiResponses);
    let text = repaired(Format::OpenaiResponses, &options, &document).to_string();
    assert!(!text.contains("caller_id") && text.contains("REAL"), "{text}");
    // The server may hold the program.
    document["previous_response_id"] = json!("resp_1");
    let found = report(Format::OpenaiResponses, &options, &document.to_string());
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn an_output_of_a_function_for_a_shell_a_patch_or_a_computer_became_text() {
    let image = |kind: &str| json!({"type": kind, "image_url": "data:image/png;base64,AAAA"});
    let exit = json!({"type": "exit", "exit_code": 0});
    let chunk = |text: &str| json!({"stdout": text, "stderr": "", "outcome": exit});
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let action = json!({"type": "screenshot"});
    let operation = json!({"type": "delete_file", "path": "a"});
    let shell = json!({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}});
    let patch = json!({"type": "apply_patch_call", "call_id": "c", "status": "completed", "operation": operation});
    let computer = json!({"type": "computer_call", "call_id": "c", "id": "cu_1",
        "status": "completed", "pending_safety_checks": [], "action": action});
    for (call, output, expected) in [
        (&shell, json!("REAL"), json!({"output": [chunk("REAL")]})),
        (&shell, json!([text("a"), text("b")]), json!({"output": [chunk("a"), chunk("b")]})),
        (&patch, json!("REAL"), json!({"output": "REAL", "status": "completed"})),
        (&patch, json!([text("a"), text("b")]), json!({"output": "a\nb", "status": "completed"})),
        (&computer, json!([image("input_image")]), json!({"output": image("computer_screenshot")})),
    ] {
        for kind in ["function_call_output", "custom_tool_call_output"] {
            let result = json!({"type": kind, "call_id": "c", "output": output});
            let input = json!([{"role": "user", "content": "q"}, call, result,
                {"role": "user", "content": "n"}]);
            let document = json!({"model": "gpt-6", "input": input});
            let options = safe(Profile::OpenaiResponses);
            let repaired = repaired(Format::OpenaiResponses, &options, &document);
            let mut expected = expected.clone();
            expected["type"] = json!(format!("{}_output", call["type"].as_str().expect("a type")));
            expected["call_id"] = json!("c");
            assert_eq!(repaired["input"][2], expected, "{repaired}");
            assert_eq!(repaired["input"].as_array().map(Vec::len), Some(4), "{repaired}");
        }
    }
}

#[test]
fn messages_without_a_role_became_the_users_and_lost_their_calls() {
    let call = json!({"name": "rm", "args": {"p": "a.txt"}, "id": "c1", "type": "tool_call"});
    let nested =
        json!({"id": "c2", "type": "function", "function": {"name": "rm", "arguments": "{}"}});
    let table = [
        json!([
            {"type": "human", "content": "Delete a.txt"},
            {"type": "ai", "content": "I will delete it.", "tool_calls": [call]},
            {"type": "tool", "content": "deleted", "tool_call_id": "c1"},
            {"type": "human", "content": "Thanks"},
        ]),
        json!([{"role": "user", "content": "q"},
            {"type": "ai", "content": "a", "tool_calls": [nested]}]),
    ];
    for document in table {
        let document = document.to_string();
        for profile in [Profile::OpenaiChat, Profile::Deepseek, Profile::Strict] {
            let fixed = fixed(Format::OpenaiChat, &safe(profile), &document);
            assert_eq!((fixed.text.as_str(), fixed.edits.len()), (&*document, 0), "{document}");
            assert!(fixed.before.counts.of(407) > 0, "{document}");
        }
    }
}
