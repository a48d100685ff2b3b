//! Codex, Gemini CLI and our own events: cases that the recordings do not cover.

use crate::{
    CallRef, EventPayload, Outcome, RunEnd, RunEvent, RunStart,
    follow::{AgentExit, AgentFollower, AgentState, StreamSource, tests::story::becomes},
    wire,
};

#[test]
fn every_item_of_codex_has_its_event() {
    becomes(
        StreamSource::Codex,
        r#"
        {"type":"thread.started","thread_id":"thread"}
        {"type":"turn.started"}
        {"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"hm"}}
        {"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
        {"type":"item.updated","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":null,"status":"in_progress"}}
        {"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a\nb","exit_code":2,"status":"failed"}}
        {"type":"item.completed","item":{"id":"i2","type":"command_execution","command":"rm","aggregated_output":"no","exit_code":null,"status":"declined"}}
        {"type":"item.completed","item":{"id":"i3","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}
        {"type":"item.started","item":{"id":"i4","type":"mcp_tool_call","server":"w","tool":"get","arguments":{"b":1,"a":2},"status":"in_progress"}}
        {"type":"item.completed","item":{"id":"i4","type":"mcp_tool_call","server":"w","tool":"get","arguments":{"b":1,"a":2},"result":{"content":[{"type":"text","text":"sun"}]},"status":"completed"}}
        {"type":"item.completed","item":{"id":"i5","type":"mcp_tool_call","server":"w","tool":"get","error":{"message":"gone"},"status":"failed"}}
        {"type":"item.started","item":{"id":"i6","type":"web_search","query":""}}
        {"type":"item.completed","item":{"id":"i6","type":"web_search","query":"fox"}}
        {"type":"item.started","item":{"id":"i7","type":"todo_list","items":[{"text":"one","completed":false}]}}
        {"type":"item.updated","item":{"id":"i7","type":"todo_list","items":[{"text":"one","completed":true}]}}
        {"type":"item.completed","item":{"id":"i8","type":"error","message":"a model nobody knows"}}
        {"type":"item.started","item":{"id":"i9","type":"agent_message","text":"He"}}
        {"type":"item.updated","item":{"id":"i9","type":"agent_message","text":"Hello"}}
        {"type":"item.completed","item":{"id":"i9","type":"agent_message","text":"Hello."}}
        {"type":"item.completed","item":{"id":"i10","type":"plan","text":"first this"}}
        {"type":"item.completed","item":{"id":"i11","type":"collab_tool_call","tool":"spawn_agent","prompt":"go","receiver_thread_ids":["t"],"agents_states":{},"status":"completed"}}
        {"type":"item.completed","item":{"id":"i12","type":"hologram"}}
        {"type":"item.completed","item":{"id":"i13","type":"command_execution","command":"x","aggregated_output":"","status":"vanished"}}
        {"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":5,"reasoning_output_tokens":2}}
        "#,
        r#"
        1 started codex model=- session=thread
        2 turn 1 -
        3 thought i0 ="hm"
        4 call i1@1 command_execution running {"command":"ls"}
        5 progress i1@1 "a"
        6 result i1@1 command_execution Error {"exit_code":2,"aggregated_output":"a\nb"}
        7 call i2@1 command_execution running {"command":"rm"}
        7 result i2@1 command_execution Denied "no"
        8 call i3@1 file_change running {"changes":[{"path":"a","kind":"add"}]}
        8 result i3@1 file_change Ok -
        9 call i4@1 mcp__w__get running {"b":1,"a":2}
        10 result i4@1 mcp__w__get Ok [{"type":"text","text":"sun"}]
        11 call i5@1 mcp__w__get running {}
        11 result i5@1 mcp__w__get Error "gone"
        12 call i6@1 web_search running
        13 call i6@1 web_search running {"query":"fox"}
        13 result i6@1 web_search Ok -
        14 tasks Pending one
        15 tasks Completed one
        16 problem - "a model nobody knows"
        17 text i9 +"He"
        18 text i9 +"llo"
        19 text i9 ="Hello."
        20 activity plan i10 "first this"
        21 call i11@1 spawn_agent running {"prompt":"go","receiver_thread_ids":["t"]}
        21 result i11@1 spawn_agent Ok {}
        22 unknown item:hologram {"type":"item.completed","item":{"id":"i12","type":"hologram…
        23 call i13@1 command_execution running {"command":"x"}
        23 result i13@1 command_execution Interrupted "" odd=vanished
        24 usage 10/5 cached 4 reasoning 2
        24 ended - usage 10/5 cached 4 reasoning 2
        "#,
    );
}

#[test]
fn codex_fails_by_its_turn_or_by_its_last_error() {
    becomes(
        StreamSource::Codex,
        r#"
        {"type":"thread.started","thread_id":"thread"}
        {"type":"turn.started"}
        {"type":"error","message":"Reconnecting... 1/5"}
        {"type":"turn.failed","error":{"message":"gave up"}}
        {"type":"turn.started"}
        {"type":"error","message":"no quota"}
        ! exit 1
        "#,
        r#"
        1 started codex model=- session=thread
        2 turn 1 -
        3 problem - "Reconnecting... 1/5"
        4 ended failed problem - "gave up" fatal
        5 run-2: started codex model=- session=thread
        5 run-2: turn 1 -
        6 run-2: problem - "no quota"
        7 run-2: ended failed problem - "no quota" fatal
        "#,
    );
}

#[test]
fn gemini_errors_and_denials_are_reported() {
    becomes(
        StreamSource::GeminiCli,
        r#"
        {"type":"init","timestamp":"2026-11-15T02:20:25.828Z","session_id":"s","model":"gemini"}
        {"type":"message","role":"assistant","content":"I ","delta":true}
        {"type":"message","role":"assistant","content":"will.","delta":true}
        {"type":"tool_use","tool_name":"write_todos","tool_id":"a","parameters":{"todos":[{"description":"one","status":"in_progress"}]}}
        {"type":"tool_use","tool_name":"rm","tool_id":"b","parameters":{}}
        {"type":"tool_result","tool_id":"b","status":"error","error":{"type":"policy_violation","message":"no"}}
        {"type":"tool_result","tool_id":"a","status":"error","output":"half","error":{"type":"unknown","message":"broke"}}
        {"type":"message","role":"assistant","content":"Done."}
        {"type":"error","severity":"warning","message":"loop detected"}
        {"type":"tool_result","tool_id":"z","status":"odd"}
        {"type":"result","status":"error","error":{"type":"FatalTurnLimitedError","message":"too many"},"stats":{"input_tokens":9,"output_tokens":3,"cached":1}}
        "#,
        r#"
        1 started gemini-cli model=gemini session=s
        2 turn 1 -
        2 text - +"I "
        3 text - +"will."
        4 call a@1 write_todos running {"todos":[{"description":"one","status":"in_progress"}]}
        4 tasks InProgress one
        5 call b@1 rm running {}
        6 result b@1 rm Denied "no"
        7 result a@1 write_todos Error "half"
        8 turn 2 -
        8 text - ="Done."
        9 problem warning "loop detected"
        10 result z@2 - Interrupted - odd=odd
        11 usage 9/3 cached 1 reasoning 0
        11 ended failed problem FatalTurnLimitedError "too many" fatal usage 9/3 cached 1 reasoning 0
        "#,
    );
}

#[test]
fn gemini_says_when_things_happened() {
    let mut follower = AgentFollower::new(StreamSource::GeminiCli, "run".into());
    let line = r#"{"type":"init","timestamp":"2026-11-15T02:20:25.828Z","session_id":"s"}"#;
    let times: Vec<Option<u64>> = follower.line(line).into_iter().map(|event| event.at).collect();
    assert_eq!(times, [Some(1_794_709_225_828)]);
    let ends = follower.finish(AgentExit::Eof);
    assert_eq!(ends.first().map(|event| event.at), Some(None));
}

#[test]
fn our_own_events_come_back_as_they_were() {
    let events = [
        RunEvent {
            seq: Some(1),
            ..RunEvent::new(&"a".into(), EventPayload::Started(RunStart::default()))
        },
        RunEvent {
            seq: Some(2),
            at: Some(7),
            ..RunEvent::new(
                &"a".into(),
                EventPayload::ToolCall(crate::ToolCallUpdate {
                    call: CallRef { id: Some("x".into()), turn: Some(1) },
                    input: crate::RawJson::parse("{}"),
                    ..crate::ToolCallUpdate::default()
                }),
            )
        },
    ];
    let mut follower = AgentFollower::new(StreamSource::Events, "run".into());
    let read: Vec<RunEvent> =
        events.iter().flat_map(|event| follower.line(&wire::write(event))).collect();
    assert_eq!(read, events);
    let calls = vec![CallRef { id: Some("x".into()), turn: Some(1) }];
    assert_eq!(follower.state(), AgentState::Waiting { calls });
    // A log without an end is an interrupted run.
    let ends = follower.finish(AgentExit::Eof);
    let outcome = |event: &RunEvent| match &event.body {
        EventPayload::Ended(RunEnd { outcome, .. }) => (event.run.clone(), *outcome),
        body => panic!("{body:?}"),
    };
    let ends: Vec<_> = ends.iter().map(outcome).collect();
    assert_eq!(ends, [("a".into(), Some(Outcome::Interrupted))]);
    assert_eq!(
        (follower.state(), follower.finish(AgentExit::Eof)),
        (AgentState::Complete, Vec::new())
    );
}

#[test]
fn lines_that_are_no_events_are_kept() {
    becomes(
        StreamSource::Events,
        r#"
        not json
        [1]
        {"type":"text"}
        {"runId":"a"}
        {"runId":"a","type":"weather"}
        ! eof
        "#,
        r#"
        1 unknown not-json "not json"
        2 unknown not-an-object [1]
        3 unknown no-run {"type":"text"}
        4 unknown no-type {"runId":"a"}
        5 a: unknown weather {"runId":"a","type":"weather"}
        "#,
    );
}
