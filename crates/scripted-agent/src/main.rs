//! `foxwedge-scripted-agent`: an agent with the pipe protocol of Claude Code and the built-in model
//! in place of a provider. It is used to test programs that drive such agents, and is not shipped.
//!
//! Like Claude Code, it sends the whole history to the model. The model checks it: a history that
//! no provider accepts is an error of the turn.

mod arguments;
mod quirks;
mod pipe;
mod session;
mod model;
mod reply_output;
mod calls;
mod own_tool;
mod replay;

use std::{
    env,
    process::{self, ExitCode},
};

use anyhow::Context;
use serde_json::{Value, json};

use arguments::AgentArguments;
use calls::HostToolCall;
use model::{AgentModelError, AgentModelReply, HostTool};
use pipe::{HostMessage, HostPipe, HostPipeStop};
use quirks::{AgentQuirk, AgentQuirkSet};
use session::ScriptedSessionFile;

/// The version of Claude Code that it reports.
const VERSION: &str = "2.1.325";
/// The prompt that Claude Code uses to resume an interrupted turn.
const CONTINUE_TEXT: &str = "Continue from where you left off.";
const INTERRUPTED_TEXT: &str = "[Request interrupted by user]";

fn main() -> ExitCode {
    let arguments = AgentArguments::read(env::args_os().skip(1));
    let result = match &arguments.replay {
        Some(file) => replay::run(file, &arguments.speed),
        None => run(arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

/// Runs until the host closes the pipe.
fn run(arguments: AgentArguments) -> anyhow::Result<ExitCode> {
    if arguments.version {
        println!("{VERSION} (Claude Code)");
        return Ok(ExitCode::SUCCESS);
    }
    let quirks = AgentQuirkSet::read(&arguments.fake)?;
    if quirks.has(AgentQuirk::DieAtStart) {
        let key = env::var("ANTHROPIC_API_KEY").unwrap_or_default();
        eprintln!("Invalid API key: ANTHROPIC_API_KEY={key} is of no use");
        return Ok(ExitCode::from(7));
    }
    let given_id = arguments.resume.clone().or_else(|| arguments.session.clone());
    let id =
        given_id.unwrap_or_else(|| format!("{:08x}-0000-4000-8000-0000000000ff", process::id()));
    let mut session = ScriptedSessionFile::new(id.clone(), arguments.no_persistence);
    let history = match &arguments.resume {
        Some(id) => session
            .read()
            .with_context(|| format!("No conversation found with session ID: {id}"))?,
        None => Vec::new(),
    };
    let pipe = HostPipe::new(&id, arguments.fake_log.clone(), quirks.has(AgentQuirk::Garbage));
    let is_set = |name: &str| env::var(name).is_ok_and(|value| value == "1");
    pipe.log_event("start", json!({"resume": arguments.resume, "history": history.len()}));
    let mut agent = ScriptedClaudeAgent {
        pipe,
        quirks,
        model: arguments.model.clone().unwrap_or_else(|| "scripted".to_owned()),
        arguments,
        session,
        tools: Vec::new(),
        history,
        reports_state: is_set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
        resumes_turn: is_set("CLAUDE_CODE_RESUME_INTERRUPTED_TURN"),
        next_rpc_id: 0,
        printed_events: 0,
        blocks: Vec::new(),
        open_calls: Vec::new(),
        pending_question: None,
    };
    match agent.run_loop() {
        Ok(()) | Err(HostPipeStop::Interrupted(_) | HostPipeStop::Closed) => {
            agent.pipe.log_event("end", Value::Null)
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct ScriptedClaudeAgent {
    pipe: HostPipe,
    quirks: AgentQuirkSet,
    arguments: AgentArguments,
    session: ScriptedSessionFile,
    model: String,
    tools: Vec<HostTool>,
    history: Vec<Value>,
    /// Whether it prints state changes, such as idle.
    reports_state: bool,
    /// Whether it resumes an interrupted turn without a prompt.
    resumes_turn: bool,
    /// The id of the next JSON-RPC request.
    next_rpc_id: u64,
    /// The number of stream events so far.
    printed_events: usize,
    /// The blocks of the current message that were printed.
    blocks: Vec<Value>,
    /// The tool calls among them.
    open_calls: Vec<HostToolCall>,
    /// The id of the permission request that waits for the user.
    pending_question: Option<String>,
}

/// How a turn ended.
enum AgentTurnEnd {
    Completed(AgentModelReply),
    Failed(AgentModelError),
}

impl ScriptedClaudeAgent {
    fn run_loop(&mut self) -> Result<(), HostPipeStop> {
        loop {
            match self.pipe.next_message()? {
                _ if self.quirks.has(AgentQuirk::NeverReady) => {}
                HostMessage::Initialize(id, request) => {
                    self.initialize(&id, &request)?;
                    let last = self.history.last().filter(|last| last["role"] == "user");
                    let block = last.and_then(|last| last["content"].as_array()?.last());
                    let ends_with_result =
                        block.is_some_and(|block| block["type"] == "tool_result");
                    if block.is_some() && self.resumes_turn {
                        let prompt = ends_with_result
                            .then(|| json!({"type": "text", "text": CONTINUE_TEXT}));
                        self.run_turn(prompt.into_iter().collect())?;
                    }
                }
                HostMessage::Prompt(_) if self.quirks.has(AgentQuirk::NeverAnswers) => {}
                HostMessage::Prompt(blocks) => self.run_turn(blocks)?,
            }
        }
    }

    /// Reads the system prompt from the host and lists the tools of its servers.
    fn initialize(&mut self, id: &str, request: &Value) -> Result<(), HostPipeStop> {
        for key in ["systemPrompt", "appendSystemPrompt"] {
            match &request[key] {
                Value::String(text) => self.arguments.add_system(text),
                Value::Array(texts) => {
                    let texts = texts.iter().filter_map(Value::as_str);
                    texts.for_each(|text| self.arguments.add_system(text));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
        let servers = request["sdkMcpServers"].as_array().into_iter().flatten();
        let mut servers: Vec<String> =
            servers.filter_map(Value::as_str).map(str::to_owned).collect();
        if servers.is_empty() {
            servers.clone_from(&self.arguments.servers);
        }
        for server in &servers {
            let info = json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "claude-code", "version": VERSION},
            });
            self.rpc(server, "initialize", info)?;
        }
        let info = json!({
            "commands": [], "agents": [], "output_style": "default", "models": [],
            "pid": process::id(), "claude_code_version": VERSION, "session_state": "idle",
        });
        self.pipe.respond(id, info)?;
        for server in &servers {
            let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let request = self.send_to_server(server, message)?;
            self.pipe.wait_for_answer(&[request])?;
            let tools = self.rpc(server, "tools/list", Value::Null)?;
            let tools = tools["result"]["tools"].as_array().cloned().unwrap_or_default();
            self.tools.extend(tools.iter().map(|tool| HostTool::read(server, tool)));
        }
        self.pipe.log_event("ready", json!(self.tools.iter().map(|t| &t.name).collect::<Vec<_>>()));
        Ok(())
    }

    /// Sends a JSON-RPC request to a tool server and waits for the response.
    fn rpc(&mut self, server: &str, method: &str, params: Value) -> Result<Value, HostPipeStop> {
        let id = self.next_rpc_id;
        self.next_rpc_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let (Some(fields), false) = (message.as_object_mut(), params.is_null()) {
            fields.insert("params".to_owned(), params);
        }
        let request = self.send_to_server(server, message)?;
        let (_, response) = self.pipe.wait_for_answer(&[request])?;
        Ok(response["response"]["mcp_response"].clone())
    }

    fn send_to_server(&mut self, server: &str, message: Value) -> Result<String, HostPipeStop> {
        let subtype = "mcp_message";
        self.pipe
            .send_request(json!({"subtype": subtype, "server_name": server, "message": message}))
    }

    /// Runs one turn and prints its result.
    fn run_turn(&mut self, prompt: Vec<Value>) -> Result<(), HostPipeStop> {
        self.print_state("running")?;
        let names: Vec<String> = self.tools.iter().map(HostTool::full_name).collect();
        self.pipe.print_line(json!({
            "type": "system", "subtype": "init", "cwd": "", "tools": names, "model": self.model,
            "mcp_servers": [], "permissionMode": "default", "claude_code_version": VERSION,
        }))?;
        let result = match self.run_model_and_tools(prompt) {
            Ok(AgentTurnEnd::Completed(reply)) => self.success_result(&reply),
            Ok(AgentTurnEnd::Failed(error)) => self.error_result(&error)?,
            Err(HostPipeStop::Interrupted(id)) => self.interrupted_result(&id)?,
            Err(HostPipeStop::Closed) => return Err(HostPipeStop::Closed),
        };
        let mut result = result;
        self.pipe.pause(std::time::Duration::from_millis(1)).or_else(|stop| match stop {
            HostPipeStop::Interrupted(id) => self.pipe.respond(&id, json!({"still_queued": []})),
            HostPipeStop::Closed => Err(HostPipeStop::Closed),
        })?;
        result["queued_turn_count"] = json!(self.pipe.queue.len());
        self.pipe.print_line(result)?;
        self.pipe.log_event("result", Value::Null);
        if self.pipe.queue.is_empty() { self.print_state("idle") } else { Ok(()) }
    }

    /// Calls the model and its tools until the model calls no more tools.
    fn run_model_and_tools(&mut self, prompt: Vec<Value>) -> Result<AgentTurnEnd, HostPipeStop> {
        self.add_user_message(prompt);
        if self.quirks.has(AgentQuirk::Ask) || self.quirks.has(AgentQuirk::Permission) {
            self.ask_user()?;
        }
        let mut use_own_tool = self.quirks.has(AgentQuirk::OwnTool);
        loop {
            let result = model::request_reply(
                &self.model,
                &self.session.id,
                &self.arguments.system,
                &self.tools,
                &self.history,
            );
            let mut reply = match result {
                Ok(reply) => self.apply_quirks(reply),
                Err(error) => return Ok(AgentTurnEnd::Failed(error)),
            };
            if std::mem::take(&mut use_own_tool) {
                match self.quirks.has(AgentQuirk::Fragments) {
                    true => reply.blocks.insert(0, self.own_call()),
                    false => self.use_own_tool()?,
                }
            }
            self.print_reply(&reply)?;
            self.remember_reply(&reply.id);
            if self.open_calls.is_empty() {
                return Ok(AgentTurnEnd::Completed(reply));
            }
            let mut results = self.wait_for_answers()?;
            self.open_calls.clear();
            // Prompts that follow the tool results belong to the same turn.
            self.pipe.pause(std::time::Duration::from_millis(10))?;
            results.extend(self.pipe.take_prompts());
            self.add_user_message(results);
        }
    }

    /// Adds a user message to the history and the session file.
    fn add_user_message(&mut self, blocks: Vec<Value>) {
        if blocks.is_empty() {
            return;
        }
        let message = json!({"role": "user", "content": blocks});
        let uuid = self.pipe.new_id();
        self.session.append(&uuid, &message);
        match self.history.last_mut() {
            Some(last) if last["role"] == "user" => {
                if let Some(list) = last["content"].as_array_mut() {
                    list.extend(blocks);
                }
            }
            _ => self.history.push(message),
        }
    }

    /// Adds the printed message to the history and the session file.
    fn remember_reply(&mut self, id: &str) {
        let blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            return;
        }
        let uuid = self.pipe.new_id();
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model,
            "content": blocks, "stop_reason": null,
        });
        self.session.append(&uuid, &message);
        self.history.push(json!({"role": "assistant", "content": blocks}));
    }

    fn success_result(&self, reply: &AgentModelReply) -> Value {
        let texts: Vec<&str> =
            reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
            "stop_reason": reply.stop, "terminal_reason": "completed", "result": texts.join(""),
            "permission_denials": [], "usage": reply.usage, "api_error_status": null,
        })
    }

    /// The result line for an error of the provider.
    fn error_result(&mut self, error: &AgentModelError) -> Result<Value, HostPipeStop> {
        let AgentModelError { status, message } = error;
        let text = format!("API Error: {status} {message}");
        eprintln!("{text}");
        self.pipe.log_event("refused", json!(text));
        let id = self.pipe.new_id();
        self.pipe.print_line(json!({
            "type": "assistant", "parent_tool_use_id": null, "error": "unknown",
            "is_api_error_message": true, "api_error_status": status,
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": "<synthetic>",
                "content": [{"type": "text", "text": text}], "stop_reason": "stop_sequence",
            },
        }))?;
        Ok(json!({
            "type": "result", "subtype": "success", "is_error": true, "num_turns": 1,
            "stop_reason": "stop_sequence", "terminal_reason": "api_error", "result": text,
            "permission_denials": [], "usage": {}, "api_error_status": status,
        }))
    }

    /// Handles an interrupt: every open tool call gets a rejected result.
    fn interrupted_result(&mut self, id: &str) -> Result<Value, HostPipeStop> {
        if let Some(request) = self.pending_question.take() {
            self.pipe.cancel_request(&request)?;
        }
        self.cancel_calls()?;
        self.pipe.respond(id, json!({"still_queued": []}))?;
        let reason = if self.open_calls.is_empty() { "aborted_streaming" } else { "aborted_tools" };
        let mut results = self.reject_calls()?;
        let block = json!({"type": "text", "text": INTERRUPTED_TEXT});
        self.print_user_line(block.clone())?;
        results.push(block);
        self.open_calls.clear();
        let id = self.pipe.new_id();
        self.remember_reply(&id);
        self.add_user_message(results);
        Ok(json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true,
            "num_turns": 1, "stop_reason": null, "terminal_reason": reason, "errors": [],
            "permission_denials": [], "usage": {},
        }))
    }

    fn print_user_line(&mut self, block: Value) -> Result<(), HostPipeStop> {
        let message = json!({"role": "user", "content": [block]});
        self.pipe
            .print_line(json!({"type": "user", "message": message, "parent_tool_use_id": null}))
    }

    fn print_state(&mut self, state: &str) -> Result<(), HostPipeStop> {
        if !self.reports_state || self.quirks.has(AgentQuirk::NoIdle) {
            return Ok(());
        }
        let subtype = "session_state_changed";
        self.pipe.print_line(json!({"type": "system", "subtype": subtype, "state": state}))
    }
}
