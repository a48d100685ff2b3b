use serde_json::{Value, json};

use super::*;

fn called(operation: &str, document: &Value, options: &Value) -> (Value, Option<Value>) {
    let reply = call(operation, document.to_string().as_bytes(), &options.to_string())
        .unwrap_or_else(|error| panic!("{operation}: {error}"));
    let report = serde_json::from_str(&reply.report).expect("a report is JSON");
    let document = reply.document.map(|bytes| serde_json::from_slice(&bytes).expect("JSON"));
    (report, document)
}

fn failed(operation: &str, document: &[u8], options: &str) -> (&'static str, String) {
    let error = call(operation, document, options).expect_err("it fails");
    let json: Value = serde_json::from_str(&error.to_json()).expect("an error is JSON");
    assert_eq!(json["error"]["kind"], error.kind);
    (error.kind, error.message)
}

fn poisoned() -> Value {
    json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "well?"},
    ])
}

#[test]
fn check_names_what_is_wrong() {
    let (report, document) = called("check", &poisoned(), &json!({}));
    assert_eq!(document, None);
    assert_eq!(report["format"], "openai-chat");
    assert_eq!(report["valid"], false);
    let finding = &report["findings"][0];
    assert_eq!(finding["code"], "FW101");
    assert_eq!(finding["rule"], "unanswered-call");
    assert_eq!((&finding["index"], &finding["ids"]), (&json!(1), &json!(["a"])));
    assert_eq!(finding["fix"], "safe");
}

#[test]
fn fix_returns_a_document_only_if_it_changes_one() {
    let (report, document) = called("fix", &poisoned(), &json!({"profile": "openai-chat"}));
    assert_eq!((&report["changed"], &report["valid"]), (&json!(true), &json!(true)));
    assert_eq!(report["edits"][0]["code"], "FW101");
    assert_eq!(report["losses"]["placeholdersWritten"], 1);
    let fixed = document.expect("it was changed");
    assert_eq!(fixed[2]["role"], "tool");
    let (report, document) = called("fix", &fixed, &json!({}));
    assert_eq!((&report["changed"], document), (&json!(false), None));
}

#[test]
fn policies_are_options() {
    let (_, document) = called("fix", &poisoned(), &json!({"unanswered": "drop-call"}));
    assert!(!document.expect("changed").to_string().contains("tool_calls"));
    let (report, _) = called("check", &poisoned(), &json!({"ignore": ["FW101"]}));
    assert_eq!(report["valid"], true);
}

#[test]
fn lists_of_the_ai_sdk_are_recognized() {
    let list = json!([
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"id": "2", "role": "assistant", "parts": [
            {"type": "tool-w", "toolCallId": "c", "state": "input-available", "input": {}}]},
        {"id": "3", "role": "user", "parts": [{"type": "text", "text": "?"}]},
    ]);
    let (report, document) = called("fix", &list, &json!({}));
    assert_eq!((&report["format"], &report["profile"]), (&json!("ai-sdk-ui"), &Value::Null));
    assert_eq!(document.expect("changed")[1]["parts"][0]["state"], "output-error");
}

#[test]
fn lists_of_the_ai_sdk_are_converted_with_their_calls() {
    let part = |state: Value| {
        let mut part = json!({"type": "tool-f", "toolCallId": "a", "input": {"x": 1}});
        part.as_object_mut().expect("an object").extend(state.as_object().expect("one").clone());
        json!([
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "q"}]},
            {"id": "2", "role": "assistant", "parts": [part]},
        ])
    };
    let done = part(json!({"state": "output-available", "output": "ok"}));
    for from in [json!({}), json!({"from": "ai-sdk-ui"})] {
        let mut options = json!({"to": "openai-chat"});
        options.as_object_mut().expect("options").extend(from.as_object().expect("one").clone());
        let (report, document) = called("convert", &done, &options);
        assert_eq!((&report["from"], &report["valid"]), (&json!("ai-sdk-ui"), &json!(true)));
        let document = document.expect("converted");
        assert_eq!(document[1]["tool_calls"][0]["function"]["name"], "f", "{document}");
        assert_eq!(document[2]["content"], "ok", "{document}");
    }
    let waiting = part(json!({"state": "approval-requested", "approval": {"id": "p"}}));
    let (report, document) = called("convert", &waiting, &json!({"to": "ai-sdk-ui"}));
    assert_eq!((&report["losses"], document), (&json!([]), Some(waiting.clone())));
    for to in ["openai-chat", "ai-sdk-model"] {
        let (report, document) = called("convert", &waiting, &json!({"to": to}));
        assert_eq!(report["losses"][0]["kind"], "order", "{report}");
        let document = document.expect("converted").to_string();
        assert!(document.contains("Not started"), "{document}");
    }
    let (kind, message) = failed("compact", done.to_string().as_bytes(), r#"{"maxTokens": 10}"#);
    assert_eq!(kind, "unknown-format", "{message}");
}

