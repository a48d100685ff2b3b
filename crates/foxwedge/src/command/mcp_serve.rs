//! `foxwedge mcp serve`: an MCP server on stdin and stdout. Its tools only read: each runs one command
//! of this program and returns what the command prints.

use std::{
    io::{self, Read, Write},
    process::{Command, ExitCode, Stdio},
};

use anyhow::Context;
use foxwedge_process::{LineBuffer, LineLimits, OutputLine};
use serde_json::{Value, json};

mod tools;

use tools::{TOOLS, ToolCommand};

/// Protocol versions that the server speaks, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// The version in which a client may send a list of requests.
const BATCH_VERSION: &str = "2025-03-26";
/// Maximum length of a request in bytes.
const MAX_REQUEST_BYTES: usize = 1 << 20;
/// Maximum length of a tool result in bytes. Models cannot use more.
const MAX_RESULT_BYTES: usize = 200_000;
/// Size of the read buffer.
const READ_BYTES: usize = 1 << 16;

const INSTRUCTIONS: &str = "Reads the sessions of coding agents on this machine (Claude Code, Codex, \
    Gemini CLI and others). Nothing is written: to repair a session, tell the user to run \
    `foxwedge fix ID`.";

/// Codes of JSON-RPC errors.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
const INVALID_PARAMETERS: i32 = -32602;

/// Answers requests until stdin ends.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut input = io::stdin().lock();
    let mut lines = LineBuffer::new(LineLimits::new(MAX_REQUEST_BYTES));
    let mut buffer = vec![0; READ_BYTES];
    let mut version = VERSIONS[0];
    loop {
        let read = match input.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.context("stdin cannot be read")?,
        };
        lines.push(buffer.get(..read).unwrap_or_default());
        while let Some(line) = lines.next_line() {
            if !answer_line(&line, &mut version)? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if read == 0 {
            if let Some(line) = lines.finish() {
                answer_line(&line, &mut version)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Answers one line. Returns `false` if the client is gone.
fn answer_line(line: &OutputLine, version: &mut &'static str) -> anyhow::Result<bool> {
    let reply = match line {
        OutputLine::Whole(bytes) if bytes.trim_ascii().is_empty() => None,
        OutputLine::Whole(bytes) => match serde_json::from_slice(bytes) {
            Ok(message) => answer_message(&message, version),
            Err(error) => Some(error_reply(&Value::Null, PARSE_ERROR, &error.to_string())),
        },
        OutputLine::TooLong { .. } | OutputLine::Endless => {
            Some(error_reply(&Value::Null, PARSE_ERROR, "the request is too long"))
        }
    };
    let Some(reply) = reply else { return Ok(true) };
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{reply}").and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("stdout cannot be written"),
    }
}

/// The reply to a message: to a request, or to a list of them. `version` is the protocol version, on
/// which the first request agrees.
fn answer_message(message: &Value, version: &mut &'static str) -> Option<Value> {
    let refuse = |why: &str| Some(error_reply(&Value::Null, INVALID_REQUEST, why));
    match message {
        Value::Object(_) => {
            if message["method"] == "initialize" {
                *version = agreed_version(&message["params"]);
            }
            answer(message)
        }
        Value::Array(messages) if *version == BATCH_VERSION && !messages.is_empty() => {
            let answer_one = |message: &Value| match message {
                Value::Object(_) if message["method"] != "initialize" => answer(message),
                _ => refuse("not a request that can be in a batch"),
            };
            let replies: Vec<Value> = messages.iter().filter_map(answer_one).collect();
            // Notifications alone have no reply.
            (!replies.is_empty()).then_some(Value::Array(replies))
        }
        Value::Array(messages) if messages.is_empty() => refuse("the batch is empty"),
        Value::Array(_) => refuse("only protocol version 2025-03-26 has batches"),
        _ => refuse("a request is an object"),
    }
}

/// The reply to a request; `None` for a notification.
fn answer(request: &Value) -> Option<Value> {
    let id = request.get("id").filter(|id| !id.is_null())?;
    let parameters = &request["params"];
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => initialize(parameters),
        "ping" => json!({}),
        "tools/list" => {
            json!({ "tools": TOOLS.iter().map(ToolCommand::declaration).collect::<Vec<_>>() })
        }
        "tools/call" => {
            let name = parameters["name"].as_str().unwrap_or_default();
            let tool = TOOLS.iter().find(|tool| tool.name == name);
            let words = tool.map(|tool| tool.words(&parameters["arguments"]));
            match words {
                None => {
                    let text = format!("there is no tool `{name}`");
                    return Some(error_reply(id, INVALID_PARAMETERS, &text));
                }
                Some(Err(text)) => return Some(error_reply(id, INVALID_PARAMETERS, &text)),
                Some(Ok(words)) => run_command(&words),
            }
        }
        other => {
            let text = format!("there is no method `{other}`");
            return Some(error_reply(id, UNKNOWN_METHOD, &text));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// The version that a client asks for, or the newest.
fn agreed_version(parameters: &Value) -> &'static str {
    let asked = parameters["protocolVersion"].as_str().unwrap_or_default();
    VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(VERSIONS[0])
}

fn initialize(parameters: &Value) -> Value {
    json!({
        "protocolVersion": agreed_version(parameters),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "foxwedge", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

fn error_reply(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Runs a command of this program. Its output is the result; its messages too if it failed.
fn run_command(words: &[String]) -> Value {
    let output = std::env::current_exe().and_then(|program| {
        Command::new(program).args(["--color", "never"]).args(words).stdin(Stdio::null()).output()
    });
    let output = match output {
        Ok(output) => output,
        Err(error) => return tool_result(&format!("the command did not start: {error}"), true),
    };
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = String::from_utf8_lossy(&output.stderr);
    // Findings are a result, too: only 2 means that the command failed.
    let is_failed = output.status.code().is_none_or(|code| code > 1);
    if is_failed || text.is_empty() {
        text.push_str(&messages);
    }
    tool_result(&text, is_failed)
}

fn tool_result(text: &str, is_error: bool) -> Value {
    let end = (0..=MAX_RESULT_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    let end = end.unwrap_or(0);
    let mut shown = text.get(..end).unwrap_or_default().to_owned();
    if end < text.len() {
        shown.push_str(&format!("\n[{} more bytes]", text.len() - end));
    }
    json!({ "content": [{ "type": "text", "text": shown }], "isError": is_error })
}
