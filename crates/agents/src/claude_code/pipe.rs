//! The `stream-json` pipe: one JSON object per line, in both directions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::content::{answer_texts, prompt_blocks, result_blocks, text};
use super::stream_reader::StreamJsonReader;
use super::{ClaudeCode, SERVER, tools};
use crate::{
    AgentCommand, AgentEvent, AgentProtocol, PermissionDecision, PermissionRequest, ToolNameTable,
    TurnFailure,
};

/// Maximum number of open tool requests and questions; more are rejected.
const MAX_OPEN: usize = 10_000;

/// The protocol of Claude Code.
///
/// A ticket is the id of the agent's control request. A response to a ticket that is not open is
/// dropped, so no request gets two responses.
#[derive(Debug)]
pub struct ClaudeCodePipe {
    pub(super) names: ToolNameTable,
    pub(super) tools: Vec<Value>,
    pub(super) may_ask: bool,
    /// Open tool requests, with their JSON-RPC ids.
    pub(super) tool_requests: BTreeMap<String, Value>,
    /// Open questions.
    pub(super) questions: BTreeSet<String>,
    pub(super) reader: StreamJsonReader,
    /// System prompt; `None` keeps the agent's own.
    system: Option<String>,
    /// Number of control requests that we sent.
    requests: u64,
    /// Error status of the provider in this turn, if any.
    status: Option<u16>,
    /// Whether the agent reports its state. If so, only `idle` is the end, not a result line.
    reports_state: bool,
}

/// The id of our first request.
const INITIALIZE_ID: &str = "foxwedge-0";

impl ClaudeCodePipe {
    /// Creates the protocol for a request in Anthropic's format.
    pub fn new(config: &ClaudeCode, body: &Value) -> ClaudeCodePipe {
        let tools = tools::read_tools(body);
        let mut system = instructions(body);
        if !tools.overflow.is_empty() {
            system.get_or_insert_default().push_str(&tools.overflow);
        }
        if config.bare {
            system.get_or_insert_default();
        }
        ClaudeCodePipe {
            names: tools.names,
            tools: tools.list,
            may_ask: config.may_ask,
            tool_requests: BTreeMap::new(),
            questions: BTreeSet::new(),
            reader: StreamJsonReader::default(),
            system,
            requests: 0,
            status: None,
            reports_state: false,
        }
    }

    /// The names of the client's tools.
    pub(super) fn names(&self) -> &ToolNameTable {
        &self.names
    }

    /// Whether one more request with this ticket is allowed.
    pub(super) fn has_room(&self, ticket: &str) -> bool {
        let is_open = self.tool_requests.contains_key(ticket) || self.questions.contains(ticket);
        !is_open && self.tool_requests.len() + self.questions.len() < MAX_OPEN
    }

    fn request(&mut self, request: &Value) -> String {
        let id = format!("foxwedge-{}", self.requests);
        self.requests += 1;
        json!({"type": "control_request", "request_id": id, "request": request}).to_string()
    }

    fn read_response(&self, response: &Value) -> Vec<AgentEvent> {
        match (text(response, "request_id"), text(response, "subtype")) {
            (Some(INITIALIZE_ID), Some("success")) => vec![AgentEvent::Ready],
            (Some(INITIALIZE_ID), _) => {
                let message =
                    text(response, "error").unwrap_or("the agent could not be initialized");
                let failure =
                    TurnFailure { status: None, message: message.to_owned(), stopped: false };
                vec![AgentEvent::TurnEnded { failure: Some(failure), text: None, more: false }]
            }
            _ => Vec::new(),
        }
    }

    fn read_assistant_line(&mut self, mut line: Value) -> Vec<AgentEvent> {
        if line.get("error").is_some_and(|error| !error.is_null())
            || line.get("is_api_error_message") == Some(&Value::Bool(true))
            || line.get("isApiErrorMessage") == Some(&Value::Bool(true))
        {
            self.status = read_status(&line).or(self.status);
            return Vec::new();
        }
        let message = line.get_mut("message").map(Value::take).unwrap_or_default();
        self.reader.read_line(message, &self.names)
    }

    fn read_result_line(&mut self, line: &Value) -> Vec<AgentEvent> {
        let (had_output, mut events) = self.reader.end_turn(text(line, "stop_reason"));
        let failed = match line.get("is_error").and_then(Value::as_bool) {
            Some(failed) => failed,
            None => text(line, "subtype").is_some_and(|subtype| subtype.starts_with("error")),
        };
        let status = read_status(line).or(self.status.take());
        self.status = None;
        let result_text = text(line, "result").filter(|result_text| !result_text.is_empty());
        let stopped =
            text(line, "terminal_reason").is_some_and(|reason| reason.starts_with("aborted"));
        let failure = (failed || stopped).then(|| {
            let message = match (stopped, result_text) {
                (true, _) => "the turn was stopped".to_owned(),
                (false, Some(result_text)) => result_text.to_owned(),
                (false, None) => error_text(line),
            };
            TurnFailure { status, message, stopped }
        });
        let result_text =
            result_text.filter(|_| !had_output && failure.is_none()).map(str::to_owned);
        let queued = line.get("queued_turn_count").and_then(Value::as_u64);
        let more = self.reports_state || queued.is_some_and(|turns| turns > 0);
        events.push(AgentEvent::TurnEnded { failure, text: result_text, more });
        events
    }

    fn read_system_line(&mut self, line: &Value) -> Vec<AgentEvent> {
        if text(line, "subtype") != Some("session_state_changed") {
            return Vec::new();
        }
        self.reports_state = true;
        if text(line, "state") != Some("idle") {
            return Vec::new();
        }
        let mut events = self.reader.end_message(None);
        events.push(AgentEvent::Idle);
        events
    }

