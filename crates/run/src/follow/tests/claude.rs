//! Claude Code: cases that the recordings do not cover.

mod endings;

use crate::{
    EventPayload, Outcome, RunEvent,
    follow::{
        AgentExit, AgentFollower, AgentState, StreamSource,
        tests::story::{becomes, told},
    },
};

const START: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}"#;
const CALL: &str = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"T","input":{"a":1}}]}}"#;
const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","result":"words"}"#;
const IDLE: &str = r#"{"type":"system","subtype":"session_state_changed","state":"idle"}"#;

fn claude(stream: &str, expected: &str) {
    becomes(StreamSource::ClaudeCode, stream, expected);
}

fn started() -> AgentFollower {
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    follower.line(START);
    follower
}

/// The text after `ended` of the last event.
fn end(events: &[RunEvent]) -> String {
    let last = told(events).pop().unwrap_or_default();
    last.strip_prefix("ended ").map_or_else(|| format!("no end: {last}"), str::to_owned)
}

#[test]
fn a_part_that_ends_before_its_line_is_emitted_once() {
    let events = r#"
        {"type":"system","subtype":"init","session_id":"s","tools":[]}
        {"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}
        {"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}
        {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi \ud83d"}}}
        {"type":"stream_event","event":{"type":"content_block_stop","index":0}}
        {"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"T","input":{}}}}
        {"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1}"}}}
        {"type":"stream_event","event":{"type":"content_block_stop","index":1}}
        {"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"y","name":"T","input":{}}}}
        {"type":"stream_event","event":{"type":"content_block_stop","index":2}}
        {"type":"stream_event","event":{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"hm"}}}
        {"type":"stream_event","event":{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"s"}}}
        {"type":"stream_event","event":{"type":"content_block_delta","index":3,"delta":{"type":"hum_delta"}}}
        {"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":3,"output_tokens":9}}}
        {"type":"stream_event","event":{"type":"message_stop"}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Hi 😀"},{"type":"tool_use","id":"x","name":"T","input":{"a":1,"b":2}},{"type":"tool_use","id":"y","name":"T","input":{}},{"type":"thinking","thinking":"hm"}]}}
        {"type":"stream_event","event":{"type":"error","error":{"type":"overloaded_error","message":"busy"}}}
    "#;
    claude(
        events,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 ready 0
        2 turn 1 m1
        4 text m1 +"Hi �"
        6 call x@1 T pending
        7 arguments x@1 +"{\"a\": 1}"
        8 call x@1 T running {"a": 1}
        9 call y@1 T pending
        10 call y@1 T running {}
        11 thought m1 +"hm"
        13 unknown stream_event:hum_delta {"type":"stream_event","event":{"type":"content_block_delta"…
        14 usage 3/9 cached 0 reasoning 0
        16 text m1 ="Hi 😀"
        16 thought m1 ="hm"
        17 problem overloaded_error "busy"
        "#,
    );
}

#[test]
fn repeated_lines_are_not_emitted_again() {
    claude(
        r#"
        {"type":"system","subtype":"init","session_id":"s","tools":[]}
        {"type":"assistant","uuid":"1","message":{"id":"m1","content":[{"type":"text","text":"a"}]}}
        {"type":"assistant","uuid":"1","message":{"id":"m1","content":[{"type":"text","text":"a"}]}}
        {"type":"assistant","uuid":"2","message":{"id":"m1","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"x","name":"T","input":{}}]}}
        {"type":"assistant","uuid":"3","message":{"id":"m1","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"x","name":"T","input":{}},{"type":"text","text":"a"}]}}
        {"type":"user","uuid":"4","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}}
        {"type":"user","uuid":"4","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}}
        {"type":"assistant","uuid":"5","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"T","input":{ }}]}}
        {"type":"assistant","uuid":"6","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"T","input":{"other":1}}]}}
        {"type":"user","uuid":"7","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"other"}]}}
        "#,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 ready 0
        2 turn 1 m1
        2 text m1 ="a"
        4 call x@1 T running {}
        5 text m1 ="a"
        6 result x@1 T Ok "ok"
        9 call x#2@1 T running {"other":1}
        10 result x#2@1 T Ok "other"
        "#,
    );
}

#[test]
fn every_kind_of_block_is_emitted() {
    claude(
        r#"
        {"type":"system","subtype":"init","session_id":"s","tools":["T"],"mcp_servers":[{"name":"w","status":"pending"}]}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"server_tool_use","id":"w","name":"web_search","input":{"query":"fox"}}]}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"Fox"}]}]}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"mcp_tool_use","id":"v","name":"get","input":{}},{"type":"mcp_tool_result","tool_use_id":"v","is_error":true,"content":[]}]}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"server_tool_use","id":"u","name":"web_fetch","input":{}},{"type":"web_fetch_tool_result","tool_use_id":"u","content":{"type":"web_fetch_tool_result_error"}}]}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"redacted_thinking","data":"x"},{"type":"hologram"},7]}}
        {"type":"assistant","message":{"id":"m1","content":"plain words"}}
        {"type":"assistant","message":{"content":[{"type":"text","text":"no id"}]}}
        {"type":"assistant","message":{"content":[{"type":"text","text":"still the same"}]}}
        {"type":"user","message":{"content":[{"type":"image"},{"type":"text","text":"a note"}]}}
        {"type":"assistant","message":{"content":[{"type":"text","text":"another"},{"type":"text","text":""}]}}
        {"type":"assistant","message":{"id":"m4","content":{"odd":1}}}
        "#,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 not ready 1
        2 turn 1 m1
        2 call w@1 web_search running {"query":"fox"}
        3 result w@1 web_search Ok [{"type":"web_search_result","title":"Fox"}]
        4 call v@1 get running {}
        4 result v@1 get Error []
        5 call u@1 web_fetch running {}
        5 result u@1 web_fetch Error {"type":"web_fetch_tool_result_error"}
        6 unknown block:redacted_thinking {"type":"redacted_thinking","data":"x"}
        6 unknown block:hologram {"type":"hologram"}
        6 unknown block 7
        7 text m1 ="plain words"
        8 turn 2 -
        8 text - ="no id"
        9 text - ="still the same"
        10 unknown block:image {"type":"image"}
        10 activity note - "a note"
        11 turn 3 -
        11 text - ="another"
        12 turn 4 m4
        12 unknown content {"odd":1}
        "#,
    );
}

