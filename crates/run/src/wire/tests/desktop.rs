//! The events of a desktop agent that has names of its own.

use super::*;

#[test]
fn the_events_of_a_desktop_agent_are_read() {
    let call = Call { call: c(), name: Some(id("Bash")), ..Call::default() };
    let text = |delta: Option<&str>, full: Option<&str>| Text {
        delta: delta.map(String::from),
        full: full.map(String::from),
        ..Text::default()
    };
    let tools = |ready, tools: &[&str]| {
        let tools = tools.iter().map(|tool| id(tool)).collect();
        Body::ToolsAvailable(ToolsAvailable { version: Some(2), ready, tools })
    };
    let result = |how| {
        let content = Some(json("\"out\""));
        Body::Result(ToolResult { call: c(), name: None, how, reason: None, content })
    };
    let table = [
        (
            r#""type":"agent:run-start","runEpoch":3,"startedAt":9,"mode":"code","sessionKey":"s""#,
            Event {
                epoch: Some(3),
                at: Some(9),
                ..plain(Body::Started(Started { session: Some(id("s")), ..Started::default() }))
            },
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"emittedAt":5,"phase":"initializing","tools":["Bash"],"toolCount":1"#,
            Event { at: Some(5), ..plain(tools(false, &["Bash"])) },
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"phase":"ready","tools":[{"name":"Bash"},"Read"]"#,
            plain(tools(true, &["Bash", "Read"])),
        ),
        (
            r#""type":"agent:tools-available","snapshotVersion":2,"phase":"later","tools":[{"name":7},8]"#,
            odd("tool 8", tools(false, &["7"])),
        ),
        (r#""type":"agent:thought","thought":"hm""#, plain(Body::Thought(text(None, Some("hm"))))),
        (
            r#""type":"agent:thought","thought":{"id":"t1","type":"thinking","content":"hm","parent_tool_use_id":"p"}"#,
            plain(Body::Thought(Text {
                message: Some(id("t1")),
                parent: Some(id("p")),
                ..text(None, Some("hm"))
            })),
        ),
        (
            r#""type":"agent:message","content":"Hel","isComplete":false"#,
            plain(Body::Text(text(Some("Hel"), None))),
        ),
        (r#""type":"agent:message","content":"Hel""#, plain(Body::Text(text(Some("Hel"), None)))),
        (
            r#""type":"agent:message","content":"Hello","isComplete":true"#,
            plain(Body::Text(text(None, Some("Hello")))),
        ),
        (
            r#""type":"agent:message","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isComplete":true"#,
            plain(Body::Text(text(None, Some("a\nb")))),
        ),
        (
            r#""type":"agent:tool-call","toolCallId":"c","id":"x","name":"Bash","status":"running","input":{},"description":"List""#,
            plain(Body::Call(Call {
                input: Some(json("{}")),
                title: Some("List".into()),
                status: Some(Status::Running),
                ..call.clone()
            })),
        ),
        (
            r#""type":"agent:tool-call","toolCallId":"","id":"c","name":"Bash""#,
            plain(Body::Call(call.clone())),
        ),
        (
            r#""type":"agent:tool-call","id":"c","name":"Bash","status":"pending","requiresApproval":true"#,
            plain(Body::Call(Call { status: Some(Status::AwaitingApproval), ..call.clone() })),
        ),
        (
            r#""type":"agent:tool-call","id":"c","name":"Bash","status":"success","requiresApproval":true"#,
            plain(Body::Call(call)),
        ),
        (
            r#""type":"agent:tool-result","toolCallId":"c","toolId":"c","result":"out","isError":false"#,
            plain(result(How::Ok)),
        ),
        (
            r#""type":"agent:tool-result","toolId":"c","result":"out","isError":true"#,
            plain(result(How::Error)),
        ),
        (
            r#""type":"agent:error","error":"boom""#,
            plain(Body::Problem(Problem { message: "boom".into(), code: None, fatal: true })),
        ),
        (
            r#""type":"agent:error","error":{"message":"boom","code":529}"#,
            plain(Body::Problem(Problem {
                message: "boom".into(),
                code: Some(id("529")),
                fatal: true,
            })),
        ),
        (
            r#""type":"agent:error""#,
            odd(
                "error without message",
                Body::Problem(Problem { fatal: true, ..Problem::default() }),
            ),
        ),
        (
            r#""type":"agent:complete","reason":"error","terminalAt":8,"duration":1,"finalContent":"Hi","tokenUsage":{"inputTokens":3,"outputTokens":2},"isPlan":true"#,
            Event {
                at: Some(8),
                ..plain(Body::Ended(Ended {
                    outcome: Some(Outcome::Failed),
                    text: Some("Hi".into()),
                    problem: None,
                    usage: Some(Usage { input: 3, output: 2, cached: 0, reasoning: 0 }),
                }))
            },
        ),
    ];
    for (text, expected) in table {
        assert_eq!(event(text), expected, "{text}");
    }
}
