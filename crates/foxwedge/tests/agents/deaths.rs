//! Agents that do not start, that die, that hang, and too many of them.

use serde_json::json;

use crate::{
    chat::{Chat, Turn, please},
    stage::Stage,
    stories::{World as _, says_all, three_open, wait_until},
    wire::Framing,
};

#[test]
fn an_agent_that_is_not_there_is_told() {
    let stage = Stage::with(&[("agent", "", "command = \"no-such-agent-anywhere\"")]);
    let mut chat = Chat::new("agent", &[]);
    for stream in [false, true] {
        chat.stream = stream;
        let answer = chat.say("hello").raw(&stage.door()).expect("a reply");
        assert!([502, 503].contains(&answer.status), "{answer:?}");
        assert!(answer.body.contains("no-such-agent-anywhere"), "{answer:?}");
    }
    stage.end();
}

#[test]
fn an_agent_that_dies_at_its_start_says_why_without_secrets() {
    let set = "set_env = { ANTHROPIC_API_KEY = \"sk-ant-canary-0123456789abcdef\" }";
    let stage = Stage::with(&[("agent", "die-at-start", set)]);
    let answer = Chat::new("agent", &[]).say("hello").raw(&stage.door()).expect("a reply");
    assert!([502, 503].contains(&answer.status), "{answer:?}");
    assert!(answer.body.contains("Invalid API key"), "{answer:?}");
    let said = stage.said();
    assert!(!answer.body.contains("canary-0123456789abcdef"), "{answer:?}");
    assert!(!said.contains("canary-0123456789abcdef"), "{said}");
    stage.end();
}

#[test]
fn an_agent_that_dies_while_it_speaks_is_an_error_that_is_told() {
    for stream in [false, true] {
        let stage = Stage::habits("die-after=4");
        let mut chat = Chat::new("agent", &[]);
        chat.stream = stream;
        let answer = chat.say("one two three four five").raw(&stage.door()).expect("a reply");
        let whole = answer.status == 200 && answer.body.contains("[DONE]");
        assert!(!whole || answer.body.contains("error"), "{answer:?}");
        assert!(answer.body.contains("the agent process ended"), "{answer:?}");
        assert!(stream || answer.status == 502, "{answer:?}");
        stage.knows_nobody();
        stage.end();
    }
}

