//! People are asked beside the conversation, and may stop it.

use std::thread;

use serde_json::json;

use crate::{
    chat::Chat,
    stage::Stage,
    stories::{World as _, asked, says_all, three_open, wait_until},
};

#[test]
fn a_permission_is_denied_or_granted() {
    let table = [
        (json!({"decision": "deny", "message": "Not here."}), "The tool said: Not here."),
        (json!({"decision": "allow"}), "The tool said: a tool of the agent's own ran"),
    ];
    for (decision, said) in table {
        let stage = Stage::habits("permission");
        let door = stage.door();
        let asking = {
            let door = door.clone();
            thread::spawn(move || Chat::new("agent", &[]).say("hello").peek(&door))
        };
        let (run, ticket) = asked(&door, || asking.is_finished()).expect("a question");
        let path = format!("/v1/runs/{run}/answers");
        let mut body = decision.clone();
        body["question"] = json!("nobody");
        let unknown = door.post(&path, &body).expect("a reply");
        assert_eq!(unknown.status, 404, "{unknown:?}");
        body["question"] = json!(ticket);
        let answer = door.post(&path, &body).expect("a reply");
        assert_eq!(answer.status, 200, "{answer:?}");
        let turn = asking.join().expect("no panic").expect("a reply");
        assert!(turn.text.ends_with(said), "{turn:?}");
        stage.end();
    }
}

#[test]
fn nobody_is_asked_where_nobody_may_be() {
    for habit in ["permission", "ask"] {
        let stage = Stage::with(&[("agent", habit, "")]);
        let turn = Chat::new("agent", &[]).say("hello").peek(&stage.door()).expect("a reply");
        assert!(turn.text.contains("the host cannot be asked"), "{turn:?}");
        stage.end();
    }
}

#[test]
fn a_run_can_be_stopped_while_it_speaks_and_while_somebody_is_asked() {
    for habit in ["endless", "ask", "never-answers"] {
        let stage = Stage::habits(habit);
        let door = stage.door();
        let asking = {
            let door = door.clone();
            thread::spawn(move || Chat::new("agent", &[]).streaming().say("hello").raw(&door))
        };
        wait_until("it has a prompt", || stage.count("prompt") == 1).expect("a prompt");
        let mut run = String::new();
        wait_until("a run is open", || {
            let runs = door.get("/v1/runs?open=true").unwrap_or_default();
            run = runs["data"][0]["id"].as_str().unwrap_or_default().to_owned();
            !run.is_empty()
        })
        .expect("a run");
        let stopped = door.post(&format!("/v1/runs/{run}/stop"), &json!({})).expect("a reply");
        assert!((200..300).contains(&stopped.status), "{stopped:?}");
        let answer = asking.join().expect("no panic").expect("a reply");
        assert!(!answer.body.contains("finish_reason\":\"stop"), "{answer:?}");
        stage.knows_nobody();
        stage.end();
    }
}

#[test]
fn a_run_can_be_stopped_while_it_waits_for_answers() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    let runs = door.get("/v1/runs?open=true").expect("runs");
    let run = runs["data"][0]["id"].as_str().expect("a run").to_owned();
    let stopped = door.post(&format!("/v1/runs/{run}/stop"), &json!({})).expect("a reply");
    assert_eq!(stopped.status, 200, "{stopped:?}");
    stage.knows_nobody();
    // Whoever answers all the same goes on.
    for call in &calls {
        chat.answer(call);
    }
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("the last word");
    stage.end();
}
