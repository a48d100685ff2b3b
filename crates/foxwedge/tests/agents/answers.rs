//! Answers that are of no use, words beside them, and one call at a time.

use serde_json::{Value, json};

use crate::{
    chat::{Call, Chat, please},
    stage::Stage,
    stories::{World as _, says_all, three_open},
};

#[test]
fn the_first_of_two_answers_counts() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    chat.answer(&calls[0]).ask(&door).expect("the others again");
    chat.answer_with(&calls[0], "something else").answer(&calls[1]).answer(&calls[2]);
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("the first answers");
    assert_eq!(stage.count("answer"), 3);
    let health = door.get("/health").expect("health");
    let expected = json!({"processes": 1, "waiting": 0, "calls": 0, "questions": 0});
    assert_eq!(health["agents"], expected);
    stage.end();
}

#[test]
fn an_answer_to_nothing_is_refused_and_changes_nothing() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    let unknown = Call { id: "toolu_nobody".to_owned(), ..calls[0].clone() };
    let answer = chat.clone().answer(&unknown).raw(&door).expect("a reply");
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("unknown_call"), "{answer:?}");
    assert_eq!(stage.count("answer"), 0);
    // Beside others it does no harm.
    chat.answer(&calls[2]).answer(&unknown).answer(&calls[0]).answer(&calls[1]);
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("all answers");
    stage.end();
}

#[test]
fn an_answer_that_comes_late_changes_nothing() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    for call in &calls {
        chat.answer(call);
    }
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("all answers");
    let turn = chat.answer_with(&calls[0], "late").say("and now?").ask(&door).expect("a reply");
    assert!(turn.text.contains("and now?"), "{turn:?}");
    stage.end();
}

#[test]
fn words_behind_answers_are_heard_behind_them() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    for call in &calls {
        chat.answer(call);
    }
    let turn = chat.say(&please(&[("look", json!({"n": 9}))])).ask(&door).expect("a reply");
    assert_eq!(turn.calls.iter().map(|it| &it.arguments).collect::<Vec<_>>(), [&json!({"n": 9})]);
    let one = turn.calls[0].clone();
    let turn = chat.answer(&one).ask(&door).expect("a reply");
    says_all(&turn, &[one]).expect("the last word");
    assert_eq!(stage.count("start"), 1);
    stage.end();
}

#[test]
fn words_alone_cancel_what_is_open() {
    for answered in [0, 1] {
        let stage = Stage::plain();
        let door = stage.door();
        let (mut chat, calls) = three_open(&door, "agent").expect("calls");
        for call in calls.iter().take(answered) {
            chat.answer(call);
        }
        let turn = chat.say("forget it").ask(&door).expect("a reply");
        assert_eq!((turn.calls.as_slice(), turn.finish.as_str()), ([].as_slice(), "stop"));
        let turn = chat.say("really?").ask(&door).expect("a reply");
        assert!(turn.text.contains("really?"), "{turn:?}");
        stage.end();
    }
}

#[test]
fn one_at_a_time_is_one_call_a_reply() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.more = json!({"parallel_tool_calls": false});
    let wanted = [1, 2, 3].map(|n| json!({"n": n}));
    chat.say(&please(&wanted.clone().map(|arguments| ("look", arguments))));
    let mut calls: Vec<Call> = Vec::new();
    for arguments in &wanted {
        let turn = chat.ask(&door).expect("a reply");
        let found: Vec<&Value> = turn.calls.iter().map(|call| &call.arguments).collect();
        assert_eq!((found, turn.finish.as_str()), (vec![arguments], "tool_calls"));
        chat.answer(&turn.calls[0]);
        calls.extend(turn.calls);
    }
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("all answers");
    stage.end();
}

#[test]
fn a_failure_and_an_empty_answer_are_answers() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    chat.answer_with(&calls[0], "").answer(&calls[1]);
    chat.messages.push(json!({
        "role": "tool", "tool_call_id": calls[2].id, "content": [{"type": "text", "text": "last"}],
    }));
    let turn = chat.ask(&door).expect("a reply");
    assert!(
        turn.text.starts_with("The tools said: ") && turn.text.ends_with(" | last"),
        "{turn:?}"
    );
    stage.end();
}
