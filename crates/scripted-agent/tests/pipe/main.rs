//! The agent is what it says it is: driven over its pipe, it does what Claude Code does, and no habit
//! makes its history unsound.

#![cfg(unix)]

#[path = "../../../store/tests/store/temporary.rs"]
mod temporary;
mod host;

use std::fs;

use serde_json::{Value, json};

use crate::{
    host::{Host, Wish, calls, wish},
    temporary::Temporary,
};

/// The line of the result among others.
fn result(lines: &[Value]) -> &Value {
    lines.iter().rfind(|line| line["type"] == "result").expect("a result")
}

fn wishes(lines: &[Value]) -> Vec<Wish> {
    lines.iter().filter_map(wish).collect()
}

fn said_in_pieces(line: &Value, kind: &str) -> bool {
    line["event"]["type"] == kind
}

/// The calls whose answers are told, in order.
fn answered(lines: &[Value]) -> Vec<&str> {
    let blocks = lines.iter().filter(|line| line["type"] == "user");
    blocks.filter_map(|line| line["message"]["content"][0]["tool_use_id"].as_str()).collect()
}

#[test]
fn reading_tools_are_called_at_once_and_answered_in_any_order() {
    let folder = Temporary::folder();
    let mut agent = Host::with(folder.as_ref(), "");
    agent.begin(&["look"], true);
    agent.prompt(&calls("look", 3));
    let lines = agent.until(|line| said_in_pieces(line, "message_stop"));
    let wishes = wishes(&lines);
    let arguments: Vec<&Value> = wishes.iter().map(|wish| &wish.arguments).collect();
    assert_eq!(arguments, [&json!({"n": 0}), &json!({"n": 1}), &json!({"n": 2})]);
    for (place, wish) in wishes.iter().enumerate().rev() {
        agent.answer(wish, &format!("answer {place}"));
    }
    let lines = agent.until_idle();
    let reversed: Vec<&str> = wishes.iter().rev().map(|wish| wish.call.as_str()).collect();
    assert_eq!(answered(&lines), reversed);
    assert_eq!(result(&lines)["result"], "The tools said: answer 0 | answer 1 | answer 2");
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn other_tools_are_called_one_after_the_other() {
    let folder = Temporary::folder();
    let mut agent = Host::with(folder.as_ref(), "");
    agent.begin(&["write"], false);
    agent.prompt(&calls("write", 3));
    let mut seen = 0;
    let lines = loop {
        let lines = agent.until(|line| wish(line).is_some() || line["type"] == "result");
        let Some(wish) = wishes(&lines).pop() else { break lines };
        assert_eq!(wish.arguments, json!({"n": seen}));
        agent.answer(&wish, &format!("answer {seen}"));
        seen += 1;
    };
    assert_eq!(seen, 3);
    assert_eq!(result(&lines)["result"], "The tools said: answer 0 | answer 1 | answer 2");
}

#[test]
fn words_behind_answers_belong_to_the_same_turn() {
    let folder = Temporary::folder();
    let mut agent = Host::with(folder.as_ref(), "");
    agent.begin(&["look"], true);
    agent.prompt(&calls("look", 1));
    let lines = agent.until(|line| said_in_pieces(line, "message_stop"));
    agent.answer(&wishes(&lines)[0], "an answer");
    agent.prompt(&calls("look", 2));
    let lines = agent.until(|line| said_in_pieces(line, "message_stop"));
    assert_eq!(wishes(&lines).len(), 2);
    assert!(!lines.iter().any(|line| line["type"] == "result"), "{lines:#?}");
}

/// A session in which the gateway wrote a call and perhaps its answer.
fn forged(folder: &Temporary, answer: bool) -> &'static str {
    const ID: &str = "5e551011-0000-4000-8000-f0c5ed6e0002";
    let here = folder.as_ref().canonicalize().expect("a folder");
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = here.to_string_lossy().chars().map(plain).collect();
    let project = folder.path("state").join("projects").join(name);
    fs::create_dir_all(&project).expect("a folder");
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "mcp__client__a", "input": {}});
    let told = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "written"});
    let last = if answer { told } else { json!({"type": "text", "text": "well?"}) };
    let line = |role: &str, content: Value| {
        let message = json!({"role": role, "content": content});
        json!({"type": role, "message": message, "isSidechain": false, "uuid": role}).to_string()
    };
    let lines = [
        line("user", json!("hello")),
        line("assistant", json!([{"type": "text", "text": "I call."}, call])),
        "{\"type\":\"mode\",\"mode\":\"normal\"}".to_owned(),
        line("user", json!([last])),
    ];
    fs::write(project.join(format!("{ID}.jsonl")), lines.join("\n") + "\n").expect("a file");
    ID
}

