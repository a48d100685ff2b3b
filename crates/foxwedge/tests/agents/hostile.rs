//! Answers, replies and names that nobody wants to see, and everybody does.

use serde_json::{Value, json};

use crate::{
    chat::{Chat, please, tool},
    stage::Stage,
    stories::{World as _, three_open},
};

#[test]
fn an_answer_of_fifty_megabytes_arrives() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls) = three_open(&door, "agent").expect("calls");
    let huge = "0123456789abcdef".repeat(50 << 16);
    chat.answer_with(&calls[0], &huge).answer(&calls[1]).answer(&calls[2]);
    let answer = chat.raw(&door).expect("a reply");
    match answer.status {
        200 => {
            let said = answer.json()["choices"][0]["message"]["content"].clone();
            let said = said.as_str().unwrap_or_default();
            assert!(said.starts_with("The tools said: 0123456789abcdef"), "{said}");
            assert!(said.ends_with(r#"look did {"n":3}"#), "{said}");
        }
        // Whoever takes less says so, and others are served.
        status => assert_eq!(status, 413, "{answer:?}"),
    }
    let turn = Chat::new("agent", &[]).say("still there?").peek(&door).expect("a reply");
    assert_eq!(turn.text, "You said: still there?");
    stage.end();
}

#[test]
fn a_reply_of_megabytes_arrives() {
    for stream in [false, true] {
        let stage = Stage::habits("huge=8000000");
        let mut chat = Chat::new("agent", &[]);
        chat.stream = stream;
        let turn = chat.say("hello").peek(&stage.door()).expect("a reply");
        assert_eq!(turn.text.len(), 8_000_000);
        stage.end();
    }
}

#[test]
fn a_thousand_tools_with_hostile_names_are_told_apart() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut names: Vec<String> = (0..990).map(|n| format!("tool_{n}")).collect();
    // Providers of this format take at most 64 letters, digits, `_` and `-`.
    let long = "x".repeat(62);
    names.extend((0..5).map(|n| format!("{long}_{n}")));
    names.extend(
        ["mcp__client__look", "mcp__other__look", "look", "Bash", "AskUserQuestion"]
            .map(str::to_owned),
    );
    let mut chat = Chat::new("agent", &[]);
    chat.tools = names.iter().map(|name| tool(name)).collect();
    let turn = chat.say("use tools").ask(&door).expect("a reply");
    let found: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(found, names.iter().map(String::as_str).collect::<Vec<_>>());
    for call in &turn.calls {
        chat.answer_with(call, "seen");
    }
    let turn = chat.ask(&door).expect("a reply");
    assert!(turn.text.starts_with("The tools said: seen | seen"), "{turn:?}");
    assert_eq!(stage.count("answer"), 1000);
    stage.end();
}

#[test]
fn names_that_no_provider_takes_do_not_reach_an_agent_as_they_are() {
    let stage = Stage::plain();
    let door = stage.door();
    let names = ["a.b", "a/b", "a b", "数据", "a\u{0}b", "", "--resume", "$(reboot)", "a\nb"];
    for name in names {
        let mut chat = Chat::new("agent", &[]);
        chat.tools = vec![tool(name), tool("look")];
        let answer = chat.say("use tools").raw(&door).expect("a reply");
        // Refused as a provider does, or told under the client's name; never anything else.
        let called = || answer.json()["choices"][0]["message"]["tool_calls"].clone();
        let names: Vec<Value> = called()
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| call["function"]["name"].clone())
            .collect();
        // A tool without a name cannot be called: that is a loss, and told as one.
        let told = match name {
            "" => names == [json!("look")] && answer.header("x-foxwedge-losses") == "1",
            _ => names == [json!(name), json!("look")],
        };
        assert!(answer.status == 400 || told, "{name:?}: {answer:?}");
    }
    stage.end();
}

#[test]
fn words_of_a_client_are_no_commands() {
    let stage = Stage::plain();
    let door = stage.door();
    for words in ["/compact", "@/etc/passwd", "--dangerously-skip-permissions", "\u{0}", "!ls"] {
        let turn = Chat::new("agent", &[]).say(words).peek(&door).expect("a reply");
        assert!(turn.text.contains(words.trim()), "{turn:?}");
    }
    stage.end();
}

#[test]
fn many_clients_at_once_get_their_own_answers() {
    let stage = Stage::plain();
    let door = &stage.door();
    std::thread::scope(|scope| {
        for client in 0..8 {
            scope.spawn(move || {
                let mut chat = Chat::new("agent", &["look"]);
                chat.stream = client % 2 == 0;
                for step in 0..3 {
                    let n = client * 100 + step;
                    let wanted = [("look", json!({"n": n})), ("look", json!({"n": -n}))];
                    let turn = chat.say(&please(&wanted)).ask(door).expect("a reply");
                    let found: Vec<_> = turn.calls.iter().map(|it| &it.arguments).collect();
                    assert_eq!(found, [&wanted[0].1, &wanted[1].1]);
                    chat.answer(&turn.calls[1]).answer(&turn.calls[0]);
                    let turn = chat.ask(door).expect("a reply");
                    let said = format!(r#"look did {{"n":{n}}} | look did {{"n":{}}}"#, -n);
                    assert_eq!(turn.text, format!("The tools said: {said}"));
                }
            });
        }
    });
    assert_eq!(stage.count("start"), 8);
    stage.end();
}
