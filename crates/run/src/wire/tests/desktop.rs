//! Events of a desktop agent that uses other names.

use super::*;

#[test]
fn desktop_agent_events_are_parsed() {
    let call = ToolCallUpdate { call: c(), name: Some(id("Bash")), ..ToolCallUpdate::default() };
    let text = |delta: Option<&str>, full: Option<&str>| TextUpdate {
        delta: delta.map(String::from),
        full: full.map(String::from),
        ..TextUpdate::default()
    };
    let tools = |ready, tools: &[&str]| {
        let tools = tools.iter().map(|tool| id(tool)).collect();
        EventPayload::ToolsAvailable(ToolsAvailable { version: Some(2), ready, tools })
    };
    let result = |outcome| {
        let content = Some(json("\"out\""));
        EventPayload::ToolResult(ToolResult {
            call: c(),
            name: None,
            outcome,
            reason: None,
            content,
        })
    };
    let table = [
        (
            r#""type":"agent:run-start","runEpoch":3,"startedAt":9,"mode":"code","sessionKey":"s""#,
            RunEvent {
                epoch: Some(3),
                at: Some(9),
                ..plain(EventPayload::Started(RunStart {
                    session: Some(id("s")),
                    ..RunStart::default()
                }))
            },
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"emittedAt":5,"phase":"initializing","tools":["Bash"],"toolCount":1"#,
            RunEvent { at: Some(5), ..plain(tools(false, &["Bash"])) },
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"phase":"ready","tools":[{"name":"Bash"},"Read"]"#,
            plain(tools(true, &["Bash", "Read"])),
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"phase":"later","tools":[{"name":7},8]"#,
            odd("tool 8", tools(false, &["7"])),
        ),
        (
            r#""type":"agent:thought","thought":"hm""#,
            plain(EventPayload::Thought(text(None, Some("hm")))),
        ),
        (
            r#""type":"agent:thought","thought":{"id":"t1","type":"thinking","content":"hm","parent_tool_use_id":"p"}"#,
            plain(EventPayload::Thought(TextUpdate {
                message: Some(id("t1")),
                parent: Some(id("p")),
                ..text(None, Some("hm"))
            })),
        ),
        (
            r#""type":"agent:message","content":"Hel","isComplete":false"#,
            plain(EventPayload::Text(text(Some("Hel"), None))),
        ),
        (
            r#""type":"agent:message","content":"Hel""#,
            plain(EventPayload::Text(text(Some("Hel"), None))),
        ),
        (
            r#""type":"agent:message","content":"Hello","isComplete":true"#,
            plain(EventPayload::Text(text(None, Some("Hello")))),
        ),
        (
            r#""type":"agent:message","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isComplete":true"#,
            plain(EventPayload::Text(text(None, Some("a\nb")))),
        ),
        (
            r#""type":"agent:tool-call","toolCallId":"c","id":"x","name":"Bash","status":"running","input":{},"description":"List""#,
            plain(EventPayload::ToolCall(ToolCallUpdate {
                input: Some(json("{}")),
                title: Some("List".into()),
                status: Some(ToolStatus::Running),
                ..call.clone()
            })),
        ),
        (
            r#""type":"agent:tool-call","toolCallId":"","id":"c","name":"Bash""#,
            plain(EventPayload::ToolCall(call.clone())),
        ),
        (
            r#""type":"agent:tool-call","id":"c","name":"Bash","status":"pending","requiresApproval":true"#,
            plain(EventPayload::ToolCall(ToolCallUpdate {
                status: Some(ToolStatus::AwaitingApproval),
                ..call.clone()
            })),
        ),
        (
            r#""type":"agent:tool-call","id":"c","name":"Bash","status":"success","requiresApproval":true"#,
            plain(EventPayload::ToolCall(call)),
        ),
        (
            r#""type":"agent:tool-result","toolCallId":"c","toolId":"c","result":"out","isError":false"#,
            plain(result(ToolOutcome::Ok)),
        ),
        (
            r#""type":"agent:tool-result","toolId":"c","result":"out","isError":true"#,
            plain(result(ToolOutcome::Error)),
        ),
        (
            r#""type":"agent:error","error":"boom""#,
            plain(EventPayload::Problem(RunProblem {
                message: "boom".into(),
                code: None,
                fatal: true,
            })),
        ),
        (
            r#""type":"agent:error","error":{"message":"boom","code":529}"#,
            plain(EventPayload::Problem(RunProblem {
                message: "boom".into(),
                code: Some(id("529")),
                fatal: true,
            })),
        ),
        (
            r#""type":"agent:error""#,
            odd(
                "error without message",
                EventPayload::Problem(RunProblem { fatal: true, ..RunProblem::default() }),
            ),
        ),
        (
            r#""type":"agent:complete","reason":"error","terminalAt":8,"duration":1,"finalContent":"Hi","tokenUsage":{"inputTokens":3,"outputTokens":2},"isPlan":true"#,
            RunEvent {
                at: Some(8),
                ..plain(EventPayload::Ended(RunEnd {
                    outcome: Some(Outcome::Failed),
                    text: Some("Hi".into()),
                    problem: None,
                    usage: Some(RunUsage { input: 3, output: 2, cached: 0, reasoning: 0 }),
                }))
            },
        ),
    ];
    for (text, expected) in table {
        assert_eq!(event(text), expected, "{text}");
    }
}