#[test]
fn what_no_result_awaits_is_closed_or_quoted_in_lists() {
    let request = json!({"model": "gpt-6", "input": [
        {"role": "user", "content": "q"},
        {"type": "function_call_output", "name": "g", "output": "NAMED"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "async": true},
    ]});
    for to in ["ai-sdk-ui", "ai-sdk-model"] {
        let (_, document) = called("convert", &request, &json!({"to": to}));
        let document = document.expect("converted");
        assert!(document.to_string().contains("NAMED"), "{document}");
        let (report, _) = called("check", &document, &json!({"format": to}));
        assert_eq!(report["valid"], true, "{report}\n{document}");
    }
}

#[test]
fn requests_and_responses_are_converted() {
    let (report, document) = called("convert", &poisoned(), &json!({"to": "anthropic"}));
    assert_eq!((&report["from"], &report["to"]), (&json!("openai-chat"), &json!("anthropic")));
    assert_eq!(document.expect("converted")[1]["content"][0]["type"], "tool_use");
    let (_, document) = called("convert", &poisoned(), &json!({"to": "ai-sdk-model"}));
    assert_eq!(document.expect("converted")[2]["content"][0]["type"], "tool-result");
    let response = json!({"id": "r", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]});
    let options = json!({"from": "openai-chat", "to": "anthropic"});
    let (_, document) = called("convert-response", &response, &options);
    assert_eq!(document.expect("converted")["content"][0]["text"], "Hi");
}

#[test]
fn a_history_is_compacted_to_its_limit() {
    let mut messages = Vec::new();
    for at in 0..40 {
        messages.push(json!({"role": "user", "content": format!("{at} {}", "word ".repeat(50))}));
        messages.push(json!({"role": "assistant", "content": "yes"}));
    }
    messages.push(json!({"role": "user", "content": "and now?"}));
    let (report, document) = called("compact", &Value::Array(messages), &json!({"maxTokens": 800}));
    assert_eq!(report["changed"], true);
    assert!(report["tokensAfter"].as_u64() <= Some(800), "{report}");
    assert!(document.expect("shorter").to_string().contains("and now?"));
}

#[test]
fn session_files_are_read_and_repaired() {
    let records = [
        json!({"type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s",
            "version": "2.1.325", "message": {"role": "user", "content": "go"}}),
        json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s",
            "version": "2.1.325", "message": {"role": "assistant", "id": "m", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}}),
        json!({"type": "user", "uuid": "3", "parentUuid": "2", "sessionId": "s",
            "version": "2.1.325", "message": {"role": "user", "content": "well?"}}),
    ];
    let file: String = records.iter().map(|record| format!("{record}\n")).collect();
    let reply = call("history", file.as_bytes(), "").expect("a session");
    let report: Value = serde_json::from_str(&reply.report).expect("JSON");
    assert_eq!((&report["agent"], &report["id"]), (&json!("claude-code"), &json!("s")));
    let reply = call("fix", file.as_bytes(), r#"{"forApi":true}"#).expect("a session");
    let fixed = String::from_utf8(reply.document.expect("changed")).expect("text");
    assert!(fixed.contains("tool_result"), "{fixed}");
    assert!(fixed.starts_with(file.lines().next().expect("a line")), "{fixed}");
}

#[test]
fn error_texts_and_rules_are_explained() {
    let text = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1";
    let reply = call("explain", text.as_bytes(), "").expect("known");
    let report: Value = serde_json::from_str(&reply.report).expect("JSON");
    assert_eq!((&report["known"], &report["code"]), (&json!(true), &json!("FW101")));
    let reply = call("explain", b"the weather is fine", "").expect("unknown, but no error");
    assert!(reply.report.contains("\"known\":false"));
    let (report, _) = called("rules", &Value::Null, &json!({}));
    assert!(report["rules"].as_array().is_some_and(|rules| rules.len() > 50));
}

