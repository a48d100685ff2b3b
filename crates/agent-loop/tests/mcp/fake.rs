//! A server of our own: this very test, started again with a habit in its environment.

use std::{
    collections::HashMap,
    io::{BufRead as _, Write as _},
    process::{Command, Stdio, exit},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// The variable with the habit.
pub(crate) const HABIT: &str = "FOXWEDGE_FAKE_MCP";

/// No test of its own: the server, if the habit is set.
#[test]
fn serve() {
    let Ok(habit) = std::env::var(HABIT) else { return };
    // Whoever runs tests may have begun a line.
    say_raw("\n");
    Fake::new(habit).run();
    exit(0);
}

/// The tools that a server with plain habits has.
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

struct Fake {
    habit: String,
    /// Calls that can be stopped.
    slow: Arc<Mutex<HashMap<String, mpsc::Sender<()>>>>,
    /// Calls that were.
    stopped: Vec<Value>,
    /// Who waits for an answer of the client.
    asking: Vec<(Value, Vec<String>)>,
    more: usize,
}

impl Fake {
    fn new(habit: String) -> Fake {
        let slow = Arc::default();
        Fake { habit, slow, stopped: Vec::new(), asking: Vec::new(), more: 0 }
    }

    fn run(&mut self) {
        let begins = match self.habit.as_str() {
            "endless" => Some("xyz"),
            "endless-message" => Some("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\""),
            _ => None,
        };
        if let Some(begins) = begins {
            say_raw(begins);
            let more = "x".repeat(1 << 16);
            loop {
                say_raw(&more);
            }
        }
        if self.habit == "flood" {
            loop {
                say_raw("all work and no play makes a dull server\n");
            }
        }
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            let id = message.get("id").cloned();
            match (message["method"].as_str(), id) {
                (Some(method), Some(id)) => self.asked(method, id, &message["params"]),
                (Some("notifications/cancelled"), None) => {
                    let id = message["params"]["requestId"].to_string();
                    self.stopped.push(message["params"].clone());
                    if let Some(sender) = self.slow.lock().unwrap().remove(&id) {
                        let _ = sender.send(());
                    }
                }
                (None, Some(_)) => self.answered(&message),
                (Some(_), None) | (None, None) => {}
            }
        }
    }

    fn asked(&mut self, method: &str, id: Value, params: &Value) {
        match method {
            "initialize" => self.begin(&id),
            "server/discover" if self.habit == "modern" => {
                let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"});
                answer(&id, result);
            }
            "tools/list" => self.list(&id, params),
            "tools/call" => self.call(id, params),
            _ => error(&id, -32601, "Method not found"),
        }
    }

    fn begin(&mut self, id: &Value) {
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"}});
        match self.habit.as_str() {
            "mute" => eprintln!("I say nothing with canary-canary"),
            "dies" => {
                eprintln!("no licence for canary-canary");
                exit(7);
            }
            "refuses" => error(id, -32000, "not today"),
            "modern" => error(id, -32601, "Method not found"),
            "wrong-ids" => answer(&json!(id.as_i64().unwrap_or(0) + 1_000), result),
            "no-answer" => answer(id, json!(7)),
            _ => {
                say_raw("a word that is no message\n{\"nor\": \"this\"}\n");
                answer(id, result);
            }
        }
    }

    fn list(&mut self, id: &Value, params: &Value) {
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
            "no-list" => return error(id, -32601, "Method not found"),
            "hangs-listing" => return,
            "deaf" => {
                answer(id, json!({"tools": tools()}));
                // Longer than any test waits.
                return thread::sleep(Duration::from_secs(120));
            }
            _ => {
                let mut all = tools();
                all.extend((0..self.more).map(|n| named(format!("new{n}"))));
                json!({"tools": all})
            }
        };
        answer(id, result);
    }

    fn call(&mut self, id: Value, params: &Value) {
        let arguments = &params["arguments"];
        let token = params["_meta"]["progressToken"].clone();
        let progress = |n: u64, words: &str| {
            let params =
                json!({"progressToken": token, "progress": n, "total": 3, "message": words});
            say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        };
        match params["name"].as_str().unwrap_or_default() {
            "echo" => text(&id, &arguments.to_string()),
            "fail" => {
                let content = json!([{"type": "text", "text": "it did not work"}]);
                answer(&id, json!({"content": content, "isError": true}));
            }
            "refuse" => error(&id, -32602, "no such number"),
            "steps" => {
                (1..=3).for_each(|n| progress(n, "step"));
                text(&id, "all steps");
            }
            "slow" | "late" => {
                let (sender, receiver) = mpsc::channel();
                self.slow.lock().unwrap().insert(id.to_string(), sender);
                progress(1, "begun");
                let late = params["name"] == "late";
                thread::spawn(move || {
                    if receiver.recv().is_ok() && late {
                        text(&id, "finished all the same");
                    }
                });
            }
            "stopped" => text(&id, &Value::Array(self.stopped.clone()).to_string()),
            "picture" => {
                let picture = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
                let words = json!({"type": "text", "text": "a picture"});
                answer(&id, json!({"content": [words, picture, {"type": "hologram"}]}));
            }
            "structured" => answer(&id, json!({"content": [], "structuredContent": {"a": [1]}})),
            "variables" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                names.sort();
                text(&id, &names.join(" "));
            }
            "die" => {
                eprintln!("my last words, with canary-canary");
                exit(3);
            }
            "ask" => self.ask(id),
            "huge" => {
                let size = arguments["size"].as_u64().unwrap_or(0);
                text(&id, &"x".repeat(usize::try_from(size).unwrap()));
            }
            "child" => {
                let mut command = Command::new("sleep");
                let mut child = command.arg("120").stdin(Stdio::null()).spawn().unwrap();
                text(&id, &format!("{} {}", std::process::id(), child.id()));
                thread::spawn(move || child.wait());
            }
            "grow" => {
                self.more += 1;
                let method = "notifications/tools/list_changed";
                say(&json!({"jsonrpc": "2.0", "method": method}));
                text(&id, "grown");
            }
            "wrong" => text(&json!(99_999), "for somebody else"),
            "torn" => say_raw(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}{}}}\n",
                "[".repeat(300),
                "]".repeat(300)
            )),
            "strange" => answer(&id, json!([1, 2])),
            other => error(&id, -32602, &format!("unknown tool {other}")),
        }
    }

    /// Asks the client everything that servers may ask, and answers with what it said.
    fn ask(&mut self, id: Value) {
        self.asking.push((id, Vec::new()));
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
            say(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        }
    }

    fn answered(&mut self, message: &Value) {
        let Some((id, said)) = self.asking.last_mut() else { return };
        let words = match message.get("error") {
            Some(error) => error["message"].to_string(),
            None => message["result"].to_string(),
        };
        said.push(format!("{} {words}", message["id"].as_str().unwrap_or_default()));
        if said.len() == 5 {
            said.sort();
            text(id, &said.join("\n"));
            self.asking.pop();
        }
    }
}

fn answer(id: &Value, result: Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn error(id: &Value, code: i64, words: &str) {
    say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}}));
}

fn text(id: &Value, text: &str) {
    answer(id, json!({"content": [{"type": "text", "text": text}]}));
}

fn say(message: &Value) {
    say_raw(&format!("{message}\n"));
}

/// Whoever does not listen any more is gone, and so are we.
fn say_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).is_err() || out.flush().is_err() {
        exit(1);
    }
}
