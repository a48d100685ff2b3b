//! Our own spelling of every type, both ways.

use std::collections::BTreeSet;

use super::{generate::Dice, *};

#[test]
fn every_type_is_spelled_as_the_table_says() {
    let text = |delta: Option<&str>, full: Option<&str>| Text {
        message: Some(id("m")),
        parent: Some(id("p")),
        delta: delta.map(String::from),
        full: full.map(String::from),
    };
    let result = |how, reason, content: Option<&str>| {
        Body::Result(ToolResult { call: c(), name: None, how, reason, content: content.map(json) })
    };
    let ask = |kind, prompt: Option<&str>| {
        let prompt = prompt.map(String::from);
        Body::Asked(Ask { call: c(), id: Some(id("q")), kind, prompt, choices: Some(json("[1]")) })
    };
    let reply = |verdict, answer: Option<&str>| {
        Body::Replied(Reply { call: c(), id: Some(id("q")), verdict, answer: answer.map(json) })
    };
    let task = |id: Option<Id>, content: &str, status, active: Option<&str>| Task {
        id,
        content: content.into(),
        status,
        active: active.map(String::from),
    };
    let usage = Usage { input: 10, output: 5, cached: 8, reasoning: 1 };
    let problem = Problem { message: "no\n".into(), code: Some(id("529")), fatal: true };
    let full_start = Started {
        session: Some(id("s")),
        parent: Some(id("r0")),
        agent: Some(id("a")),
        model: Some(id("m")),
    };
    let call = Call {
        call: CallRef { id: Some(id("c")), turn: Some(2) },
        name: Some(id("Bash")),
        parent: Some(id("p")),
        input: Some(json(r#"{ "command":"ls"}"#)),
        title: Some("List".into()),
        status: Some(Status::AwaitingApproval),
    };
    let table = [
        (
            Body::Started(full_start),
            r#""run-started",RUN,"sessionId":"s","parentRunId":"r0","agent":"a","model":"m""#,
        ),
        (Body::Started(Started::default()), r#""run-started",RUN"#),
        (
            Body::ToolsAvailable(ToolsAvailable {
                version: Some(4),
                ready: false,
                tools: vec![id("Bash"), id("a\"b")],
            }),
            r#""tools-available",RUN,"version":4,"ready":false,"tools":["Bash","a\"b"]"#,
        ),
        (
            Body::Turn(Turn { turn: Some(u32::MAX), message: Some(id("m")) }),
            r#""turn-started",RUN,"turn":4294967295,"messageId":"m""#,
        ),
        (
            Body::Text(text(Some("a\tb"), None)),
            r#""text",RUN,"messageId":"m","parentToolCallId":"p","delta":"a\tb""#,
        ),
        (
            Body::Thought(text(Some(""), Some("all"))),
            r#""thought",RUN,"messageId":"m","parentToolCallId":"p","delta":"","full":"all""#,
        ),
        (
            Body::Call(call),
            r#""tool-call",RUN,CALL,"turn":2,"name":"Bash","parentToolCallId":"p","input":{ "command":"ls"},"title":"List","status":"awaiting_approval""#,
        ),
        (
            Body::Arguments { call: c(), delta: "{\"a".into() },
            r#""tool-arguments",RUN,CALL,"delta":"{\"a""#,
        ),
        (
            Body::Progress { call: c(), content: json("[1]") },
            r#""tool-progress",RUN,CALL,"content":[1]"#,
        ),
        (
            result(How::Ok, None, Some("\"x\"")),
            r#""tool-result",RUN,CALL,"status":"succeeded","isError":false,"content":"x""#,
        ),
        (
            result(How::Error, None, None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true"#,
        ),
        (
            result(How::Denied, None, None),
            r#""tool-result",RUN,CALL,"status":"denied","isError":true"#,
        ),
        (
            result(How::TimedOut, None, None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true,"reason":"timed_out""#,
        ),
        (
            result(How::Cancelled, Some(Reason::CalledOff), None),
            r#""tool-result",RUN,CALL,"status":"cancelled","isError":true,"reason":"called_off""#,
        ),
        (
            result(How::Interrupted, Some(Reason::RunEnded), None),
            r#""tool-result",RUN,CALL,"status":"interrupted","isError":true,"reason":"run_ended""#,
        ),
        (
            result(How::Skipped, None, None),
            r#""tool-result",RUN,CALL,"status":"cancelled","isError":true,"reason":"skipped""#,
        ),
        (
            result(How::HandedOver, None, None),
            r#""tool-result",RUN,CALL,"status":"handed_over","isError":false"#,
        ),
        (
            result(How::TimedOut, Some(Reason::TimedOut), None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true,"how":"timed_out","reason":"timed_out""#,
        ),
        (Body::Cancelled { call: c() }, r#""tool-cancelled",RUN,CALL"#),
        (
            ask(AskKind::Approval, None),
            r#""approval-asked",RUN,CALL,"requestId":"q","choices":[1]"#,
        ),
        (
            ask(AskKind::Question, Some("?")),
            r#""question-asked",RUN,CALL,"requestId":"q","prompt":"?","choices":[1]"#,
        ),
        (
            reply(Verdict::Allowed, None),
            r#""approval-answered",RUN,CALL,"requestId":"q","verdict":"allowed""#,
        ),
        (
            reply(Verdict::Denied, Some("\"no\"")),
            r#""approval-answered",RUN,CALL,"requestId":"q","verdict":"denied","answer":"no""#,
        ),
        (
            reply(Verdict::Answered, Some("{}")),
            r#""question-answered",RUN,CALL,"requestId":"q","verdict":"answered","answer":{}"#,
        ),
        (
            reply(Verdict::Cancelled, None),
            r#""question-answered",RUN,CALL,"requestId":"q","verdict":"cancelled""#,
        ),
        (
            Body::Tasks(vec![
                task(Some(id("1")), "a", TaskStatus::InProgress, Some("doing a")),
                task(None, "", TaskStatus::Unknown, None),
            ]),
            r#""tasks",RUN,"tasks":[{"id":"1","content":"a","status":"in_progress","activeForm":"doing a"},{"content":"","status":"unknown"}]"#,
        ),
        (Body::Tasks(Vec::new()), r#""tasks",RUN,"tasks":[]"#),
        (Body::Usage(usage), r#""usage",RUN,COST"#),
        (
            Body::Activity(Activity {
                kind: id("repair"),
                id: Some(id("card")),
                content: json("\"x\""),
            }),
            r#""activity",RUN,"kind":"repair","activityId":"card","content":"x""#,
        ),
        (
            Body::Problem(problem.clone()),
            r#""error",RUN,"message":"no\n","code":"529","fatal":true"#,
        ),
        (Body::Stop(Stop { grace: u64::MAX }), r#""stop",RUN,"grace":18446744073709551615"#),
        (Body::TimedOut { call: None }, r#""timed-out",RUN"#),
        (Body::TimedOut { call: Some(c()) }, r#""timed-out",RUN,CALL"#),
        (
            Body::TimedOut { call: Some(CallRef::default()) },
            r#""timed-out",RUN,"toolCallId":"","toolId":"""#,
        ),
        (
            Body::Ended(Ended {
                outcome: Some(Outcome::NoText),
                text: Some(String::new()),
                problem: Some(problem),
                usage: Some(usage),
            }),
            r#""run-ended",RUN,"reason":"no_text","finalContent":"","error":{"message":"no\n","code":"529","fatal":true},COST"#,
        ),
        (Body::Ended(Ended::default()), r#""run-ended",RUN"#),
        (
            Body::Unknown { kind: "x:y".into(), raw: json(r#"{"type":"x:y"}"#) },
            r#""unknown",RUN,"kind":"x:y","raw":{"type":"x:y"}"#,
        ),
    ];
    for (body, short) in table {
        let event = Event {
            run: id("r"),
            epoch: Some(3),
            seq: Some(7),
            at: Some(1_700_000_000_000),
            odd: Some(id("w")),
            body,
        };
        let text = format!("{{\"type\":{short},\"odd\":\"w\"}}")
            .replace("RUN", r#""runId":"r","epoch":3,"seq":7,"at":1700000000000"#)
            .replace("CALL", r#""toolCallId":"c","toolId":"c""#)
            .replace("COST", r#""tokenUsage":{"input":10,"output":5,"cached":8,"reasoning":1}"#);
        assert_eq!(write(&event), text);
        assert_eq!(read(&text), Ok(event), "{text}");
    }
}

#[test]
fn b3_14_both_names_of_a_call_are_written() {
    let text = write(&plain(Body::Cancelled { call: c() }));
    assert_eq!(text, r#"{"type":"tool-cancelled","runId":"r","toolCallId":"c","toolId":"c"}"#);
}

#[test]
fn every_example_of_the_reference_is_in_our_own_spelling() {
    for text in examples() {
        assert_eq!(read(text).map(|event| write(&event)).as_deref(), Ok(text));
    }
}

#[test]
fn the_reference_has_a_heading_and_an_example_for_every_type() {
    let reference = include_str!("../../../../../docs/runs/events.md");
    let headings: BTreeSet<String> =
        reference.lines().filter_map(|line| line.strip_prefix("### ")).map(String::from).collect();
    let kind = |text: &str| text.split('"').nth(3).unwrap_or("").to_owned();
    let shown: BTreeSet<String> = examples().into_iter().map(kind).collect();
    let mut dice = Dice::new(1);
    let written: BTreeSet<String> =
        (0..400).map(|round| kind(&write(&dice.event(round % Dice::BODIES)))).collect();
    assert_eq!(headings, written);
    assert_eq!(shown, written);
}