#[test]
fn mistakes_have_a_kind_and_a_sentence() {
    let list = poisoned().to_string();
    let langchain = r#"[{"type":"human","content":"q"}]"#.as_bytes();
    let table: [(&str, &[u8], &str, &str, &str); 12] = [
        ("fix", langchain, "", "unknown-format", "messages of LangChain"),
        ("convert", langchain, r#"{"to":"anthropic"}"#, "unknown-format", "messages of LangChain"),
        ("mend", b"", "", "unknown-operation", "no operation `mend`"),
        ("check", b"[", "", "unknown-format", "no conversation"),
        ("check", b"{\"a\":", r#"{"format":"openai-chat"}"#, "unreadable", ""),
        ("check", b"\xff", "", "unknown-format", ""),
        ("check", list.as_bytes(), "[", "invalid-options", "the options are not JSON"),
        ("check", list.as_bytes(), r#"{"profil":"x"}"#, "invalid-options", "no option `profil`"),
        (
            "check",
            list.as_bytes(),
            r#"{"profile":"x"}"#,
            "invalid-options",
            "known are openai-chat, ",
        ),
        ("check", list.as_bytes(), r#"{"tail":"x"}"#, "invalid-options", "dead, pending"),
        ("check", list.as_bytes(), r#"{"unsafeFixes":1}"#, "invalid-options", "true or false"),
        ("convert", list.as_bytes(), "", "invalid-options", "`to` is missing"),
    ];
    for (operation, document, options, kind, words) in table {
        let (found, message) = failed(operation, document, options);
        assert_eq!(found, kind, "{operation} {options}: {message}");
        assert!(message.contains(words), "{operation} {options}: {message}");
    }
}

#[test]
fn the_output_of_the_piece_that_breaks_a_stream_is_returned() {
    let begin = "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n";
    let broken = "data: {\"id\":\n\n";
    let open = || StreamCall::new(r#"{"from":"openai-chat","to":"anthropic"}"#).expect("known");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let mut stream = open();
    let out = text(stream.push(format!("{begin}{broken}").as_bytes()).expect("output first"));
    assert!(out.contains("text_delta") && out.contains("event: error"), "{out}");
    assert_eq!(stream.push(begin.as_bytes()).expect_err("it has failed").kind, "unreadable");
    assert_eq!(stream.finish().expect_err("it has failed").kind, "unreadable");
}

#[test]
fn a_stream_that_ends_too_early_leaves_its_text_and_its_complete_calls() {
    let chunk = |delta: &str| {
        format!("data: {{\"id\":\"r\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n")
    };
    let call = |at: u8, arguments: &str| {
        let function = format!(r#"{{"name":"f","arguments":"{arguments}"}}"#);
        chunk(&format!(
            r#"{{"tool_calls":[{{"index":{at},"id":"call_{at}","type":"function","function":{function}}}]}}"#
        ))
    };
    let events = chunk(r#"{"content":"Hi"}"#) + &call(0, "{}") + &call(1, "{");
    let messages = |to: &str| {
        let options = format!(r#"{{"from":"openai-chat","to":"{to}"}}"#);
        let mut stream = StreamCall::new(&options).expect("known");
        stream.push(events.as_bytes()).expect("a stream");
        let report = stream.finish().expect("an end").report;
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["complete"], false);
        report["messages"].to_string()
    };
    let same = messages("openai-chat");
    assert!(same.contains(r#""content":"Hi""#) && same.contains("call_0"), "{same}");
    assert!(!same.contains("call_1"), "{same}");
    let other = messages("anthropic");
    assert!(other.contains("tool_use") && !other.contains("call_1"), "{other}");
}

#[test]
fn a_stream_is_converted_however_it_is_cut() {
    let events = concat!(
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n",
        "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let mut results = Vec::new();
    for size in [1, 7, events.len()] {
        let mut stream =
            StreamCall::new(r#"{"from":"openai-chat","to":"anthropic"}"#).expect("known");
        let mut out = Vec::new();
        for piece in events.as_bytes().chunks(size) {
            out.extend(stream.push(piece).expect("a stream"));
        }
        let reply = stream.finish().expect("an end");
        assert!(reply.report.contains("\"complete\":true"), "{}", reply.report);
        out.extend(reply.document.unwrap_or_default());
        results.push(String::from_utf8(out).expect("text"));
    }
    assert!(results[0].contains("text_delta") && results[0].contains("message_stop"));
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:#?}");
    assert!(StreamCall::new(r#"{"from":"openai-chat"}"#).is_err());
}
