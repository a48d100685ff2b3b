//! Which agent a request belongs to: the history says it.

use serde_json::json;

use crate::{
    chat::{Chat, PATH, Turn, please},
    stage::Stage,
    stories::{World as _, says_all, three_open},
    wire::{post, send},
};

#[test]
fn a_request_that_is_marked_as_a_retry_gets_the_reply_again() {
    let stage = Stage::plain();
    let door = stage.door();
    let retry = |chat: &Chat| {
        let headers = format!("x-foxwedge-token: {}\r\nx-stainless-retry-count: 1\r\n", door.token);
        let bytes = post(PATH, &headers, chat.body().to_string());
        Turn::read(send(&door.address, &bytes).expect("a reply"), false).expect("a whole reply")
    };
    let mut chat = Chat::new("agent", &["look"]);
    chat.say(&please(&[("look", json!({"n": 1}))]));
    let first = chat.peek(&door).expect("a reply");
    let again = retry(&chat);
    assert_eq!(first.calls, again.calls);
    assert_eq!(again.header("x-foxwedge-replayed"), "true", "{again:?}");
    assert_eq!((stage.count("prompt"), stage.count("call")), (1, 1));
    chat.messages.push(first.message());
    chat.answer(&first.calls[0]);
    let last = chat.peek(&door).expect("a reply");
    let again = retry(&chat);
    says_all(&last, &first.calls).expect("the last word");
    assert_eq!(last.text, again.text);
    assert_eq!((stage.count("prompt"), stage.count("answer")), (1, 1));
    stage.end();
}

#[test]
fn two_conversations_with_the_same_words_do_not_mix() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut one, ones) = three_open(&door, "agent").expect("calls");
    // The same words, but not at the beginning.
    let (mut other, others) = {
        let mut chat = Chat::new("agent", &["look"]);
        chat.messages.push(json!({"role": "user", "content": "hello"}));
        chat.ask(&door).expect("a reply");
        let wanted = [1, 2, 3].map(|n| ("look", json!({"n": n})));
        let turn = chat.say(&please(&wanted)).ask(&door).expect("a reply");
        (chat, turn.calls)
    };
    assert_eq!(stage.count("start"), 2);
    assert_ne!(ones, others);
    for call in &others {
        other.answer_with(call, "for the other");
    }
    let turn = other.ask(&door).expect("a reply");
    assert_eq!(turn.text, "The tools said: for the other | for the other | for the other");
    for call in &ones {
        one.answer(call);
    }
    let last = one.ask(&door).expect("a reply");
    says_all(&last, &ones).expect("the last word");
    let session = "x-foxwedge-session";
    assert_ne!(last.header(session), turn.header(session));
    assert_eq!(stage.count("start"), 2);
    stage.end();
}

#[test]
fn two_branches_of_one_conversation_do_not_mix() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.say("hello").ask(&door).expect("a reply");
    let mut branch = chat.clone();
    let turn = chat.say(&please(&[("look", json!({"n": 1}))])).ask(&door).expect("a reply");
    let other = branch.say(&please(&[("look", json!({"n": 2}))])).ask(&door).expect("a reply");
    chat.answer(&turn.calls[0]);
    branch.answer(&other.calls[0]);
    says_all(&branch.ask(&door).expect("a reply"), &other.calls).expect("the branch");
    says_all(&chat.ask(&door).expect("a reply"), &turn.calls).expect("the first");
    stage.end();
}

#[test]
fn an_edited_history_is_another_conversation() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    for call in &calls {
        chat.answer(call);
    }
    says_all(&chat.ask(&door).expect("a reply"), &calls).expect("the last word");
    // What the model said is not what it said.
    let last = chat.messages.last_mut().expect("a message");
    last["content"] = json!("I never looked.");
    let turn = chat.say("go on").ask(&door).expect("a reply");
    assert!(turn.text.contains("go on"), "{turn:?}");
    assert_eq!(stage.count("start"), 2);
    let log = stage.log();
    let second = log.iter().rfind(|noted| noted.what == "start").expect("a start");
    assert!(second.more["history"].as_u64() >= Some(2), "{second:?}");
    stage.end();
}

