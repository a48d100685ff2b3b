//! `foxwedge scripted agent`: an agent that speaks as Claude Code does on its pipe, with the
//! built-in model in place of a provider. For tests and trials of whatever drives such agents.
//!
//! It keeps a history as the real one does and shows all of it to the model, which judges it: what
//! no provider would take becomes an error of the turn, not a guess.

mod arguments;
mod habits;
mod pipe;
mod session;
mod model;
mod speech;
mod calls;
mod own;

use std::{env, process, process::ExitCode};

use serde_json::{Value, json};

use crate::{
    cli::AgentArgs,
    say::{self, Trouble},
};
use arguments::Arguments;
use calls::Open;
use habits::{Habit, Habits};
use model::{Refused, Reply, Tool};
use pipe::{Came, Pipe, Stop};
use session::Session;

/// The version it gives itself.
const VERSION: &str = "2.1.325";
/// What the real one says to itself when it goes on where it was interrupted.
const GO_ON: &str = "Continue from where you left off.";
const INTERRUPTED: &str = "[Request interrupted by user]";

/// Talks until nobody listens.
pub(crate) fn run(args: AgentArgs) -> anyhow::Result<ExitCode> {
    let arguments = Arguments::read(&args.rest);
    if arguments.version {
        say::out(&format!("{VERSION} (Claude Code)\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let habits = Habits::read(args.fake.as_deref().unwrap_or_default())?;
    if habits.has(Habit::DieAtStart) {
        let key = env::var("ANTHROPIC_API_KEY").unwrap_or_default();
        eprintln!("Invalid API key: ANTHROPIC_API_KEY={key} is of no use");
        return Ok(ExitCode::from(7));
    }
    let named = arguments.resume.clone().or_else(|| arguments.session.clone());
    let id = named.unwrap_or_else(|| format!("{:08x}-0000-4000-8000-0000000000ff", process::id()));
    let mut session = Session::new(id.clone(), arguments.forgets);
    let history = match &arguments.resume {
        Some(id) => session
            .read()
            .ok_or_else(|| Trouble::new(format!("No conversation found with session ID: {id}")))?,
        None => Vec::new(),
    };
    let pipe = Pipe::new(&id, args.fake_log, habits.has(Habit::Garbage));
    let on = |name: &str| env::var(name).is_ok_and(|value| value == "1");
    pipe.note("start", json!({"resume": arguments.resume, "history": history.len()}));
    let mut agent = Agent {
        pipe,
        habits,
        model: arguments.model.clone().unwrap_or_else(|| "scripted".to_owned()),
        arguments,
        session,
        tools: Vec::new(),
        history,
        tells_state: on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
        goes_on: on("CLAUDE_CODE_RESUME_INTERRUPTED_TURN"),
        numbers: 0,
        pieces: 0,
        blocks: Vec::new(),
        open: Vec::new(),
        asked: None,
    };
    match agent.live() {
        Ok(()) | Err(Stop::Interrupted(_) | Stop::Closed) => agent.pipe.note("end", Value::Null),
    }
    Ok(ExitCode::SUCCESS)
}

struct Agent {
    pipe: Pipe,
    habits: Habits,
    arguments: Arguments,
    session: Session,
    model: String,
    tools: Vec<Tool>,
    history: Vec<Value>,
    /// Whether it says when it is idle.
    tells_state: bool,
    /// Whether it goes on by itself with a turn that was interrupted.
    goes_on: bool,
    /// Numbers of requests to tools.
    numbers: u64,
    /// How many pieces it has said.
    pieces: usize,
    /// Blocks of the message that it says, as far as they are said.
    blocks: Vec<Value>,
    /// The calls among them.
    open: Vec<Open>,
    /// What a person is asked.
    asked: Option<String>,
}

/// How a turn ended.
enum Ended {
    Said(Reply),
    Failed(Refused),
}

impl Agent {
    fn live(&mut self) -> Result<(), Stop> {
        loop {
            match self.pipe.next()? {
                _ if self.habits.has(Habit::NeverReady) => {}
                Came::Begin(id, request) => {
                    self.begin(&id, &request)?;
                    let last = self.history.last().filter(|last| last["role"] == "user");
                    let block = last.and_then(|last| last["content"].as_array()?.last());
                    let answers = block.is_some_and(|block| block["type"] == "tool_result");
                    if block.is_some() && self.goes_on {
                        let words = answers.then(|| json!({"type": "text", "text": GO_ON}));
                        self.turn(words.into_iter().collect())?;
                    }
                }
                Came::Prompt(_) if self.habits.has(Habit::NeverAnswers) => {}
                Came::Prompt(blocks) => self.turn(blocks)?,
            }
        }
    }

    /// Learns from the host what it is to do, and which tools it has.
    fn begin(&mut self, id: &str, request: &Value) -> Result<(), Stop> {
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
            let request = self.send(server, message)?;
            self.pipe.answer(&[request])?;
            let listed = self.rpc(server, "tools/list", Value::Null)?;
            let listed = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
            self.tools.extend(listed.iter().map(|tool| Tool::read(server, tool)));
        }
        self.pipe.note("ready", json!(self.tools.iter().map(|t| &t.name).collect::<Vec<_>>()));
        Ok(())
    }

    /// A message to a server of tools, and its answer.
    fn rpc(&mut self, server: &str, method: &str, params: Value) -> Result<Value, Stop> {
        let id = self.numbers;
        self.numbers += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let (Some(fields), false) = (message.as_object_mut(), params.is_null()) {
            fields.insert("params".to_owned(), params);
        }
        let request = self.send(server, message)?;
        let (_, answer) = self.pipe.answer(&[request])?;
        Ok(answer["response"]["mcp_response"].clone())
    }

    fn send(&mut self, server: &str, message: Value) -> Result<String, Stop> {
        let subtype = "mcp_message";
        self.pipe.ask(json!({"subtype": subtype, "server_name": server, "message": message}))
    }

    /// A turn, to whatever end.
    fn turn(&mut self, words: Vec<Value>) -> Result<(), Stop> {
        self.state("running")?;
        let names: Vec<String> = self.tools.iter().map(Tool::full_name).collect();
        self.pipe.line(json!({
            "type": "system", "subtype": "init", "cwd": "", "tools": names, "model": self.model,
            "mcp_servers": [], "permissionMode": "default", "claude_code_version": VERSION,
        }))?;
        let result = match self.work(words) {
            Ok(Ended::Said(reply)) => self.done(&reply),
            Ok(Ended::Failed(refused)) => self.failed(&refused)?,
            Err(Stop::Interrupted(id)) => self.interrupted(&id)?,
            Err(Stop::Closed) => return Err(Stop::Closed),
        };
        let mut result = result;
        self.pipe.pause(std::time::Duration::from_millis(1)).or_else(|stop| match stop {
            Stop::Interrupted(id) => self.pipe.respond(&id, json!({"still_queued": []})),
            Stop::Closed => Err(Stop::Closed),
        })?;
        result["queued_turn_count"] = json!(self.pipe.queue.len());
        self.pipe.line(result)?;
        self.pipe.note("result", Value::Null);
        if self.pipe.queue.is_empty() { self.state("idle") } else { Ok(()) }
    }

    /// Model and tools in turns, until the model has nothing more to call.
    fn work(&mut self, words: Vec<Value>) -> Result<Ended, Stop> {
        self.hear(words);
        if self.habits.has(Habit::Ask) || self.habits.has(Habit::Permission) {
            self.ask_somebody()?;
        }
        let mut own = self.habits.has(Habit::OwnTool);
        loop {
            let asked = model::ask(
                &self.model,
                &self.session.id,
                &self.arguments.system,
                &self.tools,
                &self.history,
            );
            let mut reply = match asked {
                Ok(reply) => self.changed(reply),
                Err(refused) => return Ok(Ended::Failed(refused)),
            };
            if std::mem::take(&mut own) {
                match self.habits.has(Habit::Fragments) {
                    true => reply.blocks.insert(0, self.own_call()),
                    false => self.use_own_tool()?,
                }
            }
            self.say(&reply)?;
            self.remember_reply(&reply.id);
            if self.open.is_empty() {
                return Ok(Ended::Said(reply));
            }
            let mut heard = self.answers()?;
            self.open.clear();
            // Whatever lies in the pipe behind the answers belongs to the same turn.
            self.pipe.pause(std::time::Duration::from_millis(10))?;
            heard.extend(self.pipe.prompts());
            self.hear(heard);
        }
    }

    /// Takes in what a user message says.
    fn hear(&mut self, blocks: Vec<Value>) {
        if blocks.is_empty() {
            return;
        }
        let message = json!({"role": "user", "content": blocks});
        let uuid = self.pipe.id();
        self.session.keep(&uuid, &message);
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
        let uuid = self.pipe.id();
        let kept = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model,
            "content": blocks, "stop_reason": null,
        });
        self.session.keep(&uuid, &kept);
        self.history.push(json!({"role": "assistant", "content": blocks}));
    }

    fn done(&self, reply: &Reply) -> Value {
        let texts: Vec<&str> = reply.blocks.iter().filter_map(|it| it["text"].as_str()).collect();
        json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
            "stop_reason": reply.stop, "terminal_reason": "completed", "result": texts.join(""),
            "permission_denials": [], "usage": reply.usage, "api_error_status": null,
        })
    }

    /// The provider did not take it.
    fn failed(&mut self, refused: &Refused) -> Result<Value, Stop> {
        let Refused { status, message } = refused;
        let text = format!("API Error: {status} {message}");
        eprintln!("{text}");
        self.pipe.note("refused", json!(text));
        let id = self.pipe.id();
        self.pipe.line(json!({
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
    fn interrupted(&mut self, id: &str) -> Result<Value, Stop> {
        if let Some(asked) = self.asked.take() {
            self.pipe.withdraw(&asked)?;
        }
        self.cancel_calls()?;
        self.pipe.respond(id, json!({"still_queued": []}))?;
        let reason = if self.open.is_empty() { "aborted_streaming" } else { "aborted_tools" };
        let mut heard = self.reject_calls()?;
        let words = json!({"type": "text", "text": INTERRUPTED});
        self.user_line(words.clone())?;
        heard.push(words);
        self.open.clear();
        let id = self.pipe.id();
        self.remember_reply(&id);
        self.hear(heard);
        Ok(json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true,
            "num_turns": 1, "stop_reason": null, "terminal_reason": reason, "errors": [],
            "permission_denials": [], "usage": {},
        }))
    }

    fn user_line(&mut self, block: Value) -> Result<(), Stop> {
        let message = json!({"role": "user", "content": [block]});
        self.pipe.line(json!({"type": "user", "message": message, "parent_tool_use_id": null}))
    }

    fn state(&mut self, state: &str) -> Result<(), Stop> {
        if !self.tells_state || self.habits.has(Habit::NoIdle) {
            return Ok(());
        }
        let subtype = "session_state_changed";
        self.pipe.line(json!({"type": "system", "subtype": subtype, "state": state}))
    }
}
