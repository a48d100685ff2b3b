//! Requests to the built-in model. The model also checks the history: one that no provider accepts
//! is an error.

use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};
use serde_json::{Value, json};

/// A response of the model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AgentModelReply {
    pub(super) id: String,
    pub(super) blocks: Vec<Value>,
    pub(super) stop: String,
    pub(super) usage: Value,
}

/// An error response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AgentModelError {
    pub(super) status: u16,
    pub(super) message: String,
}

/// A tool of the host.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HostTool {
    /// The MCP server in the host.
    pub(super) server: String,
    /// The name on that server.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    /// Read-only tools may be called in parallel.
    pub(super) read_only: bool,
}

impl HostTool {
    /// Reads a tool from the response to `tools/list`.
    pub(super) fn read(server: &str, listed: &Value) -> HostTool {
        let text = |key: &str| listed[key].as_str().unwrap_or_default().to_owned();
        HostTool {
            server: server.to_owned(),
            name: text("name"),
            description: text("description"),
            schema: listed["inputSchema"].clone(),
            read_only: listed.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)),
        }
    }

    /// The name in requests to the model.
    pub(super) fn full_name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.name)
    }
}

/// Requests the next message.
pub(super) fn request_reply(
    model: &str,
    session: &str,
    system: &str,
    tools: &[HostTool],
    history: &[Value],
) -> Result<AgentModelReply, AgentModelError> {
    let mut body = json!({
        "model": model, "max_tokens": 32_000, "messages": history,
        // Ids are computed from the request, so every session gets its own.
        "metadata": {"user_id": session},
    });
    if let Some(fields) = body.as_object_mut() {
        if !system.is_empty() {
            fields.insert("system".to_owned(), json!(system));
        }
        if !tools.is_empty() {
            let declared = tools.iter().map(|tool| {
                json!({
                    "name": tool.full_name(), "description": tool.description,
                    "input_schema": tool.schema,
                })
            });
            fields.insert("tools".to_owned(), declared.collect());
        }
    }
    let body = body.to_string();
    let headers = [("anthropic-version", "2023-06-01"), ("x-api-key", "none")];
    let path = "/v1/messages";
    let request = ScriptedRequest {
        format: Format::Anthropic,
        path,
        headers: &headers,
        body: body.as_bytes(),
    };
    let response = respond(&request);
    let reply: Value = serde_json::from_slice(&response.body()).unwrap_or_default();
    let text = |pointer| reply.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if response.status != 200 {
        return Err(AgentModelError {
            status: response.status,
            message: text("/error/message").to_owned(),
        });
    }
    Ok(AgentModelReply {
        id: text("/id").to_owned(),
        blocks: reply["content"].as_array().cloned().unwrap_or_default(),
        stop: text("/stop_reason").to_owned(),
        usage: reply["usage"].clone(),
    })
}
