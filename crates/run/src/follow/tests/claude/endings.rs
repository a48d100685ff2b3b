//! How runs end, and what belongs to which of them.

use super::*;

#[test]
fn a_result_says_how_the_run_ended() {
    let table = [
        (r#""subtype":"success","result":"words""#, r#"completed ="words""#),
        (r#""subtype":"success","result":"""#, "-"),
        (r#""subtype":"success""#, "-"),
        (
            r#""subtype":"success","result":"words","terminal_reason":"completed""#,
            r#"completed ="words""#,
        ),
        (r#""subtype":"success","result":"words","stop_reason":"refusal""#, r#"refused ="words""#),
        (r#""subtype":"success","structured_output":{"a":1}"#, r#"completed ="{\"a\":1}""#),
        (
            r#""subtype":"success","is_error":true,"result":"API Error: 400","api_error_status":400"#,
            r#"failed problem 400 "API Error: 400" fatal"#,
        ),
        (
            r#""subtype":"error_max_turns","is_error":true,"errors":["too many"]"#,
            r#"max_turns problem error_max_turns "too many" fatal"#,
        ),
        (
            r#""subtype":"error_max_budget_usd","is_error":true"#,
            r#"failed problem error_max_budget_usd "the agent reported that the run failed" fatal"#,
        ),
        (
            r#""subtype":"error_during_execution","is_error":false"#,
            r#"failed problem error_during_execution "the agent reported that the run failed" fatal"#,
        ),
        (
            r#""subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["[ede]"]"#,
            "stopped",
        ),
        (
            r#""subtype":"success","terminal_reason":"sunset","result":"words""#,
            r#"completed ="words""#,
        ),
        (
            r#""subtype":"error","is_error":true,"terminal_reason":"sunset","result":"words""#,
            r#"failed problem sunset "words" fatal"#,
        ),
    ];
    for (fields, expected) in table {
        let mut follower = started();
        assert_eq!(follower.line(&format!(r#"{{"type":"result",{fields}}}"#)), [], "{fields}");
        let events = follower.finish(AgentExit::Code(0));
        assert_eq!(end(&events), expected, "{fields}");
        let odd = events.last().and_then(|event| event.unknown_word.clone());
        assert_eq!(odd.is_some(), fields.contains("sunset"), "{fields}");
    }
}

#[test]
fn a_run_without_a_result_gets_an_outcome_from_its_exit() {
    let stream = r#"interrupted problem stream-ended "the output of the agent ended before the run ended" fatal"#;
    let table = [
        (AgentExit::Eof, stream),
        (AgentExit::Code(0), stream),
        (
            AgentExit::Code(1),
            r#"failed problem exit "the agent exited with code 1 before the run ended" fatal"#,
        ),
        (
            AgentExit::Code(143),
            r#"interrupted problem killed "the agent was killed by signal 15 before the run ended" fatal"#,
        ),
        (
            AgentExit::Signal(9),
            r#"interrupted problem killed "the agent was killed by signal 9 before the run ended" fatal"#,
        ),
    ];
    let cut = |text: &str| {
        let kept: String = text.chars().take(30).collect();
        kept
    };
    for (exit, expected) in table {
        let mut follower = started();
        follower.line(CALL);
        assert_eq!(cut(&end(&follower.finish(exit))), cut(expected), "{exit:?}");
        // Even if it sent nothing at all.
        let mut silent = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
        assert_eq!(cut(&end(&silent.finish(exit))), cut(expected), "{exit:?}");
        // The announced end holds, unless more was expected.
        let mut follower = started();
        follower.line(RESULT);
        assert_eq!(end(&follower.finish(exit)), r#"completed ="words""#, "{exit:?}");
        let mut follower = started();
        follower.line(RESULT);
        follower.line(CALL);
        let ended = end(&follower.finish(exit));
        let outcome = expected.split(' ').next().unwrap();
        assert!(ended.starts_with(&format!(r#"{outcome} ="words" problem"#)), "{ended}");
    }
    let busy =
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b"}]}"#;
    for (exit, outcome) in
        [(AgentExit::Code(0), "completed"), (AgentExit::Signal(9), "interrupted")]
    {
        let mut follower = started();
        follower.line(busy);
        follower.line(RESULT);
        assert!(end(&follower.finish(exit)).starts_with(outcome), "{exit:?}");
    }
}

#[test]
fn a_host_without_a_prompt_has_no_run() {
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    follower.host_line(
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"initialize"}}"#,
    );
    assert_eq!(follower.finish(AgentExit::Code(0)), []);
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    follower.host_line(PROMPT);
    assert!(end(&follower.finish(AgentExit::Code(1))).starts_with("failed"));
}

#[test]
fn the_end_is_emitted_when_it_is_certain() {
    // At idle.
    let mut follower = started();
    follower.line(r#"{"type":"system","subtype":"session_state_changed","state":"running"}"#);
    assert_eq!(follower.line(RESULT), []);
    assert_eq!(end(&follower.line(IDLE)), r#"completed ="words""#);
    assert_eq!(follower.line(IDLE), []);
    // At idle, even without a result.
    let mut follower = started();
    assert_eq!(end(&follower.line(IDLE)), "-");
    // At the next prompt; a late idle does not end the new run.
    let mut follower = started();
    follower.line(RESULT);
    assert_eq!(end(&follower.host_line(PROMPT)), r#"completed ="words""#);
    assert_eq!(follower.line(IDLE), []);
    assert_eq!(follower.line(START).first().map(|event| event.run.clone()), Some("run-2".into()));
    // When the host does not want to wait.
    let mut follower = started();
    assert_eq!(follower.settle(), []);
    follower.line(RESULT);
    assert_eq!(end(&follower.settle()), r#"completed ="words""#);
    assert_eq!(follower.settle(), []);
    // When a turn begins that only a prompt can have started.
    let mut follower = started();
    follower.line(RESULT);
    let events = told(&follower.line(START));
    assert_eq!(events.first().map(String::as_str), Some(r#"ended completed ="words""#));
    assert_eq!(events.get(1).map(String::as_str), Some("started claude-code model=m session=s"));
}

#[test]
fn the_next_run_has_the_name_that_it_is_given() {
    let run = |events: &[RunEvent]| events.last().map(|event| event.run.to_string());
    let mut follower = started();
    follower.line(RESULT);
    assert_eq!(end(&follower.next_run("second".into())), r#"completed ="words""#);
    assert_eq!(follower.host_line(PROMPT), []);
    assert_eq!(run(&follower.line(START)).as_deref(), Some("second"));
    // While it runs, the id is held back.
    assert_eq!(follower.next_run("third".into()), []);
    assert_eq!(run(&follower.line(CALL)).as_deref(), Some("second"));
    follower.line(RESULT);
    follower.host_line(PROMPT);
    assert_eq!(run(&follower.line(START)).as_deref(), Some("third"));
    // After the prompt is early enough.
    follower.line(RESULT);
    follower.host_line(PROMPT);
    follower.next_run("fourth".into());
    assert_eq!(run(&follower.line(START)).as_deref(), Some("fourth"));
    // A run without a given id.
    follower.line(RESULT);
    follower.host_line(PROMPT);
    assert_eq!(run(&follower.line(START)).as_deref(), Some("run-5"));
}

#[test]
fn calls_of_one_run_are_not_those_of_the_next() {
    let mut follower = started();
    follower.line(CALL);
    follower.line(RESULT);
    follower.host_line(PROMPT);
    follower.line(START);
    assert_eq!(follower.state(), AgentState::Streaming);
    assert_eq!(told(&follower.line(CALL)), ["turn 1 m1", r#"call x@1 T running {"a":1}"#]);
}

#[test]
fn every_message_costs_once() {
    let usage = |fields: &str| format!(r#""usage":{{{fields}}}"#);
    let message = |id: &str, parent: &str, cost: &str| {
        format!(
            r#"{{"type":"assistant"{parent},"message":{{"id":"{id}","content":[{{"type":"text","text":"a"}}],{}}}}}"#,
            usage(cost)
        )
    };
    let mut follower = started();
    let mut costs = |line: &str| -> Vec<String> {
        let events = follower.line(line);
        told(&events).into_iter().filter(|line| line.starts_with("usage")).collect()
    };
    let cost = r#""input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1"#;
    assert_eq!(costs(&message("m1", "", cost)), ["usage 115/1 cached 100 reasoning 0"]);
    assert_eq!(costs(&message("m1", "", cost)), [""; 0]);
    let nested = r#","parent_tool_use_id":"x""#;
    let more = r#""input_tokens":7,"output_tokens":3"#;
    assert_eq!(costs(&message("s1", nested, more)), ["usage 122/4 cached 100 reasoning 0"]);
    // Only the run's own messages are in this sum.
    let sum = r#""input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":20,"output_tokens_details":{"thinking_tokens":8}"#;
    let result = format!(r#"{{"type":"result","subtype":"success","result":"w",{}}}"#, usage(sum));
    assert_eq!(costs(&result), ["usage 122/23 cached 100 reasoning 8"]);
    assert_eq!(costs(&message("m1", "", cost)), [""; 0]);
    // This sum includes everything.
    let models = r#""model_usage_since_last_result":{"a":{"inputTokens":1,"outputTokens":2},"b":{"inputTokens":3,"outputTokens":4,"cacheReadInputTokens":5}}"#;
    assert_eq!(
        costs(&format!(r#"{{"type":"result","subtype":"success","result":"w",{models}}}"#)),
        ["usage 131/29 cached 105 reasoning 8"]
    );
}

#[test]
fn a_later_result_that_says_nothing_does_not_hide_the_one_that_did() {
    let empty = r#"{"type":"result","subtype":"success","result":"","is_error":false}"#;
    let mut follower = started();
    follower.line(RESULT);
    follower.line(empty);
    assert_eq!(end(&follower.finish(AgentExit::Code(0))), r#"completed ="words""#);
    let failed = r#"{"type":"result","subtype":"success","result":"down","is_error":true}"#;
    let mut follower = started();
    follower.line(RESULT);
    follower.line(failed);
    let events = follower.finish(AgentExit::Code(1));
    match events.last().map(|event| &event.body) {
        Some(EventPayload::Ended(ended)) => assert_eq!(ended.outcome, Some(Outcome::Failed)),
        body => panic!("{body:?}"),
    }
}

#[test]
fn what_the_agent_says_of_itself_is_a_card() {
    let table = [
        (
            r#"{"type":"system","subtype":"status","status":"compacting"}"#,
            r#"activity compaction compaction-1 {"type":"system","subtype":"status","status":"compacting"}"#,
        ),
        (
            r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}"#,
            r#"activity compaction compaction-1 {"trigger":"auto"}"#,
        ),
        (
            r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}"#,
            r#"activity compaction compaction-2 {"trigger":"auto"}"#,
        ),
        (
            r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error":"server_error"}"#,
            r#"problem server_error "the model request failed: attempt 1 of 2, next attempt in 0…"#,
        ),
        (
            r#"{"type":"rate_limit_event"}"#,
            r#"activity rate-limit-event - {"type":"rate_limit_event"}"#,
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"error","error":"no such mode"}}"#,
            r#"problem control "no such mode""#,
        ),
        (
            r#"{"type":"tool_progress","tool_use_id":"x-heartbeat-0","parent_tool_use_id":"x","elapsed_time_seconds":30}"#,
            r#"progress x@1 {"elapsed_seconds":30}"#,
        ),
        (
            r#"{"type":"tool_progress","tool_use_id":"x","parent_tool_use_id":null,"elapsed_time_seconds":31}"#,
            r#"progress x@1 {"elapsed_seconds":31}"#,
        ),
        (
            r#"{"type":"tool_progress","tool_use_id":"nobody","elapsed_time_seconds":32}"#,
            r#"activity tool-progress nobody {"elapsed_seconds":32}"#,
        ),
    ];
    let mut follower = started();
    follower.line(CALL);
    for (line, expected) in table {
        let told = told(&follower.line(line)).join("; ");
        let cut: String = told.chars().take(expected.chars().count()).collect();
        assert_eq!(cut, expected, "{line}");
    }
}