    fn decide(&mut self, request: PermissionRequest, decision: PermissionDecision) -> Vec<String> {
        if !self.questions.remove(&request.ticket) {
            return Vec::new();
        }
        let response = match decision {
            PermissionDecision::Allow { input } => {
                json!({"behavior": "allow", "updatedInput": input.unwrap_or(request.input)})
            }
            PermissionDecision::Answers(answers) => {
                let mut input = match request.input {
                    Value::Object(input) => input,
                    _ => serde_json::Map::new(),
                };
                input.insert("answers".to_owned(), Value::Object(answer_texts(answers)));
                json!({"behavior": "allow", "updatedInput": input})
            }
            PermissionDecision::Deny { message } => json!({"behavior": "deny", "message": message}),
        };
        vec![response_line(&request.ticket, &response)]
    }
}

impl AgentProtocol for ClaudeCodePipe {
    fn begin(&mut self) -> Vec<String> {
        let mut initialize = json!({"subtype": "initialize", "sdkMcpServers": [SERVER]});
        if let (Some(system), Some(initialize)) = (&self.system, initialize.as_object_mut()) {
            initialize.insert("systemPrompt".to_owned(), json!([system]));
        }
        vec![self.request(&initialize)]
    }

    fn read_line(&mut self, line: &[u8]) -> (Vec<AgentEvent>, Vec<String>) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let Ok(mut line) = serde_json::from_slice::<Value>(line) else {
            return (vec![AgentEvent::Unreadable], Vec::new());
        };
        let is_main = line.get("parent_tool_use_id").is_none_or(Value::is_null);
        let events = match (text(&line, "type"), is_main) {
            (Some("control_request"), _) => return self.read_control_request(&line),
            (Some("control_cancel_request"), _) => self.read_cancel_request(&line),
            (Some("control_response"), _) => match line.get("response") {
                Some(response) => self.read_response(response),
                None => vec![AgentEvent::Unreadable],
            },
            (Some("stream_event"), true) => {
                let event = line.get_mut("event").map(Value::take).unwrap_or_default();
                self.reader.read_event(event, &self.names)
            }
            (Some("assistant"), true) => self.read_assistant_line(line),
            (Some("user"), true) => read_tool_results(&line),
            (Some("result"), _) => self.read_result_line(&line),
            (Some("system"), _) => self.read_system_line(&line),
            // Sub-agent conversations, and lines of newer versions.
            (Some(_), _) => Vec::new(),
            (None, _) => vec![AgentEvent::Unreadable],
        };
        (events, Vec::new())
    }

    /// Some versions print nothing when their provider breaks off after a complete call. This ends
    /// the open message properly.
    fn on_silence(&mut self) -> Vec<AgentEvent> {
        if self.tool_requests.is_empty() { Vec::new() } else { self.reader.end_message(None) }
    }

    fn encode_command(&mut self, command: AgentCommand) -> Vec<String> {
        match command {
            AgentCommand::Prompt(blocks) => {
                let content = prompt_blocks(blocks);
                if content.is_empty() {
                    return Vec::new();
                }
                let line = json!({
                    "type": "user",
                    "message": {"role": "user", "content": content},
                    "parent_tool_use_id": null,
                    "session_id": "",
                });
                vec![line.to_string()]
            }
            AgentCommand::ToolResult { ticket, content, error } => {
                match self.tool_requests.remove(&ticket) {
                    Some(id) => {
                        let result = json!({"content": result_blocks(content), "isError": error});
                        vec![super::control::rpc_line(&ticket, &id, Ok(result))]
                    }
                    None => Vec::new(),
                }
            }
            AgentCommand::Decide { request, decision } => self.decide(request, decision),
            AgentCommand::Interrupt => vec![self.request(&json!({"subtype": "interrupt"}))],
        }
    }
}

/// The line with a response to a control request of the agent.
pub(super) fn response_line(id: &str, response: &Value) -> String {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    })
    .to_string()
}

/// The instructions of a request: `system`, and system messages in the list.
fn instructions(body: &Value) -> Option<String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let system_messages =
        messages.into_iter().flatten().filter(|one| text(one, "role") == Some("system"));
    let all =
        body.get("system").into_iter().chain(system_messages.filter_map(|one| one.get("content")));
    let mut texts: Vec<&str> = Vec::new();
    for one in all {
        match one {
            Value::String(text) => texts.push(text),
            Value::Array(blocks) => texts.extend(blocks.iter().filter_map(|b| text(b, "text"))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The tool results in a line of the agent's history.
fn read_tool_results(line: &Value) -> Vec<AgentEvent> {
    let blocks = line.get("message").and_then(|message| message.get("content"));
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten();
    blocks
        .filter(|block| text(block, "type") == Some("tool_result"))
        .filter_map(|block| {
            let error = block.get("is_error") == Some(&Value::Bool(true));
            Some(AgentEvent::CallClosed { call: text(block, "tool_use_id")?.to_owned(), error })
        })
        .collect()
}

/// The error status of the agent's provider.
fn read_status(line: &Value) -> Option<u16> {
    let status = line.get("api_error_status")?.as_u64()?;
    u16::try_from(status).ok().filter(|status| (400..600).contains(status))
}

/// The error text of a result line.
fn error_text(line: &Value) -> String {
    let errors = line.get("errors").and_then(Value::as_array).into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
    let reason = || text(line, "terminal_reason").or(text(line, "subtype"));
    if errors.is_empty() {
        reason().unwrap_or("the turn failed").to_owned()
    } else {
        errors.join("; ")
    }
}
