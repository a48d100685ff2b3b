//! Events beside a reply: an agent's own tools, and its questions to people.

use foxwedge_agents::{
    BridgeNote, ClientToolCall, PermissionDecision, PermissionKind, PermissionRequest,
};
use foxwedge_run::{ApprovalVerdict, EventPayload};
use serde_json::{Value, json};

use super::*;

fn agent_tool_started(id: &str) -> BridgeNote {
    let arguments = json!({ "command": "canary" });
    BridgeNote::AgentToolStarted(ClientToolCall {
        id: id.to_owned(),
        name: "Bash".to_owned(),
        arguments,
    })
}

fn permission_requested(ticket: &str, call: Option<&str>, kind: PermissionKind) -> BridgeNote {
    BridgeNote::PermissionRequested(PermissionRequest {
        ticket: ticket.to_owned(),
        call: call.map(str::to_owned),
        tool: "Bash".to_owned(),
        input: json!({ "command": "canary" }),
        kind,
    })
}

fn permission_closed(ticket: &str, decision: Option<PermissionDecision>) -> BridgeNote {
    BridgeNote::PermissionClosed { ticket: ticket.to_owned(), decision }
}

/// Runs a request with these notes that ends with a text. Returns its summary and its events.
async fn run_with_notes(
    content: ContentRecording,
    notes: Vec<BridgeNote>,
) -> (String, Vec<EventPayload>) {
    let bench = Bench::new(content).await;
    let mut recording = bench.begin("s", &[], "{}");
    let mut side_channel = recording.side_channel().expect("it is kept");
    notes.into_iter().for_each(|note| side_channel.record_note(note));
    whole(recording, "done", &[], 1);
    // Events after the end are ignored.
    side_channel.record_note(agent_tool_started("late"));
    let row = &bench.runs().await[0];
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    (run_summary(row), events.into_iter().map(|stored| stored.event.body).collect())
}

#[tokio::test]
async fn agent_tools_and_questions_are_part_of_the_run() {
    let answers = json!({ "Which?": "this" });
    let Value::Object(answers) = answers else { panic!("an object") };
    let notes = vec![
        agent_tool_started("t1"),
        BridgeNote::AgentToolEnded { call: "t1".to_owned(), error: false },
        agent_tool_started("t2"),
        permission_requested("q1", Some("t2"), PermissionKind::Permission),
        permission_closed("q1", Some(PermissionDecision::Deny { message: "canary".to_owned() })),
        permission_requested("q2", None, PermissionKind::Questions),
        permission_closed("q2", Some(PermissionDecision::Answers(answers))),
        BridgeNote::AgentToolEnded { call: "q2".to_owned(), error: false },
        permission_requested("q3", Some("t3"), PermissionKind::Permission),
        permission_closed("q3", None),
        BridgeNote::AgentToolEnded { call: "t3".to_owned(), error: true },
        BridgeNote::Ignored("unknown", "t9".to_owned()),
    ];
    let (ended, events) = run_with_notes(ContentRecording::Omitted, notes.clone()).await;
    assert_eq!(ended, "completed, 2 succeeded, 1 failed, 1 denied");
    assert!(!format!("{events:?}").contains("canary"), "{events:?}");
    let verdicts: Vec<ApprovalVerdict> = events
        .iter()
        .filter_map(|body| match body {
            EventPayload::ApprovalReplied(reply) => Some(reply.verdict),
            _ => None,
        })
        .collect();
    assert_eq!(
        verdicts,
        [ApprovalVerdict::Denied, ApprovalVerdict::Answered, ApprovalVerdict::Cancelled]
    );
    let position = |matches_event: fn(&EventPayload) -> bool| events.iter().position(matches_event);
    let (turn, call) = (
        position(|body| matches!(body, EventPayload::TurnStarted(_))),
        position(|body| matches!(body, EventPayload::ToolCall(_))),
    );
    assert!(turn.is_some() && turn < call, "{events:?}");
    let (_, events) = run_with_notes(ContentRecording::Stored, notes).await;
    assert!(format!("{events:?}").contains("canary"), "{events:?}");
}

#[tokio::test]
async fn calls_that_are_listed_again_are_counted_once() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
    whole(bench.begin("s", &["a"], ""), "", &[("b", "{}")], 2);
    assert!(bench.counted("foxwedge_tools_open 1"), "{}", bench.metrics.render());
    whole(bench.begin("s", &["b"], ""), "done", &[], 3);
    assert_eq!(bench.run_summaries().await, ["completed, 2 succeeded"]);
    assert!(bench.counted("foxwedge_tools_open 0"));
}