#[test]
fn a_call_of_the_provider_is_not_waited_for() {
    let mut follower = started();
    follower.line(r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"server_tool_use","id":"w","name":"web_search","input":{}}]}}"#);
    assert_eq!(follower.state(), AgentState::Streaming);
}

#[test]
fn sub_agents_speak_under_the_call_they_work_for() {
    claude(
        r#"
        {"type":"system","subtype":"init","session_id":"s","tools":[]}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"a","name":"Task","input":{}}]}}
        {"type":"assistant","parent_tool_use_id":"a","message":{"id":"s1","content":[{"type":"tool_use","id":"b","name":"Task","input":{}}]}}
        {"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"meanwhile"}]}}
        {"type":"stream_event","parent_tool_use_id":"b","event":{"type":"message_start","message":{"id":"s2"}}}
        {"type":"stream_event","event":{"type":"message_start","message":{"id":"m3"}}}
        {"type":"stream_event","parent_tool_use_id":"b","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"deep"}}}
        {"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"up"}}}
        {"type":"assistant","parent_tool_use_id":"b","message":{"id":"s2","content":[{"type":"text","text":"deep"},{"type":"tool_use","id":"c","name":"TodoWrite","input":{"todos":[]}}]}}
        {"type":"user","parent_tool_use_id":"b","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]}}
        {"type":"assistant","parent_tool_use_id":"nobody","message":{"id":"s3","content":[{"type":"tool_use","id":"d","name":"T","input":{}}]}}
        {"type":"assistant","parent_tool_use_id":"b","message":{"id":"s4","content":[{"type":"tool_use","id":"c","name":"T","input":{}}]}}
        {"type":"user","parent_tool_use_id":"b","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"again"}]}}
        "#,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 ready 0
        2 turn 1 m1
        2 call a@1 Task running {}
        3 call b@1 Task running under a {}
        4 turn 2 m2
        4 text m2 ="meanwhile"
        6 turn 3 m3
        7 text s2 under b +"deep"
        8 text m3 +"up"
        9 text s2 under b ="deep"
        9 call c@1 TodoWrite running under b {"todos":[]}
        10 result c@1 TodoWrite Ok "ok"
        11 call d@3 T running under nobody {}
        12 call c#2@1 T running under b {}
        13 result c#2@1 T Ok "again"
        "#,
    );
}

#[test]
fn a_task_list_is_emitted_when_it_changes() {
    claude(
        r#"
        {"type":"system","subtype":"init","session_id":"s","tools":[]}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"TodoWrite","input":{"todos":[{"content":"one","status":"in_progress","activeForm":"doing one"}]}}]}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"y","name":"TaskCreate","input":{"subject":"two"}}]}}
        {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"y","content":"Task #1 created"}]},"tool_use_result":{"task":{"id":"1","subject":"two"}}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"z","name":"TaskUpdate","input":{"taskId":"1","status":"completed"}}]}}
        {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"z","is_error":true,"content":"no"}]}}
        "#,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 ready 0
        2 turn 1 m1
        2 call x@1 TodoWrite running {"todos":[{"content":"one","status":"in_progress","activeFor…
        2 tasks InProgress one
        3 call y@1 TaskCreate running {"subject":"two"}
        4 result y@1 TaskCreate Ok "Task #1 created"
        4 tasks Pending two
        5 call z@1 TaskUpdate running {"taskId":"1","status":"completed"}
        6 result z@1 TaskUpdate Error "no"
        "#,
    );
}

#[test]
fn a_request_is_answered_in_the_words_of_its_host() {
    let ask = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"T","input":{"a":1},"tool_use_id":"x"}}"#;
    let question = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"One?"},{"question":"Two?"}]},"tool_use_id":"x"}}"#;
    let table = [
        (ask, r#"{"behavior":"allow"}"#, "replied x@1 q Allowed -"),
        (ask, r#"{"behavior":"allow","updatedInput":{"a":1}}"#, "replied x@1 q Allowed -"),
        (ask, r#"{"behavior":"allow","updatedInput":{"a":2}}"#, r#"replied x@1 q Allowed {"a":2}"#),
        (ask, r#"{"behavior":"deny","message":"no"}"#, r#"replied x@1 q Denied "no""#),
        (ask, r#"{}"#, "replied x@1 q Denied -"),
        (
            question,
            r#"{"behavior":"allow","updatedInput":{"answers":{"One?":"1"}}}"#,
            r#"replied x@1 q Answered {"One?":"1"}"#,
        ),
        (question, r#"{"behavior":"deny","message":"later"}"#, r#"replied x@1 q Denied "later""#),
    ];
    for (ask, response, expected) in table {
        let mut follower = started();
        follower.line(CALL);
        follower.line(ask);
        assert!(matches!(follower.state(), AgentState::Waiting { .. }));
        let answer = format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"q","response":{response}}}}}"#
        );
        assert_eq!(told(&follower.host_line(&answer)), [expected], "{response}");
        assert_eq!(follower.host_line(&answer), [], "a second answer: {response}");
    }
    let mut follower = started();
    follower.line(CALL);
    let asked = told(&follower.line(question));
    let expected = r#"asked x@1 q Question "One?\nTwo?" [{"question":"One?"},{"question":"Two?"}]"#;
    assert_eq!(asked, [expected]);
    let failure = r#"{"type":"control_response","response":{"subtype":"error","request_id":"q","error":"broken"}}"#;
    assert_eq!(told(&follower.host_line(failure)), [r#"replied x@1 q Denied "broken""#]);
}

#[test]
fn a_request_before_its_call_is_one_call() {
    claude(
        r#"
        {"type":"system","subtype":"init","session_id":"s","tools":[]}
        {"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"T","input":{"a":1},"tool_use_id":"x","description":"do it"}}
        {"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"x","name":"T","input":{"a":1}}]}}
        {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}}
        "#,
        r#"
        1 started claude-code model=- session=s
        1 tools v1 ready 0
        2 call x@0 T - {"a":1}
        2 asked x@0 q Approval "do it" -
        3 turn 1 m1
        4 replied x@0 q Allowed -
        4 result x@0 T Ok "ok"
        "#,
    );
}

#[test]
fn the_outcome_of_a_call_comes_from_the_most_reliable_field() {
    let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let plain = r#""is_error":true"#;
    let table = [
        (r#""is_error":false"#, "fine", "", "Ok"),
        ("", "fine", "", "Ok"),
        ("", "cut", r#","tool_use_result":{"interrupted":true}"#, "Interrupted"),
        (plain, "broke", "", "Error"),
        (plain, "[Request interrupted by user for tool use]", "", "Interrupted"),
        (plain, rejected, "", "Denied"),
        (
            plain,
            rejected,
            r#","tool_result_meta":[{"id":"x","non_execution_kind":"user-rejected"}]"#,
            "Interrupted",
        ),
        (
            plain,
            "broke",
            r#","tool_result_meta":[{"id":"x","permission_decision":{"decision":"accept"}}]"#,
            "Error",
        ),
        (
            plain,
            "no",
            r#","tool_result_meta":[{"id":"x","non_execution_kind":"permission-rule"}]"#,
            "Denied",
        ),
        (
            plain,
            "no",
            r#","tool_result_meta":[{"id":"x","permission_decision":{"decision":"reject"}}]"#,
            "Denied",
        ),
        (
            plain,
            "no",
            r#","tool_result_meta":[{"id":"y","permission_decision":{"decision":"reject"}}]"#,
            "Error",
        ),
        (
            plain,
            "Claude requested permissions to use T, but you haven't granted it yet.",
            "",
            "Denied",
        ),
    ];
    for (flag, content, rest, expected) in table {
        let mut follower = started();
        follower.line(CALL);
        let comma = if flag.is_empty() { "" } else { "," };
        let line = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"x","content":"{content}"{comma}{flag}}}]}}{rest}}}"#
        );
        let told = told(&follower.line(&line)).join("; ");
        assert!(told.starts_with(&format!("result x@1 T {expected} ")), "{line}\n{told}");
    }
}

#[test]
fn a_hook_that_says_no_denies() {
    let mut follower = started();
    follower.line(CALL);
    follower.line(r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"c","tool_use_id":"x"}}"#);
    follower.host_line(r#"{"type":"control_response","response":{"subtype":"success","request_id":"h","response":{"hookSpecificOutput":{"permissionDecision":"deny"}}}}"#);
    let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":"blocked","is_error":true}]}}"#;
    assert_eq!(told(&follower.line(result)), [r#"result x@1 T Denied "blocked""#]);
}

#[test]
fn an_interrupt_stops_what_is_at_work_and_nothing_else() {
    let interrupt =
        r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#;
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    assert_eq!(follower.host_line(interrupt), []);
    follower.host_line(PROMPT);
    let events = told(&follower.host_line(interrupt));
    assert_eq!(events, ["started claude-code model=- session=-", "stop 3000"]);
    assert_eq!(follower.host_line(interrupt), []);
    // The error ended the process.
    assert_eq!(end(&follower.finish(AgentExit::Signal(15))), "stopped");
    assert_eq!(follower.host_line(interrupt), []);
}
