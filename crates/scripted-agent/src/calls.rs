//! Calls of host tools: requested, awaited, canceled.

use std::process;

use serde_json::{Value, json};

use super::{AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// The result that Claude Code gives a rejected tool call.
const REJECTED_TEXT: &str = "The user doesn't want to proceed with this tool use.";

/// A tool call that was printed.
pub(super) struct HostToolCall {
    id: String,
    input: Value,
    /// Index of the host tool; `None` for other tools.
    tool: Option<usize>,
    /// The id of the control request, and the JSON-RPC id.
    request: Option<(String, u64)>,
    answer: Option<Value>,
}

impl ScriptedClaudeAgent {
    /// Starts a printed tool call, queues it, or records its result at once.
    pub(super) fn start_call(&mut self, block: &Value) -> Result<(), HostPipeStop> {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        let tool = self.tools.iter().position(|tool| tool.full_name() == text("name"));
        let first = self.open_calls.iter().all(|open| open.tool.is_none());
        let (id, input) = (text("id").to_owned(), block["input"].clone());
        self.open_calls.push(HostToolCall { id, input, tool, request: None, answer: None });
        let at = self.open_calls.len() - 1;
        let Some(tool) = tool else {
            if self.waits_for_user(text("name")) {
                return Ok(());
            }
            let own = text("name") == super::own_tool::OWN_TOOL;
            let result =
                if own { super::own_tool::OWN_TOOL_RESULT } else { "No such tool available" };
            return self.record_answer(at, json!(result), !own);
        };
        if first && self.quirks.has(AgentQuirk::Unavailable) {
            let result = format!("<tool_use_error>No such tool available: {}", text("name"));
            return self.record_answer(at, json!(result), true);
        }
        let read_only = self.tools.get(tool).is_some_and(|tool| tool.read_only);
        if (read_only && !self.quirks.has(AgentQuirk::Serial)) || self.pending_requests().is_empty()
        {
            self.request_answer(at)?;
        }
        Ok(())
    }

    /// Waits until every tool call has a result. Returns the results in call order.
    pub(super) fn wait_for_answers(&mut self) -> Result<Vec<Value>, HostPipeStop> {
        loop {
            if self.pending_requests().is_empty() {
                let is_waiting =
                    |open: &HostToolCall| open.request.is_none() && open.answer.is_none();
                let Some(next) = self.open_calls.iter().position(is_waiting) else { break };
                self.request_answer(next)?;
            }
            if self.quirks.has(AgentQuirk::DieWaiting) {
                eprintln!("the agent was told to die here");
                process::exit(9);
            }
            let (request, answer) = self.pipe.wait_for_answer(&self.pending_requests())?;
            if self.quirks.has(AgentQuirk::DieAnswered) {
                process::exit(9);
            }
            let matches =
                |open: &HostToolCall| open.request.as_ref().is_some_and(|(id, _)| *id == request);
            let Some(at) = self.open_calls.iter().position(matches) else { continue };
            let (content, error) = answer_content(&answer);
            self.pipe
                .log_event("answer", json!({"call": self.open_calls.get(at).map(|open| &open.id)}));
            self.record_answer(at, content, error)?;
        }
        Ok(self.open_calls.iter().filter_map(|open| open.answer.clone()).collect())
    }

    /// Cancels open requests at the host.
    pub(super) fn cancel_calls(&mut self) -> Result<(), HostPipeStop> {
        let open = self.open_calls.iter().filter(|open| open.answer.is_none());
        let open: Vec<_> =
            open.filter_map(|call| Some((call.tool?, call.request.as_ref()?.1))).collect();
        for (tool, number) in open {
            let server = self.tools.get(tool).map(|tool| tool.server.clone()).unwrap_or_default();
            let params = json!({"requestId": number, "reason": "AbortError"});
            let method = "notifications/cancelled";
            self.send_to_server(
                &server,
                json!({"jsonrpc": "2.0", "method": method, "params": params}),
            )?;
        }
        Ok(())
    }

    /// Records a rejected result for every open tool call.
    pub(super) fn reject_calls(&mut self) -> Result<Vec<Value>, HostPipeStop> {
        for at in 0..self.open_calls.len() {
            if self.open_calls.get(at).is_some_and(|open| open.answer.is_none()) {
                self.record_answer(at, json!(REJECTED_TEXT), true)?;
            }
        }
        Ok(self.open_calls.iter().filter_map(|open| open.answer.clone()).collect())
    }

    /// Ids of requests without a response.
    fn pending_requests(&self) -> Vec<String> {
        let open = self.open_calls.iter().filter(|open| open.answer.is_none());
        open.filter_map(|open| open.request.as_ref().map(|(id, _)| id.clone())).collect()
    }

    /// Sends the tool call to the host.
    fn request_answer(&mut self, at: usize) -> Result<(), HostPipeStop> {
        let Some(open) = self.open_calls.get(at) else { return Ok(()) };
        let Some(tool) = open.tool.and_then(|tool| self.tools.get(tool)) else { return Ok(()) };
        let (server, number) = (tool.server.clone(), self.next_rpc_id);
        self.next_rpc_id += 1;
        let message = json!({
            "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
                "name": tool.name, "arguments": open.input,
                "_meta": {"claudecode/toolUseId": open.id, "progressToken": number},
            },
        });
        self.pipe.log_event("call", json!(open.id));
        let request = self.send_to_server(&server, message)?;
        if let Some(open) = self.open_calls.get_mut(at) {
            open.request = Some((request, number));
        }
        Ok(())
    }

    /// Records and prints the result of a tool call.
    pub(super) fn record_answer(
        &mut self,
        at: usize,
        content: Value,
        error: bool,
    ) -> Result<(), HostPipeStop> {
        let Some(open) = self.open_calls.get_mut(at) else { return Ok(()) };
        let mut answer = json!({"type": "tool_result", "tool_use_id": open.id, "content": content});
        if let (Some(fields), true) = (answer.as_object_mut(), error) {
            fields.insert("is_error".to_owned(), json!(true));
        }
        open.answer = Some(answer.clone());
        self.print_user_line(answer)
    }
}

/// The content of a host response in Anthropic's format, and whether it is an error.
fn answer_content(answer: &Value) -> (Value, bool) {
    let response = &answer["response"]["mcp_response"];
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    if let Some(error) = text("/error").or_else(|| text("/response/mcp_response/error/message")) {
        return (json!(error), true);
    }
    let blocks = response["result"]["content"].as_array().into_iter().flatten();
    let blocks = blocks.map(|block| match block["type"].as_str() {
        Some("image") => json!({"type": "image", "source": {
            "type": "base64", "media_type": block["mimeType"], "data": block["data"],
        }}),
        _ => block.clone(),
    });
    (blocks.collect(), response["result"]["isError"] == true)
}
