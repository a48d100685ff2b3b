//! A fake server: this test program, started again with a behavior in its environment.

use std::{
    collections::HashMap,
    io::{BufRead as _, Write as _},
    process::{Command, Stdio, exit},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// The environment variable that selects the behavior.
pub(crate) const HABIT: &str = "FOXWEDGE_FAKE_MCP";

/// Not a test: runs the server if the variable is set.
#[test]
fn serve() {
    let Ok(habit) = std::env::var(HABIT) else { return };
    // The test runner may have printed the start of a line.
    write_raw("\n");
    FakeServer::new(habit).run();
    exit(0);
}

/// The tools of a server that behaves normally.
pub(crate) fn tools() -> Vec<Value> {
    let names = [
        "echo",
        "fail",
        "refuse",
        "steps",
        "slow",
        "late",
        "picture",
        "structured",
        "variables",
        "die",
        "ask",
        "huge",
        "child",
        "stopped",
        "grow",
        "wrong",
        "torn",
        "strange",
    ];
    let tool = |name: &&str| {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let hint = json!({"readOnlyHint": *name == "echo"});
        json!({"name": name, "description": format!("does {name}"), "inputSchema": schema,
               "annotations": hint})
    };
    names.iter().map(tool).collect()
}

struct FakeServer {
    habit: String,
    /// Calls that can be stopped.
    slow: Arc<Mutex<HashMap<String, mpsc::Sender<()>>>>,
    /// Cancellations that were received.
    stopped: Vec<Value>,
    /// Calls that wait for responses of the client.
    pending_requests: Vec<(Value, Vec<String>)>,
    added_tools: usize,
}

impl FakeServer {
    fn new(habit: String) -> FakeServer {
        let slow = Arc::default();
        FakeServer {
            habit,
            slow,
            stopped: Vec::new(),
            pending_requests: Vec::new(),
            added_tools: 0,
        }
    }

    fn run(&mut self) {
        let start = match self.habit.as_str() {
            "endless" => Some("xyz"),
            "endless-message" => Some("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\""),
            _ => None,
        };
        if let Some(start) = start {
            write_raw(start);
            let chunk = "x".repeat(1 << 16);
            loop {
                write_raw(&chunk);
            }
        }
        if self.habit == "flood" {
            loop {
                write_raw("all work and no play makes a dull server\n");
            }
        }
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            let id = message.get("id").cloned();
            match (message["method"].as_str(), id) {
                (Some(method), Some(id)) => self.handle_request(method, id, &message["params"]),
                (Some("notifications/cancelled"), None) => {
                    let id = message["params"]["requestId"].to_string();
                    self.stopped.push(message["params"].clone());
                    if let Some(sender) = self.slow.lock().unwrap().remove(&id) {
                        let _ = sender.send(());
                    }
                }
                (None, Some(_)) => self.handle_response(&message),
                (Some(_), None) | (None, None) => {}
            }
        }
    }

    fn handle_request(&mut self, method: &str, id: Value, params: &Value) {
        match method {
            "initialize" => self.handle_initialize(&id),
            "server/discover" if self.habit == "modern" => {
                let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"});
                send_result(&id, result);
            }
            "tools/list" => self.handle_list(&id, params),
            "tools/call" => self.handle_call(id, params),
            _ => send_error(&id, -32601, "Method not found"),
        }
    }

    fn handle_initialize(&mut self, id: &Value) {
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"}});
        match self.habit.as_str() {
            "mute" => eprintln!("I say nothing with canary-canary"),
            "dies" => {
                eprintln!("no licence for canary-canary");
                exit(7);
            }
            "refuses" => send_error(id, -32000, "not today"),
            "modern" => send_error(id, -32601, "Method not found"),
            "wrong-ids" => send_result(&json!(id.as_i64().unwrap_or(0) + 1_000), result),
            "no-answer" => send_result(id, json!(7)),
            _ => {
                write_raw("a word that is no message\n{\"nor\": \"this\"}\n");
                send_result(id, result);
            }
        }
    }

    fn handle_list(&mut self, id: &Value, params: &Value) {
        let named = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
        let page = params["cursor"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0_u64);
        let result = match self.habit.as_str() {
            "many" => {
                json!({"tools": (0..10_000).map(|n| named(format!("t{n}"))).collect::<Vec<_>>()})
            }
            "forever" => {
                let next = (page + 1).to_string();
                json!({"tools": [named(format!("t{page}"))], "nextCursor": next})
            }
            "circle" => json!({"tools": [named(format!("t{page}"))], "nextCursor": "1"}),
            "pages" if page < 3 => {
                let next = (page + 1).to_string();
                json!({"tools": [named(format!("t{page}"))], "nextCursor": next})
            }
            "pages" => json!({"tools": [named("last".to_owned())]}),
            "twins" => json!({"tools": [named("a".to_owned()), named("a".to_owned())]}),
            "bad-schemas" => json!({"tools": [
                {"name": "number", "inputSchema": 7}, {"name": "none"}, named("fine".to_owned()),
                {"name": "list", "inputSchema": []}, {"inputSchema": {}}, 7,
            ]}),
            "bad-list" => json!({"tools": "all of them"}),
            "no-list" => return send_error(id, -32601, "Method not found"),
            "hangs-listing" => return,
            "deaf" => {
                send_result(id, json!({"tools": tools()}));
                // Longer than any test waits.
                return thread::sleep(Duration::from_secs(120));
            }
            _ => {
                let mut all = tools();
                all.extend((0..self.added_tools).map(|n| named(format!("new{n}"))));
                json!({"tools": all})
            }
        };
        send_result(id, result);
    }

    fn handle_call(&mut self, id: Value, params: &Value) {
        let arguments = &params["arguments"];
        let token = params["_meta"]["progressToken"].clone();
        let progress = |n: u64, message: &str| {
            let params =
                json!({"progressToken": token, "progress": n, "total": 3, "message": message});
            send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        };
        match params["name"].as_str().unwrap_or_default() {
            "echo" => send_text(&id, &arguments.to_string()),
            "fail" => {
                let content = json!([{"type": "text", "text": "it did not work"}]);
                send_result(&id, json!({"content": content, "isError": true}));
            }
            "refuse" => send_error(&id, -32602, "no such number"),
            "steps" => {
                (1..=3).for_each(|n| progress(n, "step"));
                send_text(&id, "all steps");
            }
            "slow" | "late" => {
                let (sender, receiver) = mpsc::channel();
                self.slow.lock().unwrap().insert(id.to_string(), sender);
                progress(1, "begun");
                let late = params["name"] == "late";
                thread::spawn(move || {
                    if receiver.recv().is_ok() && late {
                        send_text(&id, "finished all the same");
                    }
                });
            }
            "stopped" => send_text(&id, &Value::Array(self.stopped.clone()).to_string()),
            "picture" => {
                let picture = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
                let caption = json!({"type": "text", "text": "a picture"});
                send_result(&id, json!({"content": [caption, picture, {"type": "hologram"}]}));
            }
            "structured" => {
                send_result(&id, json!({"content": [], "structuredContent": {"a": [1]}}))
            }
            "variables" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                names.sort();
                send_text(&id, &names.join(" "));
            }
            "die" => {
                eprintln!("my last words, with canary-canary");
                exit(3);
            }
            "ask" => self.send_requests(id),
            "huge" => {
                let size = arguments["size"].as_u64().unwrap_or(0);
                send_text(&id, &"x".repeat(usize::try_from(size).unwrap()));
            }
            "child" => {
                let mut command = Command::new("sleep");
                let mut child = command.arg("120").stdin(Stdio::null()).spawn().unwrap();
                send_text(&id, &format!("{} {}", std::process::id(), child.id()));
                thread::spawn(move || child.wait());
            }
            "grow" => {
                self.added_tools += 1;
                let method = "notifications/tools/list_changed";
                send(&json!({"jsonrpc": "2.0", "method": method}));
                send_text(&id, "grown");
            }
            "wrong" => send_text(&json!(99_999), "for somebody else"),
            "torn" => write_raw(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}{}}}\n",
                "[".repeat(300),
                "]".repeat(300)
            )),
            "strange" => send_result(&id, json!([1, 2])),
            other => send_error(&id, -32602, &format!("unknown tool {other}")),
        }
    }

    /// Sends the client every kind of request; the result of the call lists the responses.
    fn send_requests(&mut self, id: Value) {
        self.pending_requests.push((id, Vec::new()));
        let sampling = json!({"messages": [], "maxTokens": 1});
        let schema = json!({"type": "object", "properties": {}});
        let elicitation = json!({"message": "who are you?", "requestedSchema": schema});
        let questions = [
            ("roots/list", json!({})),
            ("sampling/createMessage", sampling),
            ("elicitation/create", elicitation),
            ("ping", json!({})),
            ("nobody/knows", json!({})),
        ];
        for (method, params) in questions {
            send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        }
    }

    fn handle_response(&mut self, message: &Value) {
        let Some((id, responses)) = self.pending_requests.last_mut() else { return };
        let value = match message.get("error") {
            Some(failure) => failure["message"].to_string(),
            None => message["result"].to_string(),
        };
        responses.push(format!("{} {value}", message["id"].as_str().unwrap_or_default()));
        if responses.len() == 5 {
            responses.sort();
            send_text(id, &responses.join("\n"));
            self.pending_requests.pop();
        }
    }
}

fn send_result(id: &Value, result: Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn send_error(id: &Value, code: i64, message: &str) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
}

fn send_text(id: &Value, content: &str) {
    send_result(id, json!({"content": [{"type": "text", "text": content}]}));
}

fn send(message: &Value) {
    write_raw(&format!("{message}\n"));
}

/// Writes to stdout. Exits if the client is gone.
fn write_raw(bytes: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes.as_bytes()).is_err() || out.flush().is_err() {
        exit(1);
    }
}
