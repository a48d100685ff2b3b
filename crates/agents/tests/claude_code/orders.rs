//! What the agent is told.

use foxwedge_agents::{
    AgentCommand, AgentEvent, AgentProtocol, PermissionDecision, PermissionRequest,
};
use serde_json::{Value, json};

use crate::support::pipe;

fn line(lines: &[String]) -> Value {
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].contains('\n'));
    serde_json::from_str(&lines[0]).unwrap()
}

#[test]
fn words_are_never_commands_and_never_answers() {
    let table = [
        (json!([{"type": "text", "text": "Hello"}]), json!([{"type": "text", "text": "Hello"}])),
        (
            json!([{"type": "text", "text": "/clear", "cache_control": {"type": "ephemeral"}}]),
            json!([{"type": "text", "text": " /clear"}]),
        ),
        (
            json!([{"type": "tool_result", "tool_use_id": "x"}, {"type": "text", "text": "a\nb"}]),
            json!([{"type": "text", "text": "a\nb"}]),
        ),
    ];
    for (said, expected) in table {
        let Value::Array(said) = said else { panic!("a list") };
        let line = line(&pipe().encode_command(AgentCommand::Prompt(said)));
        assert_eq!(line["message"]["content"], expected);
    }
    assert!(pipe().encode_command(AgentCommand::Prompt(Vec::new())).is_empty());
}

#[test]
fn answers_are_spelt_as_tool_servers_spell_them() {
    let source =
        |kind: &str, name: &str| json!({"type": kind, "media_type": "image/gif", name: "X"});
    let table = [
        (json!({"type": "text", "text": "a"}), json!({"type": "text", "text": "a"})),
        (
            json!({"type": "image", "source": source("base64", "data")}),
            json!({"type": "image", "data": "X", "mimeType": "image/gif"}),
        ),
        (
            json!({"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}),
            json!({"type": "text", "text": "http://x/y.png"}),
        ),
        (
            json!({"type": "document", "source": source("text", "data")}),
            json!({"type": "text", "text": "X"}),
        ),
        (json!({"type": "odd"}), json!({"type": "text", "text": "{\"type\":\"odd\"}"})),
        (json!(7), json!({"type": "text", "text": "7"})),
    ];
    for (given, expected) in table {
        let mut pipe = pipe();
        let call = json!({
            "type": "control_request", "request_id": "r",
            "request": {
                "subtype": "mcp_message",
                "message": {"id": "odd id", "method": "tools/call", "params": {"name": "get_weather"}},
            },
        });
        let (heard, _) = pipe.read_line(call.to_string().as_bytes());
        assert!(
            matches!(heard[..], [AgentEvent::ToolResultWanted { call: None, .. }]),
            "{heard:?}"
        );
        let answer =
            AgentCommand::ToolResult { ticket: "r".into(), content: vec![given], error: false };
        let line = line(&pipe.encode_command(answer));
        let answer = &line["response"]["response"]["mcp_response"];
        assert_eq!(answer["id"], json!("odd id"));
        assert_eq!(answer["result"]["content"], json!([expected]));
    }
}

fn asked(tool: &str) -> (impl AgentProtocol, Vec<AgentEvent>, Vec<String>) {
    let mut pipe = pipe();
    let line = json!({
        "type": "control_request", "request_id": "r",
        "request": {"subtype": "can_use_tool", "tool_name": tool, "input": {"a": 1}},
    });
    let (heard, lines) = pipe.read_line(line.to_string().as_bytes());
    (pipe, heard, lines)
}

#[test]
fn decisions_are_told_once() {
    let answers = json!({"Which?": "Red", "How many?": ["One", "Two"], "Really?": true});
    let Value::Object(answers) = answers else { panic!("an object") };
    let told = json!({"Which?": "Red", "How many?": "One, Two", "Really?": "true"});
    let table = [
        (
            PermissionDecision::Allow { input: None },
            json!({"behavior": "allow", "updatedInput": {"a": 1}}),
        ),
        (
            PermissionDecision::Allow { input: Some(json!({"b": 2})) },
            json!({"behavior": "allow", "updatedInput": {"b": 2}}),
        ),
        (
            PermissionDecision::Answers(answers),
            json!({"behavior": "allow", "updatedInput": {"a": 1, "answers": told}}),
        ),
        (
            PermissionDecision::Deny { message: "No.".into() },
            json!({"behavior": "deny", "message": "No."}),
        ),
    ];
    for (decision, expected) in table {
        let (mut pipe, heard, lines) = asked("Write");
        assert!(lines.is_empty());
        let [AgentEvent::PermissionRequested(ask)] = &heard[..] else { panic!("{heard:?}") };
        let order = AgentCommand::Decide { request: ask.clone(), decision };
        let line = line(&pipe.encode_command(order.clone()));
        assert_eq!(line["response"]["response"], expected);
        assert!(pipe.encode_command(order).is_empty());
    }
}

#[test]
fn nobody_is_asked_about_the_clients_tools() {
    let (mut pipe, heard, lines) = asked("mcp__client__get_weather");
    assert_eq!(heard, []);
    assert_eq!(line(&lines)["response"]["response"]["behavior"], json!("allow"));
    let ask = PermissionRequest {
        ticket: "r".into(),
        call: None,
        tool: "x".into(),
        input: json!({}),
        kind: foxwedge_agents::PermissionKind::Permission,
    };
    let decision = PermissionDecision::Deny { message: "No.".into() };
    assert!(
        pipe.encode_command(AgentCommand::Decide { request: ask, decision }).is_empty(),
        "there is no such question"
    );
}

#[test]
fn requests_have_ids_of_their_own() {
    let mut pipe = pipe();
    let hello = line(&pipe.begin());
    let first = line(&pipe.encode_command(AgentCommand::Interrupt));
    let second = line(&pipe.encode_command(AgentCommand::Interrupt));
    assert_eq!(first["request"], json!({"subtype": "interrupt"}));
    assert_ne!(hello["request_id"], first["request_id"]);
    assert_ne!(first["request_id"], second["request_id"]);
    let failed = json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": hello["request_id"], "error": "no"},
    });
    let (heard, _) = pipe.read_line(failed.to_string().as_bytes());
    let [AgentEvent::TurnEnded { failure: Some(trouble), .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(trouble.message, "no");
}
