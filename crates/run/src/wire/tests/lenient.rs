//! Spellings of other agents.

use super::*;

#[test]
fn b3_14_a_call_is_known_by_any_of_its_names() {
    let call_c = CallRef { id: Some(id("c")), turn: None };
    let table = [
        (r#""toolCallId":"c""#, call_c.clone()),
        (r#""toolId":"c""#, call_c.clone()),
        (r#""toolCallId":"c","toolId":"x""#, call_c.clone()),
        (r#""tool_call_id":"c""#, call_c.clone()),
        (r#""tool_use_id":"c""#, call_c.clone()),
        (r#""callId":"c""#, call_c.clone()),
        (r#""call_id":"c""#, call_c.clone()),
        (r#""toolCallId":"","toolId":null,"call_id":"c""#, call_c.clone()),
        (r#""toolCallId":"x","toolCallId":"c""#, call_c),
        (r#""toolCallId":7"#, CallRef { id: Some(id("7")), turn: None }),
        (r#""toolCallId":"","turn":"2""#, CallRef { id: None, turn: Some(2) }),
        (r#""toolCallId":{},"toolId":[]"#, CallRef::default()),
        (r#""id":"c""#, CallRef::default()),
        (r#""id":"c","x":1"#, CallRef::default()),
    ];
    for (names, call) in table {
        let expected = plain(EventPayload::ToolCancelled { call });
        assert_eq!(event(&format!("\"type\":\"tool-cancelled\",{names}")), expected, "{names}");
    }
}

#[test]
fn numbers_are_parsed_from_strings_and_invalid_ones_are_missing() {
    let body = EventPayload::TimedOut { call: None };
    let good = RunEvent { epoch: Some(3), seq: Some(7), at: Some(5), ..plain(body.clone()) };
    for text in [
        r#""epoch":3,"seq":7,"at":5"#,
        r#""epoch":"3","seq":"7","at":"5""#,
        r#""run_epoch":3.0,"seq":0.7e1,"timestamp":5"#,
        r#""epoch":null,"runEpoch":3,"seq":7,"at":5"#,
    ] {
        assert_eq!(event(&format!("\"type\":\"timed-out\",{text}")), good, "{text}");
    }
    let last = RunEvent { seq: Some(1 << 53), ..plain(body.clone()) };
    assert_eq!(event(r#""type":"timed-out","seq":9007199254740992"#), last);
    for (text, unknown) in [
        (r#""seq":0"#, "seq 0"),
        (r#""seq":"0""#, "seq 0"),
        (r#""seq":-1"#, "seq -1"),
        (r#""seq":1.5"#, "seq 1.5"),
        (r#""seq":9007199254740993"#, "seq 9007199254740993"),
        (r#""seq":1e999"#, "seq 1e999"),
        (r#""seq":99999999999999999999999"#, "seq 99999999999999999999999"),
        (r#""seq":"NaN""#, "seq \"NaN\""),
        (r#""seq":"""#, "seq \"\""),
        (r#""seq":true"#, "seq true"),
        (r#""seq":{}"#, "seq {}"),
        (r#""epoch":-3"#, "epoch -3"),
        (r#""runEpoch":18446744073709551616"#, "runEpoch 18446744073709551616"),
        (r#""at":"yesterday""#, "at \"yesterday\""),
        (r#""turn":4294967296"#, "turn 4294967296"),
    ] {
        assert_eq!(
            event(&format!("\"type\":\"timed-out\",{text}")),
            odd(unknown, body.clone()),
            "{text}"
        );
    }
}

#[test]
fn call_status_counts_only_while_the_call_is_open() {
    let call = |status| {
        EventPayload::ToolCall(ToolCallUpdate { call: c(), status, ..ToolCallUpdate::default() })
    };
    let table = [
        ("\"executing\"", plain(call(Some(ToolStatus::Running)))),
        ("\"waiting_approval\"", plain(call(Some(ToolStatus::AwaitingApproval)))),
        ("\"unknown\"", plain(call(Some(ToolStatus::Unknown)))),
        ("\"success\"", plain(call(None))),
        ("\"error\"", plain(call(None))),
        ("null", plain(call(None))),
        ("\"\"", plain(call(None))),
        ("\"on_fire\"", odd("on_fire", call(Some(ToolStatus::Unknown)))),
        ("7", odd("7", call(Some(ToolStatus::Unknown)))),
    ];
    for (status, expected) in table {
        let text = format!(r#""type":"tool-call","toolCallId":"c","status":{status}"#);
        assert_eq!(event(&text), expected, "{text}");
    }
}

#[test]
fn tool_outcome_is_parsed_from_many_spellings() {
    let result = |outcome, reason| {
        EventPayload::ToolResult(ToolResult {
            call: c(),
            name: None,
            outcome,
            reason,
            content: None,
        })
    };
    let table = [
        ("", plain(result(ToolOutcome::Ok, None))),
        (r#","isError":true"#, plain(result(ToolOutcome::Error, None))),
        (r#","is_error":true"#, plain(result(ToolOutcome::Error, None))),
        (r#","status":"success""#, plain(result(ToolOutcome::Ok, None))),
        (r#","status":"completed","isError":true"#, plain(result(ToolOutcome::Error, None))),
        (r#","status":"rejected","isError":false"#, plain(result(ToolOutcome::Denied, None))),
        (r#","status":"aborted""#, plain(result(ToolOutcome::Interrupted, None))),
        (r#","status":"timed_out""#, plain(result(ToolOutcome::TimedOut, None))),
        (r#","status":"skipped""#, plain(result(ToolOutcome::Skipped, None))),
        (r#","status":"failed","reason":"timed_out""#, plain(result(ToolOutcome::TimedOut, None))),
        (r#","status":"cancelled","reason":"skipped""#, plain(result(ToolOutcome::Skipped, None))),
        (
            r#","status":"interrupted","reason":"timed_out""#,
            plain(result(ToolOutcome::Interrupted, Some(ToolStatusReason::TimedOut))),
        ),
        (r#","status":"odd","isError":true"#, odd("odd", result(ToolOutcome::Error, None))),
        (r#","status":"running""#, odd("running", result(ToolOutcome::Ok, None))),
        (r#","isError":"yes""#, odd("isError \"yes\"", result(ToolOutcome::Ok, None))),
        (
            r#","status":"denied","reason":"because""#,
            odd("because", result(ToolOutcome::Denied, None)),
        ),
        (
            r#","status":"denied","reason":"I said no""#,
            odd("reason", result(ToolOutcome::Denied, None)),
        ),
    ];
    for (fields, expected) in table {
        let text = format!(r#""type":"tool-result","toolCallId":"c"{fields}"#);
        assert_eq!(event(&text), expected, "{text}");
    }
}

#[test]
fn run_end_is_parsed_from_many_spellings() {
    let ended = |outcome| RunEnd { outcome, ..RunEnd::default() };
    let usage = |input, output, cached, reasoning| RunEnd {
        usage: Some(RunUsage { input, output, cached, reasoning }),
        ..RunEnd::default()
    };
    let problem = |message: &str, code: Option<&str>| RunEnd {
        problem: Some(RunProblem { message: message.into(), code: code.map(id), fatal: true }),
        ..RunEnd::default()
    };
    let text = |text: &str| RunEnd { text: Some(text.into()), ..RunEnd::default() };
    let good = [
        (r#""reason":"end_turn""#, ended(Some(Outcome::Completed))),
        (r#""outcome":"canceled""#, ended(Some(Outcome::Stopped))),
        (r#""terminal_reason":"no_text""#, ended(Some(Outcome::NoText))),
        (r#""reason":null,"terminalReason":"refusal""#, ended(Some(Outcome::Refused))),
        (r#""finalContent":"a","text":"b""#, text("a")),
        (r#""text":"b","result":"c""#, text("b")),
        (r#""final_content":"""#, text("")),
        (r#""result":{"a":1}"#, text("{\"a\":1}")),
        (r#""error":"boom""#, problem("boom", None)),
        (r#""error":{"kind":"x"}"#, problem("{\"kind\":\"x\"}", None)),
        (r#""error":{"message":"boom","code":"x"}"#, problem("boom", Some("x"))),
        (
            r#""usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3}"#,
            usage(1, 2, 3, 0),
        ),
        (
            r#""tokenUsage":{"inputTokens":1,"cachedInputTokens":3,"reasoningTokens":4}"#,
            usage(1, 0, 3, 4),
        ),
        (
            r#""usage":{"prompt_tokens":9,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens_details":{"reasoning_tokens":6}}"#,
            usage(9, 8, 7, 6),
        ),
        (r#""usage":{"promptTokenCount":5,"candidatesTokenCount":4}"#, usage(5, 4, 0, 0)),
    ];
    for (fields, expected) in good {
        let found = event(&format!("\"type\":\"run-ended\",{fields}"));
        assert_eq!(found, plain(EventPayload::Ended(expected)), "{fields}");
    }
    let with_unknown = [
        (r#""reason":"exploded""#, "exploded", ended(Some(Outcome::Failed))),
        (r#""reason":{"type":"x"}"#, "{\"type\":\"x\"}", ended(Some(Outcome::Failed))),
        (r#""usage":12"#, "usage without tokens", ended(None)),
        (r#""usage":{}"#, "usage without tokens", ended(None)),
        (r#""usage":{"input":-1,"output":2}"#, "input -1", usage(0, 2, 0, 0)),
    ];
    for (fields, unknown, expected) in with_unknown {
        let found = event(&format!("\"type\":\"run-ended\",{fields}"));
        assert_eq!(found, odd(unknown, EventPayload::Ended(expected)), "{fields}");
    }
}

#[test]
fn other_events_are_parsed_from_many_spellings() {
    let task = |content: &str, status| TaskItem {
        id: None,
        content: content.into(),
        status,
        active: None,
    };
    let reply = |verdict, answer: Option<&str>| {
        EventPayload::ApprovalReplied(ApprovalReply {
            call: c(),
            id: None,
            verdict,
            answer: answer.map(json),
        })
    };
    let call = |input: &str| {
        let input = Some(json(input));
        EventPayload::ToolCall(ToolCallUpdate {
            name: Some(id("Bash")),
            input,
            ..ToolCallUpdate::default()
        })
    };
    let full = |text: &str| TextUpdate { full: Some(text.into()), ..TextUpdate::default() };
    let table = [
        (r#""type":"text","text":"a""#, plain(EventPayload::Text(full("a")))),
        (r#""type":"thought","content":"a""#, plain(EventPayload::Thought(full("a")))),
        (r#""type":"text""#, plain(EventPayload::Text(TextUpdate::default()))),
        (
            r#""type":"text","message_id":"m","parent_tool_use_id":"p","delta":"\ud83d""#,
            plain(EventPayload::Text(TextUpdate {
                message: Some(id("m")),
                parent: Some(id("p")),
                delta: Some("\u{fffd}".into()),
                full: None,
            })),
        ),
        (r#""type":"tool-call","tool_name":"Bash","args":{}"#, plain(call("{}"))),
        (r#""type":"tool-call","name":"Bash","arguments":"{\"a\":1}""#, plain(call("{\"a\":1}"))),
        (r#""type":"tool-call","name":"Bash","arguments":"{\"a""#, plain(call("\"{\\\"a\""))),
        (r#""type":"tool-call","name":"Bash","arguments":[1]"#, plain(call("[1]"))),
        (
            r#""type":"tool-progress","tool_use_id":"c","progress":1"#,
            plain(EventPayload::ToolProgress { call: c(), content: json("1") }),
        ),
        (
            r#""type":"tool-progress","callId":"c""#,
            plain(EventPayload::ToolProgress { call: c(), content: json("null") }),
        ),
        (
            r#""type":"question-asked","id":"q","toolId":"c","question":"?","options":[]"#,
            plain(EventPayload::ApprovalRequested(ApprovalRequest {
                call: c(),
                id: Some(id("q")),
                kind: ApprovalKind::Question,
                prompt: Some("?".into()),
                choices: Some(json("[]")),
            })),
        ),
        (
            r#""type":"approval-answered","toolId":"c","approved":true"#,
            plain(reply(ApprovalVerdict::Allowed, None)),
        ),
        (
            r#""type":"approval-answered","toolId":"c","approved":false"#,
            plain(reply(ApprovalVerdict::Denied, None)),
        ),
        (
            r#""type":"approval-answered","toolId":"c","verdict":"deny""#,
            plain(reply(ApprovalVerdict::Denied, None)),
        ),
        (
            r#""type":"question-answered","toolId":"c","answers":{}"#,
            plain(reply(ApprovalVerdict::Answered, Some("{}"))),
        ),
        (
            r#""type":"usage","input_tokens":1"#,
            plain(EventPayload::Usage(RunUsage { input: 1, ..RunUsage::default() })),
        ),
        (r#""type":"stop""#, plain(EventPayload::Stop(StopRequest { grace: 0 }))),
        (r#""type":"stop","graceMs":5"#, plain(EventPayload::Stop(StopRequest { grace: 5 }))),
        (
            r#""type":"error","errorText":"x""#,
            plain(EventPayload::Problem(RunProblem {
                message: "x".into(),
                code: None,
                fatal: false,
            })),
        ),
        (
            r#""type":"tasks","todos":[{"title":"a","status":"done"},{"text":"b","status":"in-progress"}]"#,
            plain(EventPayload::Tasks(vec![
                task("a", TaskStatus::Completed),
                task("b", TaskStatus::InProgress),
            ])),
        ),
        (
            r#""type":"tasks","tasks":[{"content":"a","status":"later"}]"#,
            odd("later", EventPayload::Tasks(vec![task("a", TaskStatus::Unknown)])),
        ),
        (
            r#""type":"tasks","tasks":["a",{}]"#,
            odd(
                "task without status",
                EventPayload::Tasks(vec![
                    task("a", TaskStatus::Unknown),
                    task("", TaskStatus::Unknown),
                ]),
            ),
        ),
        (
            r#""type":"activity","activity_type":"repair","id":"x""#,
            plain(EventPayload::Activity(ActivityCard {
                kind: id("repair"),
                id: Some(id("x")),
                content: json("null"),
            })),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(event(text), expected, "{text}");
    }
}

#[test]
fn events_without_required_fields_are_kept_as_unknown() {
    let table = [
        ("agent:mode", r#""mode":"plan""#, None),
        ("unknown", r#""x":1"#, None),
        ("unknown", r#""kind":"a""#, None),
        ("Text", r#""delta":"a""#, None),
        ("text", r#""value":"a""#, Some("text without delta")),
        ("thought", r#""value":"a""#, Some("thought without delta")),
        ("agent:message", r#""isComplete":true"#, Some("agent:message without content")),
        ("agent:thought", r#""thought":{}"#, Some("agent:thought without thought")),
        ("tool-arguments", r#""toolCallId":"c""#, Some("tool-arguments without delta")),
        ("tool-arguments", r#""delta":{}"#, Some("tool-arguments without delta")),
        ("tools-available", r#""toolCount":3"#, Some("tools-available without tools")),
        ("tools-available", r#""tools":3"#, Some("tools-available without tools")),
        ("tasks", r#""tasks":{}"#, Some("tasks without tasks")),
        ("usage", r#""x":1"#, Some("usage without tokens")),
        ("activity", r#""content":1"#, Some("activity without kind")),
        ("approval-answered", r#""answer":1"#, Some("approval-answered without verdict")),
        ("approval-answered", r#""approved":"true""#, Some("approved \"true\"")),
        ("approval-answered", r#""verdict":"maybe""#, Some("maybe")),
        ("question-answered", r#""x":1"#, Some("question-answered without verdict")),
    ];
    for (kind, fields, unknown) in table {
        let text = format!(r#"{{"type":"{kind}","runId":"r",{fields}}}"#);
        let body = EventPayload::Unknown { kind: kind.into(), raw: json(&text) };
        let expected = RunEvent { unknown_word: unknown.map(id), ..plain(body) };
        assert_eq!(read(&text), Ok(expected.clone()), "{text}");
        assert_eq!(read(&write(&expected)), Ok(expected), "{text}");
    }
}
