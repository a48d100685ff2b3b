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
    let message = list.last().filter(|last| last["role"] == "assistant");
    let message = message.and_then(|last| last["id"].as_str()).map(str::to_owned);
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
    Ok(UiChatInput { conversation, run: None, message, body, losses })
}

/// Converts UI messages to messages of a chat completion, and lists what those cannot express.
/// Nothing is repaired but calls that never started: the guard of the route sees the rest as it is.
fn convert(list: &[Value]) -> Result<(Vec<Value>, Vec<String>), String> {
    if list.is_empty() {
        return Ok(Default::default());
    }
    let list = Value::from(list).to_string();
    let agent = SessionAgent::AiSdkUi;
    let text = readable_text(list.as_bytes()).map_err(|error| error.to_string())?;
    let session = foxwedge_sessions::read(&text, agent, outline_options(agent.profile()))
        .map_err(|error| error.to_string())?;
    let (history, history_losses) = session.history_to_continue();
    let history = model::decode(&history, agent.wire()).map_err(|error| error.to_string())?;
    let (messages, mut losses) = model::encode(&history, Format::OpenaiChat);
    losses.extend(history_losses);
    let messages = serde_json::from_str(&messages).unwrap_or_default();
    Ok((messages, losses.into_iter().map(|loss| loss.note).collect()))
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result that a tool part gets, and whether a loss says that it waits.
    fn result_of(state: &str, fields: Value, user_continues: bool) -> (Option<String>, bool) {
        let mut part = json!({
            "type": "dynamic-tool", "toolName": "a", "toolCallId": "c", "state": state, "input": {},
        });
        part.as_object_mut()
            .expect("an object")
            .extend(fields.as_object().cloned().expect("fields"));
        let other = json!({
            "type": "tool-b", "toolCallId": "d", "state": "output-available", "input": {}, "output": 1,
        });
        let text = json!([{ "type": "text", "text": "hi" }]);
        let parts = json!([{ "type": "step-start" }, part, other]);
        let mut list = vec![
            json!({ "id": "1", "role": "user", "parts": text }),
            json!({ "id": "2", "role": "assistant", "parts": parts }),
        ];
        if user_continues {
            list.push(json!({ "id": "3", "role": "user", "parts": text }));
        }
        let (messages, losses) = convert(&list).expect("a list");
        let result = messages.iter().find(|message| message["tool_call_id"] == "c");
        let others = messages.iter().filter(|message| message["tool_call_id"] == "d");
        assert_eq!(others.count(), 1, "{messages:?}");
        let last = messages.last().expect("a message");
        assert_eq!(last["role"] == "user", user_continues, "{messages:?}");
        let text = result.map(|result| result["content"].to_string());
        (text, losses.iter().any(|loss| loss.contains("waits")))
    }

    #[test]
    fn calls_that_never_started_say_so_and_denied_ones_say_why() {
        let reason = "use tool b instead";
        let approval = |approval: Value| json!({ "approval": approval });
        let denied = approval(json!({ "id": "p", "approved": false, "reason": reason }));
        let silent = approval(json!({ "id": "p", "approved": false }));
        let open = approval(json!({ "id": "p" }));
        let granted = approval(json!({ "id": "p", "approved": true }));
        let table: [(&str, &Value, bool, Option<&str>, bool); 11] = [
            ("approval-responded", &denied, false, Some(reason), false),
            ("approval-responded", &denied, true, Some(reason), false),
            ("output-denied", &denied, true, Some(reason), false),
            ("approval-responded", &silent, false, Some("denied"), false),
            ("approval-requested", &open, false, Some("never ran"), true),
            ("approval-requested", &open, true, Some("never ran"), true),
            ("input-streaming", &json!({}), true, Some("never ran"), false),
            ("input-streaming", &json!({}), false, Some("never ran"), false),
            ("approval-responded", &granted, false, Some("never ran"), true),
            // Whether these ran is not known: the guard of the route decides.
            ("approval-responded", &granted, true, None, false),
            ("input-available", &json!({}), true, None, false),
        ];
        for (state, fields, user_continues, expected, waits) in table {
            let (text, found) = result_of(state, fields.clone(), user_continues);
            let case = format!("{state} {fields} {user_continues}: {text:?}");
            match (expected, &text) {
                (Some(expected), Some(text)) => {
                    assert!(text.to_lowercase().contains(expected), "{case}");
                }
                (expected, text) => assert_eq!((expected, text), (None, &None), "{case}"),
            }
            assert_eq!(found, waits, "{case}");
        }
    }
}