#[test]
fn a_session_on_disk_goes_on_without_a_prompt() {
    let folder = Temporary::folder();
    let id = forged(&folder, true);
    let go_on = [("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "1")];
    // What it only reads stays as it is.
    for more in ["--no-session-persistence", "--verbose"] {
        let mut agent = Host::start(folder.as_ref(), &["-p", more, "--resume", id], &go_on);
        agent.begin(&["a"], true);
        let lines = agent.until_idle();
        assert_eq!(result(&lines)["result"], "The tool said: written");
        assert_eq!(result(&lines)["session_id"], id);
    }
    // Not asked to, it waits.
    let mut agent = Host::start(folder.as_ref(), &["-p", "--resume", id], &[]);
    agent.begin(&["a"], true);
    agent.prompt("more");
    assert_eq!(result(&agent.until_idle())["result"], "You said: more");
    let unknown = Host::start(folder.as_ref(), &["-p", "--resume", "nobody"], &[]);
    assert_ne!(unknown.end(), Some(0));
}

#[test]
fn a_history_that_no_provider_takes_is_a_failure_that_is_told() {
    let folder = Temporary::folder();
    let id = forged(&folder, false);
    let go_on = [("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "1")];
    let mut agent = Host::start(folder.as_ref(), &["-p", "--resume", id], &go_on);
    agent.begin(&["a"], true);
    let lines = agent.until_idle();
    let result = result(&lines);
    assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(400)));
    let told = result["result"].as_str().expect("words");
    assert!(told.contains("`tool_use` ids were found without `tool_result` blocks"), "{told}");
}

#[test]
fn whoever_is_interrupted_answers_every_call_and_goes_on_later() {
    let folder = Temporary::folder();
    let mut agent = Host::with(folder.as_ref(), "");
    agent.begin(&["look"], true);
    agent.prompt(&calls("look", 3));
    let lines = agent.until(|line| said_in_pieces(line, "message_stop"));
    let wishes = wishes(&lines);
    agent.answer(&wishes[1], "the only one");
    agent.until(|line| line["type"] == "user");
    agent.interrupt();
    let lines = agent.until_idle();
    let cancelled =
        |line: &&Value| line["request"]["message"]["method"] == "notifications/cancelled";
    assert_eq!(lines.iter().filter(cancelled).count(), 2);
    assert_eq!(answered(&lines), [&wishes[0].call, &wishes[2].call]);
    assert_eq!(result(&lines)["terminal_reason"], "aborted_tools");
    agent.answer(&wishes[0], "too late");
    agent.prompt("go on");
    let lines = agent.until_idle();
    assert_eq!(result(&lines)["is_error"], false, "{lines:#?}");
}

#[test]
fn whoever_speaks_for_ever_can_be_interrupted() {
    let folder = Temporary::folder();
    let mut agent = Host::with(folder.as_ref(), "endless");
    agent.begin(&[], true);
    agent.prompt("hello");
    agent.until(|line| said_in_pieces(line, "content_block_delta"));
    agent.interrupt();
    let lines = agent.until_idle();
    assert_eq!(result(&lines)["terminal_reason"], "aborted_streaming");
}

#[test]
fn people_are_asked() {
    let folder = Temporary::folder();
    let table = [
        ("ask", json!({"behavior": "deny", "message": "Not now."}), "The tool said: Not now."),
        ("permission", json!({"behavior": "deny", "message": "No."}), "The tool said: No."),
        (
            "permission",
            json!({"behavior": "allow", "updatedInput": {}}),
            "The tool said: a tool of the agent's own ran",
        ),
        (
            "ask",
            json!({"behavior": "allow", "updatedInput": {"answers": {"Which colour?": "Blue"}}}),
            "The tool said: Your questions have been answered: \"Which colour?\"=\"Blue\".",
        ),
    ];
    for (habit, decision, said) in table {
        let mut agent = Host::with(folder.as_ref(), habit);
        agent.begin(&[], true);
        agent.prompt("hello");
        let lines = agent.until(|line| line["request"]["subtype"] == "can_use_tool");
        let request = lines.last().and_then(|line| line["request_id"].as_str()).expect("an id");
        agent.respond(request, decision);
        assert_eq!(result(&agent.until_idle())["result"], said, "{habit}");
    }
}

#[test]
fn every_habit_leaves_a_sound_history() {
    let table = [
        ("serial", 3),
        ("no-partial", 3),
        ("no-partial,serial,own-tool", 3),
        ("garbage", 3),
        ("fragments", 3),
        ("fragments,own-tool", 3),
        ("own-tool", 3),
        ("unavailable", 2),
        ("words", 3),
        ("early-calls", 3),
        ("bad-arguments", 3),
        ("slow=1", 3),
        ("ask,words", 0),
        ("huge=100000", 0),
    ];
    for (habits, wished) in table {
        let folder = Temporary::folder();
        let mut agent = Host::with(folder.as_ref(), habits);
        agent.begin(&["look"], true);
        let mut number = 0;
        for turn in 0..2 {
            agent.prompt(&calls("look", 3));
            loop {
                let line = agent.next().expect("a line");
                if let Some(wish) = wish(&line) {
                    agent.answer(&wish, "an answer");
                    number += 1;
                }
                if line["request"]["subtype"] == "can_use_tool" {
                    let request = line["request_id"].as_str().expect("an id").to_owned();
                    agent.respond(&request, json!({"behavior": "deny", "message": "no"}));
                }
                if line["type"] == "result" {
                    assert_eq!(line["is_error"], false, "{habits}, turn {turn}: {line}");
                    break;
                }
            }
            agent.until_idle();
        }
        assert_eq!(number, 2 * wished, "{habits}");
        assert_eq!(agent.end(), Some(0), "{habits}");
    }
}

#[test]
fn it_dies_where_it_is_told_to() {
    let folder = Temporary::folder();
    let table = [
        ("die-at-start", Some(7)),
        ("die-after=2", Some(9)),
        ("die-waiting", Some(9)),
        ("die-answered", Some(9)),
    ];
    for (habits, code) in table {
        let mut agent = Host::with(folder.as_ref(), habits);
        if habits != "die-at-start" {
            agent.begin(&["look"], true);
            agent.prompt(&calls("look", 2));
        }
        let mut pieces = 0;
        while let Some(line) = agent.next() {
            pieces += usize::from(line["type"] == "stream_event");
            if let Some(wish) = wish(&line).filter(|_| habits == "die-answered") {
                agent.answer(&wish, "an answer");
            }
        }
        assert_eq!(pieces == 2, habits == "die-after=2", "{habits}: {pieces}");
        assert_eq!(agent.end(), code, "{habits}");
    }
    assert_ne!(Host::with(folder.as_ref(), "no-such-habit").end(), Some(0));
}

#[test]
fn a_recording_is_played_as_its_host_answers() {
    let folder = Temporary::folder();
    let row = |dir: &str, msg: Value| json!({"t": 9.5, "dir": dir, "msg": msg}).to_string();
    let success = |id: &str| json!({"subtype": "success", "request_id": id, "response": {}});
    let begin = json!({
        "type": "control_request", "request_id": "old", "request": {"subtype": "initialize"},
    });
    let asks = |id: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": "x"}});
    let answer = |id: &str| json!({"type": "control_response", "response": success(id)});
    let rows = [
        row("note", json!({"cmd": []})),
        row("host->cli", begin.clone()),
        row("cli->host", answer("old")),
        row("cli->host", asks("a")),
        row("cli->host", asks("b")),
        row("host->cli", answer("a")),
        row("host->cli", answer("b")),
        row("host->cli", json!({"type": "user", "message": {}})),
        row("cli->host", json!({"type": "result"})),
        row("note", json!({"exit": 3})),
    ];
    let file = folder.path("recording.jsonl");
    fs::write(&file, rows.join("\n")).expect("a file");
    let file = file.to_string_lossy().into_owned();
    let mut agent = Host::start(folder.as_ref(), &["--replay", &file], &[]);
    let mut new = begin;
    new["request_id"] = json!("new");
    agent.send(&new);
    assert_eq!(agent.next(), Some(answer("new")));
    assert_eq!([agent.next(), agent.next()], [Some(asks("a")), Some(asks("b"))]);
    agent.prompt("early");
    agent.respond("b", json!({}));
    agent.respond("unknown", json!({}));
    agent.respond("a", json!({}));
    assert_eq!(agent.next(), Some(json!({"type": "result"})));
    assert_eq!(agent.end(), Some(3));
    // A host that says nothing more ends it.
    assert_eq!(Host::start(folder.as_ref(), &["--replay", &file], &[]).end(), Some(1));
}
