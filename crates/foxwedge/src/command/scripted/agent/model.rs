//! What the built-in model says to a history. Its judge is the reason for asking it here: a history
//! that no provider would take is a failure that everybody sees.

use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};
use serde_json::{Value, json};

/// A message of the model.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AgentModelReply {
    pub(super) id: String,
    pub(super) blocks: Vec<Value>,
    pub(super) stop: String,
    pub(super) usage: Value,
}

/// What the provider said in place of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AgentModelError {
    pub(super) status: u16,
    pub(super) message: String,
}

/// A tool of the client.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HostTool {
    /// The server in the host that has it.
    pub(super) server: String,
    /// Its name there.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    /// Whether several may be called at once.
    pub(super) read_only: bool,
}

impl HostTool {
    /// One out of the answer to `tools/list`.
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

    /// The name under which the model knows it.
    pub(super) fn full_name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.name)
    }
}

/// Asks for the next message.
pub(super) fn request_reply(
    model: &str,
    session: &str,
    system: &str,
    tools: &[HostTool],
    history: &[Value],
) -> Result<AgentModelReply, AgentModelError> {
    let mut body = json!({
        "model": model, "max_tokens": 32_000, "messages": history,
        // Ids are computed from the request: another session gets other ones.
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
    let ask = ScriptedRequest {
        format: Format::Anthropic,
        path,
        headers: &headers,
        body: body.as_bytes(),
    };
    let played = respond(&ask);
    let said: Value = serde_json::from_slice(&played.body()).unwrap_or_default();
    let text = |pointer| said.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if played.status != 200 {
        return Err(AgentModelError {
            status: played.status,
            message: text("/error/message").to_owned(),
        });
    }
    Ok(AgentModelReply {
        id: text("/id").to_owned(),
        blocks: said["content"].as_array().cloned().unwrap_or_default(),
        stop: text("/stop_reason").to_owned(),
        usage: said["usage"].clone(),
    })
}
