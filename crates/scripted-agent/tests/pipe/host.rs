//! The host of an agent, as far as tests need one: it holds both ends of the pipe.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Whoever waits longer has found a bug.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent at work. It is gone with this value.
pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

/// A request of the agent for an answer of a tool.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wish {
    pub(crate) request: String,
    pub(crate) number: Value,
    pub(crate) call: String,
    pub(crate) arguments: Value,
}

impl Host {
    /// Starts the agent of this workspace, in a folder of its own.
    pub(crate) fn start(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Host {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foxwedge-scripted-agent"));
        command.args(words).current_dir(folder);
        command.env_remove("FOXWEDGE_FAKE").env_remove("FOXWEDGE_FAKE_LOG");
        command.env("CLAUDE_CONFIG_DIR", folder.join("state"));
        command.env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a process");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (said, lines) = channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        Host { child, stdin, lines }
    }

    /// One with habits, told that pieces are wanted, and that people can be asked.
    pub(crate) fn with(folder: &Path, habits: &str) -> Host {
        let more = ["--include-partial-messages", "--permission-prompt-tool", "stdio"];
        Host::start(
            folder,
            &[&["--fake", habits, "-p", "--verbose"], more.as_slice()].concat(),
            &[],
        )
    }

    pub(crate) fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("it is open");
        // One that has died says so in another way.
        let _ = stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush());
    }

    /// The next line that is an object; none if there are no more.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(error) if error.to_string().contains("timed out") => panic!("it is silent"),
                Err(_) => return None,
            };
            if let Ok(value @ Value::Object(_)) = serde_json::from_slice(&line) {
                return Some(value);
            }
        }
    }

    /// Everything up to a line that will do.
    pub(crate) fn until(&mut self, will_do: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next() {
            let last = will_do(&line);
            lines.push(line);
            if last {
                return lines;
            }
        }
        panic!("it ended without that: {lines:#?}");
    }

    /// Everything until it has nothing to do.
    pub(crate) fn until_idle(&mut self) -> Vec<Value> {
        self.until(|line| line["state"] == "idle")
    }

    /// The handshake: these tools, and whether several may be called at once.
    pub(crate) fn begin(&mut self, tools: &[&str], read_only: bool) {
        self.send(&json!({
            "type": "control_request", "request_id": "begin",
            "request": {"subtype": "initialize", "hooks": null, "sdkMcpServers": ["client"]},
        }));
        let tools: Vec<Value> = tools
            .iter()
            .map(|name| {
                let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
                json!({
                    "name": name, "description": "", "inputSchema": schema,
                    "annotations": {"readOnlyHint": read_only},
                })
            })
            .collect();
        loop {
            let line = self.next().expect("a handshake");
            let message = &line["request"]["message"];
            let (id, listed) = (line["request_id"].clone(), message["method"] == "tools/list");
            let result = if listed { json!({"tools": tools}) } else { json!({}) };
            if line["type"] == "control_request" {
                let id = id.as_str().expect("an id");
                self.respond(
                    id,
                    json!({"mcp_response": {
                        "jsonrpc": "2.0", "id": message["id"], "result": result,
                    }}),
                );
            }
            if listed {
                return;
            }
        }
    }

    pub(crate) fn prompt(&mut self, words: &str) {
        let message = json!({"role": "user", "content": words});
        self.send(&json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "",
        }));
    }

    pub(crate) fn respond(&mut self, request: &str, response: Value) {
        let response = json!({"subtype": "success", "request_id": request, "response": response});
        self.send(&json!({"type": "control_response", "response": response}));
    }

    pub(crate) fn answer(&mut self, wish: &Wish, text: &str) {
        let result = json!({"content": [{"type": "text", "text": text}], "isError": false});
        let response = json!({"jsonrpc": "2.0", "id": wish.number, "result": result});
        self.respond(&wish.request, json!({"mcp_response": response}));
    }

    pub(crate) fn interrupt(&mut self) {
        self.send(&json!({
            "type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"},
        }));
    }

    /// Nobody speaks to it any more; its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.stdin = None;
        while self.next().is_some() {}
        self.child.wait().expect("its end").code()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line that asks for an answer of a tool.
pub(crate) fn wish(line: &Value) -> Option<Wish> {
    let message = &line["request"]["message"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (message["method"] == "tools/call").then(|| Wish {
        request: text(&line["request_id"]),
        number: message["id"].clone(),
        call: text(&message["params"]["_meta"]["claudecode/toolUseId"]),
        arguments: message["params"]["arguments"].clone(),
    })
}

/// A prompt that makes the model call a tool so many times at once.
pub(crate) fn calls(tool: &str, count: usize) -> String {
    let calls: Vec<String> =
        (0..count).map(|n| format!("mcp__client__{tool} with {{\"n\":{n}}}")).collect();
    format!("call {}", calls.join(" and "))
}
