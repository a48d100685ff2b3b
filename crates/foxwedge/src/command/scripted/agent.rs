//! `foxwedge scripted agent`: an agent that speaks as Claude Code does on its pipe, with the
//! built-in model in place of a provider. For tests and trials of whatever drives such agents.
//!
//! It keeps a history as the real one does and shows all of it to the model, which judges it: what
//! no provider would take becomes an error of the turn, not a guess.

mod arguments;
mod quirks;
mod pipe;
mod session;
mod model;
mod reply_output;
mod calls;
mod own_tool;

use std::{env, process, process::ExitCode};

use serde_json::{Value, json};

use crate::{
    cli::ScriptedAgentArgs,
    cli_output::{self, CliError},
};
use arguments::ClaudeArguments;
use calls::HostToolCall;
use model::{AgentModelError, AgentModelReply, HostTool};
use pipe::{HostMessage, HostPipe, HostPipeStop};
use quirks::{AgentQuirk, AgentQuirkSet};
use session::ScriptedSessionFile;

/// The version it gives itself.
const VERSION: &str = "2.1.325";
/// What the real one says to itself when it goes on where it was interrupted.
const CONTINUE_TEXT: &str = "Continue from where you left off.";
const INTERRUPTED_TEXT: &str = "[Request interrupted by user]";

