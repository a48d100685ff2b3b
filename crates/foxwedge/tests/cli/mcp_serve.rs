//! `foxwedge mcp serve`: the sessions of agents for MCP clients.

use serde_json::{Value, json};

use crate::{
    homes::*,
    sandbox::{Ran, Sandbox},
};

/// Sends requests and returns the replies.
fn ask(sandbox: &Sandbox, requests: &[Value]) -> Vec<Value> {
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let ran: Ran = sandbox.pipe(&["mcp", "serve"], input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(sandbox: &Sandbox, name: &str, arguments: Value) -> Value {
    let parameters = json!({"name": name, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters});
    ask(sandbox, &[request]).remove(0)
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn a_client_learns_the_tools() {
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-03-26", "capabilities": {}}});
    let started = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
    let other = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    let replies = ask(&Sandbox::new(), &[start, started, list, other]);
    assert_eq!(replies.len(), 3, "a notification has no reply: {replies:?}");
    assert_eq!(replies[0]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(replies[1]["id"], "a");
    let tools = replies[1]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected =
        ["list_sessions", "show_session", "check_session", "explain_error", "search_sessions"];
    assert_eq!(names, expected);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    assert_eq!(replies[2]["error"]["code"], -32601);
    let ran = Sandbox::new().pipe(&["mcp", "serve"], "no json\n");
    assert!(ran.out.contains("-32700"), "{}", ran.all());
}

#[test]
fn tools_read_sessions() {
    let sandbox = home();
    let listed = call(&sandbox, "list_sessions", json!({"broken": true, "agent": "codex"}));
    let document: Value = serde_json::from_str(text(&listed)).unwrap();
    assert_eq!(document["sessions"][0]["id"], CODEX, "{document}");
    let shown = call(&sandbox, "show_session", json!({"session": KILLED}));
    assert!(text(&shown).contains(KILLED) && shown["result"]["isError"] == false, "{shown}");
    let checked = call(&sandbox, "check_session", json!({"session": KILLED}));
    assert!(text(&checked).contains("FW101") && checked["result"]["isError"] == false);
    let found = call(&sandbox, "search_sessions", json!({"text": "apples"}));
    assert!(text(&found).contains(CODEX), "{found}");
    let message = "tool_use ids were found without tool_result blocks";
    assert!(text(&call(&sandbox, "explain_error", json!({"text": message}))).contains("FW101"));
}

#[test]
fn wrong_arguments_are_refused() {
    let sandbox = home();
    let missing = call(&sandbox, "show_session", json!({"session": "ffffffff"}));
    assert_eq!(missing["result"]["isError"], true, "{missing}");
    for (name, arguments) in [
        ("show_session", json!({})),
        ("show_session", json!({"session": "../secret.json"})),
        ("list_sessions", json!({"limit": "many"})),
        ("fix_session", json!({"session": KILLED})),
    ] {
        let reply = call(&sandbox, name, arguments);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
    }
}

#[test]
fn a_batch_has_its_replies_in_the_version_that_has_batches() {
    let start = |version: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}}})
    };
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([ping(2), note, ping(3), 5]);
    let requests = [start("2025-03-26"), batch.clone(), json!([note]), ping(4)];
    let replies = ask(&Sandbox::new(), &requests);
    assert_eq!(replies.len(), 3, "{replies:?}");
    let ids: Vec<&Value> = replies[1].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(2), &json!(3), &Value::Null]);
    assert_eq!(replies[1][2]["error"]["code"], -32600);
    assert_eq!(replies[2]["id"], 4);

    for (version, message) in [
        ("2025-06-18", batch),
        ("2025-03-26", json!([])),
        ("2025-03-26", json!(5)),
        ("2025-03-26", Value::Null),
        ("2024-11-05", json!("ping")),
    ] {
        let replies = ask(&Sandbox::new(), &[start(version), message.clone()]);
        assert_eq!(replies[1]["error"]["code"], -32600, "{message}");
        assert_eq!(replies[1]["id"], Value::Null, "{message}");
    }
}