#[test]
fn an_agent_that_dies_while_it_waits_is_followed_by_another() {
    let stage = Stage::habits("die-waiting");
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.say(&please(&[("look", json!({"n": 1})), ("look", json!({"n": 2}))]));
    // It may be gone before or behind the end of its message.
    let Ok(turn) = chat.ask(&door) else { return stage.end() };
    stage.knows_nobody();
    for call in &turn.calls {
        chat.answer(call);
    }
    let turn = chat.ask(&door).expect("a reply");
    assert_eq!(turn.text, r#"The tools said: look did {"n":1} | look did {"n":2}"#);
    stage.end();
}

#[test]
fn an_agent_that_dies_of_an_answer_is_followed_by_another() {
    for stream in [false, true] {
        let stage = Stage::habits("die-answered");
        let door = stage.door();
        let (mut chat, calls) = three_open(&door, "agent").expect("calls");
        chat.stream = stream;
        for call in &calls {
            chat.answer(call);
        }
        says_all(&chat.ask(&door).expect("a reply"), &calls).expect("the last word");
        assert_eq!(stage.count("start"), 2);
        stage.end();
    }
}

#[test]
fn an_agent_that_is_never_ready_is_given_up() {
    let stage = Stage::with(&[("agent", "never-ready", "start_timeout = \"300ms\"")]);
    let answer = Chat::new("agent", &[]).say("hello").raw(&stage.door()).expect("a reply");
    assert!([502, 503, 504].contains(&answer.status), "{answer:?}");
    stage.knows_nobody();
    stage.end();
}

#[test]
fn an_agent_that_never_answers_is_given_up() {
    for stream in [false, true] {
        let stage = Stage::with(&[("agent", "never-answers", "turn_timeout = \"300ms\"")]);
        let mut chat = Chat::new("agent", &[]);
        chat.stream = stream;
        let answer = chat.say("hello").raw(&stage.door()).expect("a reply");
        assert!(answer.status >= 500 || answer.body.contains("error"), "{answer:?}");
        stage.knows_nobody();
        stage.end();
    }
}

#[test]
fn a_gateway_that_is_asked_to_end_ends_its_agents() {
    for habits in ["", "never-answers", "endless"] {
        let stage = Stage::with(&[("agent", habits, "")]);
        let door = stage.door();
        let asked = std::thread::spawn(move || {
            let mut chat = Chat::new("agent", &["look"]);
            let _ = chat.say(&please(&[("look", json!({}))])).raw(&door);
        });
        wait_until("it has a prompt", || stage.count("prompt") == 1).expect("a prompt");
        if habits.is_empty() {
            wait_until("it waits", || stage.count("call") == 1).expect("a call");
        }
        stage.leave();
        asked.join().expect("no panic");
    }
}

#[test]
fn no_more_agents_live_than_may() {
    let stage = Stage::with(&[("agent", "", "max_processes = 2")]);
    let door = stage.door();
    // Two wait for answers: they are not sent away for a third.
    let (mut one, ones) = three_open(&door, "agent").expect("calls");
    let mut other = Chat::new("agent", &["look"]);
    let turn = other.say(&please(&[("look", json!({"n": 7}))])).ask(&door).expect("a reply");
    let third = Chat::new("agent", &[]).say("and me?").raw(&door).expect("a reply");
    assert!(stage.agents().len() <= 2, "{:?}", stage.log());
    assert!([200, 429, 503].contains(&third.status), "{third:?}");
    // Whoever was sent away or not: both conversations go on.
    for call in &ones {
        one.answer(call);
    }
    assert!(one.ask(&door).expect("a reply").text.starts_with("The tools said: look did"));
    let turn = other.answer(&turn.calls[0]).ask(&door).expect("a reply");
    assert_eq!(turn.text, r#"The tool said: look did {"n":7}"#);
    // One of them has nothing to do now: there is room.
    let fourth = Chat::new("agent", &[]).say("and now?").peek(&door).expect("a reply");
    assert_eq!(fourth.text, "You said: and now?");
    assert!(stage.agents().len() <= 2, "{:?}", stage.log());
    stage.end();
}

#[test]
fn an_agent_with_nothing_to_do_is_sent_away() {
    let stage = Stage::with(&[("agent", "", "idle_timeout = \"200ms\"")]);
    let door = stage.door();
    let mut chat = Chat::new("agent", &[]);
    chat.say("hello").ask(&door).expect("a reply");
    stage.knows_nobody();
    let turn = chat.say("and again").ask(&door).expect("a reply");
    assert_eq!(turn.text, "You said: and again");
    assert_eq!(stage.count("start"), 2);
    stage.end();
}

#[test]
fn a_stream_that_is_cut_leaves_a_conversation_that_goes_on() {
    let stage = Stage::with(&[("agent", "die-after=9", "")]);
    let door = stage.door();
    let mut chat = Chat::new("agent", &[]).streaming();
    let answer = chat.say("a b c d e f g h i j k l m n").raw(&door).expect("a reply");
    assert!(answer.body.contains("the agent process ended"), "{answer:?}");
    assert!([Framing::Whole, Framing::BrokenOff].contains(&answer.framing));
    // Nothing of it was kept: the same request is a new one, and dies the same death.
    let again = chat.raw(&door).expect("a reply");
    assert!(again.body.contains("the agent process ended"), "{again:?}");
    assert_eq!(stage.count("start"), 2);
    stage.end();
}

#[test]
fn a_gateway_that_ends_takes_agents_that_wait_with_it() {
    let stage = Stage::plain();
    three_open(&stage.door(), "agent").expect("calls");
    assert_eq!(stage.agents().len(), 1);
    stage.end();
}

#[test]
fn an_agent_that_dies_at_any_line_leaves_nobody_waiting() {
    const LINES: usize = 24;
    let names: Vec<String> = (0..LINES).map(|lines| format!("agent-{lines}")).collect();
    let habits: Vec<String> = (0..LINES).map(|lines| format!("die-after={lines}")).collect();
    let agents: Vec<_> =
        names.iter().zip(&habits).map(|(name, habit)| (&**name, &**habit, "")).collect();
    let stage = Stage::with(&agents);
    let door = stage.door();
    let (mut whole, mut broken) = (0, 0);
    for name in &names {
        for stream in [false, true] {
            let mut chat = Chat::new(name, &["look"]);
            chat.stream = stream;
            chat.say(&please(&[1, 2].map(|n| ("look", json!({"n": n})))));
            // Until there is a last word: every request has a reply or an error, and an end.
            for _ in 0..6 {
                let answer = chat.raw(&door).expect("the connection is closed in time");
                let Ok(turn) = Turn::read(answer.clone(), stream) else {
                    assert!([200, 502].contains(&answer.status), "{name}: {answer:?}");
                    assert!(answer.body.contains("error"), "{name}: {answer:?}");
                    broken += 1;
                    continue;
                };
                whole += 1;
                chat.messages.push(turn.message());
                match turn.calls.first() {
                    Some(call) => chat.answer(call),
                    None => break,
                };
            }
        }
    }
    assert!(whole > LINES && broken > LINES, "{whole} {broken}");
    let open = door.get("/v1/runs?open=true").expect("runs");
    let health = door.get("/health").expect("health");
    let open = open["data"].as_array().expect("a list").len();
    assert!(open <= 2 * LINES, "{open} {health}");
    stage.end();
}
