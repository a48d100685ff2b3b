//! Our own spelling of every type, written and read.

use std::collections::BTreeSet;

use super::{generate::Dice, *};

#[test]
fn every_type_is_written_as_in_the_table() {
    let text = |delta: Option<&str>, full: Option<&str>| TextUpdate {
        message: Some(id("m")),
        parent: Some(id("p")),
        delta: delta.map(String::from),
        full: full.map(String::from),
    };
    let result = |outcome, reason, content: Option<&str>| {
        EventPayload::ToolResult(ToolResult {
            call: c(),
            name: None,
            outcome,
            reason,
            content: content.map(json),
        })
    };
    let request = |kind, prompt: Option<&str>| {
        let prompt = prompt.map(String::from);
        EventPayload::ApprovalRequested(ApprovalRequest {
            call: c(),
            id: Some(id("q")),
            kind,
            prompt,
            choices: Some(json("[1]")),
        })
    };
    let reply = |verdict, answer: Option<&str>| {
        EventPayload::ApprovalReplied(ApprovalReply {
            call: c(),
            id: Some(id("q")),
            verdict,
            answer: answer.map(json),
        })
    };
    let task = |id: Option<SharedId>, content: &str, status, active: Option<&str>| TaskItem {
        id,
        content: content.into(),
        status,
        active: active.map(String::from),
    };
    let usage = RunUsage { input: 10, output: 5, cached: 8, reasoning: 1 };
    let problem = RunProblem { message: "no\n".into(), code: Some(id("529")), fatal: true };
    let full_start = RunStart {
        session: Some(id("s")),
        parent: Some(id("r0")),
        agent: Some(id("a")),
        model: Some(id("m")),
    };
    let call = ToolCallUpdate {
        call: CallRef { id: Some(id("c")), turn: Some(2) },
        name: Some(id("Bash")),
        parent: Some(id("p")),
        input: Some(json(r#"{ "command":"ls"}"#)),
        title: Some("List".into()),
        status: Some(ToolStatus::AwaitingApproval),
    };
    let table = [
        (
            EventPayload::Started(full_start),
            r#""run-started",RUN,"sessionId":"s","parentRunId":"r0","agent":"a","model":"m""#,
        ),
        (EventPayload::Started(RunStart::default()), r#""run-started",RUN"#),
        (
            EventPayload::ToolsAvailable(ToolsAvailable {
                version: Some(4),
                ready: false,
                tools: vec![id("Bash"), id("a\"b")],
            }),
            r#""tools-available",RUN,"version":4,"ready":false,"tools":["Bash","a\"b"]"#,
        ),
        (
            EventPayload::TurnStarted(TurnStart { turn: Some(u32::MAX), message: Some(id("m")) }),
            r#""turn-started",RUN,"turn":4294967295,"messageId":"m""#,
        ),
        (
            EventPayload::Text(text(Some("a\tb"), None)),
            r#""text",RUN,"messageId":"m","parentToolCallId":"p","delta":"a\tb""#,
        ),
        (
            EventPayload::Thought(text(Some(""), Some("all"))),
            r#""thought",RUN,"messageId":"m","parentToolCallId":"p","delta":"","full":"all""#,
        ),
        (
            EventPayload::ToolCall(call),
            r#""tool-call",RUN,CALL,"turn":2,"name":"Bash","parentToolCallId":"p","input":{ "command":"ls"},"title":"List","status":"awaiting_approval""#,
        ),
        (
            EventPayload::ToolArguments { call: c(), delta: "{\"a".into() },
            r#""tool-arguments",RUN,CALL,"delta":"{\"a""#,
        ),
        (
            EventPayload::ToolProgress { call: c(), content: json("[1]") },
            r#""tool-progress",RUN,CALL,"content":[1]"#,
        ),
        (
            result(ToolOutcome::Ok, None, Some("\"x\"")),
            r#""tool-result",RUN,CALL,"status":"succeeded","isError":false,"content":"x""#,
        ),
        (
            result(ToolOutcome::Error, None, None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true"#,
        ),
        (
            result(ToolOutcome::Denied, None, None),
            r#""tool-result",RUN,CALL,"status":"denied","isError":true"#,
        ),
        (
            result(ToolOutcome::TimedOut, None, None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true,"reason":"timed_out""#,
        ),
        (
            result(ToolOutcome::Cancelled, Some(ToolStatusReason::CallCancelled), None),
            r#""tool-result",RUN,CALL,"status":"cancelled","isError":true,"reason":"called_off""#,
        ),
        (
            result(ToolOutcome::Interrupted, Some(ToolStatusReason::RunEnded), None),
            r#""tool-result",RUN,CALL,"status":"interrupted","isError":true,"reason":"run_ended""#,
        ),
        (
            result(ToolOutcome::Skipped, None, None),
            r#""tool-result",RUN,CALL,"status":"cancelled","isError":true,"reason":"skipped""#,
        ),
        (
            result(ToolOutcome::HandedOver, None, None),
            r#""tool-result",RUN,CALL,"status":"handed_over","isError":false"#,
        ),
        (
            result(ToolOutcome::TimedOut, Some(ToolStatusReason::TimedOut), None),
            r#""tool-result",RUN,CALL,"status":"failed","isError":true,"how":"timed_out","reason":"timed_out""#,
        ),
        (EventPayload::ToolCancelled { call: c() }, r#""tool-cancelled",RUN,CALL"#),
        (
            request(ApprovalKind::Approval, None),
            r#""approval-asked",RUN,CALL,"requestId":"q","choices":[1]"#,
        ),
        (
            request(ApprovalKind::Question, Some("?")),
            r#""question-asked",RUN,CALL,"requestId":"q","prompt":"?","choices":[1]"#,
        ),
        (
            reply(ApprovalVerdict::Allowed, None),
            r#""approval-answered",RUN,CALL,"requestId":"q","verdict":"allowed""#,
        ),
        (
            reply(ApprovalVerdict::Denied, Some("\"no\"")),
            r#""approval-answered",RUN,CALL,"requestId":"q","verdict":"denied","answer":"no""#,
        ),
        (
            reply(ApprovalVerdict::Answered, Some("{}")),
            r#""question-answered",RUN,CALL,"requestId":"q","verdict":"answered","answer":{}"#,
        ),
        (
            reply(ApprovalVerdict::Cancelled, None),
            r#""question-answered",RUN,CALL,"requestId":"q","verdict":"cancelled""#,
        ),
        (
            EventPayload::Tasks(vec![
                task(Some(id("1")), "a", TaskStatus::InProgress, Some("doing a")),
                task(None, "", TaskStatus::Unknown, None),
            ]),
            r#""tasks",RUN,"tasks":[{"id":"1","content":"a","status":"in_progress","activeForm":"doing a"},{"content":"","status":"unknown"}]"#,
        ),
        (EventPayload::Tasks(Vec::new()), r#""tasks",RUN,"tasks":[]"#),
        (EventPayload::Usage(usage), r#""usage",RUN,COST"#),
        (
            EventPayload::Activity(ActivityCard {
                kind: id("repair"),
                id: Some(id("card")),
                content: json("\"x\""),
            }),
            r#""activity",RUN,"kind":"repair","activityId":"card","content":"x""#,
        ),
        (
            EventPayload::Problem(problem.clone()),
            r#""error",RUN,"message":"no\n","code":"529","fatal":true"#,
        ),
        (
            EventPayload::Stop(StopRequest { grace: u64::MAX }),
            r#""stop",RUN,"grace":18446744073709551615"#,
        ),
        (EventPayload::TimedOut { call: None }, r#""timed-out",RUN"#),
        (EventPayload::TimedOut { call: Some(c()) }, r#""timed-out",RUN,CALL"#),
        (
            EventPayload::TimedOut { call: Some(CallRef::default()) },
            r#""timed-out",RUN,"toolCallId":"","toolId":"""#,
        ),
        (
            EventPayload::Ended(RunEnd {
                outcome: Some(Outcome::NoText),
                text: Some(String::new()),
                problem: Some(problem),
                usage: Some(usage),
            }),
            r#""run-ended",RUN,"reason":"no_text","finalContent":"","error":{"message":"no\n","code":"529","fatal":true},COST"#,
        ),
        (EventPayload::Ended(RunEnd::default()), r#""run-ended",RUN"#),
        (
            EventPayload::Unknown { kind: "x:y".into(), raw: json(r#"{"type":"x:y"}"#) },
            r#""unknown",RUN,"kind":"x:y","raw":{"type":"x:y"}"#,
        ),
    ];
    for (body, short) in table {
        let event = RunEvent {
            run: id("r"),
            epoch: Some(3),
            seq: Some(7),
            at: Some(1_700_000_000_000),
            unknown_word: Some(id("w")),
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
    let text = write(&plain(EventPayload::ToolCancelled { call: c() }));
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
    let documented: BTreeSet<String> = examples().into_iter().map(kind).collect();
    let mut dice = Dice::new(1);
    let written: BTreeSet<String> =
        (0..400).map(|round| kind(&write(&dice.event(round % Dice::BODIES)))).collect();
    assert_eq!(headings, written);
    assert_eq!(documented, written);
}
