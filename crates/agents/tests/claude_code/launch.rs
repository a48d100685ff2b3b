//! How a process is started for a conversation.

use foxwedge_agents::{AgentCommand, AgentLaunch, AgentLauncher, LaunchSpec};
use serde_json::{Value, json};

use crate::support::kind;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn launch(body: &Value) -> AgentLaunch {
    let wish = LaunchSpec {
        body,
        model: Some("sonnet"),
        session: SESSION,
        folder: "/home/me/my project",
        now: 1_794_710_818_717,
    };
    kind().launch(wish)
}

/// Everything that depends on the history.
fn story(body: &Value) -> String {
    let started = launch(body);
    let mut story = String::new();
    let session: Vec<&str> = started
        .arguments
        .iter()
        .map(String::as_str)
        .skip_while(|argument| !matches!(*argument, "--resume" | "--session-id"))
        .collect();
    story.push_str(&format!("{}\n", session.join(" ")));
    let goes_on = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN";
    let goes_on = started.environment.iter().any(|(name, _)| name == goes_on);
    story.push_str(&format!("goes on by itself: {goes_on}\n"));
    story.push_str(&format!("prompt: {}\n", json!(started.prompt)));
    for (path, content) in &started.files {
        story.push_str(&format!("{}\n{content}", path.display()));
    }
    story
}

fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {"city": id}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "sunny"})
}

fn words(said: &str) -> Value {
    json!({"type": "text", "text": said, "cache_control": {"type": "ephemeral"}})
}

fn history() -> Vec<Value> {
    let thoughts = json!({"type": "thinking", "thinking": "Hm.", "signature": "abc"});
    let unsigned = json!({"type": "thinking", "thinking": "Hm.", "signature": ""});
    let calls = [thoughts, unsigned, words("Two."), call("a", "weather"), call("b", "a.b")];
    vec![
        json!({"role": "user", "content": "What is the weather?"}),
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "assistant", "content": calls}),
    ]
}

fn body(tail: &[Value]) -> Value {
    let messages: Vec<Value> = history().into_iter().chain(tail.iter().cloned()).collect();
    let tools = json!([{"name": "weather"}, {"name": "a.b"}]);
    json!({"model": "m", "system": [words("Sys.")], "tools": tools, "messages": messages})
}

#[test]
fn a_fresh_conversation_has_no_file() {
    let said = json!([words("/compact"), words("really?")]);
    insta::assert_snapshot!(story(&json!({
        "messages": [{"role": "user", "content": said}, {"role": "user", "content": "Please."}],
    })));
}

#[test]
fn words_behind_words_are_a_prompt() {
    let done = json!({"role": "user", "content": [result("a"), result("b")]});
    let said = json!({"role": "assistant", "content": "Sunny."});
    let asked = json!({"role": "user", "content": [words("And now?")]});
    insta::assert_snapshot!(story(&body(&[done, said, asked])));
}

#[test]
fn answers_need_no_prompt() {
    let done = json!({"role": "user", "content": [result("a"), result("b")]});
    insta::assert_snapshot!(story(&body(&[done])));
}

#[test]
fn words_behind_answers_are_a_record_of_their_own() {
    let done = json!({"role": "user", "content": [result("a"), result("b"), words("/cost?")]});
    insta::assert_snapshot!(story(&body(&[done])));
}

#[test]
fn nothing_is_made_up_for_a_history_that_ends_with_the_model() {
    let done = json!({"role": "user", "content": [result("a"), result("b")]});
    let said = json!({"role": "assistant", "content": "Sunny."});
    let started = launch(&body(&[done, said]));
    assert_eq!(started.prompt, Some(Vec::new()));
    assert_eq!(started.files.len(), 1);
    let nothing = launch(&json!({}));
    assert_eq!(nothing.prompt, started.prompt);
    assert!(nothing.files.is_empty());
}

#[test]
fn the_same_wish_gives_the_same_launch() {
    let done = json!({"role": "user", "content": [result("a"), result("b")]});
    let body = body(&[done]);
    let (one, two) = (launch(&body), launch(&body));
    assert_eq!(one.arguments, two.arguments);
    assert_eq!(one.files, two.files);
}

#[test]
fn arguments_and_variables() {
    let mut kind = kind();
    kind.permissions = Some("plan".to_owned());
    kind.tools = vec!["Read".to_owned(), "Grep".to_owned()];
    let body = json!({"messages": [{"role": "user", "content": "Hello"}]});
    let wish = LaunchSpec { body: &body, model: None, session: SESSION, folder: "/f", now: 0 };
    let AgentLaunch { arguments, environment, .. } = kind.launch(wish);
    let variables: Vec<String> =
        environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    insta::assert_snapshot!(format!("{}\n{}", arguments.join("\n"), variables.join("\n")));
}

#[test]
fn nothing_that_a_client_sends_makes_an_argument_long() {
    let tools: Vec<Value> = (0..1_000)
        .map(|number| json!({"name": format!("tool_{number}"), "description": "x".repeat(5_000)}))
        .collect();
    let system = "s".repeat(300_000);
    let body = json!({
        "system": system, "tools": tools,
        "messages": [{"role": "user", "content": "u".repeat(300_000)}],
    });
    let mut started = launch(&body);
    assert!(started.arguments.iter().all(|argument| argument.len() < 200));
    let hello: Value = serde_json::from_str(&started.protocol.begin()[0]).unwrap();
    let told = hello["request"]["systemPrompt"][0].as_str().unwrap();
    assert!(told.starts_with(&system));
    // What the list cuts off stands in the instructions: 3 000 letters of each description.
    assert!(told.len() > 300_000 + 1_000 * 3_000);
    let lines = started.protocol.encode_command(AgentCommand::Prompt(started.prompt.unwrap()));
    assert_eq!(lines.len(), 1);
}

#[test]
fn schemas_are_mended_so_that_one_bad_tool_does_not_take_the_others_with_it() {
    let table = [
        (json!(null), json!({"type": "object", "properties": {}})),
        (json!({"type": "string"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": ["object", "null"], "properties": {"a": true}, "required": "a"}),
            json!({"type": "object", "properties": {"a": {}}}),
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ),
        (
            json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {"type": "null"}}}]}),
            json!({"type": "object", "properties": {"a": {}, "b": {"type": "null"}}}),
        ),
    ];
    for (given, expected) in table {
        let body = json!({"tools": [
            {"name": "x", "input_schema": given},
            {"name": "x", "input_schema": given},
            {"type": "web_search_20250305", "name": "web_search"},
        ]});
        let mut started = launch(&body);
        let list = json!({
            "type": "control_request", "request_id": "r",
            "request": {
                "subtype": "mcp_message", "server_name": "client",
                "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            },
        });
        let (_, lines) = started.protocol.read_line(list.to_string().as_bytes());
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        let tools = &line["response"]["response"]["mcp_response"]["result"]["tools"];
        assert_eq!(tools.as_array().unwrap().len(), 1);
        assert_eq!(tools[0]["inputSchema"], expected);
    }
}
