//! Whatever an agent does, every call of the client's tools is handed out once, and every answer
//! reaches it.

use serde_json::{Value, json};

use crate::{
    chat::{Call, Chat, Turn, please},
    stage::Stage,
    stories::{World as _, says_all},
};

/// Asks for three calls, and answers whatever is called until it is not any more.
fn talk(stage: &Stage, stream: bool) -> (Vec<Call>, Vec<Turn>) {
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.stream = stream;
    let wanted = [1, 2, 3].map(|n| ("look", json!({"n": n})));
    chat.say(&please(&wanted));
    let (mut calls, mut turns): (Vec<Call>, Vec<Turn>) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let turn = chat.ask(&door).unwrap_or_else(|trouble| {
            panic!("{trouble}\n{:#?}\n{}", stage.log(), stage.said());
        });
        for call in &turn.calls {
            chat.answer(call);
            calls.push(call.clone());
        }
        let last = turn.calls.is_empty();
        turns.push(turn);
        if last {
            break;
        }
    }
    (calls, turns)
}

#[test]
fn every_habit_hands_out_every_call_once() {
    let table = [
        ("", 1),
        ("serial", 1),
        ("slow=5", 1),
        ("no-idle", 1),
        ("garbage", 1),
        ("fragments", 1),
        ("early-calls", 1),
        ("own-tool", 1),
        ("own-tool,fragments,serial", 1),
        // Nothing says when such a message ends.
        ("no-partial", 3),
        ("no-partial,serial", 3),
        ("no-partial,no-idle,garbage", 3),
    ];
    for (habits, most) in table {
        for stream in [false, true] {
            println!("{habits}, stream: {stream}");
            let stage = Stage::habits(habits);
            let (calls, turns) = talk(&stage, stream);
            let found: Vec<&Value> = calls.iter().map(|call| &call.arguments).collect();
            let wanted = [1, 2, 3].map(|n| json!({"n": n}));
            assert_eq!(found, wanted.iter().collect::<Vec<_>>(), "{habits}: {turns:#?}");
            assert!(turns.len() <= most + 1, "{habits}: {turns:#?}");
            let last = turns.last().expect("a reply");
            if habits.contains("fragments") && habits.contains("own-tool") {
                assert!(last.text.contains("look did {\"n\":3}"), "{habits}: {last:?}");
            } else {
                says_all(last, &calls).unwrap_or_else(|it| panic!("{habits}: {it}"));
            }
            assert_eq!(stage.count("answer"), 3, "{habits}");
            stage.end();
        }
    }
}

#[test]
fn words_beside_calls_are_kept() {
    for (habits, words) in [("words", "I call what you asked for."), ("own-tool", "Let me look")] {
        for stream in [false, true] {
            let stage = Stage::habits(habits);
            let (calls, turns) = talk(&stage, stream);
            assert_eq!(calls.len(), 3);
            assert!(turns[0].text.contains(words), "{turns:#?}");
            assert_eq!(turns[0].calls.len(), 3);
            stage.end();
        }
    }
}

#[test]
fn a_call_that_the_agent_answers_itself_is_not_the_clients_business() {
    let stage = Stage::habits("unavailable");
    let (calls, turns) = talk(&stage, true);
    let found: Vec<&Value> = calls.iter().map(|call| &call.arguments).collect();
    assert_eq!(found, [&json!({"n": 2}), &json!({"n": 3})], "{turns:#?}");
    let last = turns.last().expect("a reply");
    assert!(last.text.contains("No such tool available"), "{last:?}");
    stage.end();
}

#[test]
fn tools_of_the_agents_own_are_hidden() {
    let stage = Stage::habits("own-tool");
    let (_, turns) = talk(&stage, false);
    for turn in turns {
        assert!(!turn.answer.body.contains("\"Bash\""), "{turn:?}");
    }
    stage.end();
}

#[test]
fn arguments_that_cannot_be_read_do_no_harm() {
    for stream in [false, true] {
        let stage = Stage::habits("bad-arguments");
        let door = stage.door();
        let mut chat = Chat::new("agent", &["look"]);
        chat.stream = stream;
        chat.say(&please(&[("look", json!({"n": 1}))]));
        let answer = chat.raw(&door).expect("a reply");
        assert!([200, 502].contains(&answer.status), "{answer:?}");
        // Others are served as before.
        let turn = Chat::new("agent", &[]).say("hello").peek(&door).expect("a reply");
        assert_eq!(turn.text, "You said: hello");
        drop(stage);
    }
}
