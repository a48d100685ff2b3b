//! Lines that no agent should write.

use foxwedge_agents::{AgentCommand, AgentEvent, AgentProtocol, PermissionDecision};
use serde_json::{Value, json};

use crate::support::{Judge, pipe, recordings};

/// The same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

fn hear<'a>(lines: impl IntoIterator<Item = &'a [u8]>) {
    let mut pipe = pipe();
    let mut judge = Judge::default();
    let mut asks = Vec::new();
    for line in lines {
        let (heard, answers) = pipe.read_line(line);
        for answer in answers {
            assert!(!answer.contains('\n'));
        }
        for heard in heard {
            judge.hear(&heard);
            if let AgentEvent::PermissionRequested(ask) = heard {
                asks.push(ask);
            }
        }
    }
    for ask in asks {
        let decision = PermissionDecision::Answers(serde_json::Map::new());
        pipe.encode_command(AgentCommand::Decide { request: ask, decision });
    }
}

#[test]
fn lines_that_are_cut_anywhere_are_noise() {
    for (_, lines) in recordings() {
        for line in &lines {
            let mut pipe = pipe();
            for end in (1..line.len()).step_by(1 + line.len() / 40) {
                let half = &line.as_bytes()[..end];
                assert_eq!(
                    pipe.read_line(half),
                    (vec![AgentEvent::Unreadable], Vec::new()),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn lines_in_any_order_are_well_formed_messages() {
    let mut numbers = Numbers(7);
    for (_, lines) in recordings() {
        for _ in 0..60 {
            let count = lines.len() * 2;
            let some: Vec<&[u8]> =
                (0..count).map(|_| lines[numbers.below(lines.len())].as_bytes()).collect();
            hear(some);
        }
    }
}

#[test]
fn recordings_cut_short_and_glued_together_are_well_formed_messages() {
    let all = recordings();
    let mut numbers = Numbers(11);
    for _ in 0..400 {
        let mut some: Vec<&[u8]> = Vec::new();
        for _ in 0..3 {
            let (_, lines) = &all[numbers.below(all.len())];
            let (from, to) = (numbers.below(lines.len()), numbers.below(lines.len() + 1));
            some.extend(lines[from.min(to)..to].iter().map(|line| line.as_bytes()));
        }
        hear(some);
    }
}

#[test]
fn wrong_types_everywhere_are_borne() {
    let wrong =
        [json!(null), json!(7), json!("x"), json!([]), json!({}), json!([{"type": "text"}])];
    for (_, lines) in recordings() {
        for (at, line) in lines.iter().enumerate() {
            let sound: Value = serde_json::from_str(line).unwrap();
            let mut paths = Vec::new();
            walk(&sound, &mut String::new(), &mut paths);
            // Every third place, and other ones in the next line.
            for (which, path) in paths.iter().enumerate().skip(at % 3).step_by(3) {
                let mut spoiled = sound.clone();
                *spoiled.pointer_mut(path).unwrap() = wrong[which % wrong.len()].clone();
                let spoiled = spoiled.to_string();
                let before = &lines[at.saturating_sub(4)..at];
                let after = &lines[at + 1..(at + 4).min(lines.len())];
                let all = before.iter().chain([&spoiled]).chain(after);
                hear(all.map(|line| line.as_bytes()));
            }
        }
    }
}

fn walk(value: &Value, path: &mut String, paths: &mut Vec<String>) {
    paths.push(path.clone());
    let length = path.len();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                walk(value, path, paths);
                path.truncate(length);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                path.push_str(&format!("/{index}"));
                walk(value, path, paths);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn garbage_is_noise_and_strangers_are_passed_over() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"type\":\"stream_event\",\"event\":\"{}\"}}", "x".repeat(5 << 20));
    let table: [(&[u8], &[AgentEvent]); 12] = [
        (b"", &[]),
        (b"  \r", &[]),
        (b"hello", &[AgentEvent::Unreadable]),
        (b"[1,2", &[AgentEvent::Unreadable]),
        (b"7", &[AgentEvent::Unreadable]),
        (b"{}", &[AgentEvent::Unreadable]),
        (b"{\"type\":7}", &[AgentEvent::Unreadable]),
        (b"{\"type\":\"\xff\"}", &[AgentEvent::Unreadable]),
        (b"{\"type\":\"keep_alive\"}", &[]),
        (b"{\"type\":\"control_request\"}", &[AgentEvent::Unreadable]),
        (deep.as_bytes(), &[AgentEvent::Unreadable]),
        (long.as_bytes(), &[AgentEvent::Unreadable]),
    ];
    let mut pipe = pipe();
    for (line, expected) in table {
        let (heard, answers) = pipe.read_line(line);
        let shown = String::from_utf8_lossy(line.get(..40).unwrap_or(line));
        assert_eq!(heard, expected, "{shown}");
        assert!(answers.is_empty(), "{shown}");
    }
}

fn call(request: &str, id: u64, name: &str) -> String {
    json!({
        "type": "control_request",
        "request_id": request,
        "request": {
            "subtype": "mcp_message",
            "server_name": "client",
            "message": {
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": name, "arguments": {}},
            },
        },
    })
    .to_string()
}

#[test]
fn a_request_that_comes_twice_is_wanted_once() {
    let mut pipe = pipe();
    let line = call("r", 1, "get_weather");
    assert!(matches!(pipe.read_line(line.as_bytes()).0[..], [AgentEvent::ToolResultWanted { .. }]));
    assert_eq!(pipe.read_line(line.as_bytes()), (vec![AgentEvent::Unreadable], Vec::new()));
    let answer =
        || AgentCommand::ToolResult { ticket: "r".to_owned(), content: Vec::new(), error: false };
    assert_eq!(pipe.encode_command(answer()).len(), 1);
    assert_eq!(pipe.encode_command(answer()).len(), 0);
}

#[test]
fn strange_requests_are_refused_and_never_left_without_an_answer() {
    let control = |request: Value| {
        json!({"type": "control_request", "request_id": "r", "request": request}).to_string()
    };
    let message = |message: Value| {
        control(json!({"subtype": "mcp_message", "server_name": "client", "message": message}))
    };
    let lines = [
        call("r", 1, "no_such_tool"),
        control(json!({"subtype": "hook_callback", "callback_id": "x"})),
        control(json!({"subtype": "mcp_message", "server_name": "other", "message": {"id": 3}})),
        message(json!({"id": 4, "method": "resources/list"})),
        message(json!({"id": 5, "method": "ping"})),
        message(json!({"id": 6})),
        message(json!({"method": "notifications/progress"})),
    ];
    let mut pipe = pipe();
    let said: Vec<String> = lines
        .iter()
        .map(|line| {
            let (heard, answers) = pipe.read_line(line.as_bytes());
            assert_eq!(heard, [], "{line}");
            answers.join("\n")
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn calls_that_are_open_have_a_limit() {
    let mut pipe = pipe();
    for number in 0..10_000_u64 {
        let line = call(&format!("r{number}"), number, "get_weather");
        assert_eq!(pipe.read_line(line.as_bytes()).0.len(), 1);
    }
    let (heard, answers) = pipe.read_line(call("one more", 1, "get_weather").as_bytes());
    assert_eq!(heard, []);
    assert!(answers[0].contains("too many"));
}
