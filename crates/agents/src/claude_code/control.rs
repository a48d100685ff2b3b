//! Control requests of the agent: to its in-process MCP server, and to people.

use serde_json::{Value, json};

use super::content::text;
use super::pipe::{ClaudeCodePipe, response_line};
use super::{PREFIX, QUESTIONS, SERVER};
use crate::{AgentEvent, PermissionKind, PermissionRequest};

/// MCP version to use if the agent does not name one.
const VERSION: &str = "2025-06-18";

impl ClaudeCodePipe {
    /// Reads a control request.
    pub(super) fn read_control_request(&mut self, line: &Value) -> (Vec<AgentEvent>, Vec<String>) {
        let (Some(id), Some(request)) = (text(line, "request_id"), line.get("request")) else {
            return (vec![AgentEvent::Unreadable], Vec::new());
        };
        match text(request, "subtype") {
            Some("mcp_message") => self.serve_tool_message(id, request),
            Some("can_use_tool") => self.read_permission_request(id, request),
            Some(_) | None => {
                let why = "this host does not support this request";
                let line = json!({
                    "type": "control_response",
                    "response": {"subtype": "error", "request_id": id, "error": why},
                });
                (Vec::new(), vec![line.to_string()])
            }
        }
    }

    /// Reads the cancellation of a request.
    pub(super) fn read_cancel_request(&mut self, line: &Value) -> Vec<AgentEvent> {
        let Some(ticket) = text(line, "request_id") else { return vec![AgentEvent::Unreadable] };
        let had_tool_request = self.tool_requests.remove(ticket).is_some();
        let had_question = self.questions.remove(ticket);
        if had_tool_request || had_question {
            vec![AgentEvent::Withdrawn { ticket: ticket.to_owned() }]
        } else {
            Vec::new()
        }
    }

    /// Handles a message to the MCP server.
    fn serve_tool_message(
        &mut self,
        ticket: &str,
        request: &Value,
    ) -> (Vec<AgentEvent>, Vec<String>) {
        let Some(message) = request.get("message") else {
            return (vec![AgentEvent::Unreadable], Vec::new());
        };
        let id = message.get("id").cloned().unwrap_or(Value::Null);
        let parameters = message.get("params").unwrap_or(&Value::Null);
        let respond = |respond| (Vec::new(), vec![rpc_line(ticket, &id, respond)]);
        if text(request, "server_name").is_some_and(|server| server != SERVER) {
            return respond(Err((-32601, "no such server")));
        }
        match text(message, "method") {
            Some("initialize") => {
                let version = text(parameters, "protocolVersion").unwrap_or(VERSION);
                respond(Ok(json!({
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")},
                })))
            }
            Some("tools/list") => respond(Ok(json!({"tools": self.tools}))),
            Some("tools/call") => self.read_tool_call(ticket, id, parameters),
            Some("ping") => respond(Ok(json!({}))),
            Some("notifications/cancelled") => {
                let cancelled = parameters.get("requestId").unwrap_or(&Value::Null);
                let found = self.tool_requests.iter().find(|(_, rpc_id)| *rpc_id == cancelled);
                let found = found.map(|(ticket, _)| ticket.clone());
                let events = found.into_iter().map(|ticket| {
                    self.tool_requests.remove(&ticket);
                    AgentEvent::Withdrawn { ticket }
                });
                (events.collect(), vec![rpc_line(ticket, &json!(0), Ok(json!({})))])
            }
            // A notification needs no response, but the control request that carries it does.
            Some(method) if method.starts_with("notifications/") => {
                (Vec::new(), vec![rpc_line(ticket, &json!(0), Ok(json!({})))])
            }
            Some(_) => respond(Err((-32601, "no such method"))),
            None => respond(Err((-32600, "`method` is missing"))),
        }
    }

    /// Reads a call of a client tool.
    fn read_tool_call(
        &mut self,
        ticket: &str,
        id: Value,
        parameters: &Value,
    ) -> (Vec<AgentEvent>, Vec<String>) {
        let name =
            text(parameters, "name").and_then(|agent_name| self.names.client_name(agent_name));
        let Some(name) = name.map(str::to_owned) else {
            let refusal = Err((-32602, "no such tool"));
            return (Vec::new(), vec![rpc_line(ticket, &id, refusal)]);
        };
        if self.tool_requests.contains_key(ticket) {
            // A repeated request gets only one response.
            return (vec![AgentEvent::Unreadable], Vec::new());
        }
        if !self.has_room(ticket) {
            let refusal = Err((-32603, "too many calls are open"));
            return (Vec::new(), vec![rpc_line(ticket, &id, refusal)]);
        }
        let call = parameters.get("_meta").and_then(|meta| text(meta, "claudecode/toolUseId"));
        let mut events = self.reader.mark_called(call);
        self.tool_requests.insert(ticket.to_owned(), id);
        events.push(AgentEvent::ToolResultWanted {
            ticket: ticket.to_owned(),
            call: call.map(str::to_owned),
            name,
            arguments: parameters.get("arguments").cloned().unwrap_or_else(|| json!({})),
        });
        (events, Vec::new())
    }

    /// Reads a permission request. Client tools run at the client and are always allowed here.
    fn read_permission_request(
        &mut self,
        ticket: &str,
        request: &Value,
    ) -> (Vec<AgentEvent>, Vec<String>) {
        let tool = text(request, "tool_name").unwrap_or_default();
        let input = request.get("input").cloned().unwrap_or_else(|| json!({}));
        if tool
            .strip_prefix(PREFIX)
            .is_some_and(|agent_name| self.names.client_name(agent_name).is_some())
        {
            let allow = json!({"behavior": "allow", "updatedInput": input});
            return (Vec::new(), vec![response_line(ticket, &allow)]);
        }
        if self.questions.contains(ticket) {
            return (vec![AgentEvent::Unreadable], Vec::new());
        }
        if !self.may_ask || !self.has_room(ticket) {
            let deny = json!({"behavior": "deny", "message": "No user is available to answer."});
            return (Vec::new(), vec![response_line(ticket, &deny)]);
        }
        self.questions.insert(ticket.to_owned());
        let kind =
            if tool == QUESTIONS { PermissionKind::Questions } else { PermissionKind::Permission };
        let permission_request = PermissionRequest {
            ticket: ticket.to_owned(),
            call: text(request, "tool_use_id").map(str::to_owned),
            tool: tool.to_owned(),
            input,
            kind,
        };
        (vec![AgentEvent::PermissionRequested(permission_request)], Vec::new())
    }
}

/// The line with a response of the MCP server.
pub(super) fn rpc_line(ticket: &str, id: &Value, answer: Result<Value, (i32, &str)>) -> String {
    let answer = match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    };
    response_line(ticket, &json!({"mcp_response": answer}))
}
