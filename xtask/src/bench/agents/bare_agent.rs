//! The same agent without a gateway, on a pipe of ours.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::acceptance::process::signal;

use super::{
    agent_gateway::TestAgent,
    chat::{ANSWER, TOOL, number},
};

/// One that takes longer has stopped replying.
const LONGEST: Duration = Duration::from_secs(300);

/// Variables that the gateway gives it as well.
const VARIABLES: [(&str, &str); 11] = [
    ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
    ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ("MCP_TOOL_TIMEOUT", "2000000000"),
    ("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "1000"),
    ("MAX_MCP_OUTPUT_TOKENS", "100000000"),
    ("DISABLE_AUTO_COMPACT", "1"),
    ("ENABLE_TOOL_SEARCH", "false"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// A running agent. Dropping it kills it.
pub(super) struct BareAgent {
    /// The watchdog stops when this goes.
    watched: Option<Sender<()>>,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// Requests for answers: the id, and the number inside.
    open: Vec<(String, Value)>,
}

/// When something reply.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ReplyTimes {
    pub(super) first_text: Duration,
    pub(super) whole: Duration,
}

impl BareAgent {
    /// Starts it, and gives it the client's tool.
    pub(super) fn start(agent: &TestAgent) -> Result<BareAgent, String> {
        let servers = json!({"mcpServers": {"client": {"type": "sdk", "name": "client"}}});
        let mut command = agent.bare_command()?;
        command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
        command.args(["--verbose", "--include-partial-messages", "--no-session-persistence"]);
        command.args(["--strict-mcp-config", "--mcp-config", &servers.to_string()]);
        command.args(["--tools", "", "--allowedTools", "mcp__client", "--bare", "--session-id"]);
        command.arg(format!("00000000-0000-4000-8000-{:012}", number())).envs(VARIABLES);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("the agent: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the agent has no pipes".to_owned());
        };
        let (watched, watch) = channel();
        let id = child.id();
        thread::spawn(move || {
            if watch.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                signal(id, "KILL");
            }
        });
        let stdout = BufReader::new(stdout);
        let mut bare = BareAgent { watched: Some(watched), child, stdin, stdout, open: Vec::new() };
        bare.begin()?;
        Ok(bare)
    }

    /// Waits until it takes prompts, as the gateway does.
    fn begin(&mut self) -> Result<(), String> {
        let request = json!({
            "subtype": "initialize", "sdkMcpServers": ["client"], "systemPrompt": [""],
        });
        self.send(&json!({"type": "control_request", "request_id": "0", "request": request}))?;
        while self.next()?["type"] != "control_response" {}
        Ok(())
    }

    /// Answers what the agent asks of its tool server, but not calls.
    fn serve(&mut self, line: &Value) -> Result<(), String> {
        let message = &line["request"]["message"];
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "client", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [{
                "name": TOOL, "description": "looks", "inputSchema": schema,
                "annotations": {"readOnlyHint": true}, "_meta": {"anthropic/alwaysLoad": true},
            }]}),
            Some(_) | None => json!({}),
        };
        let id = if message["id"].is_null() { json!(0) } else { message["id"].clone() };
        self.send(&response(line["request_id"].as_str().unwrap_or_default(), &id, &result))
    }

    /// Says something, and listens to so many calls, or to text.
    pub(super) fn prompt(&mut self, text: &str, calls: usize) -> Result<ReplyTimes, String> {
        let message = json!({"role": "user", "content": text});
        let line = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "",
        });
        self.exchange(format!("{line}\n"), calls)
    }

    /// Answers everything that is open, and listens to text.
    pub(super) fn answer(&mut self) -> Result<ReplyTimes, String> {
        let result = json!({"content": [{"type": "text", "text": ANSWER}], "isError": false});
        let lines = self.open.drain(..).map(|(id, number)| {
            let line = response(&id, &number, &result);
            format!("{line}\n")
        });
        let lines = lines.collect();
        self.exchange(lines, 0)
    }

    fn exchange(&mut self, lines: String, calls: usize) -> Result<ReplyTimes, String> {
        let start = Instant::now();
        self.write(&lines)?;
        let (mut first_text, mut stopped) = (None, false);
        loop {
            let line = self.next()?;
            let event = &line["event"];
            let begins = event["delta"]["type"] == "text_delta"
                || event["content_block"]["type"] == "tool_use";
            if begins && first_text.is_none() {
                first_text = Some(start.elapsed());
            }
            stopped |= event["type"] == "message_stop";
            let message = &line["request"]["message"];
            if message["method"] == "tools/call" {
                let id = line["request_id"].as_str().unwrap_or_default().to_owned();
                self.open.push((id, message["id"].clone()));
            }
            let whole = match calls {
                0 => line["state"] == "idle",
                calls => stopped && self.open.len() == calls,
            };
            if whole {
                let whole = start.elapsed();
                let first_text = first_text.ok_or("the agent said nothing")?;
                return Ok(ReplyTimes { first_text, whole });
            }
        }
    }

    fn send(&mut self, line: &Value) -> Result<(), String> {
        self.write(&format!("{line}\n"))
    }

    fn write(&mut self, lines: &str) -> Result<(), String> {
        let written = self.stdin.write_all(lines.as_bytes()).and_then(|()| self.stdin.flush());
        written.map_err(|error| format!("the agent does not listen: {error}"))
    }

    /// The next line that is not about the tool server itself.
    fn next(&mut self) -> Result<Value, String> {
        loop {
            let mut bytes = Vec::new();
            let line: Value = match self.stdout.read_until(b'\n', &mut bytes) {
                Ok(1..) => serde_json::from_slice(&bytes).unwrap_or_default(),
                Ok(0) => return Err("the agent has ended".to_owned()),
                Err(error) => return Err(format!("the agent: {error}")),
            };
            let call = line["request"]["message"]["method"] == "tools/call";
            if line["type"] != "control_request" || call {
                return Ok(line);
            }
            self.serve(&line)?;
        }
    }
}

impl Drop for BareAgent {
    fn drop(&mut self) {
        self.watched = None;
        // What has ended by itself cannot be ended, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line that answers a request to the tool server.
fn response(request: &str, id: &Value, result: &Value) -> Value {
    let answer = json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": result}});
    let response = json!({"subtype": "success", "request_id": request, "response": answer});
    json!({"type": "control_response", "response": response})
}
