//! What happens beside a reply: an agent's own tools, and what it asks people.

use foxwedge_agent::{
    BridgeNote, ClientToolCall, PermissionDecision, PermissionKind, PermissionRequest,
};
use foxwedge_run::{ApprovalVerdict, EventPayload};
use serde_json::{Value, json};

use super::*;

fn own(id: &str) -> BridgeNote {
    let arguments = json!({ "command": "canary" });
    BridgeNote::AgentToolStarted(ClientToolCall {
        id: id.to_owned(),
        name: "Bash".to_owned(),
        arguments,
    })
}

fn asked(ticket: &str, call: Option<&str>, kind: PermissionKind) -> BridgeNote {
    BridgeNote::PermissionRequested(PermissionRequest {
        ticket: ticket.to_owned(),
        call: call.map(str::to_owned),
        tool: "Bash".to_owned(),
        input: json!({ "command": "canary" }),
        kind,
    })
}

fn settled(ticket: &str, decision: Option<PermissionDecision>) -> BridgeNote {
    BridgeNote::PermissionClosed { ticket: ticket.to_owned(), decision }
}

/// A request during which these things happen, which ends with a text. Its run and its events.
async fn story(content: ContentRecording, notes: Vec<BridgeNote>) -> (String, Vec<EventPayload>) {
    let bench = Bench::new(content).await;
    let mut recording = bench.begin("s", &[], "{}");
    let mut side = recording.side_channel().expect("it is kept");
    notes.into_iter().for_each(|note| side.record_note(note));
    whole(recording, "done", &[], 1);
    // Behind the end nothing happens.
    side.record_note(own("late"));
    let row = &bench.runs().await[0];
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    (told(row), events.into_iter().map(|stored| stored.event.body).collect())
}

#[tokio::test]
async fn tools_of_an_agent_and_what_it_asks_belong_to_the_run() {
    let answers = json!({ "Which?": "this" });
    let Value::Object(answers) = answers else { panic!("an object") };
    let notes = vec![
        own("t1"),
        BridgeNote::AgentToolEnded { call: "t1".to_owned(), error: false },
        own("t2"),
        asked("q1", Some("t2"), PermissionKind::Permission),
        settled("q1", Some(PermissionDecision::Deny { message: "canary".to_owned() })),
        asked("q2", None, PermissionKind::Questions),
        settled("q2", Some(PermissionDecision::Answers(answers))),
        BridgeNote::AgentToolEnded { call: "q2".to_owned(), error: false },
        asked("q3", Some("t3"), PermissionKind::Permission),
        settled("q3", None),
        BridgeNote::AgentToolEnded { call: "t3".to_owned(), error: true },
        BridgeNote::Ignored("unknown", "t9".to_owned()),
    ];
    let (ended, events) = story(ContentRecording::Omitted, notes.clone()).await;
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
    let place = |wanted: fn(&EventPayload) -> bool| events.iter().position(wanted);
    let (turn, call) = (
        place(|body| matches!(body, EventPayload::TurnStarted(_))),
        place(|body| matches!(body, EventPayload::ToolCall(_))),
    );
    assert!(turn.is_some() && turn < call, "{events:?}");
    let (_, events) = story(ContentRecording::Stored, notes).await;
    assert!(format!("{events:?}").contains("canary"), "{events:?}");
}

#[tokio::test]
async fn calls_that_are_listed_once_more_wait_once() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
    whole(bench.begin("s", &["a"], ""), "", &[("b", "{}")], 2);
    assert!(bench.counted("foxwedge_tools_open 1"), "{}", bench.meter.render());
    whole(bench.begin("s", &["b"], ""), "done", &[], 3);
    assert_eq!(bench.told().await, ["completed, 2 succeeded"]);
    assert!(bench.counted("foxwedge_tools_open 0"));
}