#[test]
fn a_reply_that_is_made_anew_is_made_from_the_history() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.say("first").ask(&door).expect("a reply");
    chat.say("second").ask(&door).expect("a reply");
    chat.messages.truncate(2);
    let turn = chat.say("another second").ask(&door).expect("a reply");
    assert!(turn.text.contains("another second"), "{turn:?}");
    let turn = chat.say("third").ask(&door).expect("a reply");
    assert!(turn.text.contains("third"), "{turn:?}");
    stage.end();
}

#[test]
fn a_conversation_that_began_elsewhere_goes_on_here() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.messages = vec![
        json!({"role": "system", "content": "be brief"}),
        json!({"role": "user", "content": "hello"}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            {"id": "call_b", "type": "function", "function": {"name": "gone", "arguments": "{}"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "call_b", "content": "said b"}),
        json!({"role": "tool", "tool_call_id": "call_a", "content": "said a"}),
    ];
    let turn = chat.ask(&door).expect("a reply");
    assert_eq!(turn.text, "The tools said: said a | said b");
    let turn = chat.say(&please(&[("look", json!({"n": 1}))])).ask(&door).expect("a reply");
    let calls = turn.calls;
    let turn = chat.answer(&calls[0]).ask(&door).expect("a reply");
    says_all(&turn, &calls).expect("the last word");
    assert_eq!(stage.count("start"), 1);
    stage.end();
}

#[test]
fn open_calls_of_a_conversation_that_nobody_knows_are_listed_without_an_agent() {
    let stage = Stage::plain();
    let door = stage.door();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let mut chat = Chat::new("agent", &["look"]);
    chat.messages = vec![
        json!({"role": "user", "content": "hello"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]}),
        json!({"role": "tool", "tool_call_id": "b", "content": "said b"}),
    ];
    let turn = chat.ask(&door).expect("a reply");
    assert_eq!((turn.ids(), turn.finish.as_str()), (vec!["a"], "tool_calls"));
    assert_eq!(stage.count("start"), 0);
    let turn = chat.answer_with(&turn.calls[0], "said a").ask(&door).expect("a reply");
    assert_eq!(turn.text, "The tools said: said a | said b");
    stage.end();
}

#[test]
fn the_same_request_twice_at_once_is_asked_once() {
    let stage = Stage::habits("slow=20");
    let door = &stage.door();
    let mut chat = Chat::new("agent", &["look"]);
    chat.say(&please(&[("look", json!({"n": 1}))]));
    let chat = &chat;
    let answers = std::thread::scope(|scope| {
        let asking = [0, 1, 2].map(|_| scope.spawn(move || chat.raw(door).expect("a reply")));
        asking.map(|one| one.join().expect("no panic"))
    });
    let whole: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert!(!whole.is_empty(), "{answers:?}");
    // Whoever gets nothing is told to come again, and nobody gets somebody else's calls.
    for answer in &answers {
        assert!([200, 409].contains(&answer.status), "{answer:?}");
    }
    let prompts = stage.count("prompt");
    assert!(prompts <= whole.len(), "{prompts} prompts for {} replies", whole.len());
    for answer in whole {
        let turn = Turn::read(answer.clone(), false).expect("a reply");
        let mut chat = chat.clone();
        chat.messages.push(turn.message());
        let last = chat.answer(&turn.calls[0]).peek(door).expect("a reply");
        says_all(&last, &turn.calls).expect("the last word");
    }
    stage.end();
}

#[test]
fn equal_beginnings_part_where_the_answers_do() {
    for sequence in [["first", "second"], ["second", "first"]] {
        let stage = Stage::plain();
        let door = stage.door();
        let mut one = Chat::new("agent", &["look"]);
        one.say(&please(&[("look", json!({"n": 1}))]));
        let mut other = one.clone();
        let [ones, others] = [&mut one, &mut other].map(|it| it.ask(&door).expect("a reply").calls);
        for who in sequence {
            let (chat, calls) = match who {
                "first" => (&mut one, &ones),
                _ => (&mut other, &others),
            };
            let words = format!("for the {who}");
            let turn = chat.answer_with(&calls[0], &words).ask(&door).expect("a reply");
            assert_eq!(turn.text, format!("The tool said: {words}"), "{sequence:?}");
        }
        for (chat, words) in [(&mut one, "one goes on"), (&mut other, "the other, too")] {
            let turn = chat.say(words).ask(&door).expect("a reply");
            assert_eq!(turn.text, format!("You said: {words}"));
        }
        stage.end();
    }
}
