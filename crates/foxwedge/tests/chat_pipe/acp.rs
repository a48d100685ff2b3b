//! `foxwedge acp`: an editor at the other end of the pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::stage::Stage;

/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An editor.
struct Editor {
    agent: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    count: u64,
    /// Everything that came and was not the awaited message.
    seen: Vec<Value>,
}

impl Editor {
    fn new(stage: &Stage) -> Editor {
        let mut command = stage.command(&["acp", "--api", "scripted"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut agent = command.spawn().unwrap();
        let output = BufReader::new(agent.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = agent.stdin.take();
        Editor { agent, input, messages, count: 0, seen: Vec::new() }
    }

    /// An editor that agreed on a version.
    fn of_version(stage: &Stage, version: u64) -> Editor {
        let mut editor = Editor::new(stage);
        let info = json!({ "name": "test", "version": "1" });
        let result =
            editor.ask("initialize", json!({ "protocolVersion": version, "info": info })).unwrap();
        assert_eq!(result["protocolVersion"], version);
        editor
    }

    fn send(&mut self, message: Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and returns its id.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.count += 1;
        let id = self.count;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and waits for its response.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params);
        self.response(id)
    }

    fn response(&mut self, id: u64) -> Result<Value, Value> {
        let response = self.wait(|message| message["id"] == id && message["method"].is_null());
        match response.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(response["error"].clone()),
        }
    }

    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            self.seen.push(message.clone());
            if is_it(&message) {
                return message;
            }
        }
    }

    fn open(&mut self, stage: &Stage) -> String {
        let cwd = stage.path("");
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let opened = self.ask("session/new", params).unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.begin("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Waits for a permission request and selects an option.
    fn permit(&mut self, option: &str) -> Value {
        let request = self.wait(|message| message["method"] == "session/request_permission");
        let outcome = json!({ "outcome": "selected", "optionId": option });
        let result = json!({ "outcome": outcome });
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
        request["params"].clone()
    }

    /// The updates of a kind since the last call.
    fn updates(&mut self, kind: &str) -> Vec<Value> {
        let seen = std::mem::take(&mut self.seen).into_iter();
        let updates = seen.filter(|message| message["method"] == "session/update");
        let updates = updates.map(|message| message["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Closes the input and waits for the agent to end.
    fn close(mut self) -> i32 {
        drop(self.input.take());
        self.agent.wait().unwrap().code().unwrap()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

fn said(updates: &[Value]) -> String {
    updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

#[test]
fn an_editor_prompts_and_approves_a_change() {
    let stage = Stage::new();
    stage.write("tide.txt", "high\n");
    let mut editor = Editor::of_version(&stage, 1);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "hello");
    assert_eq!(editor.response(id).unwrap()["stopReason"], "end_turn");
    assert_eq!(said(&editor.updates("agent_message_chunk")), "You said: hello");

    let call = r#"call edit with {"path":"tide.txt","old":"high","new":"low"}"#;
    let id = editor.prompt(&session, call);
    let asked = editor.permit("allow");
    let diff = &asked["toolCall"]["content"][0];
    assert_eq!((&diff["oldText"], &diff["newText"]), (&json!("high\n"), &json!("low\n")));
    assert_eq!(diff["path"], stage.path("tide.txt").to_str().unwrap());
    assert_eq!(editor.response(id).unwrap()["stopReason"], "end_turn");
    let updates = editor.updates("tool_call_update");
    assert!(updates.iter().any(|update| update["status"] == "completed"));
    assert_eq!(updates.last().unwrap()["content"][0]["type"], "diff");
    assert_eq!(std::fs::read_to_string(stage.path("tide.txt")).unwrap(), "low\n");

    // A denial reaches the model, and nothing is changed.
    let id = editor.prompt(&session, r#"call write with {"path":"new.txt","content":"x"}"#);
    editor.permit("deny");
    editor.response(id).unwrap();
    assert!(!stage.path("new.txt").exists());
    assert_eq!(editor.close(), 0);
    assert_eq!(stage.outcomes(), ["completed"; 3]);
}

#[test]
fn always_is_kept_for_the_folder_and_commands_are_not_joined() {
    let stage = Stage::new();
    let mut editor = Editor::of_version(&stage, 1);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, r#"call run with {"command":"echo one"}"#);
    let asked = editor.permit("always");
    assert_eq!(asked["options"][1]["name"], "Always allow `echo …` in this folder");
    editor.response(id).unwrap();
    assert_eq!(editor.close(), 0);

    let mut editor = Editor::of_version(&stage, 1);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, r#"call run with {"command":"echo two"}"#);
    editor.response(id).unwrap();
    let updates = editor.updates("tool_call_update");
    assert!(updates.iter().any(|update| update["status"] == "completed"), "{updates:?}");
    let id = editor.prompt(&session, r#"call run with {"command":"echo three > x"}"#);
    editor.permit("deny");
    editor.response(id).unwrap();
    assert!(!stage.path("x").exists());
}

#[test]
fn a_cancelled_prompt_ends_and_its_question_is_withdrawn() {
    let stage = Stage::new();
    let mut editor = Editor::of_version(&stage, 1);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, r#"call write with {"path":"a","content":"b"}"#);
    let request = editor.wait(|message| message["method"] == "session/request_permission");
    let params = json!({ "sessionId": session });
    editor.send(json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    assert_eq!(editor.response(id).unwrap()["stopReason"], "cancelled");
    let withdrawn = |message: &Value| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == request["id"]
    };
    assert!(editor.seen.iter().any(withdrawn));
    assert!(!stage.path("a").exists());
    // The session goes on.
    let id = editor.prompt(&session, "again");
    assert_eq!(editor.response(id).unwrap()["stopReason"], "end_turn");
}

#[test]
fn a_session_is_loaded_and_its_messages_come_again() {
    let stage = Stage::new();
    stage.write("a.txt", "text");
    let mut editor = Editor::of_version(&stage, 1);
    let session = editor.open(&stage);
    for text in ["hello", r#"call read with {"path":"a.txt"}"#] {
        let id = editor.prompt(&session, text);
        editor.response(id).unwrap();
    }
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    let file = json!({ "uri": "file:///den/b", "text": "bee" });
    let prompt = json!([picture, { "type": "resource", "resource": file }]);
    let id = editor.begin("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
    editor.response(id).unwrap();
    assert_eq!(editor.close(), 0);

    let mut editor = Editor::of_version(&stage, 1);
    let cwd = stage.path("");
    let listed = editor.ask("session/list", json!({})).unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], session);
    let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    editor.ask("session/load", params.clone()).unwrap();
    let seen = editor.seen.clone();
    let prompts = editor.updates("user_message_chunk");
    assert!(said(&prompts).starts_with("hellocall read"));
    let contents: Vec<&Value> = prompts.iter().map(|update| &update["content"]).collect();
    assert!(contents.contains(&&picture), "{prompts:?}");
    assert!(contents.iter().any(|content| content["resource"] == file), "{prompts:?}");
    editor.seen = seen;
    let calls = editor.updates("tool_call");
    assert_eq!(
        (&calls[0]["title"], &calls[0]["status"]),
        (&json!("read a.txt"), &json!("completed"))
    );
    assert_eq!(calls[0]["rawInput"], json!({ "path": "a.txt" }));
    let result = &calls[0]["content"][0]["content"];
    assert!(result["text"].as_str().unwrap().contains("1\ttext\n"), "{result}");
    let id = editor.prompt(&session, "/status");
    editor.response(id).unwrap();
    assert!(said(&editor.updates("agent_message_chunk")).contains("8 messages"), "the history");
    let missing = json!({ "sessionId": "chat-none", "cwd": cwd, "mcpServers": [] });
    assert!(editor.ask("session/load", missing).is_err());
}

#[test]
fn version_2_accepts_a_prompt_first_and_ends_it_with_a_state() {
    let stage = Stage::new();
    stage.write("tide.txt", "high\n");
    let mut editor = Editor::of_version(&stage, 2);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, r#"call write with {"path":"tide.txt","content":"low\n"}"#);
    assert_eq!(editor.response(id).unwrap()["messageId"], "prompt-1");
    let asked = editor.permit("allow");
    let diff = &asked["subject"]["toolCall"]["content"][0];
    assert_eq!(diff["changes"][0]["operation"], "modify");
    assert!(diff["patch"]["text"].as_str().unwrap().contains("\n-high\n+low\n"));
    let idle = editor.wait(|message| message["params"]["update"]["state"] == "idle");
    assert_eq!(idle["params"]["update"]["stopReason"], "end_turn");
    let states = editor.updates("state_update");
    let states: Vec<&str> = states.iter().filter_map(|update| update["state"].as_str()).collect();
    assert_eq!(states, ["idle", "running", "requires_action", "running", "idle"]);
    let params =
        json!({ "sessionId": session, "cwd": stage.path(""), "replayFrom": {"type":"start"} });
    editor.ask("session/close", json!({ "sessionId": session })).unwrap();
    editor.ask("session/resume", params).unwrap();
    assert_eq!(editor.updates("user_message_chunk").len(), 1);
}

#[test]
fn mistakes_are_errors_and_the_agent_stays() {
    let stage = Stage::new();
    let mut editor = Editor::new(&stage);
    let code = |result: Result<Value, Value>| result.unwrap_err()["code"].as_i64().unwrap();
    assert_eq!(code(editor.ask("session/new", json!({ "cwd": "/" }))), -32600);
    editor.ask("initialize", json!({ "protocolVersion": 1 })).unwrap();
    assert_eq!(code(editor.ask("session/new", json!({ "cwd": "work" }))), -32602);
    assert_eq!(code(editor.ask("session/dance", json!({}))), -32601);
    assert_eq!(
        code(editor.ask("session/prompt", json!({ "sessionId": "x", "prompt": [] }))),
        -32602
    );
    let id = editor.prompt("x", "hello");
    assert_eq!(code(editor.response(id)), -32002);
    editor.input.as_mut().unwrap().write_all(b"{\n").unwrap();
    let error = editor.wait(|message| message["id"].is_null());
    assert_eq!(error["error"]["code"], -32700);
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "hello");
    assert_eq!(editor.response(id).unwrap()["stopReason"], "end_turn");
    assert_eq!(editor.close(), 0);
}