/// Talks until nobody listens.
pub(crate) fn run(args: ScriptedAgentArgs) -> anyhow::Result<ExitCode> {
    let arguments = ClaudeArguments::read(&args.rest);
    if arguments.version {
        cli_output::write_stdout(&format!("{VERSION} (Claude Code)\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let habits = AgentQuirkSet::read(args.fake.as_deref().unwrap_or_default())?;
    if habits.has(AgentQuirk::DieAtStart) {
        let key = env::var("ANTHROPIC_API_KEY").unwrap_or_default();
        eprintln!("Invalid API key: ANTHROPIC_API_KEY={key} is of no use");
        return Ok(ExitCode::from(7));
    }
    let named = arguments.resume.clone().or_else(|| arguments.session.clone());
    let id = named.unwrap_or_else(|| format!("{:08x}-0000-4000-8000-0000000000ff", process::id()));
    let mut session = ScriptedSessionFile::new(id.clone(), arguments.no_persistence);
    let history = match &arguments.resume {
        Some(id) => session
            .read()
            .ok_or_else(|| CliError::new(format!("No conversation found with session ID: {id}")))?,
        None => Vec::new(),
    };
    let pipe = HostPipe::new(&id, args.fake_log, habits.has(AgentQuirk::Garbage));
    let on = |name: &str| env::var(name).is_ok_and(|value| value == "1");
    pipe.log_event("start", json!({"resume": arguments.resume, "history": history.len()}));
    let mut agent = ScriptedClaudeAgent {
        pipe,
        quirks: habits,
        model: arguments.model.clone().unwrap_or_else(|| "scripted".to_owned()),
        arguments,
        session,
        tools: Vec::new(),
        history,
        reports_state: on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
        resumes_turn: on("CLAUDE_CODE_RESUME_INTERRUPTED_TURN"),
        numbers: 0,
        pieces: 0,
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
    arguments: ClaudeArguments,
    session: ScriptedSessionFile,
    model: String,
    tools: Vec<HostTool>,
    history: Vec<Value>,
    /// Whether it says when it is idle.
    reports_state: bool,
    /// Whether it goes on by itself with a turn that was interrupted.
    resumes_turn: bool,
    /// Numbers of requests to tools.
    numbers: u64,
    /// How many pieces it has said.
    pieces: usize,
    /// Blocks of the message that it says, as far as they are said.
    blocks: Vec<Value>,
    /// The calls among them.
    open_calls: Vec<HostToolCall>,
    /// What a person is asked.
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
                    let answers = block.is_some_and(|block| block["type"] == "tool_result");
                    if block.is_some() && self.resumes_turn {
                        let words = answers.then(|| json!({"type": "text", "text": CONTINUE_TEXT}));
                        self.run_turn(words.into_iter().collect())?;
                    }
                }
                HostMessage::Prompt(_) if self.quirks.has(AgentQuirk::NeverAnswers) => {}
                HostMessage::Prompt(blocks) => self.run_turn(blocks)?,
            }
        }
    }

    /// Learns from the host what it is to do, and which tools it has.
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
            let about = json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "claude-code", "version": VERSION},
            });
            self.rpc(server, "initialize", about)?;
        }
        let about = json!({
            "commands": [], "agents": [], "output_style": "default", "models": [],
            "pid": process::id(), "claude_code_version": VERSION, "session_state": "idle",
        });
        self.pipe.respond(id, about)?;
        for server in &servers {
            let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let request = self.send_to_server(server, message)?;
            self.pipe.wait_for_answer(&[request])?;
            let listed = self.rpc(server, "tools/list", Value::Null)?;
            let listed = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
            self.tools.extend(listed.iter().map(|tool| HostTool::read(server, tool)));
        }
        self.pipe.log_event("ready", json!(self.tools.iter().map(|t| &t.name).collect::<Vec<_>>()));
        Ok(())
    }

    /// A message to a server of tools, and its answer.
    fn rpc(&mut self, server: &str, method: &str, params: Value) -> Result<Value, HostPipeStop> {
        let id = self.numbers;
        self.numbers += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let (Some(fields), false) = (message.as_object_mut(), params.is_null()) {
            fields.insert("params".to_owned(), params);
        }
        let request = self.send_to_server(server, message)?;
        let (_, answer) = self.pipe.wait_for_answer(&[request])?;
        Ok(answer["response"]["mcp_response"].clone())
    }

    fn send_to_server(&mut self, server: &str, message: Value) -> Result<String, HostPipeStop> {
        let subtype = "mcp_message";
        self.pipe
            .send_request(json!({"subtype": subtype, "server_name": server, "message": message}))
    }

    /// A turn, to whatever end.
    fn run_turn(&mut self, words: Vec<Value>) -> Result<(), HostPipeStop> {
        self.print_state("running")?;
        let names: Vec<String> = self.tools.iter().map(HostTool::full_name).collect();
        self.pipe.print_line(json!({
            "type": "system", "subtype": "init", "cwd": "", "tools": names, "model": self.model,
            "mcp_servers": [], "permissionMode": "default", "claude_code_version": VERSION,
        }))?;
        let result = match self.run_model_and_tools(words) {
            Ok(AgentTurnEnd::Completed(reply)) => self.success_result(&reply),
            Ok(AgentTurnEnd::Failed(refused)) => self.error_result(&refused)?,
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

    /// Model and tools in turns, until the model has nothing more to call.
    fn run_model_and_tools(&mut self, words: Vec<Value>) -> Result<AgentTurnEnd, HostPipeStop> {
        self.add_user_message(words);
        if self.quirks.has(AgentQuirk::Ask) || self.quirks.has(AgentQuirk::Permission) {
            self.ask_user()?;
        }
        let mut own = self.quirks.has(AgentQuirk::OwnTool);
        loop {
            let asked = model::request_reply(
                &self.model,
                &self.session.id,
                &self.arguments.system,
                &self.tools,
                &self.history,
            );
            let mut reply = match asked {
                Ok(reply) => self.apply_quirks(reply),
                Err(refused) => return Ok(AgentTurnEnd::Failed(refused)),
            };
            if std::mem::take(&mut own) {
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
            let mut heard = self.wait_for_answers()?;
            self.open_calls.clear();
            // Whatever lies in the pipe behind the answers belongs to the same turn.
            self.pipe.pause(std::time::Duration::from_millis(10))?;
            heard.extend(self.pipe.take_prompts());
            self.add_user_message(heard);
        }
    }

    /// Takes in what a user message says.
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

    /// What was said belongs to the history.
    fn remember_reply(&mut self, id: &str) {
        let blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            return;
        }
        let uuid = self.pipe.new_id();
        let kept = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model,
            "content": blocks, "stop_reason": null,
        });
        self.session.append(&uuid, &kept);
        self.history.push(json!({"role": "assistant", "content": blocks}));
    }

    fn success_result(&self, reply: &AgentModelReply) -> Value {
        let texts: Vec<&str> = reply.blocks.iter().filter_map(|it| it["text"].as_str()).collect();
        json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
            "stop_reason": reply.stop, "terminal_reason": "completed", "result": texts.join(""),
            "permission_denials": [], "usage": reply.usage, "api_error_status": null,
        })
    }

    /// The provider did not take it.
    fn error_result(&mut self, refused: &AgentModelError) -> Result<Value, HostPipeStop> {
        let AgentModelError { status, message } = refused;
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

    /// Somebody wants it to stop: every open call gets an answer that says so.
    fn interrupted_result(&mut self, id: &str) -> Result<Value, HostPipeStop> {
        if let Some(asked) = self.pending_question.take() {
            self.pipe.cancel_request(&asked)?;
        }
        self.cancel_calls()?;
        self.pipe.respond(id, json!({"still_queued": []}))?;
        let reason = if self.open_calls.is_empty() { "aborted_streaming" } else { "aborted_tools" };
        let mut heard = self.reject_calls()?;
        let words = json!({"type": "text", "text": INTERRUPTED_TEXT});
        self.print_user_line(words.clone())?;
        heard.push(words);
        self.open_calls.clear();
        let id = self.pipe.new_id();
        self.remember_reply(&id);
        self.add_user_message(heard);
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
