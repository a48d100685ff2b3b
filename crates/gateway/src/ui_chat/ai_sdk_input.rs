//! What `useChat` of the AI SDK posts: `{id, messages, trigger, messageId}`, and the fields that the
//! application adds.

use foxwedge_core::Format;
use foxwedge_formats::{model, outline_options};
use foxwedge_sessions::{SessionAgent, readable_text};
use serde_json::{Map, Value, json};

use super::{UiChatInput, chat_body::ChatBody};
use crate::{ApiError, error};

/// Parses the body. Its `UIMessage[]` is converted as [`foxwedge_sessions`] reads lists.
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
    let (converted, losses) = convert(&list).map_err(error::bad_input)?;
    messages.extend(converted);
    let mut body = ChatBody::with_fields(fields);
    body.set_messages(messages);
    Ok(UiChatInput { conversation, run, body, losses })
}

/// Converts UI messages to messages of a chat completion, and lists what those cannot express.
/// Nothing is repaired: the guard of the route sees the history as it is.
fn convert(list: &[Value]) -> Result<(Vec<Value>, Vec<String>), String> {
    if list.is_empty() {
        return Ok(Default::default());
    }
    let list = Value::from(list).to_string();
    let agent = SessionAgent::AiSdkUi;
    let text = readable_text(list.as_bytes()).map_err(|error| error.to_string())?;
    let session = foxwedge_sessions::read(&text, agent, outline_options(agent.profile()))
        .map_err(|error| error.to_string())?;
    let history = session.history();
    let history = model::decode(&history, agent.wire()).map_err(|error| error.to_string())?;
    let (messages, mut losses) = model::encode(&history, Format::OpenaiChat);
    losses.extend(session.history_losses());
    let messages = serde_json::from_str(&messages).unwrap_or_default();
    Ok((messages, losses.into_iter().map(|loss| loss.note).collect()))
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}
