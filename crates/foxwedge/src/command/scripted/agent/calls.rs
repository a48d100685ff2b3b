//! Calls of the client's tools, which live in the host: wished for, waited for, taken back.

use std::process;

use serde_json::{Value, json};

use super::{AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// What the real one answers in place of a tool that was stopped.
const REJECTED_TEXT: &str = "The user doesn't want to proceed with this tool use.";

/// A call that was said.
pub(super) struct HostToolCall {
    id: String,
    input: Value,
    /// Which of the client's tools; none if it is not one of them.
    tool: Option<usize>,
    /// The request to the host, and its number there.
    request: Option<(String, u64)>,
    answer: Option<Value>,
}

impl ScriptedClaudeAgent {
    /// A call was said: it begins, waits for its turn, or is answered at once.
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
            let words =
                if own { super::own_tool::OWN_TOOL_RESULT } else { "No such tool available" };
            return self.record_answer(at, json!(words), !own);
        };
        if first && self.quirks.has(AgentQuirk::Unavailable) {
            let words = format!("<tool_use_error>No such tool available: {}", text("name"));
            return self.record_answer(at, json!(words), true);
        }
        let read_only = self.tools.get(tool).is_some_and(|tool| tool.read_only);
        if (read_only && !self.quirks.has(AgentQuirk::Serial)) || self.pending_requests().is_empty()
        {
            self.request_answer(at)?;
        }
        Ok(())
    }

    /// Waits until every call has its answer; the answers, in the order of the calls.
    pub(super) fn wait_for_answers(&mut self) -> Result<Vec<Value>, HostPipeStop> {
        loop {
            if self.pending_requests().is_empty() {
                let waits = |open: &HostToolCall| open.request.is_none() && open.answer.is_none();
                let Some(next) = self.open_calls.iter().position(waits) else { break };
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
            let asked =
                |open: &HostToolCall| open.request.as_ref().is_some_and(|(id, _)| *id == request);
            let Some(at) = self.open_calls.iter().position(asked) else { continue };
            let (content, error) = answer_content(&answer);
            self.pipe
                .log_event("answer", json!({"call": self.open_calls.get(at).map(|open| &open.id)}));
            self.record_answer(at, content, error)?;
        }
        Ok(self.open_calls.iter().filter_map(|open| open.answer.clone()).collect())
    }

    /// Tells the host that nobody wants its answers any more.
    pub(super) fn cancel_calls(&mut self) -> Result<(), HostPipeStop> {
        let open = self.open_calls.iter().filter(|open| open.answer.is_none());
        let open: Vec<_> = open.filter_map(|it| Some((it.tool?, it.request.as_ref()?.1))).collect();
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

    /// Answers every open call: it did not run.
    pub(super) fn reject_calls(&mut self) -> Result<Vec<Value>, HostPipeStop> {
        for at in 0..self.open_calls.len() {
            if self.open_calls.get(at).is_some_and(|open| open.answer.is_none()) {
                self.record_answer(at, json!(REJECTED_TEXT), true)?;
            }
        }
        Ok(self.open_calls.iter().filter_map(|open| open.answer.clone()).collect())
    }

    /// Requests without an answer.
    fn pending_requests(&self) -> Vec<String> {
        let open = self.open_calls.iter().filter(|open| open.answer.is_none());
        open.filter_map(|open| open.request.as_ref().map(|(id, _)| id.clone())).collect()
    }

    /// Asks the host for an answer.
    fn request_answer(&mut self, at: usize) -> Result<(), HostPipeStop> {
        let Some(open) = self.open_calls.get(at) else { return Ok(()) };
        let Some(tool) = open.tool.and_then(|tool| self.tools.get(tool)) else { return Ok(()) };
        let (server, number) = (tool.server.clone(), self.numbers);
        self.numbers += 1;
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

    /// A call has its answer.
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

/// What the host answers, as Anthropic spells it, and whether it is a failure.
fn answer_content(answer: &Value) -> (Value, bool) {
    let told = &answer["response"]["mcp_response"];
    let words = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    if let Some(error) = words("/error").or_else(|| words("/response/mcp_response/error/message")) {
        return (json!(error), true);
    }
    let blocks = told["result"]["content"].as_array().into_iter().flatten();
    let blocks = blocks.map(|block| match block["type"].as_str() {
        Some("image") => json!({"type": "image", "source": {
            "type": "base64", "media_type": block["mimeType"], "data": block["data"],
        }}),
        _ => block.clone(),
    });
    (blocks.collect(), told["result"]["isError"] == true)
}
