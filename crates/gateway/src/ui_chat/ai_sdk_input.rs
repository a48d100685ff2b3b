//! What `useChat` of the AI SDK posts: `{id, messages, trigger, messageId}`, and the fields that the
//! application adds.

use foxwedge_embed::CallError;
use serde_json::{Map, Value, json};

use super::{UiChatInput, chat_body::ChatBody};
use crate::{ApiError, error};

/// Parses the body. Its `UIMessage[]` is converted as [`foxwedge_embed`] converts lists.
pub(super) fn parse(body: &[u8]) -> Result<UiChatInput, ApiError> {
    let mut fields: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| error::bad_input(format!("the body is not a JSON object: {error}")))?;
    let Some(Value::Array(list)) = fields.remove("messages") else {
        return Err(error::bad_request("`messages` must be a list of UI messages"));
    };
    let conversation = take_text(&mut fields, "id");
    // The reply to results of tools continues the message that has the calls.
    let run = list.last().filter(|last| last["role"] == "assistant");
    let run = run.and_then(|last| last["id"].as_str()).map(str::to_owned);
    for own in ["trigger", "messageId"] {
        fields.remove(own);
    }
    let mut messages: Vec<Value> = take_text(&mut fields, "system")
        .map(|text| json!({ "role": "system", "content": text }))
        .into_iter()
        .collect();
    messages.extend(convert(&list).map_err(|error| error::bad_input(error.message))?);
    let mut body = ChatBody::with_fields(fields);
    body.set_messages(messages);
    Ok(UiChatInput { conversation, run, body })
}

/// Converts UI messages to messages of a chat completion.
fn convert(list: &[Value]) -> Result<Vec<Value>, CallError> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let list = Value::from(list).to_string();
    let options = json!({ "agent": "ai-sdk-ui" }).to_string();
    let history = foxwedge_embed::call("history", list.as_bytes(), &options)?;
    let history = history.document.unwrap_or_default();
    let history = String::from_utf8_lossy(&history);
    let request = format!("{{\"messages\":{history}}}");
    let options = json!({ "from": "anthropic", "to": "openai-chat" }).to_string();
    let converted = foxwedge_embed::call("convert", request.as_bytes(), &options)?;
    let converted = converted.document.unwrap_or_default();
    let mut converted: Value = serde_json::from_slice(&converted).unwrap_or_default();
    match converted["messages"].take() {
        Value::Array(messages) => Ok(messages),
        _ => Ok(Vec::new()),
    }
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}
